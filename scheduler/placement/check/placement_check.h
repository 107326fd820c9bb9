// Whether a job may run where a map puts its ranks: every rule that a fresh placement keeps, said rank by rank from the
// topology and the request. Called for each change of a map before it is proposed (repair, moves for guarantees,
// defragmentation, imports). Shares no code with the search, so that a mistake there is found here. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric/topology/locality.h"
#include "fabric/topology/topology.h"
#include "scheduler/job/job_spec.h"

namespace railweave::scheduler {

// Why ranks on these GPUs cannot communicate over the routes there are; none: they can.
using CutOff = std::function<std::optional<std::string>(std::span<const fabric::GpuId> gpu_of_rank)>;

// A map and what it is checked against. Borrows everything.
struct CheckedMap {
  const fabric::Topology& topology;
  const fabric::Locality& locality;
  const JobSpec& spec;
  std::span<const fabric::GpuId> gpu_of_rank;
  std::span<const fabric::GpuId> idle_gpus = {};       // held beside them
  std::span<const fabric::GpuId> before = {};          // of its ranks and idle GPUs, before the change; fresh: none
  std::span<const std::uint64_t> held_by_others = {};  // local GPUs by host, a bit each; empty: none
  std::span<const std::uint64_t> closed = {};          // ... where no rank may move: drained, reserved, maintenance
  std::span<const fabric::GpuId> lost = {};            // where no rank may be
  bool spares_may_be_used_up = false;                  // a repair uses the job's spares where no others are free
  const CutOff* cut_off = nullptr;                     // null: not checked
};

struct PlacementViolation {
  enum class Rule : std::uint8_t {
    ranks,        // not one GPU for each rank, or one twice
    taken,        // a GPU of another job
    lost,         // a GPU that is out of use
    closed,       // moved to a node that takes no jobs, or to GPUs set aside for others
    nodes,        // `nodes`, `excludeNodes`, `nodeSelector`, or moved to a node with a taint that it does not tolerate
    level,        // a required level, or a tensor group outside of one NVLink domain
    slices,       //
    spread,       // more of the job in a group than allowed, or two stages in one
    per_node,     // `gpusPerNode`
    exclusive,    // beside other jobs, or not all of its groups held
    spares,       // fewer than requested
    unreachable,  // no route between ranks that communicate
  };
  Rule rule = Rule::ranks;
  std::string text;  // "rank 3 is on node-7, which has no label gpu=h100"
};

// At most one violation of each rule, in the order of Rule; empty: the job may run there. O(ranks x rules + GPUs).
std::vector<PlacementViolation> check_placement(const CheckedMap& map);

// The texts, joined by "; ".
std::string text(std::span<const PlacementViolation> violations);

}  // namespace railweave::scheduler
