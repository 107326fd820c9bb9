// Answers to changes of jobs, made on a thread of their own: what others slow a job by is no work for the control
// thread, on which a command's outcome comes.
//
// Thread-safe. Held by the routes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "services/rest/control_plane.h"

namespace railweave::api {

class JobAnswers {
 public:
  static constexpr std::size_t kMaxWaiting = 128;

  using Task = std::move_only_function<void()>;  // must not throw

  JobAnswers();
  JobAnswers(const JobAnswers&) = delete;
  JobAnswers& operator=(const JobAnswers&) = delete;
  ~JobAnswers();  // runs what waits

  // False, and the task is left alone, when too many wait.
  bool run_later(Task& task);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable filled_;
  std::deque<Task> waiting_;  // guarded by mutex_, bounded by kMaxWaiting
  bool stopping_ = false;     // guarded by mutex_
  std::thread thread_;
};

// Of a placed job, or of one if it were placed there. None: not placed, or the book is busy for longer than a caller
// should wait.
std::optional<control::JobContention> contention_of(const ControlPlane& plane, const control::ClusterState& state,
                                                    const control::Job& job);
std::optional<control::JobContention> contention_of(const ControlPlane& plane, const control::ClusterState& state,
                                                    const scheduler::JobSpec& spec,
                                                    std::span<const fabric::GpuId> gpu_of_rank);

}  // namespace railweave::api
