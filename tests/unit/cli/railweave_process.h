// Runs the real railweave as a process on pipes or on a terminal, as a shell would.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace railweave::cli {

struct Finished {
  int exit_code = -1;  // 128 + signal where it was killed
  std::string out, err;
};

struct RunOptions {
  std::string input;                     // of stdin
  std::vector<std::string> environment;  // "NAME=value", added to a minimal environment
  bool terminal = false;                 // stdout and stderr are one terminal; both are in `out`, with \r removed
  unsigned columns = 80;                 // of the terminal
  bool closed_stdout = false;            // stdout has no reader
  std::string stdout_path;               // a file that replaces the pipe
  std::function<void(const std::string& out)> on_output;  // called with all of stdout whenever there is more
};

Finished run_railweave(const std::vector<std::string>& arguments, const RunOptions& options = {});

// A file with this content in a temporary folder that is removed when the process ends.
std::string scratch_file(const std::string& name, const std::string& content);
std::string scratch_path(const std::string& name);

// "" where the real data is absent.
std::string shared_data(const std::string& path);

}  // namespace railweave::cli
