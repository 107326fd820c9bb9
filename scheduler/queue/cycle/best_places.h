// How fast a job is at its best place: on the nodes that are in service, with no job on any of them. Remembers what it
// worked out, so jobs that ask for the same cost one placement. Deterministic. Not thread-safe: it owns a Placer.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "scheduler/placement/placer.h"

namespace railweave::scheduler {

class BestPlaces {
 public:
  static constexpr std::size_t kMaxKnown = 1024;  // beyond it all are forgotten

  explicit BestPlaces(const PlacementFabricPtr& fabric);

  // As Placer::set_capacities() and set_parts().
  void set_capacities(const std::vector<double>& bundle_mbps, const std::vector<double>& up_mbps);
  void set_parts(const std::shared_ptr<const NetworkParts>& parts);
  // Which nodes are in service; who uses them does not count. O(hosts in chunks that differ).
  void sync(const Allocations& allocations);

  // Microseconds of a step (Placer::period_us()); none: it fits nowhere.
  [[nodiscard]] std::optional<double> period_us(const JobSpec& spec);

 private:
  Placer placer_;
  Allocations synced_;
  std::vector<std::pair<JobSpec, std::optional<double>>> known_;
};

}  // namespace railweave::scheduler
