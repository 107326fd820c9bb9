#include "services/rest/handlers/route_table.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "api/contract/list_fields.h"
#include "api/http/message/etag.h"
#include "api/http/message/problem.h"
#include "fabric/base/check.h"
#include "fabric/base/whole_number.h"
#include "services/rest/access/viewer.h"
#include "services/rest/handlers/reply.h"

namespace railweave::api {
namespace {

constexpr std::string_view kMinSeq = "minSeq";  // of every GET
constexpr const char* kSeq = "Railweave-Seq";
constexpr const char* kStaleness = "Railweave-Staleness";

std::vector<std::string_view> parameters(const RouteRules& rules) {
  std::vector<std::string_view> names;
  if (rules.page) {
    names = {"limit", "cursor"};
    if (!rules.page->fields.empty()) names.emplace_back("fields");
  }
  names.insert(names.end(), rules.query.begin(), rules.query.end());
  return names;
}

Result<void> check_parameters(const Call& call) {
  if (call.rules.any_query || call.request.target.query.empty()) return {};
  const auto known = parameters(call.rules);
  for (const auto& [name, value] : call.request.target.query) {
    const bool is_common = name == kMinSeq && call.request.method == Method::get;
    if (is_common || std::ranges::find(known, name) != known.end()) {
      if (name == call.rules.repeatable || call.request.target.query.all(name).size() == 1) continue;
      return fail(ErrorKind::invalid, "query.repeatedParameter",
                  "the query parameter '" + name + "' is given more than once", {}, "give it once");
    }
    const std::string list = fmt::format("{}", fmt::join(known, ", "));
    return fail(ErrorKind::invalid, "query.unknownParameter", "there is no query parameter '" + name + "' here", {},
                list.empty() ? "it takes none" : "it takes " + list);
  }
  return {};
}

// A job's ETag carries, after its version, a digest of what may change without a new version (job_handlers.cc).
bool names_version(std::string_view if_match, std::string_view etag) {
  if (etag.empty()) return false;
  const auto at = if_match.find(std::string(etag.substr(0, etag.size() - 1)) + "-");
  return at != std::string_view::npos && !(at >= 2 && if_match.substr(at - 2, 2) == "W/");
}

Response forbidden(const Caller& caller, const Access& access) {
  std::string others = access.least == Access::Least::viewer            ? "viewers, operators and administrators"
                       : access.least == Access::Least::fabric_operator ? "operators and administrators"
                                                                        : "administrators";
  if (access.agents) others = "agents of nodes, " + others;
  if (access.members) others = "members of tenants, " + others;
  return problem_response(403, "auth.forbidden",
                          "this is for " + others + "; " + caller.name + " is " +
                              (caller.role == control::Role::viewer   ? "a viewer"
                               : caller.role == control::Role::member ? "a member of tenant " + caller.tenant
                               : caller.role == control::Role::agent  ? "the agent of node " + caller.node
                                                                      : "an " + std::string(to_text(caller.role))),
                          "ask an administrator for a token of another role");
}

// The event that the answer must not be older than; 0: any will do.
Result<std::uint64_t> least_seq(const Request& request) {
  const auto* text = request.query(kMinSeq);
  if (text == nullptr || request.method != Method::get) return 0;
  const auto seq = whole_number<std::uint64_t>(*text);
  if (!seq) {
    return fail(ErrorKind::invalid, "query.minSeq", "minSeq is not a number", {},
                "it is what a change was answered with in Railweave-Seq");
  }
  return *seq;
}

bool only_leader_answers(const Call& call) {
  if (call.rules.by != AnsweredBy::method) return call.rules.by == AnsweredBy::leader;
  return call.request.method != Method::get;
}

// Says of the answer to a change which event to wait for, to read it elsewhere.
Responder numbered(const Responder& respond, const ControlPlane& plane) {
  const auto outer = std::make_shared<const Responder>(respond);
  const std::shared_ptr<const Request> request(outer, &outer->request());
  return {request, [outer, &plane](Response response) {
            response.headers.set(kSeq, std::to_string(plane.loop.state()->seq));
            (*outer)(std::move(response));
          }};
}

// Says of an answer how old it may be.
Responder dated(const Responder& respond, const ControlPlane& plane) {
  const auto outer = std::make_shared<const Responder>(respond);
  const std::shared_ptr<const Request> request(outer, &outer->request());
  const auto staleness = plane.replica->staleness();
  return {request, [outer, seq = plane.loop.state()->seq, staleness](Response response) {
            response.headers.set(kSeq, std::to_string(seq));
            response.headers.set(kStaleness, fmt::format("{}.{}", staleness.count() / 1000,
                                                         std::to_string(1000 + staleness.count() % 1000).substr(1)));
            (*outer)(std::move(response));
          }};
}

Error told_caller(const Call& call, Error error) {
  if (error.said.empty()) return error;
  const auto state = call.plane.loop.state();
  const Viewer viewer(call.request);
  return told(std::move(error), viewer.reader(*state));
}

void run(const Answer& handler, const Call& call, const Responder& respond) {
  auto answer = handler(call);
  if (answer) {
    respond(std::move(*answer));
  } else {
    respond(told_caller(call, std::move(answer.error())));
  }
}

Error not_yet(std::uint64_t seq) {
  return {ErrorKind::precondition,
          "service.behind",
          fmt::format("event {} has not happened yet", seq),
          {},
          "minSeq is what a change was answered with in Railweave-Seq"};
}

void run(const Submit& handler, const Call& call, const Responder& respond) {
  auto submission = handler(call);
  if (!submission) return void(respond(told_caller(call, std::move(submission.error()))));
  const bool queued = call.plane.loop.submit(
      {actor_of(call.request), std::move(submission->command), origin_of(call.request)},
      [respond, &plane = call.plane,
       on_accepted = std::move(submission->on_accepted)](const control::CommandResult& result) {
        if (!result) {
          const auto state = plane.loop.state();
          const Viewer viewer(respond.request());
          return void(respond(to_problem(viewer.reader(*state), result.error())));
        }
        try {
          respond(on_accepted(*result));
        } catch (const std::exception&) {  // on the control thread, which must go on: the change is durable
          respond(Error{ErrorKind::internal, "internal.exception",
                        "the change was made, but telling it failed on a bug of the service", "", "read it again"});
        }
      });
  if (!queued) respond(too_busy());
}

void run(const Asynchronous& handler, const Call& call, const Responder& respond) {
  if (auto started = handler(call, respond); !started) respond(told_caller(call, std::move(started.error())));
}

// A call with the steps of its answer, until that is given.
struct Stepping {
  Stepping(const Call& of, Responder to) : respond(std::move(to)), call{of.plane, respond.request(), of.rules} {}

