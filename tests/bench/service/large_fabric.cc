#include "tests/bench/service/large_fabric.h"

#include "fabric/base/check.h"
#include "fabric/formats/native/native_json.h"
#include "fabric/generate/generate.h"

namespace railweave {

const std::string& large_fabric() {
  static const std::string text = [] {
    auto topology = fabric::generate({"gpus-100k", {}});
    RAILWEAVE_CHECK(topology.has_value(), "the preset is a fabric");
    return fabric::write_native_json(*topology);
  }();
  return text;
}

}  // namespace railweave
