#include "db/sqlite/store_place.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <sys/stat.h>

namespace railweave::db::sqlite {
namespace {

constexpr std::int64_t kLeastStoreBytes = 512;  // of SQLite's smallest page

std::unexpected<Error> lost(const std::filesystem::path& path, const std::string& what) {
  return fail(ErrorKind::unavailable, "db.lost", "the store's file " + what + " while the service runs", path.string(),
              "stop the service, put the file back or restore a backup, then start it again");
}

// https://sqlite.org/fileformat.html, section 4.1. Frames behind a header that is gone are read by no later start.
bool has_wal_header(const std::filesystem::path& path) {
  std::array<char, 3> begin{};
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return true;  // out of descriptors: nothing is known
  file.read(begin.data(), begin.size());
  return std::string_view(begin.data(), begin.size()) == "\x37\x7f\x06";
}

}  // namespace

Result<StorePlace::File> StorePlace::file(std::filesystem::path path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return lost(path,
                errno == ENOENT ? "was removed or renamed" : std::string("cannot be found: ") + std::strerror(errno));
  }
  return File{std::move(path), status.st_dev, status.st_ino, status.st_size};
}

Result<StorePlace> StorePlace::of(const std::filesystem::path& store) {
  auto found = file(store);
  if (!found) return std::unexpected(found.error());
  auto wal = file(store.string() + "-wal");
  if (!wal) return std::unexpected(wal.error());
  return StorePlace(std::move(*found), std::move(*wal));
}

Result<void> StorePlace::check(bool after_commit) const {
  for (const File* known : {&store_, &wal_}) {
    const auto now = file(known->path);
    if (!now) return std::unexpected(now.error());
    if (now->device != known->device || now->number != known->number) {
      return lost(known->path, "was replaced by another");
    }
    if (known == &store_ && now->bytes < kLeastStoreBytes) {
      return lost(known->path, fmt::format("was cut to {} bytes", now->bytes));
    }
  }
  if (after_commit && !has_wal_header(wal_.path)) return lost(wal_.path, "was emptied");
  return {};
}

}  // namespace railweave::db::sqlite
