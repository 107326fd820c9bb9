#include "scheduler/queue/cycle/job_digests.h"

namespace railweave::scheduler {

JobDigest JobDigests::of(const JobSpec& spec) {
  if (!spec.shapes.empty()) return {};
  JobDigest digest{.tenant = number_of(spec.tenant, tenants_),
                   .priority = number_of(spec.priority, priorities_),
                   .gpus = rank_count(spec.parallelism),
                   .expected_duration_s = spec.expected_duration_s};
  const auto known = shapes_.find(spec);
  digest.shape = known ? *known : shapes_.of(specs_.emplace_back(spec));
  return digest;
}

bool JobDigests::full() const {
  return tenants_.size() >= kMaxKept || priorities_.size() >= kMaxKept || shapes_.count() >= kMaxKept;
}

void JobDigests::clear() { *this = {}; }

}  // namespace railweave::scheduler
