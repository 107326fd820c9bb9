// What happened. Events are facts: apply() takes every one of them, and the journal is their sequence.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "services/control/state/cluster_state.h"

namespace railweave::control {

struct TopologyAccepted {
  fabric::TopologyPtr topology;
  std::shared_ptr<const std::string> document;  // its native form; null when read back from the store
  std::string digest;                           // of the document
  std::string source;
};
struct TenantPut {
  Tenant tenant;
};
struct TenantRemoved {
  std::string name;
};
struct JobQueued {
  JobPtr job;
};
struct JobPlaced {
  JobPtr job;  // ids of the topology accepted at that point; one that waited keeps its history
  std::string reason;
};
struct JobWaits {  // why, when that is another reason than before
  JobId id;
  std::string code, text;
};
struct JobEvicted {  // back to the queue
  JobId id;
  JobId in_favour_of;
  double lost_gpu_s = 0;
  std::string reason;
};
struct JobMoved {
  JobId id;
  std::vector<fabric::GpuId> gpu_of_rank;  // afterwards, of the topology accepted at that point
  std::vector<fabric::GpuId> idle_gpus;    // held beside them afterwards
  std::uint64_t ranks = 0;                 // that changed their GPU
  std::string reason;
  std::optional<scheduler::Prediction> predicted;  // there; none in events of before it was
};
struct JobDamaged {
  JobId id;
  std::string damage;  // what is lost, and what is to be done; "": it is whole again
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
struct ReservationRemoved {
  std::string name;
  bool over = false;  // its time came to an end
};
struct JobEnded {
  JobId id;
  JobState state = JobState::cancelled;
  std::string reason;
};

struct SubnetModeSet {
  std::string subnet;
  SubnetMode mode = SubnetMode::observe;
  std::string reason;
};
struct DrainRequested {
  DrainTarget target;
  std::string reason;
  bool forced = false;
};
struct DrainAdvanced {
  DrainTarget target;
  DrainState state = DrainState::requested;
};
struct DrainCleared {
  DrainTarget target;
  std::string reason;
};
// All that there are from now on.
struct LinkCostsSet {
  std::map<std::string, double> by_link;  // LinkCosts::by_link
  std::string reason;
};
struct LinkReport {
  std::string link;  // Topology::link_text()
  fabric::LinkState state = fabric::LinkState::up;
  bool damped = false;  // it flaps: held down until it is calm
};
struct LinksChanged {
  static constexpr std::size_t kMaxLinks = 5'000;  // of one event; more changes are more events
  std::string subnet;
  std::vector<LinkReport> links;
};
struct AlarmRaised {
  Alarm alarm;
};
struct AlarmCleared {
  std::string id;
};
// Classes of traffic and partitions are on the ports of a subnet, or in the files that its OpenSM reads.
struct QosProgrammed {
  enum class Where : std::uint8_t { ports, opensmFiles };
  std::string subnet;
  Where where = Where::ports;
  std::uint64_t classes = 0, partitions = 0;
  std::uint64_t ports = 0;   // whose tables changed; of files: that they speak of
  std::uint64_t blocks = 0;  // written; of files: how many changed
};
constexpr std::string_view to_string(QosProgrammed::Where where) {
  return where == QosProgrammed::Where::ports ? "ports" : "opensmFiles";
}
// New tables are on the switches.
struct RoutesProgrammed {
  std::string subnet;
  std::string cause;          // "2 links down", "drain of link ...", "first programming"
  std::uint64_t entries = 0;  // that changed
  std::uint64_t blocks = 0;   // written
  std::uint64_t mads = 0;
  std::uint64_t isolated = 0;  // switches that do not answer
  std::int64_t compute_us = 0;
  std::int64_t total_us = 0;  // from the report (or the wish) to the last block read back
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
};
// Of a placed job; `guarantee` is as it is from now on, none: withdrawn.
struct GuaranteeChanged {
  JobId job;
  std::string tenant;
  GuaranteeChange change = GuaranteeChange::at_risk;
  std::optional<JobGuarantee> guarantee;
  std::int64_t for_us = 0;  // of restored: how long it was at risk
};

using EventBody = std::variant<TopologyAccepted, TenantPut, TenantRemoved, JobQueued, JobPlaced, JobWaits, JobEvicted,
                               JobMoved, JobDamaged, JobCheckpointed, JobEnded, QueueRulesPut, ReservationPut,
                               ReservationRemoved, SubnetModeSet, DrainRequested, DrainAdvanced, DrainCleared,
                               LinkCostsSet, LinksChanged, AlarmRaised, AlarmCleared, RoutesProgrammed, QosProgrammed,
                               ContractPut, ContractRemoved, QosClassesPut, GuaranteeChanged>;

struct Event {
  std::uint64_t seq = 0;
  std::uint64_t term = 0;
  std::int64_t time_us = 0;  // unix, UTC
  std::string actor;
  EventBody body;
};

enum class EventSeverity : std::uint8_t { info, warning, error };

// How an event is shown to people and found by programs.
struct EventHeading {
  std::string_view type;  // "job.placed"
  std::string subject_kind, subject_id;
  EventSeverity severity = EventSeverity::info;
  std::string summary;
};
EventHeading heading(const EventBody& body);

}  // namespace railweave::control
