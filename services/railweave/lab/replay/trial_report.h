// What trials of routes and classes on several streams of jobs found, as text or a document.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "services/railweave/lab/replay/route_trial.h"
#include "services/railweave/terminal/output.h"

namespace railweave::cli {

struct TrialSettings {
  std::string policy, communication;
  std::uint64_t seeds = 0, jobs = 0;
  double load = 0;
  unsigned priority_classes = 0;  // where they were tried
};

struct RouteTrials {
  RouteTrial::Report all;
  std::vector<double> by_followed;         // of host routes, the same by flows on those that follow the jobs
  std::vector<double> by_reversed;         // of classes, the same by flows with the classes the other way round
  std::vector<double> by_model, by_flows;  // by seed: work done with what is tried over that without, less 1
};

void print_routes(Output& output, const TrialSettings& settings, const RouteTrials& trials);
void print_host_routes(Output& output, const TrialSettings& settings, const RouteTrials& trials);
void print_classes(Output& output, const TrialSettings& settings, const RouteTrials& trials);

}  // namespace railweave::cli
