// All routing engines, and the choice of the one that suits a fabric. A new engine is registered here
// (ADDING_AN_ENGINE.md). Engines live as long as the process; any number of threads may call these functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

std::span<const RoutingEngine* const> routing_engines();
const RoutingEngine* find_engine(std::string_view name);  // null: there is no engine of that name

struct EngineChoice {
  const RoutingEngine* engine = nullptr;
  std::string reason;  // for operators
};
// The meaning of `auto`: the engine that suits the fabric best, as cabled, so that failures do not change it.
EngineChoice choose_engine(const RoutingScope& scope);

}  // namespace railweave::fabric
