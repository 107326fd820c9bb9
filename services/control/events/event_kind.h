// The kinds of events, and who is shown each: one table. Lists, streams and webhooks all ask it, and a kind that is not in
// it does not compile as a heading's type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "fabric/base/enum_text.h"

namespace railweave::control {

// Agents are shown none. The tenant's members are those of the tenant that the event's subject belongs to.
enum class EventAudience : std::uint8_t {
  observers,             // viewers, operators, administrators
  observers_and_tenant,  // these and the tenant's members
  operators_and_tenant,  // operators, administrators, the tenant's members
  administrators,
};
BOOST_DESCRIBE_ENUM(EventAudience, observers, observers_and_tenant, operators_and_tenant, administrators)

struct EventKindRules {
  std::string_view name;
  EventAudience audience = EventAudience::administrators;
  std::string_view secret = {};  // a member of the payload that no one is shown; "": none
};

inline constexpr EventKindRules kEventKinds[] = {
    {"topology.accepted", EventAudience::observers},
    {"topology.differs", EventAudience::observers_and_tenant},
    {"tenant.put", EventAudience::observers_and_tenant},
    {"tenant.removed", EventAudience::observers_and_tenant},
    {"token.issued", EventAudience::administrators, "sha256"},
    {"token.revoked", EventAudience::administrators},
    {"leader.began", EventAudience::observers},
    {"job.queued", EventAudience::observers_and_tenant},
    {"job.placed", EventAudience::observers_and_tenant},
    {"job.waits", EventAudience::observers_and_tenant},
    {"job.evicted", EventAudience::observers_and_tenant},
    {"job.accepted", EventAudience::observers_and_tenant},
    {"job.running", EventAudience::observers_and_tenant},
    {"job.releasing", EventAudience::observers_and_tenant},
    {"job.freed", EventAudience::observers_and_tenant},
    {"job.overdue", EventAudience::observers_and_tenant},
    {"job.offerExpired", EventAudience::observers_and_tenant},
    {"job.moveOffered", EventAudience::observers_and_tenant},
    {"job.moveAccepted", EventAudience::observers_and_tenant},
    {"job.moveEnded", EventAudience::observers_and_tenant},
    {"job.moved", EventAudience::observers_and_tenant},
    {"job.damaged", EventAudience::observers_and_tenant},
    {"job.whole", EventAudience::observers_and_tenant},
    {"job.checkpointed", EventAudience::observers_and_tenant},
    {"job.ended", EventAudience::observers_and_tenant},
    {"job.changed", EventAudience::observers_and_tenant},
    {"job.reordered", EventAudience::observers_and_tenant},
    {"job.held", EventAudience::observers_and_tenant},
    {"job.released", EventAudience::observers_and_tenant},
    {"webhook.put", EventAudience::operators_and_tenant, "secret"},
    {"webhook.removed", EventAudience::operators_and_tenant},
    {"webhook.delivered", EventAudience::operators_and_tenant},
    {"webhook.failing", EventAudience::operators_and_tenant},
    {"webhook.disabled", EventAudience::operators_and_tenant},
    {"queue.policyPut", EventAudience::observers},
    {"reservation.put", EventAudience::observers},
    {"reservation.begun", EventAudience::observers},
    {"reservation.removed", EventAudience::observers},
    {"subnet.modeSet", EventAudience::observers},
    {"subnet.keyRotated", EventAudience::observers},
    {"subnet.spreadSet", EventAudience::observers},
    {"drain.requested", EventAudience::observers},
    {"drain.advanced", EventAudience::observers},
    {"drain.completed", EventAudience::observers},
    {"drain.cleared", EventAudience::observers},
    {"link.down", EventAudience::observers},
    {"link.up", EventAudience::observers},
    {"link.changed", EventAudience::observers},
    {"link.released", EventAudience::observers},
    {"alarm.raised", EventAudience::observers_and_tenant},
    {"alarm.cleared", EventAudience::observers_and_tenant},
    {"alarm.acknowledged", EventAudience::observers},
    {"alarm.reopened", EventAudience::observers},
    {"alarm.muted", EventAudience::observers},
    {"alarm.unmuted", EventAudience::observers},
    {"route.programmed", EventAudience::observers},
    {"route.inForce", EventAudience::observers},
    {"route.costsSet", EventAudience::observers},
    {"route.rebalanced", EventAudience::observers},
    {"qos.limits", EventAudience::observers},
    {"qos.programmed", EventAudience::observers},
    {"qos.offered", EventAudience::observers},
    {"qosClasses.put", EventAudience::observers},
    {"contract.put", EventAudience::observers_and_tenant},
    {"contract.removed", EventAudience::observers_and_tenant},
    {"guarantee.atRisk", EventAudience::observers_and_tenant},
    {"guarantee.restored", EventAudience::observers_and_tenant},
    {"guarantee.coverage", EventAudience::observers_and_tenant},
    {"guarantee.laneChanged", EventAudience::observers_and_tenant},
    {"guarantee.amended", EventAudience::observers_and_tenant},
    {"event.damaged", EventAudience::observers},  // in the place of one that cannot be read: db::kDamagedKind
};

// Null: a kind of a newer version, of which nothing is known.
constexpr const EventKindRules* find_event_kind(std::string_view name) {
  for (const auto& kind : kEventKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

// Apart from find_event_kind(), as GCC compares no addresses in constant expressions under its sanitizers.
constexpr bool is_event_kind(std::string_view name) {
  for (const auto& kind : kEventKinds) {
    if (kind.name == name) return true;
  }
  return false;
}

// The name of a kind that is in the table.
class EventKind {
 public:
  template <std::size_t N>
  consteval EventKind(const char (&name)[N]) : name_(name) {
    if (!is_event_kind(name_)) throw "a kind of event without an audience: add it to kEventKinds";
  }
  constexpr operator std::string_view() const { return name_; }
  friend constexpr bool operator==(EventKind kind, std::string_view name) { return kind.name_ == name; }

 private:
  std::string_view name_;
};

}  // namespace railweave::control
