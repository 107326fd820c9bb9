// How long a plan of phases takes on a network: for each phase its latencies and the time of its slowest flow at
// max-min fair rates, beside the traffic of others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/flow/max_min.h"
#include "scheduler/collective/path_model.h"
#include "scheduler/collective/phases.h"

namespace railweave::scheduler {

// Flows of others, in the links of the PathModel. cap_mbps: what each asks for; empty: all they can get.
struct BackgroundFlows {
  std::vector<std::uint32_t> first{0}, links, members;
  std::vector<double> cap_mbps;
  // Of the classes that share every link (fabric/flow/class_shares.h); empty: all flows share it as one.
  std::vector<double> class_weight;
  std::vector<std::uint8_t> class_of;  // by flow
  std::uint8_t own_class = 0;          // of the flows beside which these are
};

struct PhaseOptions {
  Protocol protocol = Protocol::simple;
  LatencyConstants latency;
  double efficiency = 1;  // of every capacity that collectives reach
  const BackgroundFlows* background = nullptr;
  bool latency_off = false;  // count bytes only
};

struct PhaseTime {
  double latency_us = 0;                                     // of all repeats
  double transfer_us = 0;                                    // of all repeats
  double rate_mbps = 0;                                      // of the flow that ends last
  std::uint32_t bottleneck = fabric::FlowRates::kUnbounded;  // what holds it back
  std::size_t flows = 0, merged = 0;
};

struct CollectiveTime {
  double total_us = 0, latency_us = 0, transfer_us = 0;
  std::vector<PhaseTime> phases;
};

// gpu_of_rank: by rank of the plan. Errors: impossible, code "collectives.noPath": two ranks between which nothing is
// routed, or a link without capacity. O(flows x hops).
Result<CollectiveTime> collective_time(const PhasePlan& plan, const PathModel& paths,
                                       std::span<const fabric::GpuId> gpu_of_rank, const PhaseOptions& options = {});

}  // namespace railweave::scheduler
