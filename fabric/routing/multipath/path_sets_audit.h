// The audit of path sets: follows every member of every set on the present fabric, before they are programmed.
// Independent of how the sets were made. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/routing/multipath/path_sets.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

struct PathSetsReport {
  std::uint64_t pairs = 0;             // ordered (switch with live end ports, other switch with end ports)
  std::uint64_t unreachable = 0;       // pairs for which some choice of members does not reach the destination
  std::uint64_t looping = 0;           // of the unreachable: some choice of members loops
  std::uint64_t cut_off = 0;           // of the unreachable: no live, undrained links connect the two
  std::uint64_t bad_fractions = 0;     // sets whose fractions do not sum to 1, or are not all positive
  std::uint64_t drained_members = 0;   // members in use that send transit over drained links or switches
  bool credit_loop = false;            // some choice of members lets packets wait for each other in a circle
  std::vector<PortId> credit_loop_at;  // one such circle: the ports that packets leave by
  unsigned most_members = 0;           // in a set that is used
  // If every host port sends the same to every other: the number of pairs of host ports on the fullest directed link,
  // split by the fractions, and the port that leaves by that link.
  double max_link_load_hosts = 0;
  PortId max_link_hosts;
  std::vector<std::string> examples;  // the first few pairs that are unreachable but not cut off

  [[nodiscard]] bool verified() const {
    return unreachable == cut_off && !credit_loop && bad_fractions == 0 && drained_members == 0;
  }
};

// All on one lane. O(homes x arcs).
PathSetsReport audit(const FabricView& view, const PathSets& sets);

}  // namespace railweave::fabric
