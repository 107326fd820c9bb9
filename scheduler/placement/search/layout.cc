#include "scheduler/placement/search/layout.h"

#include <algorithm>
#include <utility>

namespace railweave::scheduler {

void LayoutMaker::lay_out(const Parallelism& parallelism, const Candidate& candidate, BestFit& best_fit,
                          PlacementTree& tree, Layout& into) {
  const JobShape& shape = candidate.found.shape;
  FitRequest request{.rungs = shape.rungs, .count = shape.count, .max_level = shape.max_level};
  const FitIndex& index = tree.fit_index(shape.fit);
  into.shares.clear();
  const auto distribute = [&](const Fit& fit) {
    const auto shares = best_fit.distribute(index, request, fit);
    into.shares.insert(into.shares.end(), shares.begin(), shares.end());
  };
  for (const auto& [group, amount] : candidate.portions) {
    request.count = amount;
    distribute({candidate.portion_level, group});
  }
  if (candidate.portions.empty()) distribute(candidate.found.fit);
  packing_.pack(tree, into.shares, shape.nested_gpus);
  const auto gpus = packing_.gpus();
  if (shape.expert_inside || candidate.order != PackingOrder::stages) {
    into.gpu_of_rank.resize(gpus.size());
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      into.gpu_of_rank[rank_at(parallelism, shape.expert_inside, i, candidate.order)] = gpus[i];
    }
  } else {
    into.gpu_of_rank.assign(gpus.begin(), gpus.end());
  }
}

namespace {

// Uplinks taken count as equal within a percent, as do times.
bool takes_less(const Layout& a, const Layout& b) {
  if (a.unmet != b.unmet) return a.unmet < b.unmet;
  const double of_a = a.cost.uplink_gpu_us, of_b = b.cost.uplink_gpu_us;
  if (of_a < of_b / (1 + LayoutChoice::kAsGood)) return true;
  return of_a <= of_b * (1 + LayoutChoice::kAsGood) && a.lost_gpus < b.lost_gpus;
}

}  // namespace

// Not transitive if compared one by one: everything within the tolerance of the least time so far competes on what it
// takes of uplinks, then on what it loses, and a new least time drops those that are no longer near it.
bool LayoutChoice::offer(Layout& layout) {
  const double us = layout.us();
  const bool first = offered_++ == 0;
  bool better = first;
  if (!first) {
    const bool near_least = us <= least_us_ * (1 + kAsGood);
    const bool best_still_near = best_.us() <= std::min(us, least_us_) * (1 + kAsGood);
    better = near_least && (!best_still_near || takes_less(layout, best_));
  }
  least_us_ = first ? us : std::min(least_us_, us);
  if (better) std::swap(best_, layout);
  return better;
}

}  // namespace railweave::scheduler
