#include "services/rest/handlers/jobs/job_answers.h"

#include <chrono>
#include <utility>

#include "fabric/base/fair_share.h"
#include "services/control/views/job_ports.h"
#include "services/rest/access/viewer.h"
#include "services/rest/handlers/jobs/adopted_order.h"
#include "services/rest/handlers/jobs/expected_start.h"
#include "services/rest/handlers/tables_of_answer.h"
#include "services/rest/json/guarantees/guarantee.h"

namespace railweave::api {
namespace {

constexpr std::chrono::milliseconds kPatience{500};

}  // namespace

JobAnswers::JobAnswers() {
  worker_.start([this](Worker::Turn& turn) {
    bool goes_on = true;
    do {
      goes_on = turn.rest();
      run_waiting();  // at the end too
    } while (goes_on);
  });
}

JobAnswers::~JobAnswers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  worker_.stop();
}

bool JobAnswers::run_later(const std::string& tenant, Task& task) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || !within_fair_share(waiting_.waiting_of(tenant), waiting_.waiting(), kMaxWaiting)) return false;
    waiting_.push(tenant, std::move(task));
  }
  worker_.wake();
  return true;
}

void JobAnswers::run_waiting() {
  std::unique_lock lock(mutex_);
  while (!waiting_.empty()) {
    FairLane::Taken taken = waiting_.take();
    lock.unlock();
    const FairLane::Spent spent = taken.run();
    lock.lock();
    waiting_.ran(taken.client, spent);
  }
}

std::optional<control::JobContention> contention_of(const ControlPlane& plane, const control::ClusterState& state,
                                                    const control::Job& job) {
  if (!job.holds_gpus()) return std::nullopt;
  const std::unique_lock lock(plane.contention->mutex, kPatience);
  if (!lock) return std::nullopt;
  plane.contention->book.bring_to(state);
  auto contention = plane.contention->book.of(job.id);
  if (contention) add_ages(plane, contention->tables);
  return contention;
}

bool guarantee_holds(const ControlPlane& plane, const control::ClusterState& state, const control::Job& job) {
  if (!job.guarantee || job.guarantee->at_risk() || !job.holds_gpus()) return false;
  const auto routes = plane.routes->at(state);
  if (!routes) return false;
  const auto& gpus = job.placement.gpu_of_rank;
  const auto tables = tables_of(plane, state, **routes, subnets_of(state, gpus));
  return not_in_force(state, job, control::job_ports(*state.placement_fabric, gpus), plane.live.subnets(), tables)
      .empty();
}

JobBeside beside_of(const ControlPlane& plane, const control::ClusterState& state, const control::Job& job) {
  JobBeside beside;
  beside.contention = contention_of(plane, state, job);
  beside.steps = state.steps.find(job.id);
  if (job.state == control::JobState::queued) beside.start = expected_start(plane, state, job.id);
  if (job.adopted && job.holds_gpus()) beside.order = adopted_order(plane, state, job);
  beside.guarantee_holds = guarantee_holds(plane, state, job);
  return beside;
}

std::optional<control::JobContention> contention_of(const ControlPlane& plane, const control::ClusterState& state,
                                                    const scheduler::JobSpec& spec,
                                                    std::span<const fabric::GpuId> gpu_of_rank) {
  const std::unique_lock lock(plane.contention->mutex, kPatience);
  if (!lock) return std::nullopt;
  plane.contention->book.bring_to(state);
  auto contention = plane.contention->book.what_if(spec, gpu_of_rank);
  add_ages(plane, contention.tables);
  return contention;
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
    return job == nullptr || !is_job_of(state, tenant, *job);
  });
  std::erase_if(contention.slows, [&](const auto& slowed) { return !is_job_of(state, tenant, *slowed.job); });
}

void leave_own_tenant(const control::ClusterState& state, const std::string& tenant,
                      std::vector<control::BlockedLink>& links) {
  for (auto& link : links) {
    std::erase_if(link.holders, [&](const auto& holder) { return !is_job_of(state, tenant, holder.job); });
  }
}

}  // namespace railweave::api
