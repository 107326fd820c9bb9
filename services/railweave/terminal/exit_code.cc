#include "services/railweave/terminal/exit_code.h"

namespace railweave::cli {
namespace {

constexpr ExitCodeMeaning kMeanings[] = {
    {ExitCode::ok, "done"},
    {ExitCode::internal, "a bug, an error inside the service, or output that could not be written"},
    {ExitCode::usage, "the command line is wrong; nothing was done"},
    {ExitCode::unreachable, "no usable answer: the service is not running, too slow, or not railweaved"},
    {ExitCode::not_found, "the named object does not exist"},
    {ExitCode::conflict, "in conflict with the present state, or changed by another client first"},
    {ExitCode::not_now,
     "the job cannot be placed now, but could be once GPUs become free; or a wait reached its limit"},
    {ExitCode::never, "the job or fabric is impossible: no state of this fabric can hold it"},
    {ExitCode::invalid_input, "a file or a value is unreadable or invalid; nothing was changed"},
    {ExitCode::unavailable, "the service is busy or starting, or its store does not answer; try again"},
    {ExitCode::findings, "the check found something (at or above --fail-on, where there is one)"},
    {ExitCode::denied, "no valid token is shown, or one of a role that may not do this"},
};

}  // namespace

std::span<const ExitCodeMeaning> exit_code_meanings() { return kMeanings; }

ExitCode exit_code_of(const Error& error) {
  if (error.code.starts_with("client.")) {  // no answer; "invalid": the request could not be sent
    return error.kind == ErrorKind::invalid ? ExitCode::usage : ExitCode::unreachable;
  }
  if (error.code.starts_with("auth.")) return ExitCode::denied;
  if (error.code.starts_with("idempotency.keyReused")) return ExitCode::conflict;
  switch (error.kind) {
    case ErrorKind::malformed:
    case ErrorKind::invalid:
    case ErrorKind::tooLarge:
      return ExitCode::invalid_input;
    case ErrorKind::impossible:
      return ExitCode::never;
    case ErrorKind::notFound:
      return ExitCode::not_found;
    case ErrorKind::conflict:
    case ErrorKind::precondition:
      return ExitCode::conflict;
    case ErrorKind::busy:
    case ErrorKind::unavailable:
      return ExitCode::unavailable;
    case ErrorKind::internal:
      break;
  }
  return ExitCode::internal;
}

ExitCode exit_code_of_outcome(std::string_view outcome) {
  if (outcome == "placed") return ExitCode::ok;
  if (outcome == "notNow") return ExitCode::not_now;
  if (outcome == "never") return ExitCode::never;
  return ExitCode::internal;
}

ErrorKind kind_of_status(int status) {
  switch (status) {
    case 404:
    case 410:
      return ErrorKind::notFound;
    case 409:
      return ErrorKind::conflict;
    case 412:
      return ErrorKind::precondition;
    case 413:
    case 414:
    case 431:
      return ErrorKind::tooLarge;
    case 422:
      return ErrorKind::impossible;
    case 429:
      return ErrorKind::busy;
    case 408:
    case 502:
    case 503:
    case 504:
      return ErrorKind::unavailable;
    default:
      return status >= 400 && status < 500 ? ErrorKind::invalid : ErrorKind::internal;
  }
}

}  // namespace railweave::cli
