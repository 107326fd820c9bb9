// The fabric as a map: devices in groups, the cables between two groups as one bundle. The level of detail follows from
// the number of devices, so that an answer stays small on any fabric: every device where there are few, else every
// switch with the nodes of a rack as one group, else regions (pods, leaf groups, sites), which can be opened one by one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "fabric/base/error.h"
#include "fabric/topology/port_counts.h"
#include "services/control/state/job_table.h"

namespace railweave::control {
struct ClusterState;
}

namespace railweave::api {

// Groups that are shown one by one, at most.
inline constexpr std::size_t kMapGroups = 400;

// What is known of a link beyond its state in the control loop: its counters, none where they are not read, and what live
// subnets see.
struct MapCounters {
  std::optional<double> use;  // of the fuller direction, a share of its rate
  std::optional<std::array<float, fabric::kErrorCounters>> errors_per_hour;  // of both ends together
  bool is_unknown = false;                                                   // nothing sees it now
  bool is_held = false;                                                      // up, and out of use because it flaps
};
using LinkCounters = std::function<MapCounters(fabric::LinkId)>;

// A job whose GPUs and cables are told apart.
struct MapJob {
  control::JobPtr job;
  std::unordered_map<std::uint32_t, double> mbps;  // by the index of a link: what it sends, in the fuller direction
};

// `within`: a region, as groups name it, or that of a device: node:NAME, switch:NAME; empty: all of the fabric. Error: fabric.noRegion. O(devices + links + GPUs).
Result<std::string> write_fabric_map(const control::ClusterState& state, const std::string& within,
                                     const LinkCounters& counters, const MapJob* job = nullptr);

}  // namespace railweave::api
