// A thread that makes the answers to changes of jobs. A command's outcome arrives on the control thread, and computing
// a job's contention there would delay other commands.
//
// Thread-safe. Owned by the handlers of the job routes.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/http/dispatch/fair_lane.h"
#include "fabric/base/worker/worker.h"
#include "services/rest/control_plane.h"
#include "services/rest/json/jobs/job.h"

namespace railweave::api {

class JobAnswers {
 public:
  static constexpr std::size_t kMaxWaiting = 128;

  using Task = FairLane::Task;  // must not throw

  JobAnswers();
  JobAnswers(const JobAnswers&) = delete;
  JobAnswers& operator=(const JobAnswers&) = delete;
  ~JobAnswers();  // runs the waiting tasks first

  // False when too many tasks of this tenant ("": of operators) wait; the task is then unchanged. Tenants take turns.
  bool run_later(const std::string& tenant, Task& task);

 private:
  void run_waiting();

  std::mutex mutex_;
  FairLane waiting_;          // guarded by mutex_, bounded by kMaxWaiting
  bool stopping_ = false;     // guarded by mutex_
  Worker worker_{"answers"};  // last: uses all of the above
};

// The contention of a placed job, or of a job if it were placed on these GPUs. nullopt: not placed, or the book stays
// busy for longer than a caller should wait.
std::optional<control::JobContention> contention_of(const ControlPlane& plane, const control::ClusterState& state,
                                                    const control::Job& job);
std::optional<control::JobContention> contention_of(const ControlPlane& plane, const control::ClusterState& state,
                                                    const scheduler::JobSpec& spec,
                                                    std::span<const fabric::GpuId> gpu_of_rank);

// What is told beside a job: its contention, of an adopted one what its order costs, of a waiting one when it is
// expected to start. On worker threads and on that of the answers.
// Whether the job's guarantee is in force where its ports are, as far as that was read (GuaranteeStanding).
bool guarantee_holds(const ControlPlane& plane, const control::ClusterState& state, const control::Job& job);

JobBeside beside_of(const ControlPlane& plane, const control::ClusterState& state, const control::Job& job);

// What the alternatives of a placement come to on the basis of its own contention; empty where that is not known.
std::vector<scheduler::Contention> contention_of(const ControlPlane& plane, const control::ClusterState& state,
                                                 const scheduler::JobSpec& spec,
                                                 const std::vector<scheduler::Alternative>& alternatives);

// Leaves out which jobs of other tenants are in it. What they come to together stays.
void leave_own_tenant(const control::ClusterState& state, const std::string& tenant,
                      control::JobContention& contention);
void leave_own_tenant(const control::ClusterState& state, const std::string& tenant,
                      std::vector<control::BlockedLink>& links);

}  // namespace railweave::api
