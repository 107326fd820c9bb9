#include <cstdint>

#include "fabric/formats/gpu/nvidia_smi_topo.h"
#include "tests/fuzz/affinity_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railweave::fabric;
  const auto affinity = read_nvidia_smi_topo({reinterpret_cast<const char*>(data), size}, {.source = "fuzz"});
  if (affinity) check_affinity(*affinity);
  return 0;
}
