// Runs the real railweave as a process, as a shell would, on pipes or on a terminal.
#pragma once

#include <string>
#include <vector>

namespace railweave::cli {

struct Finished {
  int exit_code = -1;  // 128 + signal where it was killed
  std::string out, err;
};

struct RunOptions {
  std::string input;                     // of stdin
  std::vector<std::string> environment;  // "NAME=value", on top of a bare one
  bool terminal = false;                 // stdout and stderr are one terminal; all comes as `out`, with \r\n as \n
  unsigned columns = 80;                 // of the terminal
  bool closed_stdout = false;            // nobody reads stdout
  std::string stdout_path;               // instead of being read
};

Finished run_railweave(const std::vector<std::string>& arguments, const RunOptions& options = {});

// A file with this content below a folder of its own, gone with the process.
std::string scratch_file(const std::string& name, const std::string& content);
std::string scratch_path(const std::string& name);

// "" where the real data is absent.
std::string shared_data(const std::string& path);

}  // namespace railweave::cli
