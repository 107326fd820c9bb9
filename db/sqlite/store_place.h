// Whether the store's file and WAL are still those that were opened: SQLite goes on writing to a file that was removed
// or renamed, and what it acknowledges then is gone with the process.
#pragma once

#include <cstdint>
#include <filesystem>

#include <sys/types.h>

#include "fabric/base/error.h"

namespace railweave::db::sqlite {

// Thread-safe: constant after construction.
class StorePlace {
 public:
  // For an open store whose WAL is there.
  static Result<StorePlace> of(const std::filesystem::path& store);

  // db.lost: a file is gone, is another one, or was emptied. An empty WAL is in order until the next commit: another
  // program may have asked for a checkpoint that cuts it. Two calls of
  // stat, and after a commit the first bytes of the WAL.
  [[nodiscard]] Result<void> check(bool after_commit) const;

 private:
  struct File {
    std::filesystem::path path;
    dev_t device = 0;
    ino_t number = 0;
    std::int64_t bytes = 0;  // when it was looked at
  };
  explicit StorePlace(File store, File wal) : store_(std::move(store)), wal_(std::move(wal)) {}
  static Result<File> file(std::filesystem::path path);

  File store_;
  File wal_;
};

}  // namespace railweave::db::sqlite
