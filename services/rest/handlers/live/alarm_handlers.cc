#include <optional>
#include <utility>

#include "services/rest/access/viewer.h"
#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/fabric/alarm.h"
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

// None: the caller does not ask.
Result<std::optional<bool>> flag_if_given(const Call& call, const char* name) {
  if (call.request.query(name) == nullptr) return std::optional<bool>();
  const auto flag = read_flag(call, name);
  if (!flag) return std::unexpected(flag.error());
  return std::optional(*flag);
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
  const auto acknowledged = flag_if_given(call, "acknowledged");
  if (!acknowledged) return std::unexpected(acknowledged.error());
  const auto muted = flag_if_given(call, "muted");
  if (!muted) return std::unexpected(muted.error());
  const auto state = call.plane.loop.state();
  const auto wants = [&](const control::Alarm& alarm) {
    if (*acknowledged && alarm.acknowledged() != **acknowledged) return false;
    if (*muted && (state->mute(alarm.id()) != nullptr) != **muted) return false;
    if (severity && alarm.severity != *severity) return false;
    if (kind != nullptr && alarm.kind != *kind) return false;
    if (subnet != nullptr && alarm.subnet != *subnet) return false;
    return subject == nullptr || alarm.subject_kind == *subject ||
           alarm.subject_kind + "/" + alarm.subject_id == *subject;
  };
  const Viewer viewer(call.request);
  const MessageReader reader = viewer.reader(*state);
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
    page.add(write_alarm(*state, *shown, reader));
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
  const Viewer viewer(call.request);
  return Response::json(write_alarm(*state, *shown, viewer.reader(*state)));
}

// A change of an alarm, and the alarm as it is then.
Submission change_of(const Call& call, decltype(control::Command::body) change) {
  return Submission{std::move(change), [id = call.request.param("id")](const control::Accepted& accepted) {
                      // It may be over by the time the change is durable.
                      const auto& alarms = *accepted.state->alarms;
                      const auto alarm = alarms.find(id);
                      if (alarm == alarms.end()) return Response::empty();
                      return Response::json(write_alarm(*accepted.state, alarm->second, MessageReader::all()));
                    }};
}

// An acknowledgement, or taking it back.
Result<Submission> acknowledge(const Call& call, bool acknowledged) {
  auto note = read_note(call.request.body);
  if (!note) return std::unexpected(note.error());
  return change_of(call, control::AcknowledgeAlarm{call.request.param("id"), acknowledged, std::move(*note)});
}

Result<Submission> mute(const Call& call) {
  auto asked = read_mute(call.request.body);
  if (!asked) return std::unexpected(asked.error());
  return change_of(call, control::MuteAlarm{call.request.param("id"), asked->for_us, std::move(asked->note)});
}

Result<Submission> unmute(const Call& call) {
  auto note = read_note(call.request.body);
  if (!note) return std::unexpected(note.error());
  return change_of(call, control::MuteAlarm{call.request.param("id"), 0, std::move(*note)});
}

}  // namespace

void add_alarm_routes(RouteTable& routes) {
  routes.get("/v1/alarms",
             {.access = kViewersAndMembers,
              .query = {"severity", "kind", "subnet", "subject", "acknowledged", "muted"},
              .page = PageLimits{},
              .http = {.compute = true}},
             list_alarms);
  routes.get("/v1/alarms/{id...}", {.access = kViewersAndMembers}, get_alarm);
  for (const bool acknowledged : {true, false}) {
    routes.post(std::string("/v1/alarms/{id...}/") + (acknowledged ? "acknowledge" : "unacknowledge"),
                {.access = kOperators}, [acknowledged](const Call& call) { return acknowledge(call, acknowledged); });
  }
  routes.post("/v1/alarms/{id...}/mute", {.access = kOperators}, mute);
  routes.post("/v1/alarms/{id...}/unmute", {.access = kOperators}, unmute);
}

}  // namespace railweave::api
