#include "services/rest/handlers/reply.h"

#include <future>
#include <memory>
#include <random>
#include <utility>

#include <fmt/core.h>

#include "api/http/message/etag.h"
#include "api/http/message/problem.h"
#include "services/rest/json/guarantees/guarantee.h"
#include "services/rest/json/jobs/job.h"
#include "services/rest/json/jobs/placement_value.h"

namespace railweave::api {

Response operation_started(const std::string& operation) {
  return Response::json(R"({"operation":")" + operation + R"("})", 202).with("Location", "/v1/operations/" + operation);
}

Error too_busy() {
  return {ErrorKind::busy, "service.busy", "too many changes are waiting", {}, "try again in a second"};
}

Problem to_problem(const MessageReader& reader, const control::Rejection& rejection) {
  Problem problem = to_problem(told(rejection.error, reader));
  if (rejection.placement != nullptr) {
    problem.members.emplace_back("outcome", fmt::format("\"{}\"", railweave::to_text(rejection.placement->outcome)));
    problem.members.emplace_back("explanation", write_explanation(rejection.placement->explanation));
  }
  if (!rejection.links.empty()) problem.members.emplace_back("links", write_blocked_links(rejection.links));
  return problem;
}

Response rejected(const Call& call, const control::Rejection& rejection) {
  const auto state = call.plane.loop.state();
  const Viewer viewer(call.request);
  Problem problem = to_problem(viewer.reader(*state), rejection);
  problem.instance = call.request.target.path;
  return to_response(problem);
}

control::CommandResult decide_now(const Call& call, decltype(control::Command::body) command) {
  const auto answer = std::make_shared<std::promise<control::CommandResult>>();
  auto future = answer->get_future();
  const bool queued =
      call.plane.loop.submit({actor_of(call.request), std::move(command), origin_of(call.request)},
                             [answer](control::CommandResult result) { answer->set_value(std::move(result)); });
  if (!queued) return std::unexpected(control::Rejection{too_busy(), nullptr});
  return future.get();
}

std::string actor_of(const Request& request) { return request.caller == nullptr ? "local" : request.caller->actor(); }

control::RequestOrigin origin_of(const Request& request) {
  if (request.caller == nullptr) return {request.id, {}, {}};
  return {request.id, request.caller->tenant, request.caller->token};
}

std::string etag_of(const std::string& id, std::uint64_t version) {
  return strong_etag(fmt::format("{}.{}", id, version));
}

std::string run_etag(const std::string& id, std::uint64_t version) {
  static const std::string run = std::to_string(std::random_device()());
  return etag_of(id + "." + run, version);
}

std::optional<Response> not_modified(const Call& call, const std::string& etag) {
  if (matched_if_none_match(call.request.headers, etag).empty()) return std::nullopt;
  return Response::empty(304).with("ETag", etag);
}

Response with_etag(const Call& call, Response response, const std::string& etag) {
  if (auto known = not_modified(call, etag)) return std::move(*known);
  response.headers.set("ETag", etag);
  return response;
}

}  // namespace railweave::api
