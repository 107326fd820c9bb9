#include "fabric/drivers/opensm/local/kept_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/drivers/opensm/local/unix_socket.h"

namespace railweave::fabric::opensm {
namespace {

std::unexpected<Error> failed(const char* what, const std::string& path) {
  return fail(ErrorKind::unavailable, "opensm.file", fmt::format("{}: {}", what, std::strerror(errno)), path);
}

}  // namespace

Result<std::string> read_kept_file(const std::string& path, std::size_t max_bytes) {
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.open()) {
    if (errno == ENOENT) return std::string();
    return failed("cannot be read", path);
  }
  std::string text;
  for (;;) {
    char piece[16384];
    const ssize_t got = read(fd.get(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed("cannot be read", path);
    if (got == 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
    if (text.size() > max_bytes) {
      return fail(ErrorKind::tooLarge, "opensm.file", fmt::format("more than {} bytes", max_bytes), path);
    }
  }
}

Result<void> write_kept_file(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".new";
  unlink(fresh.c_str());
  {
    const FileDescriptor fd(open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!fd.open()) return failed("cannot be written", fresh);
    while (!text.empty()) {
      const ssize_t put = write(fd.get(), text.data(), text.size());
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return failed("cannot be written", fresh);
      text.remove_prefix(static_cast<std::size_t>(put));
    }
    if (fsync(fd.get()) != 0) return failed("cannot be written", fresh);
  }
  if (rename(fresh.c_str(), path.c_str()) != 0) return failed("cannot be replaced", path);
  return {};
}

}  // namespace railweave::fabric::opensm
