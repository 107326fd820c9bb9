// The operator's rules of the queue, and reservations of GPUs for a period: durable intent, part of ClusterState.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/topology/topology.h"
#include "scheduler/queue/policy/queue_policy.h"
#include "services/control/state/contract.h"
#include "services/control/state/tenant.h"

namespace railweave::control {

// Classes low, normal and high (high evicts jobs of the others), EASY backfill, the tenant with the smallest share
// first.
scheduler::QueuePolicy default_queue_policy();

struct QueueRules {
  scheduler::QueuePolicy policy = default_queue_policy();  // tenants and windows are added by whole_policy()
  std::uint64_t version = 0;  // seq of the event that last changed the rules; 0: the default
};

// GPUs set aside from one time to another, for a tenant or for maintenance.
struct GpuReservation {
  static constexpr std::size_t kMaxReason = 500;

  scheduler::QueueWindow window;  // GPU ids of the topology of its state
  std::string reason;
  std::uint64_t version = 0;
  // Of maintenance: it has begun, and drained these nodes until it is over.
  bool begun = false;
  std::vector<std::string> drained;
};
using ReservationTable = std::map<std::string, GpuReservation, std::less<>>;

constexpr std::string_view to_string(scheduler::QueueWindow::Kind kind) {
  return kind == scheduler::QueueWindow::Kind::reservation ? "reservation" : "maintenance";
}

// The policy that a queue cycle uses at that time: the rules, the tenants' quotas, the limits of tenants and contracts,
// and the windows that are not over.
scheduler::QueuePolicy whole_policy(const QueueRules& rules, const TenantTable& tenants, const ContractTable& contracts,
                                    const ReservationTable& reservations, std::int64_t now_us);

}  // namespace railweave::control
