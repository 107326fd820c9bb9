// Budgets of a host's ports for the agent there, and what it reports of them, as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "services/control/agents/node_agents.h"

namespace railweave::api {

// The budgets of one host, of the state that the book is at.
struct HostBudgets {
  fabric::HostId host;
  std::uint64_t version = 0;
  std::span<const control::PortBudget> ports;
  std::string_view exchange_secret = {};  // keys follow from it; "": the caller is shown none
};
std::string write_host_budgets(const control::ClusterState& state, const control::GuaranteeBook& book,
                               const HostBudgets& budgets);

// Errors of kind invalid, by JSON pointer.
Result<control::BudgetReport> read_budget_report(std::string_view body);

// Where a host's report stands; none: nothing was reported that has not expired. version: the host's present one.
std::string write_budget_report(const control::ClusterState& state, fabric::HostId host, std::uint64_t version,
                                const std::optional<control::NodeAgents::Kept>& kept, std::int64_t now_ms);

}  // namespace railweave::api
