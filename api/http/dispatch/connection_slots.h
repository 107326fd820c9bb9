// Private to this folder: how many connections there are, in all and by address.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace railweave::api {

// Thread-safe.
class ConnectionSlots {
 public:
  ConnectionSlots(std::size_t limit, std::size_t limit_per_address) : limit_(limit), per_address_(limit_per_address) {}

  // nullptr when there was a slot, else the limit that was met.
  const char* take(const std::string& address) {
    const std::lock_guard lock(mutex_);
    if (open_ >= limit_) return "limit";
    std::size_t& here = by_address_[address];
    if (per_address_ != 0 && here >= per_address_) return "address";
    ++here;
    ++open_;
    return nullptr;
  }
  void release(const std::string& address) {
    const std::lock_guard lock(mutex_);
    --open_;
    const auto here = by_address_.find(address);
    if (--here->second == 0) by_address_.erase(here);
  }
  [[nodiscard]] std::size_t open() const {
    const std::lock_guard lock(mutex_);
    return open_;
  }

 private:
  const std::size_t limit_;
  const std::size_t per_address_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::size_t open_ = 0;
  std::map<std::string, std::size_t> by_address_;
};

}  // namespace railweave::api
