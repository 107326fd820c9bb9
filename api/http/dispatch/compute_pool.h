// The bounded pool that runs handlers marked `compute` or `heavy`, so that no I/O thread waits for a computation.
//
// Two lanes: what takes seconds (heavy) never has every thread, so what takes milliseconds is not behind it. In a lane clients (a
// tenant's callers are one) share threads fairly by time, and no more requests of a client wait than leave as much room to others.
// Long quick work is done in steps (go_on), as what runs is not interrupted. One more thread serves only clients that have used little
// of late, where all others are busy: so they wait for no one's step.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "api/http/dispatch/fair_lane.h"

namespace railweave::api {

enum class Work : unsigned char { quick, heavy };

// Thread-safe. Tasks must not throw.
class ComputePool {
 public:
  using Task = FairLane::Task;

  explicit ComputePool(std::size_t max_queued) : max_queued_(max_queued) {}
  ~ComputePool();
  ComputePool(const ComputePool&) = delete;
  ComputePool& operator=(const ComputePool&) = delete;

  // Once, before anything is run. All of these threads but one (of one: that one) take heavy tasks too; the one more is for
  // light clients. `prepare` runs on each thread before its first task; start() returns when it has run on all. Throws
  // std::system_error when the machine has no more threads.
  void start(std::size_t threads, const std::function<void()>& prepare = {});

  // Who waits: administrators, and those of whom nothing is known, are bounded by the whole queue only.
  enum class Room : std::uint8_t { share, whole };
  // False when the client's room in the queue is full or the pool has stopped; the task is then dropped.
  bool try_run(const std::string& client, Work work, Task task, Room room = Room::share);
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
  enum class Serves : std::uint8_t { light_clients, quick, all };

  void work(Serves serves);
  void run(std::unique_lock<std::mutex>& lock, FairLane& lane, FairLane::Taken taken);
  bool queue(const std::string& client, Work work, Task task, std::optional<Room> room);
  [[nodiscard]] bool has_room(const std::string& client, Room room) const;
  [[nodiscard]] bool has_work(Serves serves) const;
  [[nodiscard]] std::size_t waiting_of(const std::string& client) const;

  const std::size_t max_queued_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  FairLane quick_, heavy_;
  std::size_t queued_ = 0;
  std::size_t running_ = 0;
  std::size_t idle_ = 0;  // threads that take every client's work, and have none
  bool stopping_ = false;

  std::vector<std::thread> threads_;  // constant between start() and stop()
};

}  // namespace railweave::api
