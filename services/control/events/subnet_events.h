// What operators say of a subnet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/topology/path_spread.h"
#include "services/control/state/route_basis.h"
#include "services/control/state/subnet_mode.h"

namespace railweave::control {

struct ClusterState;

struct SubnetModeSet {
  std::string subnet;
  SubnetMode mode = SubnetMode::observe;
  std::string reason;
};
// Its ports get other management keys, derived from the same secret.
struct SubnetKeyRotated {
  std::string subnet;
  std::uint64_t generation = 0;
  std::string reason;
};
struct SubnetSpreadSet {
  std::string subnet;
  fabric::PathSpread spread = fabric::PathSpread::single;
  std::string reason;
};
// What a link did is forgotten, so that it is used again. Who holds it is the live subnet's controller, which is told.
struct LinkReleased {
  std::string subnet;
  std::string link;  // Topology::link_text()
  std::string reason;
};

// The subnet's routes are spread again over what is left without these, with next hops that suit running jobs; none: as cabled. Or
// another engine computes them.
struct RoutesRebalanced {
  std::string subnet;
  std::vector<std::string> links;                 // Topology::link_text()
  std::vector<std::string> switches;              // their names
  std::uint64_t fullest = 0, fullest_before = 0;  // link, in pairs of host ports
  std::vector<RouteHop> hops = {};                // all that are to be in force
  // Where hops were chosen: for how many jobs, and the share of its rate that they ask of the fullest link, in permille.
  std::uint64_t jobs = 0, asked_permille = 0, asked_permille_before = 0;
  TakenEngine taken = {};       // that is to be in force
  std::string engine_before{};  // where another engine is taken: whose routes are replaced; "": the engine stays
  std::string engine_reason{};  // why an engine that was taken is given up
};

struct Event;
void apply_change(ClusterState& state, const RoutesRebalanced& body, const Event& event);
void apply_change(ClusterState& state, const SubnetModeSet& body, const Event& event);
void apply_change(ClusterState& state, const SubnetKeyRotated& body, const Event& event);
void apply_change(ClusterState& state, const SubnetSpreadSet& body, const Event& event);

}  // namespace railweave::control
