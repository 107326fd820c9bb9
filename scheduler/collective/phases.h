// A collective as phases of flows between its ranks: all flows of a phase run at once, and a phase begins when the one
// before it has ended. Phases that repeat, each time with the same flows, are one with a count; that and merging flows
// of one path (fabric/flow/merged_flows.h) is what makes rings of thousands of ranks cheap. Pure shapes, no network.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/base/error.h"
#include "scheduler/collective/collective.h"

namespace railweave::scheduler {

struct RankFlow {
  static constexpr std::uint32_t kNetwork = UINT32_MAX;  // the switch that reduces or multicasts
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double bytes = 0;
};

struct Phase {
  std::vector<RankFlow> flows;
  double repeats = 1;
  double steps = 1;  // latencies that one repeat waits for, one after the other
};

struct PhasePlan {
  std::vector<Phase> phases;
  std::uint32_t ranks = 0;
};

struct CollectiveRequest {
  CollectiveKind kind = CollectiveKind::all_reduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::ring;
  std::uint32_t ranks = 0;
  double bytes = 0;  // as nccl-tests counts size
  // hierarchical: by rank, any numbers. Every domain must have as many members; they pair up in rank order.
  std::span<const std::uint32_t> domain_of_rank = {};
  std::uint32_t servers = 1;       // parameter_server: number of ranks that serve: the first ones
  std::uint32_t switch_depth = 1;  // in_network: switches between a rank and the one that reduces last
};

// Errors, code "collectives.unsupported": an algorithm that does not do that kind, halving_doubling of a number of
// ranks that is no power of two, domains of different size. direct makes n(n-1) flows: at most kMaxDirectRanks.
inline constexpr std::uint32_t kMaxDirectRanks = 2048;
Result<PhasePlan> plan_phases(const CollectiveRequest& request);

}  // namespace railweave::scheduler
