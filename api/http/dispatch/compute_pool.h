// The bounded pool that runs handlers marked `compute` or `heavy`, so that no I/O thread waits for a computation.
//
// Two lanes: what takes seconds (heavy) never has every thread, so what takes milliseconds is not behind it. Within a
// lane clients take turns, by address: one that asks for much waits behind its own requests only.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace railweave::api {

enum class Work : unsigned char { quick, heavy };

// Thread-safe. Tasks must not throw.
class ComputePool {
 public:
  using Task = std::move_only_function<void()>;

  explicit ComputePool(std::size_t max_queued) : max_queued_(max_queued) {}
  ~ComputePool();
  ComputePool(const ComputePool&) = delete;
  ComputePool& operator=(const ComputePool&) = delete;

  // Once, before anything is run. All threads but one (of one: that one) take heavy tasks too. `prepare` runs on each
  // thread before its first task; start() returns when it has run on all. Throws std::system_error when the machine has
  // no more threads.
  void start(std::size_t threads, const std::function<void()>& prepare = {});

  // False when the queue is full or the pool has stopped; the task is then dropped.
  bool try_run(const std::string& client, Work work, Task task);
  // For the next step of what try_run has let in: not refused because the queue is full.
  bool go_on(const std::string& client, Work work, Task task);

  // Drops what is queued and waits for what runs. Idempotent; not from one of its own threads.
  void stop();
  // Drops what is queued. Whether everything that runs has ended by the deadline.
  bool stop_by(std::chrono::steady_clock::time_point deadline);

  struct Load {
    std::size_t queued = 0;
    std::size_t running = 0;
  };
  [[nodiscard]] Load load() const;

 private:
  // Tasks of one kind of work, a queue for each client that has any.
  struct Lane {
    std::map<std::string, std::deque<Task>> by_client;
    std::string served;  // the client whose turn was last
  };

  void work(bool takes_heavy);
  bool queue(const std::string& client, Work work, Task task, bool bounded);
  [[nodiscard]] bool has(Work work) const { return !lanes_[static_cast<std::size_t>(work)].by_client.empty(); }
  [[nodiscard]] Task take(Work work);

  const std::size_t max_queued_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::array<Lane, 2> lanes_;
  std::size_t queued_ = 0;
  std::size_t running_ = 0;
  bool stopping_ = false;

  std::vector<std::thread> threads_;  // constant between start() and stop()
};

}  // namespace railweave::api
