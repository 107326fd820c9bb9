#include "api/http/dispatch/compute_pool.h"

#include <array>
#include <latch>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

#include "fabric/base/fair_share.h"

namespace railweave::api {
namespace {

// What takes seconds gives way to what receives, decides and answers. A thread has a niceness of its own on Linux.
void be_nice() {
  constexpr int kNiceness = 5;
  (void)::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
}

}  // namespace

void ComputePool::start(std::size_t threads, const std::function<void()>& prepare) {
  const std::size_t all = threads + 1;
  std::latch prepared(static_cast<std::ptrdiff_t>(all));
  threads_.reserve(all);
  std::size_t begun = 0;
  idle_ = threads;
  try {
    for (; begun < all; ++begun) {
      const Serves serves = begun == 0                  ? Serves::light_clients
                            : begun == 1 && threads > 1 ? Serves::quick
                                                        : Serves::all;
      threads_.emplace_back([this, &prepare, &prepared, serves] {
        if (serves == Serves::all) be_nice();
        if (prepare) prepare();
        prepared.count_down();
        work(serves);
      });
    }
  } catch (...) {
    prepared.count_down(static_cast<std::ptrdiff_t>(all - begun));
    prepared.wait();
    throw;
  }
  prepared.wait();
}

ComputePool::~ComputePool() { stop(); }

bool ComputePool::try_run(const std::string& client, Work work, Task task, Room room) {
  return queue(client, work, std::move(task), room);
}

bool ComputePool::go_on(const std::string& client, Work work, Task task) {
  return queue(client, work, std::move(task), std::nullopt);
}

bool ComputePool::has_room(const std::string& client, Room room) const {
  return room == Room::whole ? queued_ < max_queued_ : within_fair_share(waiting_of(client), queued_, max_queued_);
}

bool ComputePool::queue(const std::string& client, Work work, Task task, std::optional<Room> room) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || (room && !has_room(client, *room))) return false;
    (work == Work::heavy ? heavy_ : quick_).push(client, std::move(task));
    ++queued_;
  }
  changed_.notify_all();  // not every thread takes every kind of work
  return true;
}

std::size_t ComputePool::waiting_of(const std::string& client) const {
  return quick_.waiting_of(client) + heavy_.waiting_of(client);
}

bool ComputePool::stop_by(std::chrono::steady_clock::time_point deadline) {
  std::array<std::vector<Task>, 2> dropped;  // destroyed outside the lock: a dropped Responder answers
  std::unique_lock lock(mutex_);
  stopping_ = true;
  dropped = {quick_.drop_all(), heavy_.drop_all()};
  queued_ = 0;
  changed_.notify_all();
  const bool ended = changed_.wait_until(lock, deadline, [this] { return running_ == 0; });
  lock.unlock();
  return ended;
}

void ComputePool::stop() {
  (void)stop_by(std::chrono::steady_clock::now());
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

ComputePool::Load ComputePool::load() const {
  const std::lock_guard lock(mutex_);
  return {queued_, running_};
}

// Under mutex_.
bool ComputePool::has_work(Serves serves) const {
  if (serves == Serves::light_clients) return idle_ == 0 && quick_.has_light(std::chrono::steady_clock::now());
  return !quick_.empty() || (serves == Serves::all && !heavy_.empty());
}

void ComputePool::work(Serves serves) {
  bool was_heavy = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || has_work(serves); });
    if (stopping_) return;
    if (serves == Serves::light_clients) {
      run(lock, quick_, quick_.take_light(std::chrono::steady_clock::now()));
      continue;
    }
    was_heavy = serves == Serves::all && !heavy_.empty() && (!was_heavy || quick_.empty());
    FairLane& lane = was_heavy ? heavy_ : quick_;
    // The last one that had nothing to do: what waits still may be for the thread of light clients.
    if (--idle_ == 0 && !quick_.empty()) changed_.notify_all();
    run(lock, lane, lane.take());
    ++idle_;
  }
}

// Without the lock meanwhile.
void ComputePool::run(std::unique_lock<std::mutex>& lock, FairLane& lane, FairLane::Taken taken) {
  --queued_;
  ++running_;
  lock.unlock();
  const FairLane::Spent spent = taken.run();
  lock.lock();
  --running_;
  lane.ran(taken.client, spent);
  // A client that has nothing running may be a light one now.
  if (stopping_ || lane.waiting_of(taken.client) != 0) changed_.notify_all();
}

}  // namespace railweave::api
