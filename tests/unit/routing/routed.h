// A topology as input of routing, and routed by the engine that choose_engine() returns.
#pragma once

#include "fabric/routing/engine_registry.h"
#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric::testing {

inline RoutingInput input_of(const TopologyPtr& topology, const ScopeOptions& options = {}) {
  return {.view = FabricView(topology), .scope = RoutingScope::make(topology, options).value()};
}
inline Routing routed(const RoutingInput& input) { return choose_engine(*input.scope).engine->route(input).value(); }

}  // namespace railweave::fabric::testing
