#include "services/slurm/process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/base/check.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX asks for it

namespace railweave::slurm {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) ends = {-1, -1};
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void close_end(std::size_t which) {
    if (ends[which] >= 0) ::close(ends[which]);
    ends[which] = -1;
  }
  // Takes what is there; closes at the end.
  void take(std::string& into) {
    std::array<char, 65536> buffer{};
    const ssize_t got = ::read(ends[0], buffer.data(), buffer.size());
    if (got > 0) {
      into.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      close_end(0);
    }
  }
};

}  // namespace

Result<std::string> run_process(const std::vector<std::string>& arguments, std::chrono::milliseconds timeout,
                                std::size_t most_bytes, const std::string& input) {
  const std::string& program = arguments.front();
  RAILWEAVE_CHECK(input.size() <= kMaxInput, "more than a pipe holds");
  Pipe in;
  Pipe out;
  Pipe errors;
  if (::write(in.ends[1], input.data(), input.size()) != static_cast<ssize_t>(input.size())) {
    return fail(ErrorKind::internal, "slurm.cannotStart", "no pipe for what " + program + " reads");
  }
  in.close_end(1);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.ends[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.ends[1], STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));  // NOLINT: posix_spawn's type
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return fail(ErrorKind::unavailable, "slurm.cannotStart",
                "cannot start " + program + ": " + std::strerror(failed));  // NOLINT
  out.close_end(1);
  errors.close_end(1);
  const auto deadline = Clock::now() + timeout;
  std::string text;
  std::string said;
  bool late = false;
  while (out.ends[0] >= 0 || errors.ends[0] >= 0) {
    std::array<pollfd, 2> watched{{{out.ends[0], POLLIN, 0}, {errors.ends[0], POLLIN, 0}}};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    late = left <= 0 || text.size() > most_bytes || said.size() > most_bytes;
    if (late) break;
    if (::poll(watched.data(), watched.size(), static_cast<int>(left)) <= 0) continue;
    if (watched[0].revents != 0) out.take(text);
    if (watched[1].revents != 0) errors.take(said);
  }
  if (late) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (late)
    return fail(ErrorKind::unavailable, "slurm.noAnswer", program + " did not end in time, or printed too much");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    while (said.ends_with('\n')) said.pop_back();
    return fail(ErrorKind::unavailable, "slurm.failed", program + " failed: " + said.substr(0, 500));
  }
  return text;
}

}  // namespace railweave::slurm
