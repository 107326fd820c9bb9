// Events: durable changes of the state. The journal is their sequence, and apply() accepts each of them. Decided in
// decide/ and guarantees/, encoded by EventCodec.
// A field is as it is from this event on unless its comment says otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "fabric/qos/qos_class.h"
#include "fabric/topology/fabric_view.h"
#include "fabric/topology/host_match.h"
#include "scheduler/admission/contract.h"
#include "scheduler/placement/fit/placement.h"
#include "scheduler/queue/policy/queue_policy.h"
#include "services/control/events/alarm_events.h"
#include "services/control/events/event_kind.h"
#include "services/control/events/job_changes.h"
#include "services/control/events/step_events.h"
#include "services/control/events/subnet_events.h"
#include "services/control/events/webhook_events.h"
#include "services/control/state/access_token.h"
#include "services/control/state/drain.h"
#include "services/control/state/job_guarantee.h"
#include "services/control/state/job_state.h"
#include "services/control/state/job_table.h"
#include "services/control/state/link_costs.h"
#include "services/control/state/move.h"
#include "services/control/state/port_limits.h"
#include "services/control/state/queue_rules.h"
#include "services/control/state/subnet_tables.h"
#include "services/control/state/tenant.h"

namespace railweave::control {

struct TopologyAccepted {
  fabric::TopologyPtr topology;
  std::shared_ptr<const std::string> document;  // native JSON; null when read back from the store
  std::string digest;                           // of the document
  std::string source;
  fabric::RenamedHosts renamed;  // nodes that are called otherwise than before; empty in events of older versions
  // The accepted fabric with the cables of this subnet as they were found; what was accepted stays what is intended.
  // "": an operator's import.
  std::string as_cabled = {};
  std::uint64_t exchanged = 0;  // with as_cabled: links of the fabric that are not as intended
};
// Something that the state before an import held and the new fabric cannot hold as it was. Changes nothing itself.
struct TopologyDiffers {
  static constexpr std::size_t kMaxEvents = 1'000;  // of one import
  std::string subject_kind, subject_id;             // "reservation", "drain", "node", "job"
  std::string text;
};
struct TenantPut {
  Tenant tenant;
};
struct TenantRemoved {
  std::string name;
};
struct TokenIssued {
  AccessToken token;
};
struct TokenRevoked {
  std::string id, name;
};
struct LeaderBegan {  // its term is the event's
  std::string name, url;
};
struct JobQueued {
  JobPtr job;
};
struct JobPlaced {
  JobPtr job;  // GPU ids of the topology accepted at that point; apply() keeps the history of a queued job
  Message reason;
};
struct JobWaits {  // the reason for waiting, when its kind has changed
  JobId id;
  std::string code;  // text of a WaitCode
  Message text;
  std::int64_t place_until_us = 0;  // QueueTerms::place_until_us from now on; 0: as it was
};
struct JobEvicted {  // back to the queue
  JobId id;
  JobId in_favour_of;
  double lost_gpu_s = 0;
  Message reason;
};
// --- of jobs with a launch (state/launch.h); deadlines follow from the event's time
struct JobAccepted {
  JobId id;
};
struct JobRunning {
  JobId id;
};
struct JobReleasing {  // it is to end, or to make way; a job that releases already may become something else
  JobId id;
  JobState becomes = JobState::queued;  // when its GPUs are free; queued: evicted
  JobId in_favour_of;
  double lost_gpu_s = 0;
  Message reason;
  bool moves = false;  // to the place that is held for it, as it accepted
};
Message releasing_text(const JobReleasing& event);
struct JobFreed {
  JobId id;
  std::vector<std::string> nodes;  // that its processes have left; an event that ends or queues it follows the last
};
struct JobOverdue {  // its GPUs are not free, although the deadline is over
  JobId id;
};
struct OfferExpired {  // back to the queue
  JobId id;
  std::int64_t until_us = 0;  // no other offer before
  Message reason;
};
// --- moves that the job's launcher acknowledges (state/move.h)
struct MoveOffered {
  JobId id;
  Move move;
};
struct MoveAccepted {
  JobId id;
  bool answered = true;  // false: its time was over, and the queue's policy takes that as accepted
};
Message move_accepted_text(const MoveAccepted& event);
struct MoveEnded {  // nothing moves: the job stays where it is or, where its GPUs are free already, waits
  JobId id;
  Message reason;
};
struct JobMoved {
  JobId id;
  std::vector<fabric::GpuId> gpu_of_rank;  // after the move; ids of the topology accepted at that point
  std::vector<fabric::GpuId> idle_gpus;    // held in addition, after the move
  std::uint64_t ranks = 0;                 // number of ranks that changed their GPU
  Message reason;
  std::optional<scheduler::Prediction> predicted;   // at the new place; none in events of older versions
  std::vector<scheduler::CpuSeats> cpu_seats = {};  // as Placement::cpu_seats, after the move
  std::vector<std::string> left = {};  // GPUs that are its launcher's to free, as Launch::left; more of them
};
struct JobDamaged {
  JobId id;
  Message damage;                      // what is lost and what to do; empty: nothing is lost any more
  std::vector<std::string> lost = {};  // GPUs that are declared lost from now on, as Job::lost; empty: none more
};
struct JobCheckpointed {
  JobId id;
  std::int64_t saved_us = 0;
};
struct QueueRulesPut {
  scheduler::QueuePolicy policy;
};
struct ReservationPut {
  GpuReservation reservation;
};
struct MaintenanceBegan {
  std::string name;
  std::vector<std::string> drained;  // nodes that it drains until it is over
};
struct ReservationRemoved {
  std::string name;
  bool over = false;  // removed because its period ended
};
struct JobEnded {
  JobId id;
  JobState state = JobState::cancelled;
  Message reason;
};

struct DrainRequested {
  DrainTarget target;
  std::string reason;
  bool forced = false;
  std::string follows = {};  // Drain::follows
};
struct DrainAdvanced {
  DrainTarget target;
  DrainState state = DrainState::requested;
};
struct DrainCleared {
  DrainTarget target;
  std::string reason;
};
// Replaces all costs of links.
struct LinkCostsSet {
  std::map<std::string, double> by_link;  // LinkCosts::by_link
  std::string reason;
};
struct LinkReport {
  std::string link;  // Topology::link_text(), or fabric::site_link_text()
  fabric::LinkState state = fabric::LinkState::up;
  bool damped = false;         // the link flaps and is held down until it is calm
  std::uint32_t links_up = 0;  // of a degraded link between sites: how many of its parallel links; 0: not known
  RateMbps rate{};  // that it is seen to run at where that is less than accepted; 0: as accepted, or not known
};
struct LinksChanged {
  static constexpr std::size_t kMaxLinks = 5'000;  // per event; more changes make more events
  std::string subnet;                              // "": links between sites
  std::vector<LinkReport> links;
  std::string reason;  // who reported it by hand says why; none of live subnets
};
// What the ports of a subnet can hold is known, or has changed.
struct PortLimitsRead {
  std::string subnet;
  PortLimits limits;
};
// Whose forwarding tables a live subnet has in force has changed.
struct SubnetTablesReported {
  std::string subnet;
  SubnetTables tables;  // without time and version, which are the event's
};
// Traffic classes and partitions were written to the ports of a subnet, or offered as files that its OpenSM has to read
// ("qos.offered": whether it did is not known).
struct QosProgrammed {
  enum class Where : std::uint8_t { ports, opensmFiles };
  BOOST_DESCRIBE_NESTED_ENUM(Where, ports, opensmFiles)
  std::string subnet;
  Where where = Where::ports;
  std::uint64_t classes = 0, partitions = 0;
  std::uint64_t ports = 0;   // ports whose tables changed; with files: ports that they name
  std::uint64_t blocks = 0;  // table blocks written; with files: number of files that changed
};
constexpr std::string_view to_string(QosProgrammed::Where where) { return to_text(where); }
// New forwarding tables were written to the switches.
struct RoutesProgrammed {
  std::string subnet;
  std::string cause;          // "2 links down", "drain of link ...", "first programming"
  std::uint64_t entries = 0;  // changed
  std::uint64_t blocks = 0;   // written
  std::uint64_t mads = 0;
  std::uint64_t isolated = 0;  // number of switches that do not answer
  std::int64_t compute_us = 0;
  std::int64_t total_us = 0;  // from the report (or the request) to the last block read back
};

struct ContractPut {
  scheduler::Contract terms;
  std::uint16_t pkey = 0;
};
struct ContractRemoved {
  std::string tenant;
};
struct QosClassesPut {
  fabric::QosClasses classes;
  bool forced = false;  // although marks of running jobs change
};
// The guarantee of a placed job changed; none: it is withdrawn.
struct GuaranteeChanged {
  JobId job;
  std::string tenant;
  GuaranteeChange change = GuaranteeChange::at_risk;
  std::optional<JobGuarantee> guarantee;
  std::int64_t for_us = 0;  // for `restored`: how long it was at risk
};

using EventBody =
    std::variant<TopologyAccepted, TopologyDiffers, TenantPut, TenantRemoved, JobQueued, JobPlaced, JobWaits,
                 JobEvicted, JobAccepted, JobRunning, JobReleasing, JobFreed, JobOverdue, OfferExpired, MoveOffered,
                 MoveAccepted, MoveEnded, JobMoved, JobDamaged, JobCheckpointed, JobEnded, QueueRulesPut,
                 ReservationPut, MaintenanceBegan, ReservationRemoved, SubnetModeSet, SubnetKeyRotated, SubnetSpreadSet,
                 DrainRequested, DrainAdvanced, DrainCleared, LinkCostsSet, LinksChanged, AlarmRaised, AlarmCleared,
                 AlarmAcknowledged, RoutesProgrammed, QosProgrammed, PortLimitsRead, ContractPut, ContractRemoved,
                 QosClassesPut, GuaranteeChanged, TokenIssued, TokenRevoked, LeaderBegan, JobChanged, JobReordered,
                 JobHeld, WebhookPut, WebhookRemoved, WebhookAdvanced, LinkReleased, SubnetTablesReported, AlarmMuted,
                 RoutesRebalanced, JobStepsReported>;

// Who asked for a change besides the actor's name, and by which request: for the audit trail, no part of the state.
struct RequestOrigin {
  std::string request_id;  // X-Request-Id; "": the service itself, or the record is of a release that did not keep it
  std::string tenant;      // of a member
  std::string token;       // its id
};

struct Event {
  std::uint64_t seq = 0;
  std::uint64_t term = 0;
  std::int64_t time_us = 0;  // unix, UTC
  std::string actor;
  EventBody body;
  RequestOrigin origin = {};
};

enum class EventSeverity : std::uint8_t { info, warning, error };
BOOST_DESCRIBE_ENUM(EventSeverity, info, warning, error)

// How an event is shown to users and filtered by programs.
struct EventHeading {
  EventKind type;  // "job.placed"
  std::string subject_kind, subject_id;
  EventSeverity severity = EventSeverity::info;
  Message summary;  // its code is the type
};
EventHeading heading(const EventBody& body);

}  // namespace railweave::control
