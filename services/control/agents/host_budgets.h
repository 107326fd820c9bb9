// What each port of a host may send and receive inside the classes, job by job: the guarantee and never the maximum, and for a
// pattern what each of its flows may. Agents on the nodes divide it among the ports that talk at present
// (fabric/qos/guarantee_partition.h). Pure functions of the guarantees that hold.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/control/views/guarantee_book.h"

namespace railweave::control {

struct FlowBudget {  // of a pattern, between a port of the host and one elsewhere
  fabric::PortId peer;
  std::int64_t send_mbps = 0, receive_mbps = 0;
};

struct PortBudget {
  fabric::PortId port;
  JobPtr job;
  // Both 0 where the guarantee is at risk: nothing is reserved, so all that it sends is best effort.
  std::int64_t send_mbps = 0, receive_mbps = 0;
  std::vector<FlowBudget> flows;  // of a pattern, by peer; a hose may use its budget towards any port of its job
};

// Of jobs with a guarantee, by job and port. The book is at the state; jobs: of the host, ascending (BudgetVersions).
std::vector<PortBudget> host_budgets(const ClusterState& state, const GuaranteeBook& book, fabric::HostId host,
                                     std::span<const JobId> jobs);

}  // namespace railweave::control
