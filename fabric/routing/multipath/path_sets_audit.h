// What path sets do, before anyone programs them: follows every member of every set on the fabric as it is. Knows
// nothing of how they were made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/routing/multipath/path_sets.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

struct PathSetsReport {
  std::uint64_t pairs = 0;             // ordered (switch with live end ports, other switch with end ports)
  std::uint64_t unreachable = 0;       // of these: some choice of members does not bring packets there
  std::uint64_t looping = 0;           // of these: some choice goes round for ever
  std::uint64_t cut_off = 0;           // of these: no live, undrained links join the two
  std::uint64_t bad_fractions = 0;     // sets whose fractions do not sum to 1, or with one that is not positive
  std::uint64_t drained_members = 0;   // members in use that send transit over what is drained
  bool credit_loop = false;            // some choice of members lets packets wait for each other in a circle
  std::vector<PortId> credit_loop_at;  // one such circle: the ports that packets leave by
  unsigned most_members = 0;           // of a set in use
  // If every host port sends the same to every other: pairs of host ports on the fullest directed link, split as the
  // fractions say, and the port it leaves by.
  double max_link_load_hosts = 0;
  PortId max_link_hosts;
  std::vector<std::string> examples;  // pairs that are unreachable though not cut off, the first few

  [[nodiscard]] bool verified() const {
    return unreachable == cut_off && !credit_loop && bad_fractions == 0 && drained_members == 0;
  }
};

// On one lane. O(homes x arcs).
PathSetsReport audit(const FabricView& view, const PathSets& sets);

}  // namespace railweave::fabric
