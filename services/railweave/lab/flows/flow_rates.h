// Who gets what: flows of jobs over the routes of a fabric, every link shared among classes by their weights and in a
// class among flows, max-min fair (fabric/flow/class_shares.h).
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
  std::vector<double> offered_mbps;   // what it sends where it may
  std::vector<double> entitled_mbps;  // of it, what its job was promised; 0: nothing

  void add(fabric::EndPortPair pair, std::uint32_t of_job, double offered, double entitled);
  [[nodiscard]] std::size_t size() const { return ports.size(); }
};

// Each port divides what it may send, and receive, over its flows by their weights.
FlowSet flows_of_jobs(const std::vector<FlowJob>& jobs, const fabric::FabricView& view);

struct SolvedFlows {
  fabric::FlowPaths paths;
  fabric::ClassRates rates;
};

class FlowSolver {
 public:
  // Borrows the walker and the jobs' classes.
  FlowSolver(const fabric::FabricView& view, const fabric::PathWalker& walker, const fabric::QosClasses& classes);
  // class_of_job: by job. A flow without a way gets nothing.
  [[nodiscard]] SolvedFlows solve(const FlowSet& flows, const std::vector<std::uint8_t>& class_of_job) const;

  [[nodiscard]] const std::vector<double>& capacity_mbps() const { return capacity_; }
  [[nodiscard]] std::size_t classes() const { return weight_.size(); }
  // At least what the class gets of a full link, of 1.
  [[nodiscard]] double share(std::size_t c) const { return weight_[c] / all_; }

 private:
  const fabric::PathWalker& walker_;
  std::vector<double> capacity_, weight_;
  double all_ = 0;
};

struct JobRates {
  std::size_t flows = 0, unrouted = 0;
  double offered_mbps = 0, got_mbps = 0;                    // in sum
  double least_mbps = 0, mean_mbps = 0, most_mbps = 0;      // of ports that send
  double worst_share = 1;                                   // of what it was promised, or else of what it offers
  bool met = true;                                          // each flow got what it was promised
  std::uint32_t held_back_by = fabric::FlowRates::kOwnCap;  // the link that holds the worst flow back
};
std::vector<JobRates> rates_of_jobs(const std::vector<FlowJob>& jobs, const FlowSet& flows, const SolvedFlows& solved);

}  // namespace railweave::cli
