// Local stream sockets that never block, and an event that wakes a thread that polls them.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "fabric/base/error.h"

namespace railweave::fabric::opensm {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

Result<FileDescriptor> connect_to(const std::string& path);
// Mode 0600. A socket file without a listener is replaced; anything else at the path is an error.
Result<FileDescriptor> listen_on(const std::string& path);

// wake() from any thread makes fd() readable until clear().
class WakeUp {
 public:
  WakeUp();
  [[nodiscard]] int fd() const { return event_.get(); }
  void wake();
  void clear();

 private:
  FileDescriptor event_;
};

// What a non-blocking read or write came to.
enum class Transfer : unsigned char { some, later, over };
// Adds at most 64 KiB to `to`.
Transfer receive(int fd, std::string& to);
// Removes from the front of `from` what was sent.
Transfer send(int fd, std::string_view& from);

}  // namespace railweave::fabric::opensm
