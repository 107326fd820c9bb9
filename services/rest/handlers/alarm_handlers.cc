#include <optional>
#include <utility>

#include "services/rest/handlers/list_query.h"
#include "services/rest/handlers/routes.h"
#include "services/rest/json/alarm.h"
#include "services/rest/json/page.h"

namespace railweave::api {
namespace {

void list_alarms(const ControlPlane& plane, const Request& request, const Responder& respond) {
  const auto query = read_list_query(request, {"severity", "kind", "subnet", "subject"});
  if (!query) return void(respond(query.error()));
  std::optional<control::AlarmSeverity> severity;
  if (const auto* text = request.query("severity")) {
    severity = parse_alarm_severity(*text);
    if (!severity) {
      return void(respond(Error{ErrorKind::invalid,
                                "query.invalidSeverity",
                                "there is no severity '" + *text + "'",
                                {},
                                "warning or critical"}));
    }
  }
  const auto* kind = request.query("kind");
  const auto* subnet = request.query("subnet");
  const auto* subject = request.query("subject");
  const auto wants = [&](const control::Alarm& alarm) {
    if (severity && alarm.severity != *severity) return false;
    if (kind != nullptr && alarm.kind != *kind) return false;
    if (subnet != nullptr && alarm.subnet != *subnet) return false;
    return subject == nullptr || alarm.subject_kind == *subject ||
           alarm.subject_kind + "/" + alarm.subject_id == *subject;
  };
  const auto state = plane.loop.state();
  PageWriter page(query->limit, query->fields);
  std::string next;
  std::string last;
  for (auto alarm = state->alarms->upper_bound(query->cursor); alarm != state->alarms->end(); ++alarm) {
    if (!wants(alarm->second)) continue;
    if (page.full()) {
      next = last;
      break;
    }
    page.add(write_alarm(alarm->second));
    last = alarm->first;
  }
  respond(Response::json(std::move(page).finish(next, state->seq)));
}

void get_alarm(const ControlPlane& plane, const Request& request, const Responder& respond) {
  if (auto checked = check_query(request, {}); !checked) return void(respond(checked.error()));
  const auto state = plane.loop.state();
  const auto alarm = state->alarms->find(request.param("id"));
  if (alarm == state->alarms->end()) {
    return void(
        respond(Error{ErrorKind::notFound,
                      "alarms.notFound",
                      "there is no alarm '" + request.param("id") + "'",
                      {},
                      "it may be over; GET /v1/alarms lists those there are, GET /v1/events those there were"}));
  }
  respond(Response::json(write_alarm(alarm->second)));
}

}  // namespace

void add_alarm_routes(Router& router, const ControlPlane& plane) {
  router.get("/v1/alarms", [&plane](const Request& q, Responder r) { list_alarms(plane, q, r); }, {.compute = true});
  router.get("/v1/alarms/{id...}", [&plane](const Request& q, Responder r) { get_alarm(plane, q, r); });
}

}  // namespace railweave::api
