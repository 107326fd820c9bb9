// What callers ask for. A command may be refused; what is accepted becomes events.
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

namespace railweave::control {

struct SubmitJob {
  scheduler::JobSpec spec;
  std::string idempotency_key;  // "": none
  std::string request_digest;   // of the request the key came with
  bool queue = false;           // wait for its turn, if it cannot start now
  std::int64_t not_before_us = 0;
};
// Ranks on lost GPUs move to others; ranks keep their numbers.
struct RepairJob {
  JobId id;
  // Lost beside what the fabric's state says: nodes, and GPUs as (node, local index). The nodes of lost GPUs are
  // drained, so that nothing new comes to them.
  std::vector<std::string> nodes;
  std::vector<std::pair<std::string, unsigned>> gpus;
  std::string reason;
  std::optional<std::uint64_t> if_version;
  // Instead: nothing is lost, but its guarantee is at risk, and it is to move to where that holds.
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
  scheduler::JobSpec shape;        // of a reservation: tenant, GPUs and how near each other
  std::vector<std::string> nodes;  // of maintenance: all their GPUs
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
};
struct PutTenant {
  Tenant tenant;
  std::optional<std::uint64_t> if_version;  // 0: only if there is none yet
};
struct RemoveTenant {
  std::string name;
  std::optional<std::uint64_t> if_version;
};
struct PutContract {
  scheduler::Contract terms;
  std::optional<std::uint64_t> if_version;  // 0: only if there is none yet
};
struct RemoveContract {
  std::string tenant;
  std::optional<std::uint64_t> if_version;
};
struct PutQosClasses {
  fabric::QosClasses classes;
  std::optional<std::uint64_t> if_version;
};
struct AcceptTopology {
  fabric::TopologyPtr topology;
  std::shared_ptr<const std::string> document;  // its native form
  std::string digest;                           // of the document
  std::string source;
  bool force = false;  // ends the jobs whose nodes are not in it
  std::optional<std::uint64_t> if_version;
};

struct SetSubnetMode {
  std::string subnet;
  SubnetMode mode = SubnetMode::observe;
  std::string reason;
  std::optional<std::uint64_t> if_version;
};
struct RequestDrain {
  DrainTarget target;  // resolved
  std::string reason;
  bool force = false;
  // What speaks against it, found on the view of that version (ClusterState::view_version): refused if the view has
  // changed since, so that two drains that are harmless alone do not cut something off together.
  std::vector<std::string> objections;
  std::uint64_t view_version = 0;
};
struct ClearDrain {
  DrainTarget target;
  std::string reason;
};

struct SetLinkCosts {
  std::map<std::string, double> by_link;  // all that there are to be; none: routes follow from the fabric alone
  std::string reason;
  std::uint64_t view_version = 0;  // what they were found on: refused if the view has changed since
};

// What those who watch the fabric report. Reports of what is known already change nothing.
struct ReportLinks {
  std::string subnet;
  std::vector<LinkReport> links;
};
struct ReportDrains {
  std::vector<DrainAdvanced> drains;  // those that are not requested any more are passed over
};
struct ReportAlarms {
  std::vector<Alarm> raised;
  std::vector<std::string> cleared;  // ids
};
struct ReportProgramming {
  RoutesProgrammed report;
};

struct ReportQos {
  QosProgrammed report;
};

struct Command {
  std::string actor;
  std::variant<SubmitJob, EndJob, RepairJob, CheckpointJob, PutQueueRules, PutReservation, RemoveReservation, PutTenant,
               RemoveTenant, AcceptTopology, SetSubnetMode, RequestDrain, ClearDrain, SetLinkCosts, ReportLinks,
               ReportDrains, ReportAlarms, ReportProgramming, ReportQos, PutContract, RemoveContract, PutQosClasses>
      body;
};

// A link that a guarantee does not fit on, and who has it.
struct BlockedLink {
  struct Holder {
    std::string job;
    std::int64_t mbps = 0;
  };
  std::string link;       // "<port>-><port>"
  std::string wanted_by;  // the job; "": the one asked for
  std::int64_t wanted_mbps = 0, reserved_mbps = 0, limit_mbps = 0;
  std::vector<Holder> holders;
};

// Why a command was refused; for jobs, with the placement's explanation and the links in the way of a guarantee.
struct Rejection {
  Error error;
  std::shared_ptr<const scheduler::PlacementResult> placement;
  std::vector<BlockedLink> links = {};
};

// What came of an accepted command.
struct Accepted {
  ClusterStatePtr state;  // the state that holds it; durable
  JobId job;              // of SubmitJob and EndJob
  bool replayed = false;  // an earlier request with the same Idempotency-Key had done it already
};

using CommandResult = std::expected<Accepted, Rejection>;

}  // namespace railweave::control
