// Which ranks of a placed job send to which others, how much in a step, and over what: as predicted from its parallelism
// and its model or traffic, like its times. A pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fabric/base/enum_text.h"
#include "services/control/state/job_id.h"

namespace railweave::control {

struct ClusterState;
struct Job;

// The farthest that a flow goes: inside an NVLink domain or a host, up to one leaf, further up, between sites.
enum class PairReach : std::uint8_t { nvlink, host, leaf, network, sites };
BOOST_DESCRIBE_ENUM(PairReach, nvlink, host, leaf, network, sites)

struct JobPair {
  static constexpr std::uint32_t kSwitches = UINT32_MAX;  // as `to`: the switches that reduce
  std::uint32_t from = 0, to = 0;                         // positions in JobPairs::ends
  double bytes = 0;                                       // of a step
  std::uint32_t groups = 0;                               // bits by scheduler::CommGroup
  PairReach over = PairReach::nvlink;                     // the farthest, where there are several
};

// What it exchanges with another role of its gang, as long as both are placed.
struct RolePair {
  JobId job;
  std::string role;   // its name
  bool sends = true;  // to it; else it receives from it
  double bytes = 0;   // of a step
  PairReach over = PairReach::nvlink;
  bool counted = true;  // a step of this job has it; else one of the other
};

struct JobPairs {
  static constexpr std::size_t kMaxGpus = 256;      // of a job of more, nodes are the ends
  static constexpr std::size_t kMaxPairs = 20'000;  // those that send most
  static constexpr double kMaxFlows = 2e6;          // beyond, none is listed

  bool by_node = false;
  std::vector<std::string> ends;  // GPUs in the order of ranks ("dgx-001/0"), or nodes in that of their first
  std::vector<JobPair> pairs;     // by from, then to
  std::vector<RolePair> roles;    // in the order of the job's peers
  bool is_incomplete = false;     // some pairs are left out
  bool is_assumed = false;        // the job names neither model nor traffic
};

JobPairs job_pairs(const ClusterState& state, const Job& job);

}  // namespace railweave::control
