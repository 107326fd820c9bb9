// Jobs whose traffic shares a fabric: where they run, what they send between which ports, what they were promised.
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

// A pair of ports and how much of what its port sends goes there, in bytes or anything else.
struct PortTraffic {
  fabric::EndPortPair ports;
  double weight = 1;
  double rate_mbps = 0;  // asked for by a traffic file; 0: its part of what the port sends
};

struct FlowJob {
  std::string name, tenant;
  std::string outcome = "placed";  // "placed", "notNow", "never"; "given": by a traffic file
  std::string reason;              // why it is not placed, or not admitted
  std::uint8_t qos_class = 0;
  bool hose = true;
  std::int64_t guaranteed_mbps = 0;  // of each port, each way; 0: nothing is guaranteed
  std::int64_t most_mbps = 0;        // what the source is capped at; 0: the cable's rate
  bool admitted = false;
  bool survives_link_failure = false;
  std::size_t gpus = 0, nodes = 0;
  std::vector<fabric::PortId> ports;  // of its GPUs
  std::vector<PortTraffic> traffic;
  std::size_t inside = 0;        // pairs of ranks that meet inside a host or an NVLink domain: not on the network
  std::size_t unreachable = 0;   // pairs of ranks without a way
  bool assumed_traffic = false;  // the job names neither model nor traffic
};

// What the file says of a job, read.
struct JobRequestEntry {
  scheduler::JobSpec spec;
  FlowJob job;  // name, class, rates
  bool class_given = false;
};
// A list of bodies of POST /v1/jobs, or {"jobs": [...]}; each with "bandwidth": {"model", "guaranteedGbpsPerPort",
// "maxGbpsPerPort", "qosClass", "surviveLinkFailure"}. Throws CommandFailure.
std::vector<JobRequestEntry> read_job_requests(const std::string& path, const fabric::QosClasses& classes);

// The class that nobody asked for anything in: of last priority.
std::uint8_t last_class(const fabric::QosClasses& classes);
std::uint8_t class_named(const fabric::QosClasses& classes, const std::string& name, const std::string& where);

// Places the jobs one after the other on what those before left free.
std::vector<FlowJob> place_jobs(const std::vector<JobRequestEntry>& requests, const fabric::FabricView& view,
                                const fabric::PathWalker& walker);

// Reserves for those that ask for a guarantee, in order; one that does not fit goes on as best effort and says why.
void admit_jobs(std::vector<FlowJob>& jobs, const fabric::QosClasses& classes, fabric::HoseLoads& loads,
                const fabric::SurvivingLoadOf& surviving);

// Adds the flows of a file to the jobs they name, in place of what those would send themselves; those that name none
// are jobs of their own, one per class. JSON: [{"from", "to", "class", "rateGbps", "job"}] or {"flows": [...]}; CSV
// with these as its heading. from, to: a host (its first cabled port) or a port. Throws CommandFailure.
void add_traffic_file(const std::string& path, const fabric::Topology& topology, const fabric::QosClasses& classes,
                      std::vector<FlowJob>& jobs);

}  // namespace railweave::cli
