// Costs of links: a link with a cost carries routes to fewer destinations, which frees capacity for guarantees. Part of
// ClusterState. Durable and by the links' names, so that costs outlive the topology; in force until they are removed.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace railweave::control {

struct LinkCosts {
  static constexpr double kMaxCost = 64;
  std::map<std::string, double> by_link;  // Topology::link_text() -> FabricView::cost(), above 1
  std::string reason, actor;
  std::int64_t since_us = 0;
  std::uint64_t version = 0;  // seq of the event that last set them; 0: never set
};

}  // namespace railweave::control
