#include "scheduler/queue/cycle/least_loss.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "fabric/base/check.h"

namespace railweave::scheduler {

LeastLoss::LeastLoss(Placer& placer, const PreemptionQuestion& question, std::vector<std::size_t> from)
    : placer_(placer),
      question_(question),
      order_(std::move(from)),
      tree_(placer.tree(), placer.fabric().topology()),
      free_before_(placer.tree().total_free()) {
  const auto& candidates = question_.candidates;
  std::ranges::sort(order_, [&](std::size_t a, std::size_t b) {
    return std::tuple(-candidates[a].lost_gpu_s, candidates[a].id) <
           std::tuple(-candidates[b].lost_gpu_s, candidates[b].id);
  });
  by_price_.resize(order_.size());
  std::iota(by_price_.begin(), by_price_.end(), std::size_t{0});
  const auto price = [&](std::size_t at) {
    return victim(at).lost_gpu_s / static_cast<double>(std::max<std::size_t>(1, victim(at).gpus.size()));
  };
  std::ranges::stable_sort(by_price_, {}, price);
  for (const std::size_t i : order_) RAILWEAVE_CHECK(tree_.release(candidates[i].gpus), "running jobs hold their GPUs");
}

bool LeastLoss::improve(Eviction& best) {
  best_ = &best;
  decide(0);
  tree_.rollback();
  return !is_out_of_work();
}

void LeastLoss::decide(std::size_t at) {
  ++steps_;
  if (is_out_of_work()) return;
  const bool more = at < order_.size();
  const double least = lost_ + (more ? least_more(at) : 0);
  if (std::pair(least, gone_.size()) >= std::pair(best_->lost_gpu_s, best_->victims.size())) return;
  if (!more) {
    std::vector<std::size_t> victims = gone_;
    std::ranges::sort(victims);
    *best_ = {std::move(victims), lost_};
    return;
  }
  const std::size_t candidate = order_[at];
  const auto before = tree_.checkpoint();
  RAILWEAVE_CHECK(tree_.take(victim(at).gpus), "what a victim held is free");
  if (makes_room_without(at)) decide(at + 1);
  tree_.rollback(before);
  gone_.push_back(candidate);
  if (!question_.allowed || question_.allowed(gone_)) {
    const double lost = std::exchange(lost_, lost_ + victim(at).lost_gpu_s);
    gone_gpus_ += victim(at).gpus.size();
    decide(at + 1);
    gone_gpus_ -= victim(at).gpus.size();
    lost_ = lost;
  }
  gone_.pop_back();
}

// On the tree, where it has been given back.
bool LeastLoss::makes_room_without(std::size_t at) {
  if (placer_.tree().total_free() < question_.gpus) return false;
  if (question_.enough) {
    rest_ = gone_;
    rest_.insert(rest_.end(), order_.begin() + static_cast<std::ptrdiff_t>(at) + 1, order_.end());
    if (!question_.enough(rest_)) return false;
  }
  ++asked_;
  return question_.fits();
}

// As if any of their GPUs would do, and parts of jobs could go.
double LeastLoss::least_more(std::size_t at) const {
  const std::uint64_t have = free_before_ + gone_gpus_;
  if (have >= question_.gpus) return 0;
  auto missing = static_cast<double>(question_.gpus - have);
  double lost = 0;
  for (const std::size_t one : by_price_) {
    if (one < at) continue;
    const auto gpus = static_cast<double>(victim(one).gpus.size());
    if (gpus >= missing) return lost + victim(one).lost_gpu_s * missing / std::max(1.0, gpus);
    missing -= gpus;
    lost += victim(one).lost_gpu_s;
  }
  return lost;
}

}  // namespace railweave::scheduler
