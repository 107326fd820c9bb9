#include "scheduler/queue/cycle/preemption.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "fabric/base/check.h"
#include "scheduler/queue/cycle/least_loss.h"

namespace railweave::scheduler {
namespace {

using Set = std::vector<std::size_t>;

constexpr std::size_t kGroupsTried = 8;  // of one level, the most promising ones

class Planner {
 public:
  Planner(Placer& placer, const PreemptionQuestion& question)
      : placer_(placer),
        hierarchy_(placer.fabric().hierarchy()),
        topology_(placer.fabric().topology()),
        question_(question) {}

  std::optional<Eviction> plan();

 private:
  [[nodiscard]] const PossibleVictim& candidate(std::size_t i) const { return question_.candidates[i]; }
  [[nodiscard]] bool allowed(const Set& set) const { return !question_.allowed || question_.allowed(set); }
  [[nodiscard]] bool enough(const Set& set) const { return !question_.enough || question_.enough(set); }

  void release(PlacementTransaction& tree, std::size_t i) const {
    RAILWEAVE_CHECK(tree.release(candidate(i).gpus), "running jobs hold their GPUs");
  }
  // Whether the job may start once these are evicted.
  [[nodiscard]] bool makes_room(std::span<const std::size_t> set) const;
  // Those of an order that may be evicted together, the first ones preferred.
  [[nodiscard]] Set allowed_of(const Set& order) const;
  void try_order(const Set& order);
  void thin_out(Set set);
  void try_clearing(unsigned level, const Set& from);
  void try_inside(unsigned level, const Set& from);
  [[nodiscard]] std::map<GroupIndex, Set> by_group(unsigned level, const Set& from) const;
  [[nodiscard]] double cost(const Set& set) const;

