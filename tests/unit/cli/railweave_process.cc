#include "tests/unit/cli/railweave_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace railweave::cli {
namespace {

struct Pipe {
  Pipe() { EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0); }
  std::array<int, 2> ends{-1, -1};
};

// Reads both outputs to their ends, in parallel, so that neither pipe fills up.
void drain(int out, int err, const RunOptions& options, Finished& finished) {
  std::array<pollfd, 2> open{pollfd{out, POLLIN, 0}, pollfd{err, POLLIN, 0}};
  while (open[0].fd >= 0 || open[1].fd >= 0) {
    if (poll(open.data(), open.size(), 60'000) <= 0) return;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i].fd < 0 || open[i].revents == 0) continue;
      std::array<char, 65536> buffer;
      const ssize_t count = read(open[i].fd, buffer.data(), buffer.size());
      if (count <= 0) {  // a terminal without writers fails with EIO
        open[i].fd = -1;
        continue;
      }
      (i == 0 ? finished.out : finished.err).append(buffer.data(), static_cast<std::size_t>(count));
      if (i == 0 && options.on_output) options.on_output(finished.out);
    }
  }
}

[[noreturn]] void become_railweave(const std::vector<std::string>& arguments, const RunOptions& options) {
  std::vector<std::string> words{RAILWEAVE_BINARY_DIR "/bin/railweave"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // The first of two counts. No service of this machine is asked: what listens at its default address is not the test's.
  std::vector<std::string> environment(options.environment.begin(), options.environment.end());
  for (const char* one : {"PATH=/usr/bin:/bin", "HOME=/nowhere", "RAILWEAVE_SOCKET=/nowhere/railweave.sock",
                          "ASAN_OPTIONS=detect_leaks=0"}) {
    environment.emplace_back(one);
  }
  std::vector<char*> envp;
  for (auto& variable : environment) envp.push_back(variable.data());
  envp.push_back(nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  execve(argv[0], argv.data(), envp.data());
  _exit(127);
}

}  // namespace

Finished run_railweave(const std::vector<std::string>& arguments, const RunOptions& options) {
  Finished finished;
  Pipe in;
  Pipe out;
  Pipe err;
  int terminal = -1;
  int terminal_end = -1;
  if (options.terminal) {
    winsize size{24, static_cast<unsigned short>(options.columns), 0, 0};
    EXPECT_EQ(openpty(&terminal, &terminal_end, nullptr, nullptr, &size), 0);
  }
  const pid_t child = fork();
  if (child == 0) {
    int target = options.terminal ? terminal_end : out.ends[1];
    if (!options.stdout_path.empty()) target = open(options.stdout_path.c_str(), O_WRONLY);
    dup2(in.ends[0], STDIN_FILENO);
    dup2(target, STDOUT_FILENO);
    dup2(options.terminal ? terminal_end : err.ends[1], STDERR_FILENO);
    if (options.closed_stdout) close(out.ends[0]);
    become_railweave(arguments, options);
  }
  close(in.ends[0]);
  close(out.ends[1]);
  close(err.ends[1]);
  if (terminal_end >= 0) close(terminal_end);
  if (options.closed_stdout) {
    close(out.ends[0]);
    out.ends[0] = -1;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::string_view input = options.input;
  while (!input.empty()) {
    const ssize_t count = write(in.ends[1], input.data(), input.size());
    if (count <= 0) break;
    input.remove_prefix(static_cast<std::size_t>(count));
  }
  close(in.ends[1]);
  drain(options.terminal ? terminal : out.ends[0], err.ends[0], options, finished);
  int status = 0;
  waitpid(child, &status, 0);
  finished.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  if (out.ends[0] >= 0) close(out.ends[0]);
  close(err.ends[0]);
  if (terminal >= 0) {
    close(terminal);
    std::erase(finished.out, '\r');
  }
  return finished;
}

std::string scratch_path(const std::string& name) {
  static const std::string folder = [] {
    std::string path = (std::filesystem::temp_directory_path() / "railweave-cli-XXXXXX").string();
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    return path;
  }();
  static const struct Cleanup {
    ~Cleanup() {
      std::error_code ignored;
      std::filesystem::remove_all(folder, ignored);
    }
  } cleanup;
  return folder + "/" + name;
}

std::string scratch_file(const std::string& name, const std::string& content) {
  const std::string path = scratch_path(name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

std::string shared_data(const std::string& path) {
  const std::string full = std::string(RAILWEAVE_SHARED_DATA) + "/" + path;
  return std::filesystem::exists(full) ? full : std::string();
}

}  // namespace railweave::cli
