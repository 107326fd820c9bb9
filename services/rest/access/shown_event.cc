#include "services/rest/access/shown_event.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "services/control/codec/journal_codec.h"
#include "services/control/codec/message_json.h"
#include "services/control/events/event_kind.h"
#include "services/json/message_value.h"
#include "services/json/strict_json.h"
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
bool leave_own_data(const ClusterState& state, const std::string& tenant, const db::Record& record, Json& data) {
  if (const auto other = data.find("inFavourOf"); other != data.end() && other->is_number_unsigned()) {
    if (!is_job_of(state, tenant, control::to_string(control::JobId(other->get<std::uint64_t>())))) data.erase(other);
  }
  const auto is_own = [&](const Json& job) {
    return job.is_string() && is_job_of(state, tenant, job.get_ref<const std::string&>());
  };
  if (record.kind == "alarm.raised") {
    auto& jobs = data["jobs"];
    Json own = Json::array();
    for (const auto& job : jobs) {
      if (is_own(job)) own.push_back(job);
    }
    jobs = std::move(own);
    return !jobs.empty() || (record.subject_kind == "job" && is_job_of(state, tenant, record.subject_id));
  }
  return true;
}

bool is_message(const Json& value) {
  return value.is_object() && value.contains("parts") && value.size() == 1 + value.count("code");
}

// Messages become texts. is_older: of a version that wrote finished texts in their place.
Json told_data(const Json& data, const MessageReader& reader, bool is_older) {
  constexpr std::array kTexts{"reason", "text", "damage"};
  if (is_message(data)) return message_from_json(data, "").value_or(Message()).text(reader);
  if (data.is_array()) {
    Json list = Json::array();
    for (const auto& item : data) list.push_back(told_data(item, reader, is_older));
    return list;
  }
  if (!data.is_object()) return data;
  Json told = Json::object();
  for (const auto& [name, value] : data.items()) {
    const bool is_text = value.is_string() && std::ranges::find(kTexts, name) != kTexts.end();
    told[name] = is_older && is_text ? Json(Message::opaque(value.get<std::string>()).text(reader))
                                     : told_data(value, reader, is_older);
  }
  return told;
}

// The messages in it as texts for this reader, and the event's own in parts. That of an older version has none: what its
// summary names is not known.
Out payload_for(const MessageReader& reader, const Json& payload) {
  const auto said = payload.find("message");
  auto message = said == payload.end() ? Message::opaque(payload.value("summary", std::string()))
                                       : message_from_json(*said, "/message").value_or(Message());
  return Out{{"summary", message.text(reader)},
             {"severity", payload.value("severity", std::string())},
             {"message", message_value(message, reader)},
             {"data", told_data(payload["data"], reader, said == payload.end())}};
}

std::optional<std::string> shown_to_member(const ClusterState& state, const EventReader& reader,
                                           const db::Record& record) {
  if (!may_be_for(state, reader.tenant, record)) return std::nullopt;
  auto payload = parse_json(record.payload);
  if (!payload || !payload->is_object() || !payload->contains("data") || !(*payload)["data"].is_object()) {
    return std::nullopt;
  }
  if (!leave_own_data(state, reader.tenant, record, (*payload)["data"])) return std::nullopt;
  const Viewer viewer(reader.role, reader.tenant);
  db::Record shown = record;
  shown.payload = dump(payload_for(viewer.reader(state), *payload));
  if (!may_see_actor(state, reader.tenant, reader.name, record.actor)) shown.actor = kOtherActor;
  return write_event(shown);
}

// Payloads without messages in their data are shown as they are stored.
bool has_messages(const std::string& payload) {
  const auto data = payload.find(R"("data":)");  // the first: quotes in texts before it are escaped
  return data != std::string::npos && payload.find(R"("parts":)", data) != std::string::npos;
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
  if (reader.role == control::Role::member) return shown_to_member(state, reader, record);
  if (!has_messages(record.payload)) return write_event(record);
  const auto payload = parse_json(record.payload);
  if (!payload || !payload->is_object() || !payload->contains("data")) return write_event(record);
  db::Record shown = record;
  shown.payload = dump(payload_for(MessageReader::all(), *payload));
  return write_event(shown);
}

}  // namespace railweave::api
