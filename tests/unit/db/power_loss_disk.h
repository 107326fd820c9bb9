// A disk that forgets what was not synced: an SQLite VFS over the system's that remembers, for every file in one
// directory, what the last sync made durable and each write since. An image is what a machine could find after its
// power failed: of the writes since, any may be there, not there, or there in some of their 512-byte sectors. Creating
// and deleting a file counts as durable at once: SQLite syncs the directory with a new WAL's first sync.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace railweave::db {

class PowerLossDisk {
 public:
  // The default VFS of this process until it is destroyed. One at a time.
  explicit PowerLossDisk(std::filesystem::path directory);
  PowerLossDisk(const PowerLossDisk&) = delete;
  PowerLossDisk& operator=(const PowerLossDisk&) = delete;
  ~PowerLossDisk();

  std::function<void()> before_operation = [] {};  // every write, truncation and sync of a watched file
  void write_image(const std::filesystem::path& directory, std::mt19937_64& random) const;

  struct Write {
    std::uint64_t offset = 0;
    std::string bytes;
    bool truncates = false;  // to offset, instead
    void apply(std::string& content) const;
  };
  struct File {
    std::string durable;
    std::vector<Write> since;
  };

  // For the VFS's functions.
  [[nodiscard]] bool watches(const std::filesystem::path& path) const { return path.parent_path() == directory_; }
  std::shared_ptr<File> file(const std::filesystem::path& path);
  void forget(const std::filesystem::path& path) { files_.erase(path); }

 private:
  std::filesystem::path directory_;
  std::map<std::filesystem::path, std::shared_ptr<File>> files_;
};

}  // namespace railweave::db
