// Which of the links that flap may be held out of use: none that anything needs. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric::health {

enum class WhyUsed : std::uint8_t {
  last_path,  // without it switches or end ports that are joined would not be
  share,      // enough links of a switch at its ends, or paths between two leaves, are held
  routes,     // the fabric without it has no routes that may be written
};
BOOST_DESCRIBE_ENUM(WhyUsed, last_path, share, routes)

struct HeldLinks {
  std::vector<LinkId> held;  // as in `flapping`
  struct Used {
    LinkId link;
    WhyUsed why = WhyUsed::last_path;
  };
  std::vector<Used> used;  // links that flap and stay in use all the same
};

// flapping: the most wanted to be held first. in_use: by LinkId, up and not drained, nor at a drained switch; links that
// are not in use are neither held nor used. Without the held ones
// - all that is joined stays joined: switches with each other, and every end port with its switch;
// - every switch has at least (100 - share_percent) percent of its links to other switches that are in use, and every two
//   leaves as much of the paths between them over one switch that is no leaf.
// O(links + flapping x the ports of two switches).
HeldLinks choose_held(const Topology& topology, std::span<const LinkId> flapping, const std::vector<bool>& in_use,
                      unsigned share_percent);

}  // namespace railweave::fabric::health
