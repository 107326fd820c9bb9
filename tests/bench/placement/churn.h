// A fabric under load: jobs come and go at about 90% fill, sizes drawn from a mix of small and large ones.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "fabric/generate/generate.h"
#include "scheduler/placement/placer.h"

namespace railweave::scheduler::bench {

enum class FabricKind : std::uint8_t {
  rails,  // hosts of 8 GPUs, racks of 4, 8 rails in planes of three tiers
  nvl72,  // hosts of 4 GPUs, NVLink domains of 18 hosts
};

// Built once per kind and size, then shared.
PlacementFabricPtr bench_fabric(FabricKind kind, std::uint64_t gpus);

// A typical job of a number of GPUs: tensor groups of at most 8, four pipeline stages from 512 GPUs on.
JobSpec bench_job(std::uint64_t gpus);

// Sizes from 1 to 8,192 GPUs, at most a sixteenth of the fabric; those under 8 break nodes.
class JobMix {
 public:
  explicit JobMix(std::uint64_t fabric_gpus);
  [[nodiscard]] std::uint64_t next(std::mt19937_64& random) const;

 private:
  std::vector<double> upto_;
  std::vector<std::uint64_t> sizes_;
};

// Chooses jobs to end so that the next one leaves a share of the fabric free. The same stream for every policy.
class Churn {
 public:
  Churn(std::uint64_t fabric_gpus, std::uint64_t seed, double free = 0.1)
      : total_(fabric_gpus),
        most_used_(fabric_gpus - static_cast<std::uint64_t>(free * static_cast<double>(fabric_gpus))),
        mix_(fabric_gpus),
        random_(seed) {}

  [[nodiscard]] std::uint64_t next_size() { return mix_.next(random_); }
  // Calls end(gpus) for jobs until `size` more fit beside the share that stays free.
  template <class End>
  void make_room(std::uint64_t size, End end) {
    while (!running_.empty() && used_ + size > most_used_) {
      const std::size_t at = random_() % running_.size();
      used_ -= running_[at].size();
      end(running_[at]);
      running_[at].swap(running_.back());
      running_.pop_back();
    }
  }
  void started(std::vector<fabric::GpuId> gpus) {
    used_ += gpus.size();
    running_.push_back(std::move(gpus));
  }
  [[nodiscard]] double fill() const { return static_cast<double>(used_) / static_cast<double>(total_); }

 private:
  std::uint64_t total_;
  std::uint64_t most_used_;
  std::uint64_t used_ = 0;
  JobMix mix_;
  std::mt19937_64 random_;
  std::vector<std::vector<fabric::GpuId>> running_;
};

}  // namespace railweave::scheduler::bench
