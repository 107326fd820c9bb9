#include "api/http/dispatch/compute_pool.h"

#include <latch>
#include <utility>

namespace railweave::api {

void ComputePool::start(std::size_t threads, const std::function<void()>& prepare) {
  std::latch prepared(static_cast<std::ptrdiff_t>(threads));
  threads_.reserve(threads);
  std::size_t begun = 0;
  try {
    for (; begun < threads; ++begun) {
      threads_.emplace_back([this, &prepare, &prepared, takes_heavy = begun > 0 || threads == 1] {
        if (prepare) prepare();
        prepared.count_down();
        work(takes_heavy);
      });
    }
  } catch (...) {
    prepared.count_down(static_cast<std::ptrdiff_t>(threads - begun));
    prepared.wait();
    throw;
  }
  prepared.wait();
}

ComputePool::~ComputePool() { stop(); }

bool ComputePool::try_run(const std::string& client, Work work, Task task) {
  return queue(client, work, std::move(task), true);
}

bool ComputePool::go_on(const std::string& client, Work work, Task task) {
  return queue(client, work, std::move(task), false);
}

bool ComputePool::queue(const std::string& client, Work work, Task task, bool bounded) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || (bounded && queued_ >= max_queued_)) return false;
    lanes_[static_cast<std::size_t>(work)].by_client[client].push_back(std::move(task));
    ++queued_;
  }
  changed_.notify_all();  // not every thread takes every kind of work
  return true;
}

bool ComputePool::stop_by(std::chrono::steady_clock::time_point deadline) {
  std::array<Lane, 2> dropped;  // destroyed outside the lock: a dropped Responder answers
  std::unique_lock lock(mutex_);
  stopping_ = true;
  std::swap(dropped, lanes_);
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

// The first task of the client after the one served last. Under mutex_; the lane has one.
ComputePool::Task ComputePool::take(Work work) {
  Lane& lane = lanes_[static_cast<std::size_t>(work)];
  auto client = lane.by_client.upper_bound(lane.served);
  if (client == lane.by_client.end()) client = lane.by_client.begin();
  Task task = std::move(client->second.front());
  client->second.pop_front();
  lane.served = client->first;
  if (client->second.empty()) lane.by_client.erase(client);
  --queued_;
  return task;
}

void ComputePool::work(bool takes_heavy) {
  Work last = Work::heavy;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || has(Work::quick) || (takes_heavy && has(Work::heavy)); });
    if (stopping_) return;
    const bool heavy = takes_heavy && has(Work::heavy) && (last == Work::quick || !has(Work::quick));
    last = heavy ? Work::heavy : Work::quick;
    Task task = take(last);
    ++running_;
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
    --running_;
    if (stopping_) changed_.notify_all();
  }
}

}  // namespace railweave::api
