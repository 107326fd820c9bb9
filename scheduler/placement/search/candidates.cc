#include "scheduler/placement/search/candidates.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "scheduler/placement/search/even_splits.h"
#include "scheduler/placement/search/fewest_uplinks.h"

namespace railweave::scheduler {
namespace {

using Change = Candidate::Change;

constexpr std::uint64_t kLargeJob = 1024;  // ranks: scoring dominates the time of a decision beyond

constexpr std::uint64_t kSmallJob = 256;  // ranks: a candidate more costs microseconds

// More groups are tried where scoring is cheap.
std::size_t groups_to_try(std::uint64_t ranks) { return ranks <= 64 ? 2 : ranks <= kLargeJob ? 3 : 1; }

// The job requests nothing that ordering pieces by replica could break.
bool may_order_replicas(const JobSpec& spec) {
  return !spec.stage.required && !spec.stage.preferred && !spec.spread_stages && !spec.spread && spec.slices.empty();
}

// Stages of a replica of the model follow each other: nested pieces after the groups inside a stage are replicas.
bool put_replicas_together(const JobSpec& spec, JobShape& shape) {
  const Parallelism& p = spec.parallelism;
  const std::uint64_t inner = std::uint64_t{p.tensor} * p.context * p.expert;
  const std::uint64_t ranks = shape.nested_gpus.back();
  if (p.pipeline == 1 || p.data == 1 || inner % shape.nested_gpus.front() != 0) return false;
  std::erase_if(shape.nested_gpus, [&](std::uint64_t gpus) { return gpus > inner; });
  if (shape.nested_gpus.back() != inner) shape.nested_gpus.push_back(inner);
  shape.nested_gpus.push_back(inner * p.pipeline);
  shape.nested_gpus.push_back(ranks);
  return true;
}

class Enumeration {
 public:
  Enumeration(JobSearch& search, const CandidateQuestion& question)
      : search_(search), spec_(*question.spec), tree_(*question.tree), question_(question) {}

  Result<std::vector<Candidate>> all();

 private:
  void add(Found found, Change change, PackingOrder order = PackingOrder::stages) {
    list_.push_back({std::move(found), order, change, {}, 0});
  }
  [[nodiscard]] const FitIndex& index(const JobShape& shape) { return tree_.fit_index(shape.fit); }
  static FitRequest request(const JobShape& shape) {
    return {.rungs = shape.rungs, .count = shape.count, .max_level = shape.max_level};
  }
  void add_replicas(const Found& base);
  void add_other_groups(const Found& base);
  void add_farther(const Found& base);
  void add_stages_in_groups(const Found& base, unsigned farthest);
  void add_fewest_groups(const Found& base);
  void add_full_rate();
  void add_even_splits();
  void add_even_splits(const Found& base, PackingOrder order, std::uint64_t pieces);

