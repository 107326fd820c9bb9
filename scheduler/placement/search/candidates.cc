#include "scheduler/placement/search/candidates.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace railweave::scheduler {
namespace {

using Change = Candidate::Change;

// More groups are tried where scoring is cheap.
std::size_t groups_to_try(std::uint64_t ranks) { return ranks <= 64 ? 2 : ranks <= 1024 ? 3 : 1; }

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
  void add_fewest_groups(const Found& base);
  void add_full_rate();

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
  const bool large = rank_count(spec_.parallelism) > 1024;
  if (!large || list_.back().change != Change::fewest_groups) add_farther(loose);
  add_full_rate();
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
  if (fit) add({base.shape, *fit}, Change::farther);
}

void Enumeration::add_fewest_groups(const Found& base) {
  const Hierarchy& hierarchy = tree_.hierarchy();
  const unsigned level = hierarchy.level_of(fabric::LevelKind::leaf_group);
  if (level == Hierarchy::kNoLevel || base.fit.level <= level) return;  // in one leaf group already, or none there
  Found found = base;
  if (spec_.job.preferred) found.shape.max_level = base.fit.level;  // no farther than it has to
  auto portions = fewest_groups(search_.best_fit(), hierarchy, index(found.shape), found.shape, level, base.fit.level);
  if (portions.empty()) return;
  found.shape.max_level = base.shape.max_level;
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

}  // namespace

std::string text_of(Change change, const Hierarchy& hierarchy, const Found& found) {
  const std::string level(fabric::to_string(hierarchy.kind(found.fit.level)));
  switch (change) {
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
    case Change::farther:
      return "over several groups of one " + level;
    case Change::full_rate_links:
      return "behind links at full rate";
  }
  return "";
}

Result<std::vector<Candidate>> candidates(JobSearch& search, const CandidateQuestion& question) {
  return Enumeration(search, question).all();
}

}  // namespace railweave::scheduler
