// What was out of use when a subnet's routes were last spread again over the links that were left, the next hops that were chosen
// for running jobs, and the engine that was found better than the one that suits its shape. Part of ClusterState: durable and by
// name, so that a restart computes the same routes; a subnet without one has the routes of its cabling.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace railweave::control {

// The port by which a switch sends to an end port.
struct RouteHop {
  std::string sw;          // its name
  std::string to;          // Topology::port_text()
  std::uint64_t port = 0;  // of the switch
  friend bool operator==(const RouteHop&, const RouteHop&) = default;
};

// The engine that routes a subnet instead of the one that suits its shape, because a comparison found it better.
struct TakenEngine {
  std::string engine;       // "": none
  std::uint64_t lanes = 0;  // that it uses at most
  std::int64_t since_us =
      0;  // when it was taken, or where there is none the one before was given up; 0: there never was one
  friend bool operator==(const TakenEngine&, const TakenEngine&) = default;
};

struct RouteBasis {
  std::vector<std::string> links;     // Topology::link_text()
  std::vector<std::string> switches;  // their names
  std::vector<RouteHop> hops;
  std::int64_t since_us = 0;
  std::uint64_t version = 0;  // seq of the event that set it
  TakenEngine taken = {};
  [[nodiscard]] bool is_as_cabled() const { return links.empty() && switches.empty() && hops.empty(); }
  [[nodiscard]] bool empty() const { return is_as_cabled() && taken == TakenEngine(); }
};

using RouteBasisTable = std::map<std::string, RouteBasis, std::less<>>;  // by subnet

}  // namespace railweave::control
