// Which GPUs of each host are taken: the part of the state that placement reads and changes.
#pragma once

#include <cstdint>
#include <span>

#include "fabric/base/chunked_vector.h"
#include "fabric/topology/topology.h"

namespace railweave::scheduler {

struct HostAllocation {
  std::uint64_t used = 0;      // bit i: local GPU i belongs to a job
  bool unavailable = false;    // drained, missing a link or cut off: running jobs stay, no new ones come
  bool short_of_link = false;  // and it is for a link that is down or a GPU without any cable
  bool cut_off = false;        // and it is because no links in use join what its own cables lead to with the rest
  std::uint64_t closed = 0;    // bit i: local GPU i is drained: a job that has it stays, no new one gets it
  friend bool operator==(const HostAllocation&, const HostAllocation&) = default;
};

using Allocations = ChunkedVector<HostAllocation>;  // indexed by HostId

inline Allocations no_allocations(const fabric::Topology& topology) { return Allocations(topology.hosts().size()); }

// Marks a job's GPUs as taken. False, and nothing changed, when one of them is taken already, named twice or not in the
// fabric; an unavailable host is no obstacle (what was placed before the drain is replayed after it). O(GPUs).
[[nodiscard]] bool take(Allocations& allocations, const fabric::Topology& topology,
                        std::span<const fabric::GpuId> gpus);
// Releases them. False, and nothing changed, when one of them is not taken, named twice or not in the fabric.
[[nodiscard]] bool release(Allocations& allocations, const fabric::Topology& topology,
                           std::span<const fabric::GpuId> gpus);

}  // namespace railweave::scheduler
