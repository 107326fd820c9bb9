// What packets do in the simulated switches as they are: from the tables that they hold, the cables that are joined and
// the ports that are active. Knows nothing of routing.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/simulated_subnet.h"

namespace railweave::simulation {

struct Walked {
  using Pair = std::pair<int, int>;  // adapters, from and to
  std::set<Pair> delivered;
  std::string loop;                                       // "" or a packet that never ends
  std::string silent_loop;                                // the same, through a switch that did not answer
  std::string credits;                                    // "" or links that wait for each other
  std::map<const SimulatedSubnet::Cable*, Pair> carried;  // by cable between switches: some pair across it
  std::map<int, Pair> through;                            // by switch: some pair of adapters elsewhere through it
};

// By LIDs as the adapters have them.
Walked walk_tables(SimulatedSubnet& network);

// Pairs of adapters that cables join, without those left out.
std::set<Walked::Pair> joined_pairs(SimulatedSubnet& network, const std::set<const SimulatedSubnet::Cable*>& without);

}  // namespace railweave::simulation
