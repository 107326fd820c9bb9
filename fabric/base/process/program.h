// Runs another program and waits for its end. Its arguments go to it as they are: no shell reads them.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/error.h"

namespace railweave {

struct Program {
  std::vector<std::string> arguments;                       // the program first, looked for in PATH; at least one
  std::string input = {};                                   // all that it reads
  std::optional<std::chrono::milliseconds> timeout = {};    // none: as long as it takes
  std::size_t max_output = std::size_t{256} * 1024 * 1024;  // bytes of each of the two
  bool to_stderr = false;                                   // what it prints goes to this process' stderr, at once
};

struct ProgramEnd {
  int exit_code = 0;   // 0 too where a signal ended it
  int signal = 0;      // 0: none
  std::string output;  // what it printed on stdout
  std::string errors;  // and on stderr

  [[nodiscard]] bool is_success() const { return exit_code == 0 && signal == 0; }
  [[nodiscard]] std::string how() const;  // "failed with exit code 2", "was ended by signal 9"
};

// With a timeout it has a process group of its own, all of which is killed where it is late or prints too much. What it leaves
// running is not waited for. Errors: unavailable "program.cannotStart", "program.late", "program.printsTooMuch".
Result<ProgramEnd> run_program(const Program& program);

}  // namespace railweave
