#include "scheduler/queue/repair/room_by_moves.h"

#include <algorithm>
#include <queue>
#include <set>
#include <utility>

#include "fabric/base/check.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/queue/cycle/preemption.h"

namespace railweave::scheduler {
namespace {

using fabric::GpuId;
using fabric::HostId;

constexpr std::size_t kMaxVariants = 16;  // groups that one job is confined to, one after the other

class RoomSearch {
 public:
  RoomSearch(Placer& placer, const JobSpec& waiting, std::span<const MovableJob> movable, const RoomOptions& options)
      : placer_(placer),
        topology_(placer.fabric().topology()),
        waiting_(waiting),
        movable_(movable),
        options_(options),
        tree_(placer.tree(), topology_) {}

  std::optional<RoomPlan> plan();

 private:
  using Set = std::vector<std::size_t>;
  [[nodiscard]] std::optional<Eviction> cheapest_eviction();
  [[nodiscard]] std::optional<RoomPlan> next_sets(double least);
  [[nodiscard]] bool makes_room(const Set& set);
  [[nodiscard]] std::optional<RoomPlan> arrange(Set set);
  [[nodiscard]] std::optional<RoomPlan> after_the_moves(const Set& set);
  bool place_moved(const Set& set, std::size_t at, std::vector<RoomMove>& moves);

  [[nodiscard]] bool is_free(GpuId gpu) const {
    const HostAllocation& host = placer_.tree().allocation(topology_.host(gpu));
    return !host.unavailable && ((host.used | host.closed) >> topology_.local_index(gpu) & 1U) == 0;
  }
  [[nodiscard]] bool is_used(GpuId gpu) const {
    return (placer_.tree().allocation(topology_.host(gpu)).used >> topology_.local_index(gpu) & 1U) != 0;
  }
  std::optional<Placement> try_place(QueueJobId id, const JobSpec& spec);
  [[nodiscard]] std::vector<JobSpec> variants(const JobSpec& spec) const;
  [[nodiscard]] double lost(const Set& set) const {
    double sum = 0;
    for (const std::size_t job : set) sum += movable_[job].lost_gpu_s;
    return sum;
  }
  void take(std::span<const GpuId> gpus) { RAILWEAVE_CHECK(tree_.take(gpus), "a place is free"); }
  void release(std::span<const GpuId> gpus) { RAILWEAVE_CHECK(tree_.release(gpus), "a job holds its GPUs"); }

