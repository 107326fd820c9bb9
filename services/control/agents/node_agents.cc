#include "services/control/agents/node_agents.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace railweave::control {
namespace {

std::string mbps_text(std::int64_t mbps) { return fmt::format("{} Mb/s", mbps); }

}  // namespace

std::vector<std::string> differences(const fabric::Topology& topology, std::span<const PortBudget> budgets,
                                     const BudgetReport& report) {
  std::vector<std::string> lines;
  const auto add = [&](std::string line) {
    if (lines.size() < NodeAgents::kMaxDiffers) lines.push_back(std::move(line));
  };
  std::map<std::pair<std::string, std::string>, const BudgetReading*> read;
  for (const BudgetReading& one : report.readings) {
    if (!read.emplace(std::pair(one.job, one.port), &one).second) add(one.job + " at " + one.port + " is read twice");
  }
  for (const PortBudget& budget : budgets) {
    const std::string port = topology.port_text(budget.port), job = to_string(budget.job->id);
    const auto at = read.find({job, port});
    const std::string what = job + " at " + port;
    if (at == read.end()) {
      add(what + " is not limited");
      continue;
    }
    const BudgetReading& reading = *at->second;
    if (reading.send_mbps > budget.send_mbps) {
      add(what + " may send " + mbps_text(reading.send_mbps) + " in its class, of " + mbps_text(budget.send_mbps));
    }
    if (reading.receive_mbps > budget.receive_mbps) {
      add(what + " may receive " + mbps_text(reading.receive_mbps) + " in its class, of " +
          mbps_text(budget.receive_mbps));
    }
    if (budget.job->guarantee->promise == fabric::TrafficPromise::pattern) {
      for (const auto& [peer, mbps] : reading.flows) {
        const auto flow = std::ranges::find_if(
            budget.flows, [&](const FlowBudget& one) { return topology.port_text(one.peer) == peer; });
        const std::int64_t most = flow == budget.flows.end() ? 0 : flow->send_mbps;
        if (mbps > most) add(what + " may send " + mbps_text(mbps) + " to " + peer + ", of " + mbps_text(most));
      }
    }
    read.erase(at);
  }
  for (const auto& [key, reading] : read) {
    if (reading->send_mbps > 0 || reading->receive_mbps > 0) add(key.first + " has no budget at " + key.second);
  }
  return lines;
}

Result<NodeAgents::Kept> NodeAgents::report(const ClusterState& state, fabric::HostId host, const BudgetReport& report,
                                            std::span<const PortBudget> budgets, std::int64_t at_ms) {
  const std::string node(state.topology().name(host));
  if (report.term != state.leader.term) {
    return fail(ErrorKind::conflict, "agents.oldTerm",
                fmt::format("the report is of term {}, and the term is {}", report.term, state.leader.term), {},
                "read the budgets again and apply them");
  }
  const std::uint64_t version = versions.version_of(host);
  if (report.version != version) {
    return fail(ErrorKind::conflict, "agents.oldVersion",
                fmt::format("the report is of version {} of the budgets of {}, which are at version {}", report.version,
                            node, version),
                {}, "read the budgets again and apply them");
  }
  Kept kept{report.term, report.version, at_ms, differences(state.topology(), budgets, report),
            report.ignored_messages};
  reports_.insert_or_assign(node, kept);
  return kept;
}

std::optional<NodeAgents::Kept> NodeAgents::kept(const fabric::Topology& topology, fabric::HostId host,
                                                 std::int64_t at_ms) const {
  const auto at = reports_.find(topology.name(host));
  if (at == reports_.end() || at_ms - at->second.at_ms > kExpires_ms) return std::nullopt;
  return at->second;
}

bool NodeAgents::enforces(const ClusterState& state, fabric::HostId host, std::int64_t at_ms) const {
  const auto last = kept(state.topology(), host, at_ms);
  return last && last->term == state.leader.term && last->version == versions.version_of(host) && last->differs.empty();
}

}  // namespace railweave::control
