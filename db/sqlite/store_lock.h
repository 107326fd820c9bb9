// Keeps two services from writing the same store: flock(2) on "<store>.lock", released when the process ends, however
// it ends. The file stays, empty or with the id of the last process that held it.
#pragma once

#include <filesystem>
#include <utility>

#include "fabric/base/error.h"

namespace railweave::db::sqlite {

std::filesystem::path lock_path(const std::filesystem::path& store);

class StoreLock {
 public:
  // db.locked (conflict) while another holder has it, in this process or in another on this machine.
  static Result<StoreLock> acquire(const std::filesystem::path& store);

  StoreLock(StoreLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  StoreLock& operator=(StoreLock&&) = delete;
  ~StoreLock();

 private:
  explicit StoreLock(int file) : file_(file) {}
  int file_;
};

}  // namespace railweave::db::sqlite