  Placer& placer_;
  const fabric::Topology& topology_;
  const JobSpec& waiting_;
  std::span<const MovableJob> movable_;
  const RoomOptions& options_;
  PlacementTransaction tree_;
  std::size_t tries_ = 0;
};

std::optional<Placement> RoomSearch::try_place(QueueJobId id, const JobSpec& spec) {
  if (++tries_ > RoomOptions::kMaxTries) return std::nullopt;
  const auto before = tree_.checkpoint();
  if (options_.closed) {
    std::vector<GpuId> closed = options_.closed(id);
    std::erase_if(closed, [&](GpuId gpu) { return is_used(gpu); });
    take(closed);
  }
  auto placement = placer_.try_place(spec);
  tree_.rollback(before);
  return placement;
}

// The job as it is, then confined to one NVLink domain or host after the other that has room for it.
std::vector<JobSpec> RoomSearch::variants(const JobSpec& spec) const {
  std::vector<JobSpec> specs{spec};
  const std::uint64_t ranks = rank_count(spec.parallelism);
  std::set<std::vector<HostId>> groups;
  const auto add = [&](const auto& gpus, const std::vector<HostId>& hosts) {
    const auto free = std::ranges::count_if(gpus, [&](GpuId gpu) { return is_free(gpu); });
    if (static_cast<std::uint64_t>(free) < ranks || !groups.insert(hosts).second) return;
    JobSpec& confined = specs.emplace_back(spec);
    confined.only_nodes.clear();
    for (const HostId host : hosts) {
      const std::string name(topology_.name(host));
      const bool may = spec.only_nodes.empty() || std::ranges::find(spec.only_nodes, name) != spec.only_nodes.end();
      if (may) confined.only_nodes.push_back(name);
    }
    if (confined.only_nodes.empty()) specs.pop_back();
  };
  for (const HostId host : topology_.hosts()) {
    if (specs.size() > kMaxVariants) return specs;
    const auto gpus = topology_.gpus(host);
    add(gpus, std::vector<HostId>{host});
  }
  for (const auto domain : topology_.nvlink_domains()) {
    if (specs.size() > kMaxVariants) return specs;
    const auto gpus = topology_.gpus(domain);
    std::set<HostId> hosts;
    for (const GpuId gpu : gpus) hosts.insert(topology_.host(gpu));
    add(gpus, std::vector<HostId>(hosts.begin(), hosts.end()));
  }
  return specs;
}

// Where each job of the set goes, from the one at `at` on: all GPUs of the set that the waiting job has not taken are taken.
bool RoomSearch::place_moved(const Set& set, std::size_t at, std::vector<RoomMove>& moves) {
  if (at == set.size()) return true;
  const MovableJob& job = movable_[set[at]];
  const auto before = tree_.checkpoint();
  std::vector<GpuId> own;                       // that it could keep
  const auto taken = moves.back().gpu_of_rank;  // by the waiting job
  for (const GpuId gpu : job.gpus) {
    if (!std::ranges::binary_search(taken, gpu)) own.push_back(gpu);
  }
  release(own);
  for (const JobSpec& spec : variants(*job.spec)) {
    const auto place = try_place(job.id, spec);
    if (!place || !place->idle_gpus.empty()) continue;
    const auto here = tree_.checkpoint();
    take(place->gpu_of_rank);
    std::vector<GpuId> left;
    std::ranges::copy_if(own, std::back_inserter(left), [&](GpuId gpu) { return !is_used(gpu); });
    take(left);
    moves.insert(moves.end() - 1, {set[at], place->gpu_of_rank});
    if (place_moved(set, at + 1, moves)) return true;
    moves.erase(moves.end() - 2);
    tree_.rollback(here);
  }
  tree_.rollback(before);
  return false;
}

// The moves first, on what is free now; the waiting job then takes what is left.
std::optional<RoomPlan> RoomSearch::after_the_moves(const Set& set) {
  const auto before = tree_.checkpoint();
  RoomPlan plan{.lost_gpu_s = lost(set)};
  for (const std::size_t job : set) {
    const auto place = try_place(movable_[job].id, *movable_[job].spec);
    if (!place || !place->idle_gpus.empty()) break;
    take(place->gpu_of_rank);
    plan.moves.push_back({job, place->gpu_of_rank});
  }
  const bool all = plan.moves.size() == set.size();
  if (all) {
    for (const std::size_t job : set) release(movable_[job].gpus);
    auto place = try_place(0, waiting_);
    tree_.rollback(before);
    if (!place || (options_.accepts && !options_.accepts(*place))) return std::nullopt;
    plan.place = std::move(*place);
    return plan;
  }
  tree_.rollback(before);
  return std::nullopt;
}

std::optional<RoomPlan> RoomSearch::arrange(Set set) {
  std::ranges::stable_sort(set, std::greater<>(), [&](std::size_t job) { return movable_[job].gpus.size(); });
  if (auto plan = after_the_moves(set)) return plan;
  const auto before = tree_.checkpoint();
  for (const std::size_t job : set) release(movable_[job].gpus);
  for (const JobSpec& spec : variants(waiting_)) {
    auto place = try_place(0, spec);
    if (!place || (options_.accepts && !options_.accepts(*place))) continue;
    const auto here = tree_.checkpoint();
    std::vector<GpuId> taken = place->held_gpus();
    std::ranges::sort(taken);
    take(taken);
    for (const std::size_t job : set) {
      std::vector<GpuId> rest;
      std::ranges::copy_if(movable_[job].gpus, std::back_inserter(rest), [&](GpuId gpu) { return !is_used(gpu); });
      take(rest);
    }
    std::vector<RoomMove> moves{{0, std::move(taken)}};  // the last: what the waiting job takes
    const bool all = place_moved(set, 0, moves);
    tree_.rollback(here);
    if (!all) continue;
    tree_.rollback(before);
    moves.pop_back();
    return RoomPlan{std::move(moves), std::move(*place), lost(set)};
  }
  tree_.rollback(before);
  return std::nullopt;
}

bool RoomSearch::makes_room(const Set& set) {
  const auto before = tree_.checkpoint();
  for (const std::size_t job : set) release(movable_[job].gpus);
  bool fits = placer_.fits(waiting_);
  if (fits && options_.accepts) {
    const auto place = try_place(0, waiting_);
    fits = place && options_.accepts(*place);
  }
  tree_.rollback(before);
  return fits;
}

std::optional<Eviction> RoomSearch::cheapest_eviction() {
  std::vector<PossibleVictim> candidates;
  for (const MovableJob& job : movable_) candidates.push_back({job.id, 0, job.lost_gpu_s, job.gpus});
  PreemptionQuestion question{.candidates = candidates, .gpus = rank_count(waiting_.parallelism)};
  question.fits = [&] {
    if (!placer_.fits(waiting_)) return false;
    if (!options_.accepts) return true;
    const auto place = placer_.try_place(waiting_);
    return place && options_.accepts(*place);
  };
  question.allowed = [&](std::span<const std::size_t> set) { return set.size() <= options_.most_moves; };
  return plan_preemption(placer_, question);
}

// Sets of jobs from the cheapest on: each is followed by the set with the next job added, and with its last job exchanged for
// the next.
std::optional<RoomPlan> RoomSearch::next_sets(double least) {
  std::vector<std::size_t> by_price(movable_.size());
  for (std::size_t i = 0; i < by_price.size(); ++i) by_price[i] = i;
  std::ranges::stable_sort(by_price, {}, [&](std::size_t job) { return movable_[job].lost_gpu_s; });
  struct Entry {
    double lost;
    Set places;  // in by_price, rising
    bool operator<(const Entry& other) const {
      return std::tie(other.lost, other.places) < std::tie(lost, places);  // the cheapest on top
    }
  };
  std::priority_queue<Entry> open;
  const auto price = [&](std::size_t place) { return movable_[by_price[place]].lost_gpu_s; };
  if (!by_price.empty()) open.push({price(0), {0}});
  for (std::size_t looked = 0; !open.empty() && looked < RoomOptions::kMaxSets; ++looked) {
    Entry entry = open.top();
    open.pop();
    if (entry.lost > options_.most_lost_gpu_s || tries_ > RoomOptions::kMaxTries) return std::nullopt;
    if (entry.lost >= least - 1e-6) {
      Set set;
      for (const std::size_t place : entry.places) set.push_back(by_price[place]);
      if (makes_room(set)) {
        if (auto plan = arrange(std::move(set))) return plan;
      }
    }
    const std::size_t last = entry.places.back();
    if (last + 1 == by_price.size()) continue;
    Entry exchanged = entry;
    exchanged.places.back() = last + 1;
    exchanged.lost += price(last + 1) - price(last);
    open.push(std::move(exchanged));
    if (entry.places.size() == options_.most_moves) continue;
    entry.places.push_back(last + 1);
    entry.lost += price(last + 1);
    open.push(std::move(entry));
  }
  return std::nullopt;
}

std::optional<RoomPlan> RoomSearch::plan() {
  if (makes_room({})) return std::nullopt;
  // Moves make no GPU: without enough free ones there is none to be had.
  if (placer_.tree().total_free() < rank_count(waiting_.parallelism)) return std::nullopt;
  const auto eviction = cheapest_eviction();
  if (!eviction || eviction->lost_gpu_s > options_.most_lost_gpu_s) return std::nullopt;
  if (auto plan = arrange(eviction->victims)) return plan;
  return next_sets(eviction->lost_gpu_s);
}

}  // namespace

std::optional<RoomPlan> plan_room(Placer& placer, const JobSpec& waiting, std::span<const MovableJob> movable,
                                  const RoomOptions& options) {
  return RoomSearch(placer, waiting, movable, options).plan();
}

}  // namespace railweave::scheduler