  JobSearch& search_;
  const JobSpec& spec_;
  PlacementTree& tree_;
  const CandidateQuestion& question_;
  std::vector<Candidate> list_;
};

Result<std::vector<Candidate>> Enumeration::all() {
  std::optional<Found> unaligned;
  auto found = search_.find(spec_, tree_, question_.filter, &unaligned);
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::vector<Candidate>();
  add(std::move(**found), Change::none);
  const bool inside_a_leaf = list_.front().found.fit.level == 0;
  if (inside_a_leaf) return std::move(list_);  // any leaf is as good, and BestFit takes the fullest
  const Found loose = unaligned ? *unaligned : list_.front().found;
  if (unaligned) add(*unaligned, Change::unaligned);
  add_replicas(loose);
  add_other_groups(loose);
  add_fewest_groups(list_.front().found);
  if (unaligned) add_fewest_groups(loose);
  // For a large job scoring dominates the time of a decision, so candidates that are seldom chosen are omitted.
  const bool large = rank_count(spec_.parallelism) > kLargeJob;
  if (!large || list_.back().change != Change::fewest_groups) add_farther(loose);
  add_full_rate();
  add_even_splits();
  return std::move(list_);
}

void Enumeration::add_replicas(const Found& base) {
  if (!may_order_replicas(spec_)) return;
  Found found = base;
  if (!put_replicas_together(spec_, found.shape)) return;
  Found aligned = found;
  const std::uint64_t replica = rank_count(spec_.parallelism) / spec_.parallelism.data;
  if (search_.align(replica, tree_, aligned)) add(std::move(aligned), Change::own_replicas, PackingOrder::replicas);
  add(std::move(found), Change::replicas, PackingOrder::replicas);
}

void Enumeration::add_other_groups(const Found& base) {
  const unsigned level = base.fit.level;
  if (!base.shape.rungs.empty() && level >= base.shape.rungs.front().level) return;  // pieces are not counted by units
  std::vector<GroupIndex> groups;
  index(base.shape).next_fits(level, base.fit.group, groups_to_try(rank_count(spec_.parallelism)), groups);
  for (const GroupIndex group : groups) {
    Found found = base;
    found.fit.group = group;
    add(std::move(found), Change::another_group);
  }
}

void Enumeration::add_farther(const Found& base) {
  // A job that fits in one site does not span sites to be faster: long-haul capacity is scarce.
  const unsigned farthest = std::min(base.shape.max_level, tree_.hierarchy().top(false));
  if (spec_.job.preferred || base.fit.level >= farthest) return;
  const auto fit = search_.best_fit().find(index(base.shape), request(base.shape), base.fit.level + 1);
  if (!fit) return;
  add({base.shape, *fit}, Change::farther);
  if (rank_count(spec_.parallelism) > kSmallJob) return;
  add_replicas({base.shape, *fit});
  add_stages_in_groups(base, farthest);
}

// Farther stages, each in a group of a nearer level than nearer stages can be in.
void Enumeration::add_stages_in_groups(const Found& base, unsigned farthest) {
  const std::uint32_t stages = spec_.parallelism.pipeline;
  if (stages == 1 || !may_order_replicas(spec_)) return;
  unsigned nearest = base.fit.level;
  const JobShape& front = list_.front().found.shape;
  if (front.count == stages && !front.rungs.empty()) nearest = front.rungs.back().level;
  for (unsigned level = base.fit.level + 1; level <= farthest && nearest > 0; ++level) {
    const auto fit = search_.best_fit().find(index(base.shape), request(base.shape), level);
    if (!fit) return;
    level = fit->level;
    Found aligned{base.shape, *fit};
    if (!search_.align(rank_count(spec_.parallelism) / stages, tree_, aligned)) continue;
    if (aligned.shape.rungs.empty() || aligned.shape.rungs.back().level >= nearest) continue;
    nearest = aligned.shape.rungs.back().level;
    add(std::move(aligned), Change::farther);
  }
}

void Enumeration::add_fewest_groups(const Found& base) {
  const Hierarchy& hierarchy = tree_.hierarchy();
  const unsigned level = hierarchy.level_of(fabric::LevelKind::leaf_group);
  if (level == Hierarchy::kNoLevel || base.fit.level <= level) return;  // in one leaf group already, or none there
  Found found = base;
  if (spec_.job.preferred) found.shape.max_level = base.fit.level;  // no farther than it has to
  auto portions = fewest_groups(search_.best_fit(), hierarchy, index(found.shape), found.shape, level, base.fit.level);
  if (portions.empty()) return;
  auto fewer_uplinks = fewest_uplinks(search_.best_fit(), hierarchy, index(found.shape), found.shape, level, portions);
  found.shape.max_level = base.shape.max_level;
  if (!fewer_uplinks.empty()) {
    list_.push_back({found, PackingOrder::stages, Change::fewest_uplinks, std::move(fewer_uplinks), level});
  }
  list_.push_back({std::move(found), PackingOrder::stages, Change::fewest_groups, std::move(portions), level});
}

void Enumeration::add_full_rate() {
  for (const auto& filter : question_.full_rate) {
    std::optional<Found> unaligned;
    auto found = search_.find(spec_, tree_, filter, &unaligned);
    if (!found || !*found) continue;
    // Full-rate links are no reason to span sites either.
    const Hierarchy& hierarchy = tree_.hierarchy();
    if ((*found)->fit.level > std::max(hierarchy.top(false), list_.front().found.fit.level)) continue;
    const Found& loose = unaligned ? *unaligned : **found;
    Found replicas = loose;
    if (may_order_replicas(spec_) && put_replicas_together(spec_, replicas.shape)) {
      add(std::move(replicas), Change::full_rate_links, PackingOrder::replicas);
    }
    if (unaligned) add(std::move(*unaligned), Change::full_rate_links);
    add(std::move(**found), Change::full_rate_links);
  }
}

// Of every candidate so far that BestFit fills one group after the other; what the job asks for larger pieces is kept
// by even_splits() alone where it is one level.
void Enumeration::add_even_splits() {
  if (spec_.spread || spec_.spread_stages || !spec_.slices.empty()) return;
  const bool large = rank_count(spec_.parallelism) > kLargeJob;
  const std::size_t count = large ? 1 : list_.size();
  for (std::size_t i = 0; i < count; ++i) {
    // A copy: the list grows.
    const Candidate from = list_[i];
    const bool by_replica = from.order == PackingOrder::replicas;
    if (!from.portions.empty() || from.change == Change::replicas) continue;
    add_even_splits(from.found, from.order, by_replica ? 1 : spec_.parallelism.pipeline);
  }
}

void Enumeration::add_even_splits(const Found& base, PackingOrder order, std::uint64_t pieces) {
  const bool every_level = rank_count(spec_.parallelism) <= kLargeJob;
  auto splits = even_splits(search_.best_fit(), tree_.hierarchy(), index(base.shape),
                            {.shape = &base.shape, .inside = base.fit, .pieces = pieces, .every_level = every_level});
  for (EvenSplit& split : splits) {
    list_.push_back({{std::move(split.shape), base.fit},
                     order,
                     Change::even,
                     std::move(split.portions),
                     ring_level(tree_.hierarchy())});
  }
}

}  // namespace

std::string text_of(const Candidate& candidate, const Hierarchy& hierarchy) {
  const std::string level(fabric::to_string(hierarchy.kind(candidate.found.fit.level)));
  switch (candidate.change) {
    case Change::none:
      return "the fullest " + level + " that fits";
    case Change::unaligned:
      return "stages across the groups of a " + level;
    case Change::replicas:
      return "stages of a replica side by side";
    case Change::own_replicas:
      return "each replica in a group of its own";
    case Change::another_group:
      return "another " + level;
    case Change::fewest_groups:
      return "over the fewest leaf groups";
    case Change::fewest_uplinks:
      return "over few leaf groups of few pods";
    case Change::farther:
      return "over several groups of one " + level;
    case Change::full_rate_links:
      return "behind links at full rate";
    case Change::near_peers:
      return "near the jobs that it exchanges data with";
    case Change::preferred_nodes:
      return "on preferred nodes alone";
    case Change::even:
      return fmt::format("evenly over {} groups of {}", candidate.portions.size(),
                         fabric::to_string(hierarchy.kind(candidate.portion_level)));
  }
  return "";
}

bool other_order(const JobSpec& spec, Candidate& candidate) {
  if (!may_order_replicas(spec)) return false;
  JobShape& shape = candidate.found.shape;
  const Parallelism& p = spec.parallelism;
  if (candidate.order == PackingOrder::stages) {
    if (!put_replicas_together(spec, shape)) return false;
    candidate.order = PackingOrder::replicas;
    return true;
  }
  // Pieces beyond the groups inside a stage are then stages.
  const std::uint64_t inner = std::uint64_t{p.tensor} * p.context * p.expert;
  std::erase_if(shape.nested_gpus, [&](std::uint64_t gpus) { return gpus > inner; });
  shape.nested_gpus.push_back(inner * p.data);
  shape.nested_gpus.push_back(inner * p.data * p.pipeline);
  candidate.order = PackingOrder::stages;
  return true;
}

Result<std::vector<Candidate>> candidates(JobSearch& search, const CandidateQuestion& question) {
  return Enumeration(search, question).all();
}

}  // namespace railweave::scheduler
