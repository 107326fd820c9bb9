// Makes the digests of jobs that wait: gives numbers to tenants, priorities and shapes.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>

#include "scheduler/queue/cycle/job_shapes.h"
#include "scheduler/queue/policy/queue_job.h"

namespace railweave::scheduler {

class JobDigests {
 public:
  static constexpr std::size_t kMaxKept = 4096;  // of tenants, of priorities and of shapes

  // Of a job in one shape; of one that lists several there is none (tenant 0). The spec is copied where its shape is new.
  [[nodiscard]] JobDigest of(const JobSpec& spec);
  // True: call clear(), and of() again for every job that is digested together with the next ones.
  [[nodiscard]] bool full() const;
  void clear();

 private:
  using Numbers = std::unordered_map<std::string, std::uint32_t>;
  static std::uint32_t number_of(const std::string& name, Numbers& numbers) {
    return numbers.emplace(name, static_cast<std::uint32_t>(numbers.size() + 1)).first->second;
  }

  Numbers tenants_, priorities_;
  std::deque<JobSpec> specs_;  // one of each shape
  JobShapes shapes_;           // of these
};

}  // namespace railweave::scheduler
