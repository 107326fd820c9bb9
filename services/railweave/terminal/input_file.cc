#include "services/railweave/terminal/input_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

namespace railweave::cli {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20U;

struct Descriptor {
  explicit Descriptor(int n) : number(n) {}
  ~Descriptor() {
    if (number > STDERR_FILENO) close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  const int number;
};

std::unexpected<Error> unreadable(const std::string& path, int error) {
  const ErrorKind kind = error == ENOENT || error == ENOTDIR ? ErrorKind::notFound : ErrorKind::invalid;
  return fail(kind, "cli.cannotReadFile", std::string("cannot be read: ") + std::strerror(error), source_name(path));
}

std::unexpected<Error> too_large(const std::string& path, std::size_t limit) {
  return fail(ErrorKind::tooLarge, "cli.fileTooLarge", fmt::format("is larger than {} MiB", limit >> 20U),
              source_name(path));
}

}  // namespace

std::string source_name(const std::string& path) { return path == "-" ? "stdin" : path; }

Result<std::string> read_input(const std::string& path, std::size_t limit_bytes) {
  const bool from_stdin = path == "-";
  const Descriptor file(from_stdin ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC));  // NOLINT
  if (file.number < 0) return unreadable(path, errno);
  struct stat status{};
  if (fstat(file.number, &status) != 0) return unreadable(path, errno);
  if (S_ISDIR(status.st_mode)) return unreadable(path, EISDIR);
  std::string text;
  if (S_ISREG(status.st_mode)) {
    if (static_cast<std::uint64_t>(status.st_size) > limit_bytes) return too_large(path, limit_bytes);
    text.reserve(static_cast<std::size_t>(status.st_size) + 1);
  }
  for (;;) {
    const std::size_t before = text.size();
    const std::size_t room = std::max(kChunkBytes, text.capacity() - before);
    int error = 0;
    text.resize_and_overwrite(before + room, [&](char* data, std::size_t) {
      ssize_t count = 0;
      do {
        count = read(file.number, data + before, room);
      } while (count < 0 && errno == EINTR);
      if (count < 0) error = errno;
      return before + static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    });
    if (error != 0) return unreadable(path, error);
    if (text.size() > limit_bytes) return too_large(path, limit_bytes);
    if (text.size() == before) return text;
  }
}

}  // namespace railweave::cli
