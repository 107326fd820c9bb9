#include "services/control/views/peer_places.h"

#include <utility>

namespace railweave::control {

scheduler::PeerGpus peer_places(std::shared_ptr<const JobTable> jobs) {
  return [jobs = std::move(jobs)](std::uint64_t number) -> std::span<const fabric::GpuId> {
    const JobPtr job = jobs->find(JobId(number));
    if (job == nullptr || !job->holds_gpus()) return {};
    return job->placement.gpu_of_rank;
  };
}

}  // namespace railweave::control
