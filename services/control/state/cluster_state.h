// Everything that Railweave decides on, as one value per version. Only apply() makes new versions; the control loop
// publishes each as shared_ptr<const ClusterState>, which any thread may read. Copying is cheap: tables are shared and
// a change copies only the table, or the part of a table, that it affects.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "fabric/qos/qos_class.h"
#include "fabric/topology/cut_off.h"
#include "fabric/topology/fabric_view.h"
#include "scheduler/placement/fit/allocation.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/queue/policy/fair_share.h"
#include "services/control/state/access_token.h"
#include "services/control/state/alarm.h"
#include "services/control/state/cluster_state_ptr.h"
#include "services/control/state/contract.h"
#include "services/control/state/drain.h"
#include "services/control/state/host_keys.h"
#include "services/control/state/idempotency_table.h"
#include "services/control/state/job_table.h"
#include "services/control/state/leader.h"
#include "services/control/state/link_costs.h"
#include "services/control/state/port_limits.h"
#include "services/control/state/queue_rules.h"
#include "services/control/state/route_basis.h"
#include "services/control/state/step_times.h"
#include "services/control/state/subnet_mode.h"
#include "services/control/state/subnet_spread.h"
#include "services/control/state/subnet_tables.h"
#include "services/control/state/tenant.h"
#include "services/control/state/webhook.h"

namespace railweave::control {

// The accepted topology: durable, by digest of its native form. What is in force everywhere: as the operator accepted it,
// but for cables that were found exchanged.
struct AcceptedTopology {
  fabric::TopologyPtr topology;  // never null; empty before the first import
  std::string digest;            // sha256 of the native JSON; "" before the first import
  std::string source;            // where it came from, to be shown
  std::uint64_t version = 0;     // seq of the event that accepted it
  // Cables are exchanged and used as they are: the fabric as the operator accepted it. Null: it is cabled like that.
  std::shared_ptr<const AcceptedTopology> intended = nullptr;
};

struct ClusterState {
  // Ended jobs that can still be read; beyond this number the oldest are dropped. The store's table job_history keeps
  // all.
  static constexpr std::size_t kMaxEndedJobs = 2'000;

  ClusterState();

  std::uint64_t seq = 0;  // of the last event applied
  std::uint64_t term = 0;
  std::int64_t time_us = 0;  // of the last event: no later one is earlier
  Leader leader;
  AcceptedTopology accepted;
  // Derived from the accepted topology and the links between sites that are in use.
  scheduler::PlacementFabricPtr placement_fabric;
  fabric::FabricView view;                                // link states as last reported, drains, costs
  std::uint64_t view_version = 0;                         // seq of the event that last changed the view or the topology
  std::shared_ptr<const fabric::CutOffSwitches> cut_off;  // never null; derived from the view
  scheduler::Allocations allocations;
  std::shared_ptr<const TenantTable> tenants;
  std::shared_ptr<const AccessTokenTable> access_tokens;
  std::shared_ptr<const ContractTable> contracts;         // by tenant
  std::shared_ptr<const fabric::QosClasses> qos_classes;  // of the whole cluster
  std::uint64_t qos_version = 0;                          // seq of the event that last set the classes; 0: the defaults
  ChunkedVector<HostKeys> host_keys;                      // of contracts with jobs, by HostId
  std::shared_ptr<const PortLimitsTable> port_limits;     // of subnets that were read
  std::shared_ptr<const std::set<JobId>> guaranteed;      // placed jobs that have a guarantee
  std::shared_ptr<const std::set<JobId>> relabelled;      // placed jobs with earlier_levels
  JobTable jobs;
  StepTable steps;  // of jobs that report them, ended ones too
  IdempotencyTable idempotency;
  std::shared_ptr<const SubnetPolicyTable> subnet_policies;
  std::shared_ptr<const SubnetSpreadTable> subnet_spreads;
  std::shared_ptr<const SubnetTablesTable> subnet_tables;  // whose tables are in force
  std::shared_ptr<const DrainTable> drains;
  std::shared_ptr<const LinkCosts> link_costs;
  std::shared_ptr<const RouteBasisTable> route_bases;
  std::shared_ptr<const AlarmTable> alarms;
  std::shared_ptr<const MuteTable> mutes;
  std::shared_ptr<const WebhookTable> webhooks;
  std::shared_ptr<const std::map<std::string, std::uint64_t>> gpus_held;  // by tenant, of placed jobs
  std::shared_ptr<const std::deque<JobId>> ended;                         // oldest first
  std::shared_ptr<const QueueRules> queue_rules;
  std::shared_ptr<const ReservationTable> reservations;
  std::shared_ptr<const MoveBook> moves;             // never null
  std::shared_ptr<const LeftGpus> left_gpus;         // never null
  std::shared_ptr<const scheduler::FairShare> used;  // by tenant: GPU time of jobs that released their GPUs
  std::uint64_t queue_version = 0;                   // seq of the event that last changed an input of the queue
  std::uint64_t free_gpus = 0;

