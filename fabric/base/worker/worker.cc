#include "fabric/base/worker/worker.h"

#include <utility>

#include <pthread.h>

namespace railweave {

bool Worker::Turn::is_to_end() const {
  const std::lock_guard lock(worker_.mutex_);
  return worker_.ending_;
}

void Worker::start(std::function<void(Turn&)> work) {
  thread_ = std::thread([this, work = std::move(work)] {
    constexpr std::size_t kMaxName = 15;  // that the kernel keeps
    (void)::pthread_setname_np(::pthread_self(), name_.substr(0, kMaxName).c_str());
    Turn turn(*this);
    work(turn);
  });
}

void Worker::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void Worker::ask_to_end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
}

void Worker::stop() {
  ask_to_end();
  if (thread_.joinable()) thread_.join();
}

bool Worker::wait(std::optional<std::chrono::microseconds> time, bool wakes) {
  std::unique_lock lock(mutex_);
  const auto called = [&] { return ending_ || (wakes && woken_); };
  if (time) {
    changed_.wait_for(lock, *time, called);
  } else {
    changed_.wait(lock, called);
  }
  if (wakes) woken_ = false;
  return !ending_;
}

}  // namespace railweave
