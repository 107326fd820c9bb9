#include "services/control/live/routes/fresh_balance.h"

#include <chrono>
#include <utility>

#include "fabric/base/check.h"
#include "services/control/live/routes/route_audit.h"

namespace railweave::control {

void FreshBalance::start(FabricRoutesPtr base, fabric::RoutingInput input, fabric::Routing now,
                         std::vector<fabric::PlaneId> planes, std::uint64_t view_version) {
  RAILWEAVE_CHECK(!is_running(), "one computation at a time");
  running_ = std::async(policy_,
                        [base = std::move(base), input = std::move(input), now = std::move(now),
                         planes = std::move(planes), view_version]() -> std::optional<BalancedRoutes> {
                          auto routing = base->choice.engine->reroute(now, input);
                          if (!routing) return std::nullopt;
                          const fabric::AuditOptions loads_only{.shift_samples = 0, .max_examples = 1, .run = {}};
                          const auto before = audit_of(input.view, now, planes, loads_only);
                          const auto after = audit_of(input.view, *routing, planes, loads_only);
                          return BalancedRoutes{
                              .routes = std::make_shared<const FabricRoutes>(input, base->choice, std::move(*routing)),
                              .view_version = view_version,
                              .fullest = after.max_link_load_hosts,
                              .fullest_before = before.max_link_load_hosts,
                              .is_verified = after.verified()};
                        });
}

std::optional<BalancedRoutes> FreshBalance::take() {
  if (!is_running() || running_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout) return std::nullopt;
  return running_.get();
}

}  // namespace railweave::control
