// Rates of the flows of jobs over the routes of a fabric. Every link is shared among classes by their weights, and within
// a class max-min fairly among flows (fabric/flow/class_shares.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/flow/class_shares.h"
#include "services/railweave/lab/flows/flow_job.h"

namespace railweave::cli {

struct FlowSet {
  std::vector<fabric::EndPortPair> ports;
  std::vector<std::uint32_t> job;
  std::vector<double> offered_mbps;   // rate without contention
  std::vector<double> entitled_mbps;  // part of it that is guaranteed; 0: none

  void add(fabric::EndPortPair pair, std::uint32_t of_job, double offered, double entitled);
  [[nodiscard]] std::size_t size() const { return ports.size(); }
};

// Each port divides its sending and receiving rate among its flows by their weights.
FlowSet flows_of_jobs(const std::vector<FlowJob>& jobs, const fabric::FabricView& view);

struct SolvedFlows {
  fabric::FlowPaths paths;
  fabric::ClassRates rates;
};

class FlowSolver {
 public:
  // Borrows the walker and the jobs' classes.
  FlowSolver(const fabric::FabricView& view, const fabric::PathWalker& walker, const fabric::QosClasses& classes);
  // class_of_job: by job. A flow without a route has rate 0.
  [[nodiscard]] SolvedFlows solve(const FlowSet& flows, const std::vector<std::uint8_t>& class_of_job) const;

  [[nodiscard]] const std::vector<double>& capacity_mbps() const { return capacity_; }
  [[nodiscard]] std::size_t classes() const { return weight_.size(); }
  // The smallest share of a full link that the class receives, of 1.
  [[nodiscard]] double share(std::size_t c) const { return weight_[c] / all_; }

 private:
  const fabric::PathWalker& walker_;
  std::vector<double> capacity_, weight_;
  double all_ = 0;
};

struct JobRates {
  std::size_t flows = 0, unrouted = 0;
  double offered_mbps = 0, got_mbps = 0;                    // sums
  double least_mbps = 0, mean_mbps = 0, most_mbps = 0;      // per sending port
  double worst_share = 1;                                   // of the guarantee, or else of the offered rate
  bool met = true;                                          // every flow received its guarantee
  std::uint32_t held_back_by = fabric::FlowRates::kOwnCap;  // the link that limits the worst flow
};
std::vector<JobRates> rates_of_jobs(const std::vector<FlowJob>& jobs, const FlowSet& flows, const SolvedFlows& solved);

}  // namespace railweave::cli
