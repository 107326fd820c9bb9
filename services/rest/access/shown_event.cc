#include "services/rest/access/shown_event.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "services/control/codec/message_json.h"
#include "services/control/events/event_kind.h"
#include "services/json/message_value.h"
#include "services/json/strict_json.h"
#include "services/rest/access/shown_data.h"
#include "services/rest/access/viewer.h"

namespace railweave::api {
namespace {

using control::ClusterState;
using control::EventAudience;

// Railweave itself, the caller, tokens of its tenant, and of operators.
bool may_see_actor(const ClusterState& state, const std::string& tenant, const std::string& caller,
                   const std::string& actor) {
  if (actor == "railweave" || actor == caller) return true;
  return std::ranges::any_of(*state.access_tokens, [&](const auto& entry) {
    const control::AccessToken& token = entry.second;
    return token.name == actor && (token.tenant.empty() || token.tenant == tenant);
  });
}

// Those before belong to an earlier tenant of that name.
bool is_since_tenant(const ClusterState& state, const std::string& tenant, const db::Record& record) {
  const auto known = state.tenants->find(tenant);
  return known != state.tenants->end() && record.seq >= known->second.created;
}

// A webhook that is still as the event found it: one that was set since may have been another tenant's.
bool is_webhook_of(const ClusterState& state, const std::string& tenant, const db::Record& record) {
  const auto known = state.webhooks->find(record.subject_id);
  return known != state.webhooks->end() && known->second.tenant == tenant && record.seq >= known->second.version;
}

// Whether the tenant may see something of it, as far as its heading tells.
bool may_be_for(const ClusterState& state, const std::string& tenant, const db::Record& record) {
  if (!is_since_tenant(state, tenant, record)) return false;
  if (record.kind == "alarm.raised") return true;  // its data names jobs
  if (record.kind == "alarm.cleared") {            // "<kind>:<subject>"
    const auto colon = record.subject_id.find(':');
    return colon != std::string::npos &&
           is_job_of(state, tenant, std::string_view(record.subject_id).substr(colon + 1));
  }
  if (record.subject_kind == "tenant" || record.subject_kind == "contract") return record.subject_id == tenant;
  if (record.subject_kind == "webhook") return is_webhook_of(state, tenant, record);
  return record.subject_kind == "job" && is_job_of(state, tenant, record.subject_id);
}

// Leaves of its data what the tenant may see; false: nothing.
bool leave_own_data(const ClusterState& state, const std::string& tenant, const db::Record& record, Out& data) {
  if (const auto other = data.find("inFavourOf"); other != data.end() && other->is_number_unsigned()) {
    if (!is_job_of(state, tenant, control::to_string(control::JobId(other->get<std::uint64_t>())))) data.erase(other);
  }
  const auto is_own = [&](const Out& job) {
    return job.is_string() && is_job_of(state, tenant, job.get_ref<const std::string&>());
  };
  if (record.kind == "alarm.raised") {
    auto& jobs = data["jobs"];
    Out own = Out::array();
    for (const auto& job : jobs) {
      if (is_own(job)) own.push_back(job);
    }
    jobs = std::move(own);
    return !jobs.empty() || (record.subject_kind == "job" && is_job_of(state, tenant, record.subject_id));
  }
  return true;
}

// One that is no object is of a store that was changed by hand, and the other events are shown all the same.
Out unreadable(std::string_view what) {
  return Out{{"summary", fmt::format("the {}: see railweave admin check", what)},
             {"severity", "error"},
             {"data", Out::object()}};
}

// The payload's members: its messages as texts for this reader, its own in parts as well. That of an older version has none: what
// its summary names is not known.
Out members_for(const MessageReader& reader, std::string_view kind, const Out& payload) {
  const auto said = payload.find("message");
  const bool is_older = said == payload.end();
  const auto text = [&](const char* name) {
    const auto at = payload.find(name);
    return at != payload.end() && at->is_string() ? at->get<std::string>() : std::string();
  };
  const auto message =
      is_older ? Message::opaque(text("summary")) : message_from_json(Json(*said), "/message").value_or(Message());
  Out shown{{"summary", message.text(reader)}, {"severity", text("severity")}};
  if (!is_older) shown["message"] = message_value(message, reader);
  shown["data"] = shown_data(kind, payload["data"], reader, is_older);
  return shown;
}

std::string written(const db::Record& record, const std::string& actor, Out members) {
  Out shown{{"seq", record.seq},
            {"time", time_text(record.time_us)},
            {"type", record.kind},
            {"subject", {{"kind", record.subject_kind}, {"id", record.subject_id}}},
            {"actor", actor}};
  for (auto& [name, value] : members.items()) shown[name] = std::move(value);
  return dump(shown);
}

bool is_for(EventAudience audience, control::Role role) {
  using control::Role;
  switch (role) {
    case Role::administrator:
      return true;
    case Role::fabric_operator:
      return audience != EventAudience::administrators;
    case Role::viewer:
      return audience == EventAudience::observers || audience == EventAudience::observers_and_tenant;
    case Role::member:
      return audience == EventAudience::observers_and_tenant || audience == EventAudience::operators_and_tenant;
    case Role::agent:
      break;
  }
  return false;
}

}  // namespace

std::optional<std::string> shown_event(const ClusterState& state, const EventReader& reader, const db::Record& record) {
  const auto* kind = control::find_event_kind(record.kind);
  if (!is_for(kind == nullptr ? EventAudience::administrators : kind->audience, reader.role)) return std::nullopt;
  const bool is_member = reader.role == control::Role::member;
  if (is_member && !may_be_for(state, reader.tenant, record)) return std::nullopt;
  if (record.damaged) {
    Out members = unreadable("store's record of this event is damaged or missing");
    members["damaged"] = true;
    return written(record, "railweave", std::move(members));
  }
  Out payload = Out::parse(record.payload, nullptr, false);
  const bool is_whole = payload.is_object() && payload.contains("data") && payload["data"].is_object();
  if (!is_member) {
    return written(record, record.actor,
                   is_whole ? members_for(MessageReader::all(), record.kind, payload)
                            : unreadable("journal's record of this event cannot be read"));
  }
  if (!is_whole || !leave_own_data(state, reader.tenant, record, payload["data"])) return std::nullopt;
  const Viewer viewer(reader.role, reader.tenant);
  const bool may_see = may_see_actor(state, reader.tenant, reader.name, record.actor);
  return written(record, may_see ? record.actor : kOtherActor, members_for(viewer.reader(state), record.kind, payload));
}

}  // namespace railweave::api
