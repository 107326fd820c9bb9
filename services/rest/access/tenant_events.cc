#include "services/rest/access/tenant_events.h"

#include <algorithm>
#include <string_view>

#include "services/control/codec/journal_codec.h"
#include "services/json/strict_json.h"
#include "services/rest/access/other_tenants.h"

namespace railweave::api {
namespace {

using control::ClusterState;

// Railweave itself, the caller, tokens of its tenant, and of operators.
bool may_see_actor(const ClusterState& state, const std::string& tenant, const std::string& caller,
                   const std::string& actor) {
  if (actor == "railweave" || actor == caller) return true;
  return std::ranges::any_of(*state.access_tokens, [&](const auto& entry) {
    const control::AccessToken& token = entry.second;
    return token.name == actor && (token.tenant.empty() || token.tenant == tenant);
  });
}

// Leaves of its data what the tenant may see; false: nothing.
bool leave_own_data(const ClusterState& state, const std::string& tenant, const db::Record& record, Json& data) {
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
  if (record.kind == "alarm.cleared") {  // "<kind>:<subject>"
    const auto colon = record.subject_id.find(':');
    return colon != std::string::npos &&
           is_job_of(state, tenant, std::string_view(record.subject_id).substr(colon + 1));
  }
  if (record.subject_kind == "tenant" || record.subject_kind == "contract") return record.subject_id == tenant;
  if (record.subject_kind != "job" || !is_job_of(state, tenant, record.subject_id)) return false;
  if (const auto other = data.find("inFavourOf"); other != data.end() && other->is_number_unsigned()) {
    if (!is_job_of(state, tenant, control::to_string(control::JobId(other->get<std::uint64_t>())))) data.erase(other);
  }
  return true;
}

}  // namespace

std::optional<std::string> event_of_tenant(const ClusterState& state, const std::string& tenant,
                                           const std::string& caller, const db::Record& record) {
  const bool alarm = record.kind == "alarm.raised" || record.kind == "alarm.cleared";
  if (!alarm && record.subject_kind != "job" && record.subject_kind != "tenant" && record.subject_kind != "contract") {
    return std::nullopt;
  }
  auto payload = parse_json(record.payload);
  if (!payload || !payload->is_object() || !payload->contains("data") || !(*payload)["data"].is_object()) {
    return std::nullopt;
  }
  if (!leave_own_data(state, tenant, record, (*payload)["data"])) return std::nullopt;
  db::Record shown = record;
  shown.payload = payload->dump();
  if (!may_see_actor(state, tenant, caller, record.actor)) shown.actor = kOtherActor;
  std::string text = write_event(shown);
  hide_others(state, tenant, {}, text);
  return text;
}

}  // namespace railweave::api
