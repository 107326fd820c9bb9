// A search for the traffic that hurts a guaranteed job most. The ports of every job send along a matching, each at its
// maximum rate, and the ports of no job flood; matchings are the extreme points of the traffic that hoses allow. From a
// random start, targets are exchanged while the victim receives less or its links get fuller. The result is an example,
// not a proof that no traffic is worse. The same seed always finds the same.
#pragma once

#include <cstdint>
#include <vector>

#include "services/railweave/lab/flows/flow_rates.h"

namespace railweave::cli {

struct Adversary {
  std::uint64_t seed = 1;
  std::uint64_t rounds = 200;  // matrices to try
};

struct WorstTraffic {
  FlowSet flows;
  SolvedFlows solved;
  std::uint32_t victim = 0;  // a job; jobs.size(): no job has ports to send between
  double victim_share = 1;   // of its guarantee, or else of its offered rate
  double fullest = 0;        // largest share used of what the class may have, on the victim's links
  std::uint64_t matrices = 0;
};

// Adds a best-effort job that has all ports of no other job.
void add_flooding_ports(std::vector<FlowJob>& jobs, const fabric::Topology& topology,
                        const fabric::QosClasses& classes);

WorstTraffic search_worst(const std::vector<FlowJob>& jobs, const fabric::FabricView& view, const FlowSolver& solver,
                          const Adversary& adversary);

}  // namespace railweave::cli
