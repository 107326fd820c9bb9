#include "services/rest/handlers/job_answers.h"

#include <chrono>
#include <utility>

#include "services/rest/access/other_tenants.h"
#include "services/rest/handlers/adopted_order.h"
#include "services/rest/handlers/expected_start.h"

namespace railweave::api {
namespace {

constexpr std::chrono::milliseconds kPatience{500};

}  // namespace

JobAnswers::JobAnswers() : thread_([this] { run(); }) {}

JobAnswers::~JobAnswers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  filled_.notify_all();
  thread_.join();
}

bool JobAnswers::run_later(Task& task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || waiting_.size() >= kMaxWaiting) return false;
    waiting_.push_back(std::move(task));
  }
  filled_.notify_one();
  return true;
}

void JobAnswers::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    filled_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Task task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    lock.lock();
  }
}

std::optional<control::JobContention> contention_of(const ControlPlane& plane, const control::ClusterState& state,
                                                    const control::Job& job) {
  if (!job.holds_gpus()) return std::nullopt;
  const std::unique_lock lock(plane.contention->mutex, kPatience);
  if (!lock) return std::nullopt;
  plane.contention->book.bring_to(state);
  return plane.contention->book.of(job.id);
}

JobBeside beside_of(const ControlPlane& plane, const control::ClusterState& state, const control::Job& job) {
  JobBeside beside;
  beside.contention = contention_of(plane, state, job);
  if (job.state == control::JobState::queued) beside.start = expected_start(plane, state, job.id);
  if (job.adopted && job.holds_gpus()) beside.order = adopted_order(plane, state, job);
  return beside;
}

std::optional<control::JobContention> contention_of(const ControlPlane& plane, const control::ClusterState& state,
                                                    const scheduler::JobSpec& spec,
                                                    std::span<const fabric::GpuId> gpu_of_rank) {
  const std::unique_lock lock(plane.contention->mutex, kPatience);
  if (!lock) return std::nullopt;
  plane.contention->book.bring_to(state);
  return plane.contention->book.what_if(spec, gpu_of_rank);
}

std::vector<scheduler::Contention> contention_of(const ControlPlane& plane, const control::ClusterState& state,
                                                 const scheduler::JobSpec& spec,
                                                 const std::vector<scheduler::Alternative>& alternatives) {
  std::vector<scheduler::Contention> list;
  const std::unique_lock lock(plane.contention->mutex, kPatience);
  if (!lock) return list;
  plane.contention->book.bring_to(state);
  for (const auto& alternative : alternatives) {
    list.push_back(plane.contention->book.compared(spec, alternative.gpu_of_rank));
    if (alternative.alone) list.back().shared = list.back().alone;
  }
  return list;
}

void leave_own_tenant(const control::ClusterState& state, const std::string& tenant,
                      control::JobContention& contention) {
  std::erase_if(contention.own.crossing, [&](const auto& crossing) {
    const auto job = state.jobs.find(control::JobId(crossing.job));
    return job == nullptr || job->spec.tenant != tenant;
  });
  std::erase_if(contention.slows, [&](const auto& slowed) { return slowed.job->spec.tenant != tenant; });
}

void leave_own_tenant(const control::ClusterState& state, const std::string& tenant,
                      std::vector<control::BlockedLink>& links) {
  for (auto& link : links) {
    std::erase_if(link.holders, [&](const auto& holder) { return !is_job_of(state, tenant, holder.job); });
  }
}

}  // namespace railweave::api
