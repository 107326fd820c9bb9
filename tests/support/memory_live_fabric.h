// Live subnets in memory: a test sets what is published, and a function of the test answers requests,
// on a separate thread as a real fabric does. Thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "services/control/live/status/live_fabric.h"

namespace railweave::control {

class MemoryLiveFabric final : public LiveFabric {
 public:
  // The outcome of a request; the status is published before the caller gets the answer.
  using Answerer = std::function<Result<SubnetStatus>(const SubnetStatus& present, Request request)>;
  using Counting = std::function<std::optional<PortCounters>(const fabric::Topology&, fabric::PortId)>;

  // What is archived of a port; null: nothing.
  using Archive = std::function<const fabric::health::CounterArchive*(const fabric::Topology&, fabric::PortId)>;

  MemoryLiveFabric() = default;
  ~MemoryLiveFabric() override { finish(); }

  void publish(SubnetStatus status) {
    const std::lock_guard lock(mutex_);
    publish_locked(std::move(status));
  }
  void publish_ports(const std::string& subnet, PortProgress progress) {
    const std::lock_guard lock(mutex_);
    ports_[subnet] = std::move(progress);
  }
  void answer_with(Answerer answerer) { answerer_ = std::move(answerer); }  // before the first request
  void count_with(Counting counting) { counting_ = std::move(counting); }
  void archive_with(Archive archive, std::function<std::int64_t()> now_us) {
    archive_ = std::move(archive);
    now_us_ = std::move(now_us);
  }

  [[nodiscard]] std::vector<SubnetStatusPtr> subnets() const override {
    const std::lock_guard lock(mutex_);
    std::vector<SubnetStatusPtr> all;
    for (const auto& [name, status] : subnets_) all.push_back(status);
    return all;
  }
  [[nodiscard]] SubnetStatusPtr subnet(std::string_view name) const override {
    const std::lock_guard lock(mutex_);
    const auto found = subnets_.find(name);
    return found == subnets_.end() ? nullptr : found->second;
  }
  [[nodiscard]] std::optional<PortProgress> port_progress(std::string_view name) const override {
    const std::lock_guard lock(mutex_);
    if (!subnets_.contains(name)) return std::nullopt;
    const auto found = ports_.find(name);
    return found == ports_.end() ? PortProgress() : found->second;
  }
  void ask(std::string_view name, Request request, Completion done) override {
    const auto present = subnet(name);
    if (present == nullptr) {
      return done(fail(ErrorKind::conflict, "subnets.notLive", "there is no live connection to that subnet"));
    }
    const std::lock_guard lock(threads_mutex_);
    threads_.emplace_back([this, present, request, done = std::move(done)] {
      auto outcome = answerer_(*present, request);
      if (!outcome) return done(std::unexpected(outcome.error()));
      const std::string subnet_name = outcome->subnet;
      publish(std::move(*outcome));
      done(subnet(subnet_name));
    });
  }
  void release(std::string_view subnet, const std::string& link) override {
    const std::lock_guard lock(mutex_);
    released_.emplace_back(subnet, link);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> released() const {
    const std::lock_guard lock(mutex_);
    return released_;
  }
  [[nodiscard]] std::optional<PortCounters> counters(const fabric::Topology& topology,
                                                     fabric::PortId port) const override {
    return counting_ ? counting_(topology, port) : std::nullopt;
  }
  [[nodiscard]] std::optional<PastCounters> counters_at(const fabric::Topology& topology, fabric::PortId port,
                                                        std::int64_t at_us) const override {
    const auto* known = archive_ ? archive_(topology, port) : nullptr;
    if (known == nullptr) return std::nullopt;
    const auto slot = known->at(0, at_us, now_us_());
    if (!slot.is_read) return std::nullopt;
    return PastCounters{slot.load, slot.peak, known->errors_per_hour(0, at_us, now_us_())};
  }
  [[nodiscard]] ArchivedPorts archive(const fabric::Topology& topology, std::span<const fabric::PortId> ports,
                                      fabric::health::ArchiveRing ring) const override {
    ArchivedPorts ranges;
    for (const auto port : ports) {
      const auto* known = archive_ ? archive_(topology, port) : nullptr;
      ranges.push_back(known == nullptr ? std::nullopt : std::optional(known->range(0, ring, now_us_())));
    }
    return ranges;
  }

  // Waits until every caller has its answer.
  void finish() {
    std::vector<std::thread> threads;
    {
      const std::lock_guard lock(threads_mutex_);
      threads.swap(threads_);
    }
    for (auto& thread : threads) thread.join();
  }

 private:
  void publish_locked(SubnetStatus status) {
    auto& slot = subnets_[status.subnet];
    slot = std::make_shared<const SubnetStatus>(std::move(status));
  }

  Answerer answerer_;
  Counting counting_;
  Archive archive_;
  std::function<std::int64_t()> now_us_;
  mutable std::mutex mutex_;
  std::map<std::string, SubnetStatusPtr, std::less<>> subnets_;  // guarded by mutex_
  std::map<std::string, PortProgress, std::less<>> ports_;       // guarded by mutex_
  std::vector<std::pair<std::string, std::string>> released_;    // guarded by mutex_
  std::mutex threads_mutex_;
  std::vector<std::thread> threads_;  // guarded by threads_mutex_
};

}  // namespace railweave::control