  [[nodiscard]] const fabric::Topology& topology() const { return *accepted.topology; }

  // For apply() and for reading a snapshot back:
  // Frees all GPUs and sets all cables up; drains, costs and the states of links between sites stay.
  void set_topology(fabric::TopologyPtr topology);
  void hold_gpus(const Job& job, bool hold);   // allocates or frees the job's GPUs
  void hold_place(const Job& job, bool hold);  // the place of its move: no other job is given it
  void leave_gpus(const Job& job, bool left);  // those of Launch::left: no job is given them
  void charge_move(const MoveCharge& charge);
  void move_gpus(const Job& from, const Job& to);  // keeps the key indices of hosts that both use
  void restore(JobPtr job);                        // adds the job with its GPUs and its Idempotency-Key
  // Keys of a tenant whose contract begins or ends while its jobs run.
  void put_keys(std::string_view tenant, std::uint16_t pkey, bool has);
  void note_guarantee(JobId job, bool has);
  void note_relabelled(JobId job, bool is);
  void set_link(fabric::LinkId link, fabric::LinkState state, RateMbps seen = {});  // seen: FabricView::rate_seen()
  void rejoin_sites();  // after a change of links between sites: makes placement_fabric follow the view
  void mark(const DrainTarget& target, bool drained);  // no effect if the topology does not have the target
  void put_costs(LinkCosts costs);                     // replaces all earlier costs
  void put_spread(const std::string& subnet, SubnetSpread spread);
  void put_route_basis(const std::string& subnet, RouteBasis basis);  // nothing in it: as cabled
  // Nodes get no new jobs while they are drained, an adapter that a GPU uses has no working link, or what its link leads to
  // is cut off.
  void refresh_availability(fabric::HostId host);
  void refresh_cut_off();  // after changes of links between switches and drains: makes `cut_off` follow the view
  [[nodiscard]] bool has_uncabled(fabric::HostId host) const;  // a GPU whose adapters have no cable

  // Null: the alarm is not muted.
  [[nodiscard]] const AlarmMute* mute(std::string_view alarm) const {
    const auto found = mutes->find(alarm);
    return found == mutes->end() ? nullptr : &found->second;
  }

  [[nodiscard]] SubnetMode mode(std::string_view subnet) const {
    const auto policy = subnet_policies->find(subnet);
    return policy == subnet_policies->end() ? SubnetMode::observe : policy->second.mode;
  }

  // Of the management keys of its ports, in direct mode with a secret.
  [[nodiscard]] std::uint64_t key_generation(std::string_view subnet) const {
    const auto policy = subnet_policies->find(subnet);
    return 1 + (policy == subnet_policies->end() ? 0 : policy->second.key_rotations);
  }

  [[nodiscard]] fabric::PathSpread spread(std::string_view subnet) const {
    const auto set = subnet_spreads->find(subnet);
    return set == subnet_spreads->end() ? fabric::PathSpread::single : set->second.spread;
  }
  // Null: the subnet is not live, or has not reported yet.
  [[nodiscard]] const SubnetTables* tables(std::string_view subnet) const {
    const auto reported = subnet_tables->find(subnet);
    return reported == subnet_tables->end() ? nullptr : &reported->second;
  }

 private:
  // For new ranks, where it is drained, held for a move, or left and not freed.
  void close_gpu(fabric::GpuId gpu, bool drained);
  void follow_spreads();           // the view's are those of the table
  void follow_route_bases();       // the same
  void add_keys(const Job& job);   // before its GPUs are held
  void drop_keys(const Job& job);  // after they are free
};

}  // namespace railweave::control
