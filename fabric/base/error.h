// What went wrong, where, and what to do: the outcome a caller must handle. Protocol-neutral; mapped to HTTP status
// codes and to exit codes in exactly one place each (api/http/message/problem.cc,
// services/railweave/terminal/exit_code.cc).
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "fabric/base/message.h"

namespace railweave {

enum class ErrorKind {
  malformed,     // the input cannot be read at all
  invalid,       // readable, but breaks a rule of its own
  impossible,    // well-formed, but no state of this fabric can meet it
  notFound,      // names something that is not there
  conflict,      // contradicts the present state
  precondition,  // the caller's version of the thing is out of date
  tooLarge,      // beyond a documented limit
  busy,          // a bounded queue is full; try again later
  unavailable,   // starting, without a leader, or the store does not answer
  internal,      // a bug, or the machine failed
};

struct Error {
  ErrorKind kind = ErrorKind::internal;
  std::string code;      // stable, for programs: "jobs.neverFits"
  std::string message;   // what is wrong, for people
  std::string location;  // where: "line 12, column 4", a JSON pointer, a file; may be empty
  std::string hint;      // what to do about it; may be empty
  // Where the message names what not all may see: the whole of it, and `message` is what anyone may read.
  Message said = {};

  [[nodiscard]] Message whole() const { return said.empty() ? Message(message) : said; }

  void append(const std::string& words) {
    message += words;
    if (!said.empty()) said += words;
  }

  // One line: "location: message (hint)".
  [[nodiscard]] std::string text() const {
    std::string line = location.empty() ? message : location + ": " + message;
    if (!hint.empty()) line += " (" + hint + ")";
    return line;
  }
};

template <class T>
using Result = std::expected<T, Error>;

inline Error error_of(ErrorKind kind, std::string code, Message said, std::string location = {},
                      std::string hint = {}) {
  std::string message = said.public_text();
  return {kind, std::move(code), std::move(message), std::move(location), std::move(hint), std::move(said)};
}

inline std::unexpected<Error> fail(ErrorKind kind, std::string code, std::string message, std::string location = {},
                                   std::string hint = {}) {
  return std::unexpected(Error{kind, std::move(code), std::move(message), std::move(location), std::move(hint)});
}

}  // namespace railweave
