// Everything Railweave decides on, as one immutable value per version. Copying is cheap (shared tables); only apply()
// makes new versions; the control loop publishes them as shared_ptr<const ClusterState>.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "fabric/qos/qos_class.h"
#include "fabric/topology/fabric_view.h"
#include "scheduler/placement/fit/allocation.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/queue/policy/fair_share.h"
#include "services/control/state/alarm.h"
#include "services/control/state/contract.h"
#include "services/control/state/drain.h"
#include "services/control/state/idempotency_table.h"
#include "services/control/state/job_table.h"
#include "services/control/state/link_costs.h"
#include "services/control/state/queue_rules.h"
#include "services/control/state/subnet_mode.h"
#include "services/control/state/tenant.h"

namespace railweave::control {

// The accepted topology: durable intent, by digest of its native form.
struct AcceptedTopology {
  fabric::TopologyPtr topology;  // never null; empty before the first import
  std::string digest;            // sha256 of the native JSON; "" before the first import
  std::string source;            // where it came from, for people
  std::uint64_t version = 0;     // seq of the event
};

struct ClusterState {
  // Ended jobs are kept for questions about them; beyond this many the oldest go (job_history in the store keeps all).
  static constexpr std::size_t kMaxEndedJobs = 2'000;

  ClusterState();

  std::uint64_t seq = 0;  // of the last event applied
  std::uint64_t term = 0;
  AcceptedTopology accepted;
  scheduler::PlacementFabricPtr placement_fabric;  // derived from it
  fabric::FabricView view;                         // link states as last reported, drains, costs
  std::uint64_t view_version = 0;                  // seq of the event that last changed it or the topology
  scheduler::Allocations allocations;
  std::shared_ptr<const TenantTable> tenants;
  std::shared_ptr<const ContractTable> contracts;         // by tenant
  std::shared_ptr<const fabric::QosClasses> qos_classes;  // of the whole cluster
  std::uint64_t qos_version = 0;                          // seq of the event that last set them; 0: the defaults
  std::shared_ptr<const std::set<JobId>> guaranteed;      // placed jobs that have a guarantee
  JobTable jobs;
  IdempotencyTable idempotency;
  std::shared_ptr<const SubnetPolicyTable> subnet_policies;
  std::shared_ptr<const DrainTable> drains;
  std::shared_ptr<const LinkCosts> link_costs;
  std::shared_ptr<const AlarmTable> alarms;
  std::shared_ptr<const std::map<std::string, std::uint64_t>> gpus_held;  // by tenant, of placed jobs
  std::shared_ptr<const std::deque<JobId>> ended;                         // oldest first
  std::shared_ptr<const QueueRules> queue_rules;
  std::shared_ptr<const ReservationTable> reservations;
  std::shared_ptr<const scheduler::FairShare> used;  // by tenant, of what its jobs gave back
  std::uint64_t queue_version = 0;                   // seq of the event that last changed what the queue decides on
  std::uint64_t next_job = 1;
  std::uint64_t free_gpus = 0;
  std::uint64_t queued_jobs = 0;

  [[nodiscard]] const fabric::Topology& topology() const { return *accepted.topology; }

  // For apply() and for reading a snapshot back:
  void set_topology(fabric::TopologyPtr topology);  // nothing on it is allocated or down; drains stay
  void hold_gpus(const Job& job, bool hold);        // takes or frees its GPUs
  void restore(JobPtr job);                         // as it was, with its GPUs and its key
  void note_guarantee(JobId job, bool has);
  void set_link(fabric::LinkId link, fabric::LinkState state);
  void mark(const DrainTarget& target, bool drained);  // nothing where the topology has no such thing
  void put_costs(LinkCosts costs);                     // instead of those before
  // No new jobs for nodes that are drained, or where an adapter that a GPU uses has no working link.
  void refresh_availability(fabric::HostId host);

  [[nodiscard]] SubnetMode mode(std::string_view subnet) const {
    const auto policy = subnet_policies->find(subnet);
    return policy == subnet_policies->end() ? SubnetMode::observe : policy->second.mode;
  }
};

using ClusterStatePtr = std::shared_ptr<const ClusterState>;

}  // namespace railweave::control
