#include "api/http/message/problem.h"

#include "fabric/base/text/json_string.h"

namespace railweave::api {
namespace {

constexpr int kRetryAfterBusy_s = 1;
constexpr int kRetryAfterUnavailable_s = 2;

void append_member(std::string& out, std::string_view name, std::string_view value) {
  out += ',';
  append_json_string(out, name);
  out += ':';
  append_json_string(out, value);
}

std::string render(const Problem& problem) {
  std::string out = R"({"type":"about:blank","title":)";
  append_json_string(out, status_text(problem.status));
  out += ",\"status\":" + std::to_string(problem.status);
  append_member(out, "code", problem.code);
  append_member(out, "detail", problem.detail);
  if (!problem.hint.empty()) append_member(out, "hint", problem.hint);
  if (!problem.instance.empty()) append_member(out, "instance", problem.instance);
  if (!problem.errors.empty()) {
    out += ",\"errors\":[";
    for (std::size_t i = 0; i < problem.errors.size(); ++i) {
      out += i == 0 ? "{\"pointer\":" : ",{\"pointer\":";
      append_json_string(out, problem.errors[i].pointer);
      append_member(out, "detail", problem.errors[i].detail);
      out += '}';
    }
    out += ']';
  }
  for (const auto& [name, json] : problem.members) {
    out += ',';
    append_json_string(out, name);
    out += ':' + json;
  }
  out += "}\n";
  return out;
}

}  // namespace

int http_status(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::malformed:
    case ErrorKind::invalid:
      return 400;
    case ErrorKind::impossible:
      return 422;
    case ErrorKind::notFound:
      return 404;
    case ErrorKind::conflict:
      return 409;
    case ErrorKind::precondition:
      return 412;
    case ErrorKind::tooLarge:
      return 413;
    case ErrorKind::busy:
      return 429;
    case ErrorKind::unavailable:
      return 503;
    case ErrorKind::internal:
      break;
  }
  return 500;
}

Problem to_problem(const Error& error) {
  Problem problem;
  problem.status = http_status(error.kind);
  problem.code = error.code;
  problem.detail = error.message;
  problem.hint = error.hint;
  if (error.kind == ErrorKind::internal || error.kind == ErrorKind::unavailable) {
    // Nothing of it for the caller.
  } else if (error.location.starts_with('/')) {
    problem.errors.push_back({error.location, error.message});
  } else if (!error.location.empty()) {
    problem.detail = error.location + ": " + error.message;
  }
  if (error.kind == ErrorKind::busy) problem.retry_after_s = kRetryAfterBusy_s;
  if (error.kind == ErrorKind::unavailable) problem.retry_after_s = kRetryAfterUnavailable_s;
  return problem;
}

Response to_response(const Problem& problem) {
  Response response;
  response.status = problem.status;
  response.content_type = "application/problem+json";
  response.body = render(problem);
  if (problem.retry_after_s) response.headers.set("Retry-After", std::to_string(*problem.retry_after_s));
  return response;
}

Response to_response(const Error& error) { return to_response(to_problem(error)); }

Response problem_response(int status, std::string code, std::string detail, std::string hint) {
  Problem problem;
  problem.status = status;
  problem.code = std::move(code);
  problem.detail = std::move(detail);
  problem.hint = std::move(hint);
  return to_response(problem);
}

}  // namespace railweave::api
