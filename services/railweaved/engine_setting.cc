#include "services/railweaved/engine_setting.h"

#include <algorithm>
#include <string>

#include "fabric/routing/engine_registry.h"
#include "services/control/views/routing_cache.h"

namespace railweave {
namespace {

constexpr std::string_view kAuto = "auto";

}  // namespace

Result<void> check_engine(const LiveConfig& live) {
  if (live.routing_engine == kAuto) {
    if (live.routing_lanes == LiveConfig().routing_lanes) return {};
    return fail(ErrorKind::invalid, "config.routingEngine", "auto uses as many lanes as routes need", "routing_lanes",
                "name a routing_engine too, or leave it out");
  }
  if (fabric::find_engine(live.routing_engine) == nullptr) {
    std::string names(kAuto);
    for (const auto* engine : fabric::routing_engines()) names += ", " + std::string(engine->name());
    return fail(ErrorKind::invalid, "config.routingEngine", "there is no engine '" + live.routing_engine + "'",
                "routing_engine", "it is one of " + names);
  }
  if (std::ranges::all_of(live.subnets, [](const SubnetConfig& one) { return one.opensm_socket.empty(); })) return {};
  return fail(
      ErrorKind::invalid, "config.routingEngine",
      "OpenSM's plugin routes by the engine that suits the fabric's shape, so that another one cannot be set here",
      "routing_engine", "leave out routing_engine, or opensm_socket of the subnets");
}

bool is_engine_named(const LiveConfig& live) { return live.routing_engine != kAuto; }

void set_engine(const LiveConfig& live, control::RoutingCache& routes) {
  if (const auto* engine = fabric::find_engine(live.routing_engine)) {
    routes.prefer(engine, static_cast<unsigned>(live.routing_lanes));
  }
}

}  // namespace railweave
