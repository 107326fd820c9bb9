#include "fabric/base/process/program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/base/check.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX asks for it

namespace railweave {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTickMs = 5;  // its end and its deadline are looked for as often

class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  void close() {
    if (number_ >= 0) ::close(number_);
    number_ = -1;
  }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

struct Pipe {
  Descriptor out, in;  // to read from and to write to

  Pipe() {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
    out = Descriptor(ends[0]);
    in = Descriptor(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  }
};

// A file in memory, as a pipe would not hold it all. Not open: it could not be written.
Descriptor file_of(const std::string& text) {
  Descriptor file(::memfd_create("input", MFD_CLOEXEC));
  for (std::size_t done = 0; file.is_open() && done < text.size();) {
    const ssize_t written = ::write(file.number(), text.data() + done, text.size() - done);
    if (written > 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      file.close();
    }
  }
  if (file.is_open()) ::lseek(file.number(), 0, SEEK_SET);
  return file;
}

// Takes what is there; closes at the end.
void take(Descriptor& from, std::string& into, std::size_t most) {
  std::array<char, 65536> buffer{};
  while (from.is_open() && into.size() <= most) {
    const ssize_t got = ::read(from.number(), buffer.data(), buffer.size());
    if (got > 0) {
      into.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got < 0 && errno == EAGAIN) {
      return;
    } else if (got == 0 || errno != EINTR) {
      from.close();
    }
  }
}

// Standard input, output and errors of the program that is to start. 0, else the errno.
int start(const Program& program, std::array<int, 3> standard, pid_t& child) {
  std::vector<char*> words;
  for (const std::string& word : program.arguments)
    words.push_back(const_cast<char*>(word.c_str()));  // NOLINT: posix_spawn's type
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; ++i) posix_spawn_file_actions_adddup2(&actions, standard[static_cast<std::size_t>(i)], i);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  if (program.timeout) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int failed = ::posix_spawnp(&child, words.front(), &actions, &attributes, words.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

enum class Outcome : std::uint8_t { ended, late, printed_too_much };

// Sets `status` where it ended.
Outcome wait_for(const Program& program, pid_t child, Pipe& output, Pipe& errors, ProgramEnd& end, int& status) {
  const auto deadline = Clock::now() + program.timeout.value_or(std::chrono::milliseconds(0));
  while (true) {
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    take(output.out, end.output, program.max_output);
    take(errors.out, end.errors, program.max_output);
    if (std::max(end.output.size(), end.errors.size()) > program.max_output) {
      return ended == 0 ? Outcome::printed_too_much : Outcome::ended;
    }
    if (ended == child || (ended < 0 && errno != EINTR)) return Outcome::ended;
    if (program.timeout && Clock::now() >= deadline) return Outcome::late;
    // What it prints wakes this; its end does where it prints to these.
    std::array<pollfd, 2> watched{{{output.out.number(), POLLIN, 0}, {errors.out.number(), POLLIN, 0}}};
    ::poll(watched.data(), watched.size(), kTickMs);
  }
}

}  // namespace

std::string ProgramEnd::how() const {
  return signal != 0 ? fmt::format("was ended by signal {}", signal)
                     : fmt::format("failed with exit code {}", exit_code);
}

Result<ProgramEnd> run_program(const Program& program) {
  RAILWEAVE_CHECK(!program.arguments.empty(), "a program has a name");
  const std::string& name = program.arguments.front();
  const auto failure = [&](const char* code, const std::string& what) {
    return fail(ErrorKind::unavailable, code, fmt::format("{} {}", name, what));
  };
  const Descriptor input = file_of(program.input);
  Pipe output;
  Pipe errors;
  if (!input.is_open() || !output.in.is_open() || !errors.in.is_open()) {
    return failure("program.cannotStart", "cannot be started: no file or pipe for what it reads and prints");
  }
  pid_t child = 0;
  const std::array<int, 3> standard{input.number(), program.to_stderr ? STDERR_FILENO : output.in.number(),
                                    program.to_stderr ? STDERR_FILENO : errors.in.number()};
  if (const int failed = start(program, standard, child); failed != 0) {
    return failure("program.cannotStart", std::string("cannot be started: ") + std::strerror(failed));  // NOLINT
  }
  output.in.close();
  errors.in.close();
  ProgramEnd end;
  int status = 0;
  const Outcome outcome = wait_for(program, child, output, errors, end, status);
  if (outcome != Outcome::ended) {
    ::kill(program.timeout ? -child : child, SIGKILL);
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (outcome == Outcome::late) {
    return failure("program.late",
                   fmt::format("did not end within {} s", static_cast<double>(program.timeout->count()) / 1000));
  }
  if (std::max(end.output.size(), end.errors.size()) > program.max_output) {
    return failure("program.printsTooMuch", fmt::format("printed more than {} bytes", program.max_output));
  }
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

}  // namespace railweave
