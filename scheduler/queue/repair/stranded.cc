#include "scheduler/queue/repair/stranded.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "scheduler/placement/fit/best_fit.h"
#include "scheduler/placement/fit/fit_index.h"
#include "scheduler/placement/search/job_shape.h"

namespace railweave::scheduler {
namespace {

// By leaf: the most GPUs that one of the jobs could use.
class Usable {
 public:
  explicit Usable(const Hierarchy& hierarchy)
      : hierarchy_(hierarchy), best_fit_(hierarchy), gpus_(hierarchy.leaf_count(), 0) {}

  void add(const JobSpec& spec, PlacementTree& tree) {
    const auto choices = level_choices_of(spec, hierarchy_);
    if (!choices) return;
    const auto shape = shape_of(spec, hierarchy_, choices->required(), nullptr);
    if (!shape) return;
    const FitIndex& index = tree.fit_index(shape->fit);
    const unsigned level = shape->max_level;
    const bool in_pieces = !shape->rungs.empty() && shape->rungs.front().level <= level;
    if (in_pieces) best_fit_.count_pieces(index, shape->rungs, level);
    for (GroupIndex group = 0; group < hierarchy_.group_count(level); ++group) {
      const std::uint64_t holds = in_pieces ? best_fit_.pieces(level, group) : index.units(level, group);
      if (holds >= shape->count) use(index, level, group);
    }
  }
  [[nodiscard]] std::uint32_t of(LeafIndex leaf) const { return gpus_[leaf]; }

 private:
  // Descends to where units are counted: one leaf, or a group whose leaves make units together.
  void use(const FitIndex& index, unsigned level, GroupIndex group) {  // NOLINT(misc-no-recursion)
    const std::uint32_t per_node = index.shape().per_node;
    const bool counted_here = level == 0 || index.straddles(level, group) ||
                              (per_node >= index.shape().block && level == hierarchy_.host_level());
    if (!counted_here) {
      const GroupIndex end = hierarchy_.first_child(level, group + 1);
      for (GroupIndex child = hierarchy_.first_child(level, group); child < end; ++child) use(index, level - 1, child);
      return;
    }
    std::uint64_t rest = std::uint64_t{index.units(level, group)} * index.unit_gpus();
    const LeafIndex end = hierarchy_.first_leaf(level, group + 1);
    for (LeafIndex leaf = hierarchy_.first_leaf(level, group); leaf < end && rest > 0; ++leaf) {
      const auto here = static_cast<std::uint32_t>(std::min<std::uint64_t>(rest, hierarchy_.capacity(0, leaf)));
      gpus_[leaf] = std::max(gpus_[leaf], here);
      rest -= here;
    }
  }

  const Hierarchy& hierarchy_;
  BestFit best_fit_;
  std::vector<std::uint32_t> gpus_;
};

}  // namespace

StrandedGpus find_stranded(const PlacementFabric& fabric, PlacementTree& tree, std::span<const JobSpec* const> jobs,
                           std::span<const RunningJob> running) {
  const Hierarchy& hierarchy = fabric.hierarchy();
  Usable usable(hierarchy);
  for (const JobSpec* job : jobs) usable.add(*job, tree);
  StrandedGpus answer;
  std::vector<std::uint32_t> stranded(hierarchy.leaf_count(), 0);
  for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) {
    const std::uint32_t free = tree.free(0, leaf);
    stranded[leaf] = free - std::min(free, usable.of(leaf));
    answer.free += free;
    answer.stranded += stranded[leaf];
  }
  if (running.empty() || answer.stranded == 0) return answer;

  // Level by level, from the node up: what is stranded in a group belongs to the jobs in it, if there are any.
  std::vector<std::uint64_t> of_job(running.size(), 0);
  for (unsigned level = hierarchy.host_level(); level < hierarchy.level_count(); ++level) {
    std::vector<std::uint64_t> in_group(hierarchy.group_count(level), 0);
    std::vector<std::uint8_t> named(in_group.size(), 0);
    for (LeafIndex leaf = 0; leaf < stranded.size(); ++leaf) {
      in_group[hierarchy.group_of_leaf(level, leaf)] += stranded[leaf];
    }
    for (std::size_t i = 0; i < running.size(); ++i) {
      std::vector<GroupIndex> groups;
      for (const auto gpu : running[i].gpus) {
        const LeafIndex leaf = hierarchy.host_first_leaf(fabric.topology().host(gpu));
        groups.push_back(hierarchy.group_of_leaf(level, leaf));
      }
      std::ranges::sort(groups);
      const auto repeated = std::ranges::unique(groups);
      groups.erase(repeated.begin(), repeated.end());
      for (const GroupIndex group : groups) {
        of_job[i] += in_group[group];
        named[group] = 1;
      }
    }
    std::uint64_t rest = 0;
    for (LeafIndex leaf = 0; leaf < stranded.size(); ++leaf) {
      if (named[hierarchy.group_of_leaf(level, leaf)] != 0) stranded[leaf] = 0;
      rest += stranded[leaf];
    }
    if (rest == 0) break;
  }
  for (std::size_t i = 0; i < running.size(); ++i) {
    if (of_job[i] > 0) answer.beside.push_back({running[i].id, of_job[i]});
  }
  std::ranges::stable_sort(answer.beside, [](const auto& a, const auto& b) { return a.gpus > b.gpus; });
  return answer;
}

}  // namespace railweave::scheduler
