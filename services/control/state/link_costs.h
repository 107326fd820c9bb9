// What links are to carry less of their share of destinations by, so that guarantees hold on the routes that come of
// it. Durable and by the links' names, so that they outlive the topology; in force until they are taken back.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace railweave::control {

struct LinkCosts {
  static constexpr double kMost = 64;
  std::map<std::string, double> by_link;  // Topology::link_text() -> FabricView::cost(), above 1
  std::string reason, actor;
  std::int64_t since_us = 0;
  std::uint64_t version = 0;  // seq of the event; 0: there never were any
};

}  // namespace railweave::control
