#include <optional>
#include <utility>

#include "services/rest/access/other_tenants.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/alarm.h"
#include "services/rest/json/page.h"

namespace railweave::api {
namespace {

// What the caller is shown of it: a member sees alarms of its tenant's jobs, without the other jobs.
std::optional<control::Alarm> shown_to(const Request& request, const control::ClusterState& state,
                                       const control::Alarm& alarm) {
  const std::string* own = own_tenant(request);
  if (own == nullptr) return alarm;
  control::Alarm shown = alarm;
  std::erase_if(shown.jobs, [&](const std::string& job) { return !is_job_of(state, *own, job); });
  const bool of_own_job = alarm.subject_kind == "job" && is_job_of(state, *own, alarm.subject_id);
  if (shown.jobs.empty() && !of_own_job) return std::nullopt;
  return shown;
}

Result<Response> list_alarms(const Call& call) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  std::optional<control::AlarmSeverity> severity;
  if (const auto* text = call.request.query("severity")) {
    severity = parse_alarm_severity(*text);
    if (!severity) {
      return fail(ErrorKind::invalid, "query.invalidSeverity", "there is no severity '" + *text + "'", {},
                  "warning or critical");
    }
  }
  const auto* kind = call.request.query("kind");
  const auto* subnet = call.request.query("subnet");
  const auto* subject = call.request.query("subject");
  const auto wants = [&](const control::Alarm& alarm) {
    if (severity && alarm.severity != *severity) return false;
    if (kind != nullptr && alarm.kind != *kind) return false;
    if (subnet != nullptr && alarm.subnet != *subnet) return false;
    return subject == nullptr || alarm.subject_kind == *subject ||
           alarm.subject_kind + "/" + alarm.subject_id == *subject;
  };
  const auto state = call.plane.loop.state();
  PageWriter page(query->limit, query->fields);
  std::string next;
  std::string last;
  for (auto alarm = state->alarms->upper_bound(query->cursor); alarm != state->alarms->end(); ++alarm) {
    if (!wants(alarm->second)) continue;
    const auto shown = shown_to(call.request, *state, alarm->second);
    if (!shown) continue;
    if (page.full()) {
      next = last;
      break;
    }
    page.add(write_alarm(state->topology(), *shown));
    last = alarm->first;
  }
  return Response::json(std::move(page).finish(next, state->seq));
}

Result<Response> get_alarm(const Call& call) {
  const auto state = call.plane.loop.state();
  const auto alarm = state->alarms->find(call.request.param("id"));
  const auto shown = alarm == state->alarms->end() ? std::nullopt : shown_to(call.request, *state, alarm->second);
  if (!shown) {
    return fail(ErrorKind::notFound, "alarms.notFound", "there is no alarm '" + call.request.param("id") + "'", {},
                "it may be over: GET /v1/alarms lists present alarms, GET /v1/events past ones");
  }
  return Response::json(write_alarm(state->topology(), *shown));
}

}  // namespace

void add_alarm_routes(RouteTable& routes) {
  routes.get("/v1/alarms",
             {.access = kViewersAndMembers,
              .query = {"severity", "kind", "subnet", "subject"},
              .page = PageLimits{.fields = {"id", "jobs", "kind", "raisedAt", "severity", "subject", "subnet", "text",
                                            "version"}},
              .http = {.compute = true}},
             list_alarms);
  routes.get("/v1/alarms/{id...}", {.access = kViewersAndMembers}, get_alarm);
}

}  // namespace railweave::api
