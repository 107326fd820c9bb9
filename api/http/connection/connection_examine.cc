#include <fmt/core.h>

#include "api/http/connection/connection.h"
#include "api/http/dispatch/request_checks.h"

namespace railweave::api {

std::optional<Response> Connection::examine() {
  Request& request = exchange_.held->request;
  if (core_.options.client_address) request.remote_address = core_.options.client_address(peer_, request.headers);
  if (std::optional<Problem> problem = check_framing(parser_->version, request.headers)) {
    io_.metrics.count_malformed();
    framing_lost_ = true;
    return to_response(*problem);
  }
  Result<Target> target = parse_target(parser_->target);
  if (!target) {
    io_.metrics.count_malformed();
    return to_response(target.error());
  }
  request.target = std::move(*target);
  if (std::optional<Problem> problem =
          check_origin(exchange_.method, request.headers, core_.options.allowed_hosts, tls_ != nullptr)) {
    problem->instance = request.target.path;
    return to_response(*problem);
  }
  // Methods that are registered and that no resource here has are refused by find_route().
  const bool known = exchange_.method != Method::other || parser_->method == "TRACE" || parser_->method == "CONNECT" ||
                     parser_->method == "QUERY";
  if (!known) {
    return problem_response(501, "http.unknownMethod", "no resource here has the method " + parser_->method);
  }
  if (std::optional<Response> answer = find_route()) return answer;
  if (std::optional<Response> answer = authenticate()) return answer;
  return examine_body();
}

std::optional<Response> Connection::authenticate() {
  if (!core_.options.authenticate || exchange_.route->options.anonymous) return std::nullopt;
  Request& request = exchange_.held->request;
  if (!is_still_trusted()) {
    framing_lost_ = true;  // the connection ends with the answer
    return problem_response(401, "auth.untrustedCertificate", "the certificate of this connection is trusted no more",
                            "connect with one of an authority that is trusted now");
  }
  Peer client = peer_;
  client.address = request.remote_address;
  auto caller = core_.options.authenticate(request.headers, client);
  if (!caller) {
    caller.error().instance = request.target.path;
    const bool unknown = caller.error().status == 401;
    Response refusal = to_response(caller.error());
    return unknown ? std::move(refusal).with("WWW-Authenticate", "Bearer") : std::move(refusal);
  }
  request.caller = std::move(*caller);
  return std::nullopt;
}

std::optional<Response> Connection::find_route() {
  Request& request = exchange_.held->request;
  exchange_.head_only = exchange_.method == Method::head;
  request.method = exchange_.head_only ? Method::get : exchange_.method;
  if (request.target.asterisk) {
    if (request.method == Method::options)
      return Response::empty().with("Allow", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    return problem_response(400, "http.badTarget", "the target * is for OPTIONS only");
  }
  std::optional<Router::Match> match = core_.router.match(request.target.segments);
  if (!match) {
    Problem problem = to_problem(Error{ErrorKind::notFound, "http.noSuchPath", "no resource has this path", "", ""});
    problem.instance = request.target.path;
    if (request.target.path.ends_with('/')) problem.hint = "leave out the / at the end";
    return to_response(problem);
  }
  exchange_.resource = match->resource;
  request.route = match->resource->pattern;
  request.path_params = std::move(match->params);
  if (request.method == Method::options) return Response::empty().with("Allow", match->resource->allow());
  exchange_.route = match->resource->route(request.method);
  if (exchange_.route != nullptr) return std::nullopt;
  const std::string allow = match->resource->allow();
  return problem_response(405, "http.methodNotAllowed",
                          parser_->method + " is not allowed at this path; allowed: " + allow)
      .with("Allow", allow);
}

std::size_t Connection::body_limit_bytes() const {
  const std::size_t own = exchange_.route->options.body_limit_bytes;
  return own == 0 ? core_.options.body_limit_bytes : own;
}

std::optional<Response> Connection::examine_body() {
  const Request& request = exchange_.held->request;
  if (parser_->is_done()) return std::nullopt;
  if (std::optional<Problem> problem = check_media_type(request.headers, exchange_.route->options.consumes)) {
    problem->instance = request.target.path;
    return to_response(*problem);
  }
  bool gzipped = false;
  for (const std::string_view coding : request.headers.list("Content-Encoding")) {
    const bool gzip = equal_ignoring_case(coding, "gzip") || equal_ignoring_case(coding, "x-gzip");
    if (equal_ignoring_case(coding, "identity")) continue;
    if (!gzip || gzipped) {
      return problem_response(415, "http.contentEncoding", "the only content coding understood is \"gzip\", once")
          .with("Accept-Encoding", "gzip");
    }
    gzipped = true;
  }
  const std::size_t limit_bytes = body_limit_bytes();
  if (const auto length = parser_->content_length(); length && *length > limit_bytes) {
    return to_response(Error{ErrorKind::tooLarge, "http.bodyTooLarge",
                             fmt::format("the body is larger than {} bytes", limit_bytes), "", ""});
  }
  parser_->expect_body(limit_bytes, gzipped, exchange_.held->charge);
  return std::nullopt;
}

}  // namespace railweave::api
