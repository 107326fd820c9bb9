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
  std::optional<bool> acknowledged;
  if (call.request.query("acknowledged") != nullptr) {
    const auto flag = read_flag(call, "acknowledged");
    if (!flag) return std::unexpected(flag.error());
    acknowledged = *flag;
  }
  const auto wants = [&](const control::Alarm& alarm) {
    if (acknowledged && alarm.acknowledged() != *acknowledged) return false;
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

// An acknowledgement, or taking it back.
Result<Submission> acknowledge(const Call& call, bool acknowledged) {
  auto note = read_note(call.request.body);
  if (!note) return std::unexpected(note.error());
  const std::string& id = call.request.param("id");
  return Submission{control::AcknowledgeAlarm{id, acknowledged, std::move(*note)},
                    [id](const control::Accepted& accepted) {
                      // It may be over by the time its acknowledgement is durable.
                      const auto& alarms = *accepted.state->alarms;
                      const auto alarm = alarms.find(id);
                      if (alarm == alarms.end()) return Response::empty();
                      return Response::json(write_alarm(accepted.state->topology(), alarm->second));
                    }};
}

}  // namespace

void add_alarm_routes(RouteTable& routes) {
  routes.get("/v1/alarms",
             {.access = kViewersAndMembers,
              .query = {"severity", "kind", "subnet", "subject", "acknowledged"},
              .page = PageLimits{.fields = {"acknowledged", "id", "jobs", "kind", "raisedAt", "severity", "subject",
                                            "subnet", "text", "version"}},
              .http = {.compute = true}},
             list_alarms);
  routes.get("/v1/alarms/{id...}", {.access = kViewersAndMembers}, get_alarm);
  for (const bool acknowledged : {true, false}) {
    routes.post(std::string("/v1/alarms/{id...}/") + (acknowledged ? "acknowledge" : "unacknowledge"),
                {.access = kOperators}, [acknowledged](const Call& call) { return acknowledge(call, acknowledged); });
  }
}

}  // namespace railweave::api
