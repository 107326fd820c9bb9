// The process of store_child.cc, killed and reaped when this is destroyed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <sys/types.h>

namespace railweave::db {

class StoreProcess {
 public:
  StoreProcess(const std::string& mode, const std::filesystem::path& store, std::uint64_t seed);
  StoreProcess(const StoreProcess&) = delete;
  StoreProcess& operator=(const StoreProcess&) = delete;
  ~StoreProcess();

  [[nodiscard]] pid_t id() const { return process_; }
  // The next line it prints; nullopt at its end.
  std::optional<std::string> line();
  // SIGKILL; true if that is what ended it. Lines it printed before can still be read.
  bool kill();

 private:
  pid_t process_ = -1;
  int output_ = -1;
  std::string buffer_;
};

}  // namespace railweave::db
