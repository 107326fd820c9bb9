#include "api/http/dispatch/compute_pool.h"

#include <utility>

namespace railweave::api {

void ComputePool::start(std::size_t threads) {
  threads_.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

ComputePool::~ComputePool() { stop(); }

bool ComputePool::try_run(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || queue_.size() >= max_queued_) return false;
    queue_.push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

void ComputePool::stop() {
  std::deque<Task> dropped;  // destroyed outside the lock: a dropped Responder answers
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(queue_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

ComputePool::Load ComputePool::load() const {
  const std::lock_guard lock(mutex_);
  return {queue_.size(), running_};
}

void ComputePool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Task task = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    --running_;
  }
}

}  // namespace railweave::api