  Placer& placer_;
  const Hierarchy& hierarchy_;
  const fabric::Topology& topology_;
  const PreemptionQuestion& question_;
  std::optional<Eviction> best_;
};

double Planner::cost(const Set& set) const {
  return std::accumulate(set.begin(), set.end(), 0.0,
                         [&](double sum, std::size_t i) { return sum + candidate(i).lost_gpu_s; });
}

bool Planner::makes_room(std::span<const std::size_t> set) const {
  if (!enough(Set(set.begin(), set.end()))) return false;
  PlacementTransaction tree(placer_.tree(), topology_);
  for (const std::size_t i : set) release(tree, i);
  return placer_.tree().total_free() >= question_.gpus && question_.fits();
}

Set Planner::allowed_of(const Set& order) const {
  if (allowed(order)) return order;
  Set set;
  for (const std::size_t i : order) {
    set.push_back(i);
    if (!allowed(set)) set.pop_back();
  }
  return set;
}

// The shortest prefix of the order that frees enough, found by doubling and bisection, then reduced.
void Planner::try_order(const Set& order) {
  const Set all = allowed_of(order);
  const std::span whole(all);
  std::size_t too_few = 0;
  std::size_t suffice = 1;
  while (suffice < all.size() && !makes_room(whole.first(suffice))) {
    too_few = suffice;
    suffice = std::min(suffice * 2, all.size());
  }
  if (all.empty() || (suffice == all.size() && !makes_room(whole))) return;
  while (too_few + 1 < suffice) {
    const std::size_t middle = (too_few + suffice) / 2;
    (makes_room(whole.first(middle)) ? suffice : too_few) = middle;
  }
  thin_out(Set(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(suffice)));
}

void Planner::thin_out(Set set) {
  std::ranges::sort(set, [&](std::size_t a, std::size_t b) {
    return std::tuple(-candidate(a).priority, -candidate(a).lost_gpu_s, candidate(a).id) <
           std::tuple(-candidate(b).priority, -candidate(b).lost_gpu_s, candidate(b).id);
  });
  PlacementTransaction tree(placer_.tree(), topology_);
  for (const std::size_t i : set) release(tree, i);
  for (std::size_t at = 0; at < set.size();) {
    const std::size_t i = set[at];
    Set without = set;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(at));
    const auto before = tree.checkpoint();
    RAILWEAVE_CHECK(tree.take(candidate(i).gpus), "what a victim held is free");
    if (enough(without) && placer_.tree().total_free() >= question_.gpus && question_.fits()) {
      set = std::move(without);
    } else {
      tree.rollback(before);
      ++at;
    }
  }
  const double lost = cost(set);
  if (best_ && std::tuple(best_->lost_gpu_s, best_->victims.size()) <= std::tuple(lost, set.size())) return;
  std::ranges::sort(set);
  best_ = Eviction{std::move(set), lost};
}

std::map<GroupIndex, Set> Planner::by_group(unsigned level, const Set& from) const {
  std::map<GroupIndex, Set> groups;
  for (const std::size_t i : from) {
    GroupIndex last = UINT32_MAX;
    for (const auto gpu : candidate(i).gpus) {
      const GroupIndex group = hierarchy_.group_of_leaf(level, hierarchy_.host_first_leaf(topology_.host(gpu)));
      if (group == std::exchange(last, group)) continue;
      Set& set = groups[group];
      if (set.empty() || set.back() != i) set.push_back(i);
    }
  }
  return groups;
}

// Group by group, the cheapest per freed GPU first.
void Planner::try_clearing(unsigned level, const Set& from) {
  struct Group {
    double cost_per_gpu;
    GroupIndex number;
    const Set* set;
  };
  const auto groups = by_group(level, from);
  std::vector<Group> order;
  for (const auto& [number, set] : groups) {
    order.push_back({cost(set) / std::max(1U, hierarchy_.capacity(level, number)), number, &set});
  }
  std::ranges::sort(order, [](const Group& a, const Group& b) {
    return std::tie(a.cost_per_gpu, a.number) < std::tie(b.cost_per_gpu, b.number);
  });
  Set set;
  std::vector<bool> chosen(question_.candidates.size(), false);
  for (const Group& group : order) {
    for (const std::size_t i : *group.set) {
      if (!chosen[i]) set.push_back(i);
      chosen[i] = true;
    }
  }
  try_order(set);
}

// Only victims inside one group that could hold the job.
void Planner::try_inside(unsigned level, const Set& from) {
  struct Group {
    double estimate;
    GroupIndex number;
    const Set* set;
  };
  const auto groups = by_group(level, from);
  std::vector<Group> promising;
  for (const auto& [number, set] : groups) {
    if (hierarchy_.capacity(level, number) < question_.gpus) continue;
    // The cheapest that free enough GPUs, if their shape did not matter.
    std::uint64_t free = placer_.tree().free(level, number);
    double estimate = 0;
    for (const std::size_t i : set) {
      if (free >= question_.gpus) break;
      free += candidate(i).gpus.size();
      estimate += candidate(i).lost_gpu_s;
    }
    if (free >= question_.gpus) promising.push_back({estimate, number, &set});
  }
  std::ranges::sort(promising, [](const Group& a, const Group& b) {
    return std::tie(a.estimate, a.number) < std::tie(b.estimate, b.number);
  });
  if (promising.size() > kGroupsTried) promising.resize(kGroupsTried);
  for (const Group& group : promising) try_order(*group.set);
}

std::optional<Eviction> Planner::plan() {
  Set order(question_.candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    return std::tuple(candidate(a).priority, candidate(a).lost_gpu_s, candidate(a).id) <
           std::tuple(candidate(b).priority, candidate(b).lost_gpu_s, candidate(b).id);
  });
  // The lowest priorities that are enough: no job above them is evicted, whatever that would save.
  for (std::size_t end = 0; end < order.size();) {
    const std::int32_t priority = candidate(order[end]).priority;
    while (end < order.size() && candidate(order[end]).priority == priority) ++end;
    const Set from(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(end));
    if (!makes_room(allowed_of(from))) continue;
    try_order(from);
    for (unsigned level = hierarchy_.host_level(); level < hierarchy_.level_count(); ++level) {
      if (hierarchy_.max_capacity(level) >= question_.gpus) try_inside(level, from);
      if (level < hierarchy_.top()) try_clearing(level, from);
    }
    if (best_) LeastLoss(placer_, question_, from).improve(*best_);
    break;
  }
  return std::move(best_);
}

}  // namespace

std::optional<Eviction> plan_preemption(Placer& placer, const PreemptionQuestion& question) {
  return Planner(placer, question).plan();
}

}  // namespace railweave::scheduler
