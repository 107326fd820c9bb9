// What `railweave lab flows` prints: the rates of jobs and the hottest links.
#pragma once

#include <vector>

#include "services/railweave/lab/flows/flow_rates.h"
#include "services/railweave/lab/flows/link_heat.h"
#include "services/railweave/terminal/output.h"

namespace railweave::cli {

struct FlowReport {
  const fabric::Topology& topology;
  const fabric::QosClasses& classes;
  const std::vector<FlowJob>& jobs;
  std::vector<JobRates> rates;    // by job
  std::vector<LinkHeat> hottest;  // of the links
};

// Whether every admitted job received what it was guaranteed.
bool guarantees_met(const FlowReport& report);

// `document` has engine, engineReason, failedLinks, solveMs, solutions, settled and, for a search, adversarial; "jobs" and
// "links" are added to it. Notes about jobs go to stderr.
void print_flow_report(Output& output, const FlowReport& report, Json document);

}  // namespace railweave::cli
