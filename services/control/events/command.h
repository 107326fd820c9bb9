// Commands: requests to change the state, from the API and from the threads of live subnets. decide() turns a command
// into events or refuses it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "fabric/base/error.h"
#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement.h"
#include "services/control/events/event.h"
#include "services/control/events/job_requests.h"
#include "services/control/events/webhook_requests.h"
#include "services/control/state/cluster_state_ptr.h"

namespace railweave::control {

struct SubmitJob {
  scheduler::JobSpec spec;
  std::string idempotency_key;  // "": none; IdempotencyTable says how long it is kept
  std::string key_owner;        // OwnedKey::owner
  std::string request_digest;   // of the request that came with the key
  bool queue = false;           // wait in the queue if it cannot start now
  std::int64_t not_before_us = 0;
  bool by_member = false;                            // else by an operator, who may do more
  std::optional<AdoptedPlace> adopt = std::nullopt;  // it runs there already
  std::optional<LaunchTerms> launch = std::nullopt;  // its launcher acknowledges each step
  // Where the plan of its gang has it: taken where it can be, else another place is looked for.
  std::shared_ptr<const scheduler::Placement> place = nullptr;
};
// A rule between roles of a gang, which are jobs of these names: all of them in one group of the level, or those of
// different names in different groups.
struct GangRule {
  static constexpr std::size_t kMaxRules = 32;
  std::vector<std::string> roles;
  fabric::LevelKind level = fabric::LevelKind::rack;
  bool together = true;
};
// What all ranks of one role send to those of another in a step, together. Of roles that are several jobs: evenly between the
// jobs of both, or, by rank, from the i-th job of one to the i-th of the other, modulo.
struct GangTraffic {
  static constexpr std::size_t kMaxPairs = 32;
  std::string from, to;
  double bytes = 0;
  scheduler::RoleSpread spread = scheduler::RoleSpread::all_to_all;
};
// In order, in one transaction: each as if alone or, a gang, all of them or none.
struct SubmitJobs {
  std::vector<SubmitJob> items;
  bool gang = false;
  std::vector<GangRule> rules = {};
  std::vector<GangTraffic> traffic = {};
};
// Moves ranks from lost GPUs to others; ranks keep their numbers.
struct RepairJob {
  JobId id;
  // Lost in addition to what the state knows: nodes, and GPUs as (node, local index). The nodes of lost GPUs are
  // drained, so that no new job is placed there.
  std::vector<std::string> nodes;
  std::vector<std::pair<std::string, unsigned>> gpus;
  std::string reason;
  std::optional<std::uint64_t> if_version;
  // Instead: no GPU is lost, but the guarantee is at risk; move the job to nodes where it holds.
  bool for_guarantee = false;
};
struct CheckpointJob {
  JobId id;
  std::int64_t saved_us = 0;  // 0: now
};
struct PutQueueRules {
  scheduler::QueuePolicy policy;
  std::optional<std::uint64_t> if_version;
};
struct PutReservation {
  std::string name;
  scheduler::QueueWindow::Kind kind = scheduler::QueueWindow::Kind::reservation;
  std::int64_t from_us = 0;
  std::int64_t to_us = 0;
  std::string reason;
  scheduler::JobSpec shape;        // for a reservation: tenant, number of GPUs and how close together
  std::vector<std::string> nodes;  // for maintenance: all their GPUs
  std::optional<std::uint64_t> if_version;
};
struct RemoveReservation {
  std::string name;
  std::optional<std::uint64_t> if_version;
};
struct EndJob {
  JobId id;
  JobState state = JobState::cancelled;  // or completed
  std::string reason;
  std::optional<std::uint64_t> if_version;
  bool freed = false;  // its processes have ended: its GPUs are free at once
};
// What a launcher says of a job that it starts.
struct AdvanceLaunch {
  JobId id;
  LaunchPhase phase = LaunchPhase::accepted;  // or running
};
struct AnswerMove {
  JobId id;
  bool accept = true;  // else it stays where it is
};
// Offers moves to running jobs. The plan is made from scratch when this is decided.
struct OfferMoves {
  MoveTarget target;
};
struct FreeJob {
  JobId id;
  std::vector<std::string> nodes;  // empty: all
  bool by_node = false;            // said by the nodes, not by the launcher: counts after the deadline only
  std::optional<std::uint64_t> if_version = {};
};
struct PutTenant {
  Tenant tenant;
  std::optional<std::uint64_t> if_version;  // 0: only if it does not exist yet
};
struct RemoveTenant {
  std::string name;
  std::optional<std::uint64_t> if_version;
};
struct IssueToken {
  AccessToken token;
};
struct RevokeToken {
  std::string id;
};
struct PutContract {
  scheduler::Contract terms;
  std::optional<std::uint64_t> if_version;  // 0: only if it does not exist yet
  bool withdraw = false;                    // running jobs may be left with less than they were guaranteed
};
struct RemoveContract {
  std::string tenant;
  std::optional<std::uint64_t> if_version;
};
struct PutQosClasses {
  fabric::QosClasses classes;
  std::optional<std::uint64_t> if_version;
  // Although what ranks of running jobs mark their packets with would be another class's, or guarantees would not fit.
  bool force = false;
};
struct AcceptTopology {
  fabric::TopologyPtr topology;
  std::shared_ptr<const std::string> document;  // native JSON
  std::string digest;                           // of the document
  std::string source;
  bool force = false;  // end the jobs whose nodes the topology lacks
  std::optional<std::uint64_t> if_version;
  // Move the ranks of jobs whose nodes it lacks, or whose requirements no longer hold in it. With force, jobs for which
  // there is no repair end.
  bool repair = false;
  // It is the accepted fabric but for cables that a live subnet found exchanged; needs if_version.
  struct AsCabled {
    std::string subnet;
    std::uint64_t exchanged = 0;          // links of the fabric that are not as intended
    std::vector<TopologyDiffers> cables;  // those that this changes
  };
  std::optional<AsCabled> as_cabled = std::nullopt;
  // It is the accepted fabric but for devices that were exchanged and hosts that were moved, as a live subnet found them; needs
  // if_version. Drains and costs follow, and links keep their states.
  struct AsFound {
    std::vector<std::pair<Guid, Guid>> exchanged;  // devices: the GUID that is accepted, and the one in its place
    std::vector<TopologyDiffers> changes;          // one for each device or host
  };
  std::optional<AsFound> as_found = std::nullopt;
};

struct SetSubnetMode {
  std::string subnet;
  SubnetMode mode = SubnetMode::observe;
  std::string reason;
  std::optional<std::uint64_t> if_version;
};
struct RotateSubnetKey {
  std::string subnet;
  std::string reason;
};
struct SetSubnetSpread {
  std::string subnet;
  fabric::PathSpread spread = fabric::PathSpread::single;
  std::string reason;
};
struct RequestDrain {
  DrainTarget target;  // resolved
  std::string reason;
  bool force = false;
  // Objections found by drain_preview.h on the view of that version (ClusterState::view_version). Refused if the view
  // has changed since: two drains that are harmless alone could cut off ports together.
  std::vector<std::string> objections;
  std::uint64_t view_version = 0;
};
struct ClearDrain {
  DrainTarget target;
  std::string reason;
};
struct ReleaseLink {
  std::string subnet, link, reason;  // link: by id
  bool is_flapping = false;          // as the live subnet says, which alone knows
};

struct SetLinkCosts {
  std::map<std::string, double> by_link;  // replaces all costs; empty: routes follow from the fabric alone
  std::string reason;
  std::uint64_t view_version = 0;  // of the view they were computed on: refused if it has changed since
};

// Reports of live subnets. A report of what is known already changes nothing.
struct ReportLinks {
  std::string subnet;  // "": links between sites, which callers report
  std::vector<LinkReport> links;
  std::string reason;
};
struct ReportDrains {
  std::vector<DrainAdvanced> drains;  // drains that are not requested any more are ignored
};
struct ReportAlarms {
  std::vector<Alarm> raised;
  std::vector<std::string> cleared;  // ids
};
struct AcknowledgeAlarm {
  std::string id;
  bool acknowledged = true;
  std::string note;
};
struct MuteAlarm {
  std::string id;
  std::int64_t for_us = 0;  // 0: not muted any more
  std::string note;
};
struct ReportProgramming {
  RoutesProgrammed report;
};

struct ReportPortLimits {
  PortLimitsRead report;
};
struct ReportTables {
  SubnetTablesReported report;
};
// Refused where the view has changed since, or something else now speaks against it.
struct ReportBalance {
  RoutesRebalanced report;
  std::uint64_t view_version = 0;
};
// Routes of a subnet that the service has no connection to get these next hops, for jobs; none: those that were chosen are given up.
struct TakeJobRoutes {
  RoutesRebalanced report;
  std::uint64_t view_version = 0;
};
struct ReportQos {
  QosProgrammed report;
};

struct BeginTerm {
  std::string name, url;
};

struct Command {
  std::string actor;
  std::variant<SubmitJob, SubmitJobs, ChangeJob, EndJob, AdvanceLaunch, FreeJob, AnswerMove, OfferMoves, RepairJob,
               CheckpointJob, PutQueueRules, PutReservation, RemoveReservation, PutTenant, RemoveTenant, AcceptTopology,
               SetSubnetMode, RotateSubnetKey, SetSubnetSpread, RequestDrain, ClearDrain, SetLinkCosts, ReportLinks,
               ReportDrains, ReportAlarms, AcknowledgeAlarm, MuteAlarm, ReportProgramming, ReportPortLimits, ReportQos,
               PutContract, RemoveContract, PutQosClasses, IssueToken, RevokeToken, BeginTerm, PutWebhook,
               RemoveWebhook, ReportWebhook, ReleaseLink, ReportTables, ReportBalance, ReportSteps, TakeJobRoutes>
      body;
  RequestOrigin origin = {};
};

// A link that a guarantee does not fit on, and the jobs that hold reservations of it.
struct BlockedLink {
  struct Holder {
    std::string job;
    std::int64_t mbps = 0;
  };
  std::string link;       // "<port>-><port>"
  std::string wanted_by;  // the job; "": the job of the request
  std::int64_t wanted_mbps = 0, reserved_mbps = 0, limit_mbps = 0;
  std::vector<Holder> holders;
};

// Why a command was refused; for jobs with the explanation of the placement and the links that are too full for the
// guarantee.
struct Rejection {
  Error error;
  std::shared_ptr<const scheduler::PlacementResult> placement;
  std::vector<BlockedLink> links = {};
};

// The result of an accepted command.
struct Accepted {
  ClusterStatePtr state;  // the state that contains its effect; durable
  JobId job;              // for commands about a job
  bool replayed = false;  // an earlier request already had this effect, for example with the same Idempotency-Key
  // For several jobs: what each led to, in their order.
  struct Item {
    JobId job;
    bool replayed = false;
    std::shared_ptr<const Rejection> refused = nullptr;  // null: the job is as it says
  };
  std::vector<Item> items = {};
};

using CommandResult = std::expected<Accepted, Rejection>;

}  // namespace railweave::control
