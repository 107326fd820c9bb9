// How many bytes of request bodies all connections together may hold.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace railweave::api {

// Thread-safe.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}
  bool take(std::size_t bytes) {
    if (used_bytes_.fetch_add(bytes) + bytes <= limit_bytes_) return true;
    used_bytes_.fetch_sub(bytes);
    return false;
  }
  void release(std::size_t bytes) { used_bytes_.fetch_sub(bytes); }
  [[nodiscard]] std::size_t used_bytes() const { return used_bytes_.load(); }

 private:
  const std::size_t limit_bytes_;
  std::atomic<std::size_t> used_bytes_{0};
};

// One body's share of the budget, released when it is destroyed, which may be after the server's end.
class BodyCharge {
 public:
  explicit BodyCharge(std::shared_ptr<BodyBudget> budget) : budget_(std::move(budget)) {}
  ~BodyCharge() { budget_->release(bytes_); }
  BodyCharge(const BodyCharge&) = delete;
  BodyCharge& operator=(const BodyCharge&) = delete;
  bool take(std::size_t bytes) {
    if (!budget_->take(bytes)) return false;
    bytes_ += bytes;
    return true;
  }

 private:
  const std::shared_ptr<BodyBudget> budget_;
  std::size_t bytes_ = 0;
};

}  // namespace railweave::api
