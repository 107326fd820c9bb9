// Over how many paths a subnet's packets between two end ports go. What a guarantee needs of each link follows from it.
// Railweave is told; it programs no adaptive routing.
#pragma once

#include <cstdint>

#include "fabric/base/enum_text.h"

namespace railweave::fabric {

enum class PathSpread : std::uint8_t {
  single,    // one path, that of the forwarding tables
  lmc,       // senders use all 2^LMC LIDs of an end port evenly, each with a path of its own in the tables
  adaptive,  // switches use all next hops on shortest paths, in proportion to the rates of their links
};
BOOST_DESCRIBE_ENUM(PathSpread, single, lmc, adaptive)

}  // namespace railweave::fabric
