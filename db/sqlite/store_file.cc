#include "db/sqlite/store_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/sqlite/migration.h"
#include "db/sqlite/store_lock.h"
#include "db/sqlite/system_failure.h"

namespace railweave::db::sqlite {
namespace {

// https://sqlite.org/fileformat.html, section 1.3
constexpr std::size_t kHeaderBytes = 100;
constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr std::size_t kApplicationIdOffset = 68;

Result<void> check_header(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, kHeaderBytes> header{};
  file.read(header.data(), header.size());
  if (file.bad() || (file.gcount() == 0 && !file.eof())) {
    return system_failure("read the store", errno != 0 ? errno : EIO, path);
  }
  if (file.gcount() == 0) return {};
  const std::string_view bytes(header.data(), header.size());
  if (static_cast<std::size_t>(file.gcount()) < kHeaderBytes || !bytes.starts_with(kMagic)) {
    return fail(ErrorKind::invalid, "db.notADatabase", "the file is not an SQLite database", path.string(),
                "name another file; nothing was changed in this one");
  }
  std::uint32_t application = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    application = application << 8U | static_cast<unsigned char>(bytes[kApplicationIdOffset + i]);
  }
  // 0: the migrations that set it may still be in the WAL; opening with SQLite shows.
  if (application != 0 && application != static_cast<std::uint32_t>(kApplicationId)) {
    return fail(ErrorKind::invalid, "db.notRailweave", "the file is an SQLite database of another program",
                path.string(), "name another file; nothing was changed in this one");
  }
  return {};
}

Result<void> check_file(const std::filesystem::path& path, bool create) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) return system_failure("examine the store", errno, path);
    if (create) return {};
    return fail(ErrorKind::notFound, "db.notThere", "there is no store", path.string(), "check the path");
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(ErrorKind::invalid, "db.notAFile", "the store's path names a directory or a device, not a file",
                path.string(), "name a file, such as railweave.db in that directory");
  }
  if (status.st_nlink > 1) {
    return fail(ErrorKind::invalid, "db.hardLinked",
                "the store's file has another name (a hard link), through which a second service could write it",
                path.string(), "remove the other name, or copy the file");
  }
  // With a lock beside it, it is a store, and may be open in this very process: then reading it here would, on closing
  // it, drop the POSIX locks through which SQLite keeps other programs from removing the WAL. SQLite checks it when
  // opening.
  std::error_code error;
  if (std::filesystem::exists(lock_path(path), error)) return {};
  return check_header(path);
}

}  // namespace

Result<std::filesystem::path> find_store_file(const std::filesystem::path& path, bool create) {
  const std::string& name = path.native();
  if (name.empty() || name.contains('\0')) {
    return fail(ErrorKind::invalid, "db.invalid", "the store's path is empty or has a NUL in it");
  }
  std::error_code error;
  std::filesystem::path found = std::filesystem::absolute(path, error);
  if (!error) found = std::filesystem::weakly_canonical(found, error);
  if (error) return system_failure("resolve the store's path", error.value(), path);
  const std::filesystem::path directory = found.parent_path();
  if (!std::filesystem::is_directory(directory, error)) {
    if (error && error.value() != ENOENT && error.value() != ENOTDIR) {
      return system_failure("examine the store's directory", error.value(), directory);
    }
    return fail(ErrorKind::notFound, "db.noDirectory", "the store's directory does not exist", directory.string(),
                "create it: mkdir -p '" + directory.string() + "'");
  }
  if (auto checked = check_file(found, create); !checked) return std::unexpected(checked.error());
  return found;
}

Result<void> create_store_file(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
  if (file < 0) return system_failure("create the store", errno, path);
  ::close(file);
  const std::filesystem::path directory = path.parent_path();
  const int folder = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return system_failure("open the store's directory", errno, directory);
  const int synced = ::fsync(folder);
  const int error = errno;
  ::close(folder);
  if (synced != 0 && error != EINVAL) return system_failure("sync the store's directory", error, directory);
  return {};
}

}  // namespace railweave::db::sqlite
