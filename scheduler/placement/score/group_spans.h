// How far the groups of a placed job reach: what an answer says of tensor, context, expert, data and pipeline groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/collective/placement_cost.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::scheduler {

struct GroupSpan {
  CommGroup group = CommGroup::tensor;
  std::uint64_t count = 0;    // groups of the kind
  std::uint64_t members = 0;  // ranks of each
  // The nearest level one group of which holds each of them, the farthest counting; nvlink_domain where every one is
  // inside a domain, whatever levels the fabric has.
  fabric::LevelKind worst = fabric::LevelKind::node;
  std::uint32_t domains = 0;  // NVLink domains of the one that spans most
};

// Groups of more than one member: those whose ranks differ in tp, cp, ep, dp or pp alone. O(ranks x kinds).
std::vector<GroupSpan> group_spans(const PlacementFabric& fabric, const Parallelism& parallelism,
                                   std::span<const fabric::GpuId> gpu_of_rank);

}  // namespace railweave::scheduler
