// What agents on the nodes have reported of the budgets of their hosts: readings, so they are kept in memory only and expire. A
// report is of a term and a version; one of another term, or of an older version than the host's, is refused. Thread-safe where
// the mutex is held.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "services/control/agents/budget_versions.h"
#include "services/control/agents/host_budgets.h"

namespace railweave::control {

// What the node's own queues let pass in the class, read back after they were set.
struct BudgetReading {
  std::string job;   // "job-000001"
  std::string port;  // "<guid>/<port>"
  std::int64_t send_mbps = 0, receive_mbps = 0;
  std::map<std::string, std::int64_t> flows;  // of a pattern: Mb/s sent, by the other port
};

struct BudgetReport {
  std::uint64_t term = 0, version = 0;
  std::vector<BudgetReading> readings;
  std::uint64_t ignored_messages = 0;  // forged or repeated ones, since the agent began
};

// Where what was read back is not inside the budgets, at most kMaxDiffers lines; none: it is.
std::vector<std::string> differences(const fabric::Topology& topology, std::span<const PortBudget> budgets,
                                     const BudgetReport& report);

class NodeAgents {
 public:
  static constexpr std::int64_t kExpires_ms = 15'000;  // a report that is not renewed
  static constexpr std::int64_t kPoll_ms = 5'000;      // how often agents are told to ask and report
  static constexpr std::size_t kMaxDiffers = 20;

  struct Kept {
    std::uint64_t term = 0, version = 0;
    std::int64_t at_ms = 0;
    std::vector<std::string> differs;
    std::uint64_t ignored_messages = 0;
  };

  std::mutex mutex;  // held by the caller for everything below
  BudgetVersions versions;

  // The versions are at the state. Errors, of kind conflict: agents.oldTerm, agents.oldVersion. at_ms: of a steady clock, as
  // everywhere here.
  Result<Kept> report(const ClusterState& state, fabric::HostId host, const BudgetReport& report,
                      std::span<const PortBudget> budgets, std::int64_t at_ms);

  // The last report of a host that has not expired; none: no agent is there.
  [[nodiscard]] std::optional<Kept> kept(const fabric::Topology& topology, fabric::HostId host,
                                         std::int64_t at_ms) const;
  // Its agent has reported the present version, in the present term, and what it read back is inside the budgets.
  [[nodiscard]] bool enforces(const ClusterState& state, fabric::HostId host, std::int64_t at_ms) const;

 private:
  std::map<std::string, Kept, std::less<>> reports_;  // by host
};

}  // namespace railweave::control
