// An empty directory of its own, removed with all in it. In memory where there is room, because these tests sync
// thousands of times and a slow disk adds nothing to what they check.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

#include <sys/statvfs.h>
#include <unistd.h>

namespace railweave::db {

class TempDirectory {
 public:
  TempDirectory() {
    std::string name = (parent() / "railweave-db-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    path_ = name;
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  static std::filesystem::path parent() {
    constexpr const char* kMemory = "/dev/shm";
    constexpr std::uint64_t kEnoughBytes = 1ULL << 30U;
    struct statvfs space{};
    const bool roomy =
        ::statvfs(kMemory, &space) == 0 && std::uint64_t{space.f_bavail} * space.f_frsize >= kEnoughBytes;
    return roomy && ::access(kMemory, W_OK) == 0 ? std::filesystem::path(kMemory)
                                                 : std::filesystem::temp_directory_path();
  }

  std::filesystem::path path_;
};

}  // namespace railweave::db