  const Responder respond;
  const Call call;
  Steps steps = nullptr;
};

void step(const std::shared_ptr<Stepping>& stepping) {
  constexpr std::chrono::milliseconds kTurn{2};
  const auto until = std::chrono::steady_clock::now() + kTurn;
  const Call& call = stepping->call;
  while (!call.request.stop.stop_requested()) {
    auto answer = stepping->steps();
    if (!answer) return void(stepping->respond(told_caller(call, std::move(answer.error()))));
    if (*answer) return void(stepping->respond(std::move(**answer)));
    if (std::chrono::steady_clock::now() < until || !call.request.go_on) continue;
    if (call.request.go_on(stepping->respond, [stepping] { step(stepping); })) return;
  }
}

void run(const InSteps& handler, const Call& call, const Responder& respond) {
  const auto stepping = std::make_shared<Stepping>(call, respond);
  auto steps = handler(stepping->call);
  if (!steps) return void(respond(told_caller(call, std::move(steps.error()))));
  stepping->steps = std::move(*steps);
  step(stepping);
}

// Pages larger than these are heavy work.
constexpr std::uint64_t kQuickPage = 1000;

bool is_long_page(const RouteRules& rules, const Request& request) {
  const auto* text = request.query("limit");
  const auto limit = text != nullptr ? whole_number<std::uint64_t>(*text) : std::nullopt;
  return limit.value_or(rules.page->initial) > kQuickPage;
}

}  // namespace

PresentVersion present_version(const std::string& id, std::uint64_t version) {
  return {id, version == 0 ? std::string() : etag_of(id, version), version};
}

Result<std::optional<std::uint64_t>> if_version(const Call& call, const control::ClusterState& state) {
  RAILWEAVE_CHECK(call.rules.present != nullptr, "only a route that honours If-Match asks for its version");
  const PresentVersion present = call.rules.present(state, call.request);
  if (call.request.headers.contains("If-None-Match")) {
    const bool exists = !present.etag.empty();
    if (exists && !matched_if_none_match(call.request.headers, present.etag).empty()) {
      return fail(ErrorKind::precondition, "precondition.exists",
                  fmt::format("{} exists, at version {}", present.resource, present.version), {},
                  "leave If-None-Match out to change it");
    }
    // Between here and the decision another request may create it: the change is held to there being none.
    if (!exists) return present.version;
  }
  switch (if_match(call.request.headers, present.etag)) {
    case Precondition::absent:
      return std::nullopt;
    case Precondition::holds:
      return present.version;
    case Precondition::fails:
      if (names_version(call.request.headers.value("If-Match"), present.etag)) return present.version;
      break;
  }
  return fail(ErrorKind::precondition, "precondition.versionDiffers",
              present.etag.empty() ? present.resource + " does not exist"
                                   : fmt::format("{} is at version {} now", present.resource, present.version),
              {}, "read it again, then repeat the change");
}

void RouteTable::get(std::string_view path, RouteRules rules, RouteHandler handler) {
  if (rules.page) rules.page->fields = list_fields(path);
  add(Method::get, path, std::move(rules), std::move(handler));
}
void RouteTable::put(std::string_view path, RouteRules rules, RouteHandler handler) {
  add(Method::put, path, std::move(rules), std::move(handler));
}
void RouteTable::post(std::string_view path, RouteRules rules, RouteHandler handler) {
  add(Method::post, path, std::move(rules), std::move(handler));
}
void RouteTable::patch(std::string_view path, RouteRules rules, RouteHandler handler) {
  add(Method::patch, path, std::move(rules), std::move(handler));
}
void RouteTable::del(std::string_view path, RouteRules rules, RouteHandler handler) {
  add(Method::del, path, std::move(rules), std::move(handler));
}

void RouteTable::add(Method method, std::string_view path, RouteRules rules, RouteHandler handler) {
  RouteOptions options = rules.http;
  options.anonymous = rules.access.least == Access::Least::anyone;
  // A body is JSON unless the route says otherwise: a type that a page of another site may send with no questions asked
  // (text/plain, a form) is not taken for it.
  if (options.consumes.empty() && !rules.any_body) options.consumes = {"application/json"};
  if (options.compute && rules.page) {
    options.heavy_when = [rules](const Request& request) { return is_long_page(rules, request); };
  }
  router_.add(
      method, path,
      [&plane = plane_, rules = std::move(rules), handler = std::move(handler)](const Request& request,
                                                                                const Responder& respond) {
        const Call call{plane, request, rules};
        if (request.caller != nullptr && !rules.access.allows(request.caller->role)) {
          return void(respond(forbidden(*request.caller, rules.access)));
        }
        if (const auto checked = check_parameters(call); !checked) return void(respond(checked.error()));
        const auto seq = least_seq(request);
        if (!seq) return void(respond(seq.error()));
        const bool behind = *seq > plane.loop.state()->seq;
        const bool follows = plane.replica != nullptr && plane.replica->follows();
        if (follows && (behind || only_leader_answers(call))) {
          return plane.forwarder->forward(plane.loop.state()->leader.url, respond);
        }
        if (behind) return void(respond(not_yet(*seq)));
        const Responder answer = request.method != Method::get ? numbered(respond, plane)
                                 : follows                     ? dated(respond, plane)
                                                               : respond;
        std::visit([&](const auto& kind) { run(kind, call, answer); }, handler);
      },
      std::move(options));
}

}  // namespace railweave::api
