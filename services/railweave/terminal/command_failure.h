// CommandFailure ends a command early. main() catches it, prints the error as one line on stderr and exits with its
// code.
#pragma once

#include <exception>
#include <string>
#include <utility>

#include "fabric/base/error.h"
#include "services/railweave/terminal/exit_code.h"

namespace railweave::cli {

class CommandFailure : public std::exception {
 public:
  explicit CommandFailure(Error error) : code_(exit_code_of(error)), error_(std::move(error)) {}
  CommandFailure(ExitCode code, Error error) : code_(code), error_(std::move(error)) {}

  [[nodiscard]] ExitCode code() const { return code_; }
  [[nodiscard]] const Error& error() const { return error_; }
  [[nodiscard]] const char* what() const noexcept override { return error_.message.c_str(); }

 private:
  ExitCode code_;
  Error error_;
};

// For arguments that parse but make no sense together; ExitCode::usage.
[[noreturn]] inline void fail_usage(std::string message, std::string hint = {}) {
  throw CommandFailure(ExitCode::usage, {ErrorKind::invalid, "cli.usage", std::move(message), {}, std::move(hint)});
}

template <class T>
T value_or_fail(Result<T> result) {
  if (!result) throw CommandFailure(std::move(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace railweave::cli
