// The part of the control loop that has a store which refuses records, until it takes them again.
#include <algorithm>
#include <cstdint>
#include <string>

#include "services/control/control_loop.h"

namespace railweave::control {

Result<void> ControlLoop::read_store_again() {
  if (const auto there = journal_.last_seq(); !there) return std::unexpected(there.error());
  if (auto caught_up = catch_up(); !caught_up) return caught_up;
  return options_.try_writing ? options_.try_writing() : Result<void>();
}

bool ControlLoop::reopen_store() {
  if (const auto read = read_store_again(); !read) {
    if (read.error().text() != store_trouble()) options_.log.warn("the store still fails: {}", read.error().text());
    trouble(read.error());
    return false;
  }
  options_.log.info("the store takes records again");
  const std::lock_guard lock(queue_mutex_);
  store_trouble_.clear();
  phase_ = Phase::ready;
  return true;
}

// The store is tried again at once, then less and less often.
void ControlLoop::trouble(const Error& error) {
  constexpr std::int64_t kFirstUs = 20'000, kMaxUs = 1'000'000;
  retry_after_us_ = phase_ == Phase::store_failed ? std::min(2 * retry_after_us_, kMaxUs) : kFirstUs;
  retry_at_us_ = options_.now_us() + retry_after_us_;
  const std::lock_guard lock(queue_mutex_);
  store_trouble_ = error.text();
  phase_ = Phase::store_failed;
}

std::string ControlLoop::store_trouble() const {
  const std::lock_guard lock(queue_mutex_);
  return store_trouble_;
}

}  // namespace railweave::control
