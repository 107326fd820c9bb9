#include "tests/unit/queue/simulated_cluster.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "tests/unit/placement/planned_fabric.h"

namespace railweave::scheduler::testing_support {

using fabric::GpuId;

PlacementFabricPtr small_fabric(std::size_t hosts, unsigned gpus_per_host, std::size_t hosts_per_rack) {
  return regular_fabric(hosts, gpus_per_host,
                        {{fabric::LevelKind::rack, static_cast<unsigned>(hosts_per_rack)},
                         {fabric::LevelKind::cluster, static_cast<unsigned>(hosts)}})
      .build();
}

SimulatedJob simulated_job(QueueJobId id, std::uint32_t tensor, std::uint32_t blocks, std::int64_t arrives_s,
                           std::int64_t runs_s) {
  SimulatedJob job{.id = id, .arrives_us = arrives_s * kSecond, .runs_us = runs_s * kSecond};
  job.spec.tenant = "t";
  job.spec.parallelism.tensor = tensor;
  job.spec.parallelism.data = blocks;
  job.spec.expected_duration_s = runs_s;
  return job;
}

SimulatedCluster::SimulatedCluster(PlacementFabricPtr fabric, QueuePolicy policy, std::vector<SimulatedJob> jobs)
    : fabric_(std::move(fabric)),
      policy_(std::move(policy)),
      cycle_(fabric_),
      allocations_(no_allocations(fabric_->topology())),
      mirror_(fabric_->hierarchy_ptr()) {
  if (!check_queue_policy(policy_)) std::abort();
  for (auto& job : jobs) {
    to_come_.push_back(job.id);
    jobs_.emplace(job.id, std::move(job));
  }
  std::ranges::sort(to_come_, [&](QueueJobId a, QueueJobId b) {
    return std::pair(jobs_.at(a).arrives_us, a) > std::pair(jobs_.at(b).arrives_us, b);
  });
}

CycleResult SimulatedCluster::cycle() {
  std::vector<QueuedJob> queued;
  std::vector<RunningJob> running;
  for (const auto id : queued_) {
    const SimulatedJob& job = jobs_.at(id);
    queued.push_back({.id = id, .spec = &job.spec, .submitted_us = job.arrives_us});
    queued.back().place_until_us = job.place_until_us;
    queued.back().kept = job.kept;
  }
  for (const auto id : running_) {
    const SimulatedJob& job = jobs_.at(id);
    running.push_back({id, &job.spec, job.started_us, 0, job.gpus});
  }
  ++cycles_;
  return cycle_.run(allocations_,
                    {.policy = &policy_, .queued = queued, .running = running, .now_us = now_us_, .explain = explain});
}

void SimulatedCluster::carry_out(const CycleResult& result) {
  const auto fail = [&](std::string what) {
    if (broken.empty()) broken = std::move(what) + " at " + std::to_string(now_us_ / kSecond) + " s";
  };
  for (const auto& evicted : result.evictions) {
    SimulatedJob& job = jobs_.at(evicted.job);
    if (std::erase(running_, evicted.job) != 1) fail("evicted a job that does not run");
    if (!release(allocations_, fabric_->topology(), job.gpus)) fail("evicted a job without its GPUs");
    job.gpus.clear();
    ++job.evictions;
    job.place_until_us = 0;
    queued_.push_back(evicted.job);
  }
  for (const auto& start : result.starts) {
    SimulatedJob& job = jobs_.at(start.job);
    if (std::erase(queued_, start.job) != 1) fail("started a job that is not queued");
    job.gpus = start.placement.held_gpus();
    if (start.shape.has_value() == job.spec.shapes.empty()) fail("a shape is of a job with several");
    if (start.shape) job.spec.parallelism = *start.shape;
    if (start.placement.gpu_of_rank.size() != rank_count(job.spec.parallelism)) fail("started a part of a job");
    if (!take(allocations_, fabric_->topology(), job.gpus)) fail("started on taken GPUs");
    job.started_us = now_us_;
    running_.push_back(start.job);
  }
  for (const auto id : queued_) jobs_.at(id).kept.clear();
  for (const auto& kept : result.kept) {
    SimulatedJob& job = jobs_.at(kept.job);
    job.place_until_us = kept.until_us;
    job.kept = kept.gpus;
  }
  if (result.waiting.size() != queued_.size() - result.evictions.size()) fail("a waiting job without a reason");
  check_conservation();
}

void SimulatedCluster::check_conservation() {
  mirror_.sync(allocations_);
  const auto& topology = fabric_->topology();
  const Hierarchy& hierarchy = fabric_->hierarchy();
  for (unsigned level = 0; level < hierarchy.level_count(); ++level) {
    std::vector<std::uint32_t> free;
    for (GroupIndex group = 0; group < hierarchy.group_count(level); ++group) {
      free.push_back(hierarchy.capacity(level, group));
    }
    for (const auto id : running_) {
      for (const GpuId gpu : jobs_.at(id).gpus) {
        --free[hierarchy.group_of_leaf(level, hierarchy.host_first_leaf(topology.host(gpu)))];
      }
    }
    for (GroupIndex group = 0; group < hierarchy.group_count(level); ++group) {
      if (free[group] != mirror_.free(level, group) && broken.empty()) {
        broken = "free GPUs of group " + std::to_string(group) + " of level " + std::to_string(level) +
                 " are not capacity less what jobs hold";
      }
    }
  }
}

void SimulatedCluster::run(std::int64_t until_us) {
  std::int64_t wake_us = 0;
  while (broken.empty()) {
    std::int64_t next = INT64_MAX;
    if (!to_come_.empty()) next = jobs_.at(to_come_.back()).arrives_us;
    for (const auto id : running_) next = std::min(next, jobs_.at(id).started_us + jobs_.at(id).runs_us);
    if (wake_us > now_us_ && !queued_.empty()) next = std::min(next, wake_us);
    if (next == INT64_MAX || next > until_us) return;
    now_us_ = next;
    for (; !to_come_.empty() && jobs_.at(to_come_.back()).arrives_us <= now_us_; to_come_.pop_back()) {
      queued_.push_back(to_come_.back());
    }
    std::erase_if(running_, [&](QueueJobId id) {
      SimulatedJob& job = jobs_.at(id);
      if (job.started_us + job.runs_us > now_us_) return false;
      if (!release(allocations_, fabric_->topology(), job.gpus)) broken = "a job ended without its GPUs";
      job.ended_us = now_us_;
      job.gpus.clear();
      return true;
    });
    const CycleResult result = cycle();
    if (watch) watch(result);
    carry_out(result);
    wake_us = result.wake_us;
  }
}

}  // namespace railweave::scheduler::testing_support
