// What live subnets see of links now, beyond the states that the control loop has: those that are held out of use although
// they are up, and those that nothing is known of. For one answer; not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "services/control/live/status/live_fabric.h"

namespace railweave::control {
struct ClusterState;
}

namespace railweave::api {

class LinkSightings {
 public:
  // Both outlive it. Where no subnet is live, states are those reported or imported.
  LinkSightings(const control::LiveFabric& live, const control::ClusterState& state);

  // When it was last seen, unix, 0: never since the service started. None: it is seen, or of no live subnet.
  [[nodiscard]] std::optional<std::int64_t> unseen_since(fabric::LinkId link) const;
  [[nodiscard]] const control::FlappingCable* flapping(fabric::LinkId link) const;  // null: it does not
  // "up", "degraded", "down", "held" or "unknown".
  [[nodiscard]] std::string_view state_text(fabric::LinkId link) const;

 private:
  struct Subnet {
    control::SubnetStatusPtr status;  // null: it is not live
    const control::LinkSights* sights = nullptr;
  };
  const control::ClusterState& state_;
  std::vector<Subnet> subnets_;  // by SubnetId
  std::map<fabric::LinkId, const control::FlappingCable*> flapping_;
};

}  // namespace railweave::api
