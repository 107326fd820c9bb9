#include "db/sqlite/high_water_mark.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "db/sqlite/system_failure.h"

namespace railweave::db::sqlite {

std::filesystem::path mark_path(const std::filesystem::path& store) {
  std::filesystem::path path = store;
  return path += ".mark";
}

Result<void> check_mark(const std::filesystem::path& store, std::optional<std::uint64_t> mark, std::uint64_t last_seq) {
  if (!mark || last_seq >= *mark) return {};
  return fail(ErrorKind::internal, "db.recordsLost",
              fmt::format("the store ends at record {}, but record {} was acknowledged: the file was removed, emptied "
                          "or replaced by an older one",
                          last_seq, *mark),
              store.string(),
              "restore the store; to go on with what is there, knowing that changes are lost, remove " +
                  mark_path(store).string());
}

Result<std::optional<std::uint64_t>> HighWaterMark::read(const std::filesystem::path& store) {
  const auto path = mark_path(store);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    if (error) return system_failure("examine the store's mark", error.value(), path);
    return std::nullopt;
  }
  std::ifstream file(path);
  std::uint64_t seq = 0;
  if (!(file >> seq)) seq = 0;
  return seq;
}

Result<HighWaterMark> HighWaterMark::open(const std::filesystem::path& store) {
  const auto path = mark_path(store);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
  if (file < 0) return system_failure("open the store's mark", errno, path);
  return HighWaterMark(file);
}

HighWaterMark::HighWaterMark(HighWaterMark&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

HighWaterMark::~HighWaterMark() {
  if (file_ >= 0) ::close(file_);
}

void HighWaterMark::write(std::uint64_t seq) {
  std::array<char, 32> text{};
  const int length = std::snprintf(text.data(), text.size(), "%020llu\n", static_cast<unsigned long long>(seq));
  [[maybe_unused]] const ssize_t written = ::pwrite(file_, text.data(), static_cast<std::size_t>(length), 0);
}

}  // namespace railweave::db::sqlite
