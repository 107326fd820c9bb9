// The load of a job on the links of some numbering per training step: bundles (fabric_bundles.h) or directed links
// (fabric/flow/directed_link.h).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "scheduler/collective/comm_group.h"

namespace railweave::scheduler {

struct LinkBytes {
  std::uint32_t link = 0;
  double bytes = 0;         // divided by the share of nominal rates that their carriers reach
  std::uint32_t flows = 1;  // that share the link with those of other jobs
};

struct GroupLoad {
  std::vector<std::vector<LinkBytes>> phases;  // one after the other; the entries of one at once
  double floor_us = 0;                         // what the transfers take on links of its own that are not listed
  double path_us = 0;                          // switches and cables of the longest path, per call
  double far_us = 0;                           // what the calls of a step wait for long-haul links
  std::uint32_t domains = 0;                   // as GroupCost
};

struct LinkTraffic {
  std::array<GroupLoad, kCommGroups> groups;
};

}  // namespace railweave::scheduler
