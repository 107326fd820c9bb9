// The kinds of events, and who is shown each: one table, made of the contract. Lists, streams and webhooks all ask it, and a
// kind that is not in it does not compile as a heading's type.
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
};

// Made of x-events in api/openapi.yaml, which also says what the data of each is.
inline constexpr EventKindRules kEventKinds[] = {
#include "services/control/events/event_kinds.inc"
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
    if (!is_event_kind(name_))
      throw "a kind of event that the contract does not describe: add it to x-events in api/openapi.yaml";
  }
  constexpr operator std::string_view() const { return name_; }
  friend constexpr bool operator==(EventKind kind, std::string_view name) { return kind.name_ == name; }

 private:
  std::string_view name_;
};

}  // namespace railweave::control
