#include "fabric/drivers/opensm/local/unix_socket.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <fmt/core.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "fabric/base/check.h"

namespace railweave::fabric::opensm {
namespace {

std::unexpected<Error> failed(const char* what, const std::string& path, int error) {
  return fail(ErrorKind::unavailable, "policy.socket", fmt::format("{}: {}", what, std::strerror(error)), path);
}

Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path || path.find('\0') != std::string::npos) {
    return fail(ErrorKind::invalid, "policy.socketPath",
                fmt::format("a socket's path has 1 to {} bytes", sizeof address.sun_path - 1), path);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

FileDescriptor stream() {
  return FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));  // NOLINT
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) close(fd_);
}

Result<FileDescriptor> connect_to(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return std::unexpected(address.error());
  FileDescriptor fd = stream();
  if (!fd.open()) return failed("socket", path, errno);
  // A local connection is made at once or, where too many wait already, not at all.
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return failed("cannot connect", path, errno);
  }
  return fd;
}

Result<FileDescriptor> listen_on(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return std::unexpected(address.error());
  struct stat there{};
  if (lstat(path.c_str(), &there) == 0) {
    if (!S_ISSOCK(there.st_mode)) return failed("something else is there", path, EEXIST);
    if (connect_to(path)) return failed("another process listens there already", path, EADDRINUSE);
    if (unlink(path.c_str()) != 0) return failed("cannot replace it", path, errno);
  }
  FileDescriptor fd = stream();
  if (!fd.open()) return failed("socket", path, errno);
  // Linux gives the file the mode of the socket, so that it is never open to others, not even for a moment.
  if (fchmod(fd.get(), S_IRUSR | S_IWUSR) != 0) return failed("fchmod", path, errno);
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return failed("cannot bind", path, errno);
  }
  if (chmod(path.c_str(), S_IRUSR | S_IWUSR) != 0 || ::listen(fd.get(), 8) != 0) return failed("listen", path, errno);
  return fd;
}

WakeUp::WakeUp() : event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  RAILWEAVE_CHECK(event_.open(), "the process has a file descriptor left");
}
void WakeUp::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(event_.get(), &one, sizeof one);  // full: it is awake already
}
void WakeUp::clear() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = read(event_.get(), &count, sizeof count);
}

Transfer receive(int fd, std::string& to) {
  constexpr std::size_t kPiece = std::size_t{64} * 1024;
  const std::size_t before = to.size();
  to.resize(before + kPiece);
  const ssize_t got = recv(fd, to.data() + before, kPiece, 0);
  const int error = errno;
  to.resize(before + static_cast<std::size_t>(got > 0 ? got : 0));
  if (got > 0) return Transfer::some;
  return got < 0 && (error == EAGAIN || error == EINTR) ? Transfer::later : Transfer::over;
}

Transfer send(int fd, std::string_view& from) {
  const ssize_t sent = ::send(fd, from.data(), from.size(), MSG_NOSIGNAL);
  if (sent < 0) return errno == EAGAIN || errno == EINTR ? Transfer::later : Transfer::over;
  from.remove_prefix(static_cast<std::size_t>(sent));
  return Transfer::some;
}

}  // namespace railweave::fabric::opensm
