// Jobs whose traffic shares a fabric: their ports, the traffic between them, and their guarantees.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fabric/flow/flow_paths.h"
#include "fabric/qos/qos_class.h"
#include "scheduler/admission/bandwidth_admission.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement_fabric.h"

namespace railweave::cli {

// The traffic from one port to another. Weights divide what the sending port sends, in any unit.
struct PortTraffic {
  fabric::EndPortPair ports;
  double weight = 1;
  double rate_mbps = 0;  // requested by a traffic file; 0: its share of what the port sends
};

struct FlowJob {
  std::string name, tenant;
  std::string outcome = "placed";  // "placed", "notNow", "never"; "given" by a traffic file
  std::string reason;              // why the job is not placed or not admitted
  std::uint8_t qos_class = 0;
  bool hose = true;
  std::int64_t guaranteed_mbps = 0;  // per port and direction; 0: no guarantee
  std::int64_t most_mbps = 0;        // rate limit at the source; 0: the cable's rate
  bool admitted = false;
  bool survives_link_failure = false;
  std::size_t gpus = 0, nodes = 0;
  std::vector<fabric::PortId> ports;  // of its GPUs
  std::vector<PortTraffic> traffic;
  std::size_t inside = 0;        // pairs of ranks that communicate inside a host or an NVLink domain, off the network
  std::size_t unreachable = 0;   // pairs of ranks without a route
  bool assumed_traffic = false;  // the job gives neither model nor traffic
};

// A job as the file describes it.
struct JobRequestEntry {
  scheduler::JobSpec spec;
  FlowJob job;  // name, class, rates
  bool class_given = false;
};
// A list of bodies of POST /v1/jobs, or {"jobs": [...]}; each with "bandwidth": {"model", "guaranteedGbpsPerPort",
// "maxGbpsPerPort", "qosClass", "surviveLinkFailure"}. Throws CommandFailure.
std::vector<JobRequestEntry> read_job_requests(const std::string& path, const fabric::QosClasses& classes);

// The class of last priority, for traffic without a guarantee.
std::uint8_t last_class(const fabric::QosClasses& classes);
std::uint8_t class_named(const fabric::QosClasses& classes, const std::string& name, const std::string& where);

// Places the jobs one after the other, each on the GPUs that are still free.
std::vector<FlowJob> place_jobs(const std::vector<JobRequestEntry>& requests, const fabric::FabricView& view,
                                const fabric::PathWalker& walker);

// Reserves bandwidth for the jobs that request a guarantee, in order. A job that is refused sends as best effort, and its
// `reason` says why.
void admit_jobs(std::vector<FlowJob>& jobs, const fabric::QosClasses& classes, fabric::HoseLoads& loads,
                const fabric::SurvivingLoadOf& surviving);

// Adds the flows of a file: those that name a job replace its own traffic, the others form one job per class. JSON:
// [{"from", "to", "class", "rateGbps", "job"}] or {"flows": [...]}; CSV with these as its heading. from, to: a host (its
// first cabled port) or a port. Throws CommandFailure.
void add_traffic_file(const std::string& path, const fabric::Topology& topology, const fabric::QosClasses& classes,
                      std::vector<FlowJob>& jobs);

}  // namespace railweave::cli
