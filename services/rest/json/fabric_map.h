// The fabric as a map: devices in groups, the cables between two groups as one bundle. The level of detail follows from
// the number of devices, so that an answer stays small on any fabric: every device where there are few, else every
// switch with the nodes of a rack as one group, else regions (pods, leaf groups, sites), which can be opened one by one.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>

#include "fabric/base/error.h"
#include "fabric/topology/port_counts.h"
#include "services/control/state/cluster_state.h"

namespace railweave::api {

// Groups that are shown one by one, at most.
inline constexpr std::size_t kMapGroups = 400;

// What is known of a link's counters; none where they are not read.
struct MapCounters {
  std::optional<double> use;  // of the fuller direction, a share of its rate
  std::optional<std::array<float, fabric::kErrorCounters>> errors_per_hour;  // of both ends together
};
using LinkCounters = std::function<MapCounters(fabric::LinkId)>;

// `within`: a region, as groups name it; empty: all of the fabric. Error: fabric.noRegion. O(devices + links + GPUs).
Result<std::string> write_fabric_map(const control::ClusterState& state, const std::string& within,
                                     const LinkCounters& counters);

}  // namespace railweave::api
