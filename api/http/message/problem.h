// Errors as RFC 9457 problem details (application/problem+json): the one place where an ErrorKind becomes an HTTP
// status.
//   {"type": "about:blank", "title": "Not Found", "status": 404, "code": "jobs.notFound", "detail": "...",
//    "hint": "...", "instance": "/v1/jobs/job-7", "errors": [{"pointer": "/gpus", "detail": "..."}]}
// `type` is about:blank as RFC 9457 (4.2.1) foresees: programs go by `code`, which is stable.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/http/message/response.h"
#include "fabric/base/error.h"

namespace railweave::api {

// One thing wrong with a body: where (JSON pointer, RFC 6901) and what.
struct ProblemPart {
  std::string pointer;
  std::string detail;
};

struct Problem {
  int status = 500;
  std::string code;
  std::string detail;
  std::string hint;
  std::string instance;  // the path of the request; the Responder fills it in
  std::vector<ProblemPart> errors;
  std::optional<int> retry_after_s;  // 429 and 503
  // Further members of the object: name and value, the value already JSON.
  std::vector<std::pair<std::string, std::string>> members;
};

// malformed, invalid 400; impossible 422; notFound 404; conflict 409; precondition 412; tooLarge 413; busy 429;
// unavailable 503; internal 500.
int http_status(ErrorKind kind);

// A location that is a JSON pointer becomes an entry of `errors`; any other goes before the detail. Those of internal
// and unavailable errors are left out: they are files of this machine, for its log.
Problem to_problem(const Error& error);

Response to_response(const Problem& problem);
Response to_response(const Error& error);

// For answers that no ErrorKind stands for: 405, 408, 415, 431...
Response problem_response(int status, std::string code, std::string detail, std::string hint = {});

}  // namespace railweave::api
