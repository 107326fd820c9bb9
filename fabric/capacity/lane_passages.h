// Links that packets of owners of lanes cross where they have nothing reserved: on routes that switches still have or get
// next, while the ledger is of others, and the replies to the flows of a pattern. A lane is open from there to the links of
// its owner (infiniband_plan.h). Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "fabric/capacity/ledger.h"
#include "fabric/routing/plane/forwarding_tables.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

struct LanePassage {
  DirectedLink link = 0;
  std::uint8_t lane = 0;
  std::string job;
  friend auto operator<=>(const LanePassage&, const LanePassage&) = default;
};
using LanePassages = std::vector<LanePassage>;  // ascending, each once

// By these tables, of packets between any two ports of each reservation with a lane, to every LID that they have. Where
// packets are spread by other rules than tables, loads say more than tables. O(ports x switches that their packets pass).
LanePassages lane_passages(const Ledger& ledger, const FabricView& view, const ForwardingTables& tables);

// Those of both.
LanePassages join(const LanePassages& a, const LanePassages& b);

// Of each job, another one that gets onto links where it has its lane, by passages of that lane. In order of jobs.
std::vector<std::pair<std::string, std::string>> jobs_met(const Ledger& ledger, const LanePassages& passages);

}  // namespace railweave::fabric
