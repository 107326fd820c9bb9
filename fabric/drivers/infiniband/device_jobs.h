// Jobs of many datagrams per device, begun a few at a time: a fabric's SL to VL tables are millions of blocks, which
// must not all wait as datagrams in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace railweave::fabric::infiniband {

template <class Job>
class DeviceJobs {
 public:
  static constexpr std::size_t kAtOnce = 8;  // per device; as many as the exchange asks one device at once

  void add(std::uint32_t device, Job job) { queues_[device].jobs.push_back(std::move(job)); }
  // Each job that is begun says once that it is finished; begin may not do so itself.
  void start(std::function<void(std::uint32_t, const Job&)> begin) {
    begin_ = std::move(begin);
    std::vector<std::uint32_t> devices;
    for (const auto& [device, queue] : queues_) devices.push_back(device);
    for (const std::uint32_t device : devices) {
      for (std::size_t i = 0; i < kAtOnce; ++i) next(device);
    }
  }
  void finished(std::uint32_t device) { next(device); }

 private:
  struct Queue {
    std::vector<Job> jobs;
    std::size_t next = 0;
  };
  void next(std::uint32_t device) {
    Queue& queue = queues_[device];
    if (queue.next == queue.jobs.size()) return;
    begin_(device, queue.jobs[queue.next++]);
  }

  std::unordered_map<std::uint32_t, Queue> queues_;
  std::function<void(std::uint32_t, const Job&)> begin_;
};

}  // namespace railweave::fabric::infiniband
