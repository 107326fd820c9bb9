#include "scheduler/placement/rank_order.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "fabric/base/draws.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/placement/search/layout.h"

namespace railweave::scheduler {
namespace {

using fabric::GpuId;

constexpr std::uint64_t kRankScores = 2'000'000;  // ranks that are scored, all orders together
constexpr std::uint64_t kLeastScores = 40;        // orders that are scored, of large jobs too
constexpr std::size_t kSmallJob = 64;             // ranks up to which orders are also drawn at random
constexpr unsigned kRandomStarts = 24;

class OrderSearch {
 public:
  OrderSearch(Placer& placer, const JobSpec& spec, std::span<const GpuId> present)
      : placer_(placer),
        spec_(spec),
        scores_left_(std::max(kLeastScores, kRankScores / std::max<std::size_t>(1, present.size()))) {
    best_.assign(present.begin(), present.end());
    best_us_ = time_us(best_);
  }

  [[nodiscard]] double best_us() const { return best_us_; }
  [[nodiscard]] const std::vector<GpuId>& best() const { return best_; }
  [[nodiscard]] bool of_step() const { return of_step_; }

  // Improves the order by exchanges and keeps it if it is the best one so far.
  void try_from(std::vector<GpuId> order) {
    if (scores_left_ == 0) return;
    double order_us = time_us(order);
    bool better = true;
    while (better && scores_left_ > 0) {
      better = false;
      for (const std::size_t size : exchanged_sizes(order)) better = exchange(size, order, order_us) || better;
    }
    if (order_us < best_us_) {
      best_us_ = order_us;
      best_ = std::move(order);
    }
  }

 private:
  double time_us(std::span<const GpuId> order) {
    if (scores_left_ > 0) --scores_left_;
    const Prediction predicted = placer_.predict(spec_, order);
    of_step_ = predicted.step_us.has_value();
    return predicted.step_us.value_or(predicted.communication_us);
  }

  // Runs of consecutive ranks that are exchanged with each other, the long ones first.
  [[nodiscard]] std::vector<std::size_t> exchanged_sizes(std::span<const GpuId> order) const {
    const Parallelism& p = spec_.parallelism;
    const std::size_t tensor = p.tensor;
    const std::size_t piece = tensor * p.context * p.expert;
    const std::size_t stage = piece * p.data;
    std::size_t node = 1;
    const auto& topology = placer_.fabric().topology();
    while (node < order.size() && topology.host(order[node]) == topology.host(order.front())) ++node;
    std::vector<std::size_t> sizes{stage, piece, node, tensor, 1};
    std::ranges::sort(sizes, std::greater{});
    const auto same = std::ranges::unique(sizes);
    sizes.erase(same.begin(), same.end());
    std::erase_if(sizes, [&](std::size_t size) { return size * 2 > order.size() || order.size() % size != 0; });
    return sizes;
  }

  bool exchange(std::size_t size, std::vector<GpuId>& order, double& order_us) {
    bool better = false;
    const std::size_t runs = order.size() / size;
    const auto swap = [&](std::size_t a, std::size_t b) {
      const auto at = [&](std::size_t run) { return order.begin() + static_cast<std::ptrdiff_t>(run * size); };
      std::swap_ranges(at(a), at(a + 1), at(b));
    };
    for (std::size_t a = 0; a < runs; ++a) {
      for (std::size_t b = a + 1; b < runs; ++b) {
        if (scores_left_ == 0) return better;
        swap(a, b);
        const double us = time_us(order);
        if (us < order_us) {
          order_us = us;
          better = true;
        } else {
          swap(a, b);
        }
      }
    }
    return better;
  }

  Placer& placer_;
  const JobSpec& spec_;
  std::uint64_t scores_left_;
  std::vector<GpuId> best_;
  double best_us_ = 0;
  bool of_step_ = false;
};

// What the placer would do if these GPUs, and no others, were free, and the job required nothing.
std::optional<std::vector<GpuId>> fresh_order(Placer& placer, const Allocations& allocations, const JobSpec& spec,
                                              std::span<const GpuId> gpus) {
  JobSpec plain;
  plain.parallelism = spec.parallelism;
  plain.model = spec.model;
  plain.traffic = spec.traffic;
  plain.tenant = spec.tenant;
  plain.mixed_gpus = true;
  plain.across_sites = true;
  const auto& topology = placer.fabric().topology();
  std::unordered_map<std::uint32_t, std::uint64_t> own;  // local GPUs by host, a bit each
  for (const auto gpu : gpus) own[topology.host(gpu).value()] |= std::uint64_t{1} << topology.local_index(gpu);
  PlacementTransaction alone(placer.tree(), topology);
  std::vector<GpuId> others;
  for (const auto host : topology.hosts()) {
    const auto of_host = topology.gpus(host);
    for (std::size_t i = 0; i < of_host.size(); ++i) {
      if ((allocations[host.index()].used >> i & 1U) == 0) others.push_back(of_host[i]);
    }
  }
  if (!alone.take(others) || !alone.release(gpus)) return std::nullopt;
  for (const auto& [host, mask] : own) alone.set_available(fabric::HostId(host), true);
  auto placement = placer.try_place(plain);
  if (!placement || placement->gpu_of_rank.size() != gpus.size()) return std::nullopt;
  return std::move(placement->gpu_of_rank);
}

}  // namespace

RankOrder rank_order(Placer& placer, const Allocations& allocations, const JobSpec& spec,
                     std::span<const GpuId> gpu_of_rank) {
  OrderSearch search(placer, spec, gpu_of_rank);
  RankOrder order;
  order.present_us = search.best_us();
  if (auto fresh = fresh_order(placer, allocations, spec, gpu_of_rank)) search.try_from(std::move(*fresh));
  const std::vector<GpuId> present(gpu_of_rank.begin(), gpu_of_rank.end());
  std::vector<GpuId> sorted = present;
  std::ranges::sort(sorted);
  search.try_from(sorted);
  search.try_from(present);
  if (sorted.size() <= kSmallJob) {
    Draws draws(sorted.size());
    for (unsigned i = 0; i < kRandomStarts; ++i) {
      for (std::size_t left = sorted.size(); left > 1; --left) std::swap(sorted[left - 1], sorted[draws.below(left)]);
      search.try_from(sorted);
    }
  }
  order.best_us = search.best_us();
  order.of_step = search.of_step();
  if (!(order.best_us < order.present_us * (1 - LayoutChoice::kAsGood))) return order;
  std::unordered_map<std::uint32_t, std::uint32_t> rank_of;
  for (std::uint32_t rank = 0; rank < gpu_of_rank.size(); ++rank) rank_of.emplace(gpu_of_rank[rank].value(), rank);
  for (const auto gpu : search.best()) order.ranks.push_back(rank_of.at(gpu.value()));
  return order;
}

}  // namespace railweave::scheduler
