#include "db/sqlite/store_lock.h"

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include "db/sqlite/system_failure.h"

namespace railweave::db::sqlite {
namespace {

// The digits that the holder wrote, or nothing.
std::string holder(int file) {
  std::array<char, 20> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  const std::string_view written(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return std::string(written.substr(0, written.find_first_not_of("0123456789")));
}

}  // namespace

std::filesystem::path lock_path(const std::filesystem::path& store) {
  std::filesystem::path path = store;
  path += ".lock";
  return path;
}

Result<StoreLock> StoreLock::acquire(const std::filesystem::path& store) {
  const std::filesystem::path path = lock_path(store);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
  if (file < 0) return system_failure("open the store's lock", errno, path);
  StoreLock lock(file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return system_failure("lock the store", errno, path);
    const std::string process = holder(file);
    return fail(ErrorKind::conflict, "db.locked",
                "the store is in use by " + (process.empty() ? "another process" : "process " + process),
                store.string(), "stop the service that has it, or name another store");
  }
  // Only for the message above: the lock holds without it, on a full disk too.
  const std::string id = fmt::format("{}\n", ::getpid());
  if (::ftruncate(file, 0) == 0) [[maybe_unused]]
    const ssize_t written = ::pwrite(file, id.data(), id.size(), 0);
  return lock;
}

StoreLock::~StoreLock() {
  if (file_ >= 0) ::close(file_);
}

}  // namespace railweave::db::sqlite
