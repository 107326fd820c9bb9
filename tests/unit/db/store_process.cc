#include "tests/unit/db/store_process.h"

#include <array>
#include <stdexcept>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace railweave::db {

StoreProcess::StoreProcess(const std::string& mode, const std::filesystem::path& store, std::uint64_t seed) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const std::string path = store.string();
  const std::string number = std::to_string(seed);
  process_ = ::fork();
  if (process_ < 0) throw std::runtime_error("no process");
  if (process_ == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execl(RAILWEAVE_STORE_CHILD, RAILWEAVE_STORE_CHILD, mode.c_str(), path.c_str(), number.c_str(), nullptr);
    ::_exit(127);
  }
  ::close(ends[1]);
  output_ = ends[0];
}

StoreProcess::~StoreProcess() {
  kill();
  ::close(output_);
}

std::optional<std::string> StoreProcess::line() {
  while (true) {
    if (const auto end = buffer_.find('\n'); end != std::string::npos) {
      std::string found = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      return found;
    }
    std::array<char, 4096> bytes{};
    const ssize_t size = ::read(output_, bytes.data(), bytes.size());
    if (size <= 0) return std::nullopt;
    buffer_.append(bytes.data(), static_cast<std::size_t>(size));
  }
}

bool StoreProcess::kill() {
  if (process_ < 0) return false;
  ::kill(process_, SIGKILL);
  int status = 0;
  ::waitpid(process_, &status, 0);
  process_ = -1;
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

}  // namespace railweave::db
