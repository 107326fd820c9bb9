// Whether isolation inside a class is in force for a job: agents have reported that they limit both sides of it on all of its hosts,
// and of all other jobs that share a link with it in its class, as any of those could take what it is promised. Where switches do not
// drop the class from hosts without a job in it, those hosts could as well: it is in force while the agents of all hosts of its
// subnets report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "services/control/agents/node_agents.h"

namespace railweave::control {

struct ClassGrade {
  bool in_force = false;
  std::size_t hosts = 0;           // of the job
  std::size_t neighbours = 0;      // other jobs on its links in its class
  std::size_t lacking = 0;         // hosts without a present report: its own, the neighbours' and strangers
  std::size_t strangers = 0;       // of these: hosts that no one of these jobs has, and that may send in its class
  std::vector<std::string> lacks;  // of them at most kMaxLacks, its own first
  std::string neighbour;           // whose host is the first that lacks; "": the job's own
  static constexpr std::size_t kMaxLacks = 20;
};

class ClassGrades {
 public:
  // Borrows all. The book is at the state and the agents' versions are at it or later; their mutex is held while this lives.
  ClassGrades(const ClusterState& state, const GuaranteeBook& book, const NodeAgents& agents, std::int64_t at_ms)
      : state_(state), book_(book), agents_(agents), at_ms_(at_ms) {}

  // is_filtered: switches drop its class from hosts without a job in it.
  [[nodiscard]] ClassGrade of(const Job& job, bool is_filtered);

 private:
  void index_links();
  // Hosts with a cable into the subnet and without a present report.
  const std::vector<fabric::HostId>& unreported(fabric::SubnetId subnet);

  const ClusterState& state_;
  const GuaranteeBook& book_;
  const NodeAgents& agents_;
  std::int64_t at_ms_;
  bool is_indexed_ = false;
  using LinkInClass = std::pair<fabric::DirectedLink, std::uint8_t>;
  std::map<LinkInClass, std::vector<JobId>> jobs_on_;  // that have no lane of their own
  std::map<fabric::SubnetId, std::vector<fabric::HostId>> unreported_;
};

}  // namespace railweave::control
