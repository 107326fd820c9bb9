// A search for the traffic that hurts a guaranteed job most: every job's ports send along some matching, each at what
// its port may send, ports of nobody flood; matchings are the extreme points of what hoses allow. From a random start,
// targets are exchanged while the victim gets less by it, or its links get fuller. What it finds is an example, never a
// proof that there is nothing worse. The same seed finds the same, always.
#pragma once

#include <cstdint>
#include <vector>

#include "services/railweave/lab/flows/flow_rates.h"

namespace railweave::cli {

struct Adversary {
  std::uint64_t seed = 1;
  std::uint64_t rounds = 200;  // matrices tried
};

struct WorstTraffic {
  FlowSet flows;
  SolvedFlows solved;
  std::uint32_t victim = 0;  // a job; jobs.size(): none has a guarantee or ports
  double victim_share = 1;   // of what it was promised, or offers
  double fullest = 0;        // of what its class may have, on the victim's links
  std::uint64_t matrices = 0;
};

// Adds a job of best effort for the ports that no job has.
void add_flooding_ports(std::vector<FlowJob>& jobs, const fabric::Topology& topology,
                        const fabric::QosClasses& classes);

WorstTraffic search_worst(const std::vector<FlowJob>& jobs, const fabric::FabricView& view, const FlowSolver& solver,
                          const Adversary& adversary);

}  // namespace railweave::cli
