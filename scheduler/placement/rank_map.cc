#include "scheduler/placement/rank_map.h"

#include "fabric/base/check.h"

namespace railweave::scheduler {

Rank RankMap::operator[](std::uint64_t rank) const {
  RAILWEAVE_CHECK(rank < gpu_of_rank_.size(), "the job has that rank");
  const fabric::GpuId gpu = gpu_of_rank_[rank];
  const fabric::HostId host = fabric_->topology().host(gpu);
  return {.rank = rank,
          .at = coordinates_of(parallelism_, rank),
          .host = host,
          .gpu = gpu,
          .local_gpu = fabric_->topology().local_index(gpu),
          .nics = fabric_->gpu_nics().nics(gpu),
          .nics_assumed = fabric_->gpu_nics().assumed(host)};
}

}  // namespace railweave::scheduler
