// Reads named parameters into the typed specs of the generators. Internal to fabric/generate.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "fabric/generate/parameters.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

using GenerateStep = std::function<Result<void>(TopologyBuilder&)>;

struct KindReader {
  std::string_view name;
  std::string_view summary;
  GenerateStep (*read)(ParameterReader&);  // declares and reads every parameter of the kind
};

const std::vector<KindReader>& kind_readers();

}  // namespace railweave::fabric
