// The operator's rules of the queue, and what is set aside of the fabric for a time: durable intent.
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

// Classes low, normal and high (which evicts jobs of the others), EASY backfill, the smallest share goes first.
scheduler::QueuePolicy default_queue_policy();

struct QueueRules {
  scheduler::QueuePolicy policy = default_queue_policy();  // without tenants and windows: those are elsewhere
  std::uint64_t version = 0;                               // seq of the event that last changed it; 0: the default
};

// GPUs set aside from one time to another, for a tenant or for maintenance.
struct GpuReservation {
  static constexpr std::size_t kMaxReason = 500;

  scheduler::QueueWindow window;  // GPUs of the topology of the state it is in
  std::string reason;
  std::uint64_t version = 0;
};
using ReservationTable = std::map<std::string, GpuReservation, std::less<>>;

constexpr std::string_view to_string(scheduler::QueueWindow::Kind kind) {
  return kind == scheduler::QueueWindow::Kind::reservation ? "reservation" : "maintenance";
}

// The policy a cycle runs under at that time: the rules, the tenants' quotas, their limits by tenant and contract, the
// windows that are not over.
scheduler::QueuePolicy whole_policy(const QueueRules& rules, const TenantTable& tenants, const ContractTable& contracts,
                                    const ReservationTable& reservations, std::int64_t now_us);

}  // namespace railweave::control
