// The best layouts of a job on routes. Bundles take routing to spread flows evenly; where the routes in force do not, for
// links that were cut or flows that meet, another place may be faster than the one that bundles choose.
#include <algorithm>
#include <limits>
#include <utility>

#include "scheduler/collective/routed_traffic.h"
#include "scheduler/placement/placer_impl.h"

namespace railweave::scheduler {
namespace {

// Places of other candidates that are predicted on routes, and flows that may be walked for one choice.
constexpr std::uint64_t kMaxCompared = 7;
constexpr double kMaxFlows = 32'768;
// Where bundles and routes are within this of each other, bundles have chosen well enough: no place is faster on routes than
// the best is on bundles.
constexpr double kAlike = 1.02;

// Of an unreachable place infinite.
double us_of(const Contention& on) {
  return on.shared.reachable ? on.shared.communication_us : std::numeric_limits<double>::infinity();
}

}  // namespace

// At least two places of it can be walked.
bool Placer::Impl::keeps_finalists(const JobSpec& spec) const {
  if (routes_ == nullptr || on_ != &tree_ || !spec.prefer_nodes.empty()) return false;
  return flow_count(spec.parallelism, traffic_of_job(spec).traffic) * 2 <= kMaxFlows;
}

void Placer::Impl::choose_on_routes(const JobSpec& spec, const LeafFilter* filter, const Candidate*& chosen) {
  Layout& best = choice_.best();
  if (!(best.cost.uplink_gpu_us > 0)) return;  // nothing that routes could spread unevenly
  const auto own = routes_->contention(spec, best.gpu_of_rank);
  if (!own) return;
  routed_ = RoutedChoice{.chosen = own->shared};
  const double on_bundles_us = best.cost.total_us;
  double least_us = us_of(*own);
  if (!(least_us > on_bundles_us * kAlike)) return;

  // 1. The other candidates, the fastest on bundles first: none is faster on routes than there.
  const std::vector<fabric::GpuId> by_bundles = best.gpu_of_rank;
  const Prediction predicted = scorer_.prediction(best.cost);
  const double flows = std::max(1.0, flow_count(spec.parallelism, traffic_of_job(spec).traffic));
  auto places_left = static_cast<std::uint64_t>(kMaxFlows / flows) - 1;
  std::ranges::stable_sort(finalists_, {}, [](const Finalist& one) { return one.cost.total_us; });
  for (Finalist& one : finalists_) {
    if (routed_->compared > kMaxCompared || places_left == 0 || one.cost.total_us >= least_us) break;
    if (one.gpu_of_rank == by_bundles) continue;
    const auto on = routes_->contention(spec, one.gpu_of_rank);
    ++routed_->compared;
    --places_left;
    if (!on || us_of(*on) >= least_us * (1 - LayoutChoice::kAsGood)) continue;
    least_us = us_of(*on);
    routed_->chosen = on->shared;
    chosen = one.candidate;
    best.gpu_of_rank = one.gpu_of_rank;
    best.cost = one.cost;
  }
  // 2. Small jobs block by block, also where bundles see nothing to gain: flows that meet on one link of a leaf slow a job down
  // whose adapters are the bottleneck on bundles, and another order of the same GPUs may keep them apart.
  if (const auto start = refinement_of(spec, *chosen, filter, true); start && least_us > best.cost.total_us) {
    scorer_.set_routes(routes_, places_left);
    PlacementCost cost = best.cost;
    cost.total_us = least_us;
    if (refinement_.improve(*start, scorer_, LayoutChoice::kAsGood, best.gpu_of_rank, cost)) {
      if (const auto on = routes_->contention(spec, best.gpu_of_rank)) routed_->chosen = on->shared;
      best.cost = scorer_.cost(best.gpu_of_rank);
    }
    routed_->compared += places_left - scorer_.routes_left();
    scorer_.set_routes(nullptr);
  }
  if (best.gpu_of_rank == by_bundles) return;
  routed_->by_bundles = {predicted, own->shared, by_bundles};
}

std::optional<RoutedChoice> choose_on_routes(const JobSpec& spec, Placement& placement, Placer& placer,
                                             RouteScorer& routes) {
  // Another place may hold more GPUs idle, which its quota was not asked for.
  if (placement.level <= fabric::LevelKind::leaf_group || !placement.idle_gpus.empty()) return std::nullopt;
  placer.set_routes(&routes);
  auto result = placer.place_or_say_why(spec);
  placer.set_routes(nullptr);
  if (result.outcome != Outcome::placed || !result.routed) return std::nullopt;
  if (result.routed->by_bundles) placement = std::move(result.placement);
  return std::move(result.routed);
}

}  // namespace railweave::scheduler
