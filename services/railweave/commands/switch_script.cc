#include "services/railweave/commands/switch_script.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX asks for it

namespace railweave::cli {
namespace {

constexpr auto kPoll = std::chrono::milliseconds(10);

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

std::unexpected<Error> script_failure(const std::string& what) {
  return fail(ErrorKind::unavailable, "cli.scriptFailed", what);
}

// A file without a name, as a pipe would not hold it all.
File file_of(const std::string& text) {
  File file(std::tmpfile(), &std::fclose);
  if (!file) return file;
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  if (!is_written || std::fflush(file.get()) != 0 || std::fseek(file.get(), 0, SEEK_SET) != 0) {
    return {nullptr, &std::fclose};
  }
  return file;
}

// None: it did not end in time.
std::optional<int> wait_for(pid_t child, std::chrono::seconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (int status = 0;;) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(kPoll);
  }
}

// In a process group of its own, so that all of it can be ended.
int start(const std::string& program, const std::string& name, int input, pid_t& child) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string own = program, argument = name;
  const std::array<char*, 3> arguments{own.data(), argument.data(), nullptr};
  const int failed = ::posix_spawnp(&child, own.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

}  // namespace

Result<void> run_switch_script(const std::string& program, const std::string& name, const std::string& text,
                               std::chrono::seconds timeout) {
  const File input = file_of(text);
  if (!input) return script_failure("no temporary file for what " + program + " reads");
  pid_t child = 0;
  if (const int failed = start(program, name, ::fileno(input.get()), child); failed != 0) {
    return script_failure(fmt::format("{} cannot be started: {}", program, std::strerror(failed)));  // NOLINT
  }
  const auto status = wait_for(child, timeout);
  if (!status) {
    ::kill(-child, SIGKILL);
    int ignored = 0;
    while (::waitpid(child, &ignored, 0) < 0 && errno == EINTR) {
    }
    return script_failure(fmt::format("{} {} did not end within {} s", program, name, timeout.count()));
  }
  if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) return {};
  return script_failure(WIFEXITED(*status)
                            ? fmt::format("{} {} failed with exit code {}", program, name, WEXITSTATUS(*status))
                            : fmt::format("{} {} was ended by signal {}", program, name, WTERMSIG(*status)));
}

}  // namespace railweave::cli
