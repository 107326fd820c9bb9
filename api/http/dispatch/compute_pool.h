// The bounded pool that runs handlers marked `compute`, so that no I/O thread waits for a computation.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace railweave::api {

// Thread-safe. Tasks must not throw.
class ComputePool {
 public:
  using Task = std::move_only_function<void()>;

  explicit ComputePool(std::size_t max_queued) : max_queued_(max_queued) {}
  ~ComputePool();
  ComputePool(const ComputePool&) = delete;
  ComputePool& operator=(const ComputePool&) = delete;

  // Once, before anything is run. Throws std::system_error when the machine has no more threads.
  void start(std::size_t threads);

  // False when the queue is full or the pool has stopped; the task is then dropped.
  bool try_run(Task task);

  // Drops what is queued and waits for what runs. Idempotent; not from one of its own threads.
  void stop();

  struct Load {
    std::size_t queued = 0;
    std::size_t running = 0;
  };
  [[nodiscard]] Load load() const;

 private:
  void work();

  const std::size_t max_queued_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::deque<Task> queue_;
  std::size_t running_ = 0;
  bool stopping_ = false;

  std::vector<std::thread> threads_;  // constant between start() and stop()
};

}  // namespace railweave::api
