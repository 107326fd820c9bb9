// Received bytes that are not consumed yet, in one piece of fixed size. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "fabric/base/check.h"

namespace railweave::api {

class InputBuffer {
 public:
  explicit InputBuffer(std::size_t capacity) : bytes_(new char[capacity]), capacity_(capacity) {}

  [[nodiscard]] std::string_view data() const { return {bytes_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] bool full() const { return end_ - begin_ == capacity_; }

  void consume(std::size_t count) {
    RAILWEAVE_CHECK(count <= end_ - begin_, "no more is consumed than was received");
    begin_ += count;
  }
  // Room for more bytes, never empty unless full(); commit() says afterwards how many were received.
  std::span<char> prepare() {
    if (begin_ == end_) {
      begin_ = end_ = 0;
    } else if (begin_ > 0 && capacity_ - end_ < capacity_ / 2) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    return {bytes_.get() + end_, capacity_ - end_};
  }
  void commit(std::size_t count) {
    RAILWEAVE_CHECK(count <= capacity_ - end_, "no more comes than there was room for");
    end_ += count;
  }
  void clear() { begin_ = end_ = 0; }

 private:
  std::unique_ptr<char[]> bytes_;  // left uninitialised: pages that are never written cost no memory
  std::size_t capacity_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace railweave::api
