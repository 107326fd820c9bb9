// All routing engines, and which one suits a fabric. The one place to add an engine to.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

std::span<const RoutingEngine* const> routing_engines();
const RoutingEngine* find_engine(std::string_view name);  // null: there is none of that name

struct EngineChoice {
  const RoutingEngine* engine = nullptr;
  std::string reason;  // for people
};
// What `auto` means: the engine that suits the fabric best, as cabled, so that failures do not change it.
EngineChoice choose_engine(const RoutingScope& scope);

}  // namespace railweave::fabric
