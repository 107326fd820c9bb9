// What happened. Events are facts: apply() takes every one of them, and the journal is their sequence.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "services/control/cluster_state.h"

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
struct JobPlaced {
  JobPtr job;  // ids of the topology accepted at that point
};
struct JobEnded {
  JobId id;
  JobState state = JobState::cancelled;
  std::string reason;
};

using EventBody = std::variant<TopologyAccepted, TenantPut, TenantRemoved, JobPlaced, JobEnded>;

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
