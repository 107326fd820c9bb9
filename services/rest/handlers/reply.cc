#include "services/rest/handlers/reply.h"

#include <future>
#include <memory>
#include <utility>

#include "api/http/message/etag.h"
#include "api/http/message/problem.h"
#include "services/rest/json/guarantee.h"
#include "services/rest/json/job.h"

namespace railweave::api {
namespace {

Error too_busy() {
  return {ErrorKind::busy, "service.busy", "too many changes are waiting", {}, "try again in a second"};
}

}  // namespace

void reply(const Responder& respond, const control::Rejection& rejection) {
  Problem problem = to_problem(rejection.error);
  if (rejection.placement != nullptr) {
    problem.members.emplace_back("outcome",
                                 "\"" + std::string(railweave::to_text(rejection.placement->outcome)) + "\"");
    problem.members.emplace_back("explanation", write_explanation(rejection.placement->explanation));
  }
  if (!rejection.links.empty()) problem.members.emplace_back("links", write_blocked_links(rejection.links));
  respond(std::move(problem));
}

void submit(const ControlPlane& plane, control::Command command, const Responder& respond,
            std::function<Response(const control::Accepted&)> on_accepted) {
  const bool queued = plane.loop.submit(
      std::move(command), [respond, on_accepted = std::move(on_accepted)](const control::CommandResult& result) {
        if (result) {
          respond(on_accepted(*result));
        } else {
          reply(respond, result.error());
        }
      });
  if (!queued) respond(too_busy());
}

control::CommandResult decide_now(const ControlPlane& plane, control::Command command) {
  const auto answer = std::make_shared<std::promise<control::CommandResult>>();
  auto future = answer->get_future();
  const bool queued = plane.loop.submit(
      std::move(command), [answer](control::CommandResult result) { answer->set_value(std::move(result)); });
  if (!queued) return std::unexpected(control::Rejection{too_busy(), nullptr});
  return future.get();
}

std::string actor_of(const Request& request) {
  (void)request;
  return "local";
}

std::string etag_of(const std::string& id, std::uint64_t version) {
  return strong_etag(id + "." + std::to_string(version));
}

namespace {

// A job's tag says, after its version, what is not of the job itself (job_handlers.cc): that may have changed.
bool names_version(std::string_view if_match, const std::string& version) {
  const auto at = if_match.find("\"" + version + "-");
  return at != std::string_view::npos && !(at >= 2 && if_match.substr(at - 2, 2) == "W/");
}

}  // namespace

Result<std::optional<std::uint64_t>> wanted_version(const Request& request, const std::string& id,
                                                    std::uint64_t version) {
  const std::string etag = version == 0 ? std::string() : etag_of(id, version);
  switch (if_match(request.headers, etag)) {
    case Precondition::absent:
      return std::nullopt;
    case Precondition::holds:
      return version;
    case Precondition::fails:
      if (names_version(request.headers.value("If-Match"), id + "." + std::to_string(version))) return version;
      break;
  }
  return fail(ErrorKind::precondition, "precondition.versionDiffers",
              version == 0 ? id + " does not exist" : id + " is at version " + std::to_string(version) + " now", {},
              "read it again, then repeat the change");
}

Response with_etag(const Request& request, Response response, const std::string& etag) {
  if (!matched_if_none_match(request.headers, etag).empty()) return Response::empty(304).with("ETag", etag);
  response.headers.set("ETag", etag);
  return response;
}

}  // namespace railweave::api
