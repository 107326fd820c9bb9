// A tar archive in memory, of regular files (POSIX.1-1988, ustar).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace railweave::cli {

class TarArchive {
 public:
  // time_s: since 1970, of every file in it.
  explicit TarArchive(std::int64_t time_s) : time_s_(time_s) {}

  // name: at most kMaxName bytes.
  static constexpr std::size_t kMaxName = 99;
  void add(std::string_view name, std::string_view content);
  [[nodiscard]] std::string take();  // with its end

 private:
  std::int64_t time_s_;
  std::string bytes_;
};

}  // namespace railweave::cli
