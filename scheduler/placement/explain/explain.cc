#include "scheduler/placement/explain/explain.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "scheduler/placement/fit/fit_index.h"
#include "scheduler/placement/fit/node_labels.h"
#include "scheduler/placement/search/claims.h"

namespace railweave::scheduler {
namespace {

using fabric::HostId;
using fabric::LevelKind;

constexpr std::size_t kMaxExamples = 5;

bool allowed(const JobSearch::Filter& filter, LeafIndex leaf) { return !filter || (*filter)[leaf] != 0; }

class Account {
 public:
  // The shapes on the leaves that the job may use now, and on those that it may use where no other job is.
  Account(const PlacementFabric& fabric, JobSearch& search, const Refusal& refusal, JobShape shape, FitShape empty,
          std::uint64_t free_gpus)
      : fabric_(fabric),
        hierarchy_(fabric.hierarchy()),
        search_(search),
        refusal_(refusal),
        shape_(std::move(shape)),
        empty_(std::move(empty)),
        free_gpus_(free_gpus) {}

  [[nodiscard]] Explanation write(Outcome outcome);

 private:
  void count_gpus(Explanation& why);
  void count_levels(Explanation& why);
  void list_excluded(Explanation& why);
  // Where the job fails in a tree: the blocks needed there, and those that fit.
  struct Failure {
    LevelKind level = LevelKind::cluster;
    std::uint64_t needed = 0;
    std::uint64_t fit = 0;
  };
  [[nodiscard]] Failure failure_in(PlacementTree& tree, const FitShape& fit);

  // A unit is a block, or several on one node.
  [[nodiscard]] std::uint64_t blocks(std::uint64_t units, const FitIndex& index) const {
    return units * index.unit_gpus() / shape_.fit.block;
  }

  const PlacementFabric& fabric_;
  const Hierarchy& hierarchy_;
  JobSearch& search_;
  const Refusal& refusal_;
  JobShape shape_;
  FitShape empty_;
  std::uint64_t free_gpus_;  // before spares were set aside
};

void Account::count_gpus(Explanation& why) {
  why.total_gpus = hierarchy_.total_capacity();
  why.free_gpus = free_gpus_;
  const FitIndex& index = refusal_.now->fit_index(shape_.fit);
  std::uint64_t units = 0;
  for (GroupIndex group = 0; group < hierarchy_.group_count(hierarchy_.top()); ++group) {
    units += index.units(hierarchy_.top(), group);
  }
  why.stranded_gpus = why.free_gpus - units * index.unit_gpus();
}

void Account::count_levels(Explanation& why) {
  const std::uint64_t needed = shape_.units();
  for (unsigned level = 0; level < hierarchy_.level_count(); ++level) {
    LevelFit fit{.level = hierarchy_.kind(level), .groups = hierarchy_.group_count(level)};
    const FitIndex& empty = refusal_.empty->fit_index(empty_);
    fit.best_blocks_empty = blocks(empty.most_units(level), empty);
    const FitIndex& index = refusal_.now->fit_index(shape_.fit);
    fit.best_blocks = blocks(index.most_units(level), index);
    const bool in_pieces = !shape_.rungs.empty() && level >= shape_.rungs.front().level;
    if (in_pieces) search_.best_fit().count_pieces(index, shape_.rungs, level);
    std::uint64_t per_piece = 1;
    for (const auto& rung : shape_.rungs) {
      if (rung.level <= level) per_piece *= rung.factor;
    }
    for (GroupIndex group = 0; group < fit.groups; ++group) {
      const std::uint64_t held =
          in_pieces ? search_.best_fit().pieces(level, group) * per_piece : index.units(level, group);
      if (held >= needed) ++fit.groups_fit;
    }
    why.levels.push_back(fit);
  }
}

Account::Failure Account::failure_in(PlacementTree& tree, const FitShape& fit) {
  const FitIndex& index = tree.fit_index(fit);
  std::uint64_t unit_blocks = blocks(1, index);
  if (index.most_units(shape_.max_level) == 0) {
    // Not even one unit fits: no domain, or node, has enough.
    return {shape_.fit.per_node > shape_.fit.block || !shape_.fit.nvlink ? LevelKind::node : LevelKind::nvlink_domain,
            unit_blocks, 0};
  }
  if (shape_.rungs.empty()) {
    return {hierarchy_.kind(shape_.max_level), shape_.units() * unit_blocks,
            index.most_units(shape_.max_level) * unit_blocks};
  }
  BestFit& best_fit = search_.best_fit();
  for (std::size_t i = 0; i < shape_.rungs.size(); ++i) {
    const auto rungs = std::span(shape_.rungs).first(i + 1);
    const unsigned level = rungs.back().level;
    best_fit.count_pieces(index, rungs, level);
    bool any = false;
    for (GroupIndex group = 0; group < hierarchy_.group_count(level); ++group)
      any = any || best_fit.pieces(level, group) > 0;
    const std::uint64_t piece_blocks = unit_blocks * rungs.back().factor;
    if (!any) {
      if (i > 0) best_fit.count_pieces(index, rungs.first(i), level);  // of what it is made of
      std::uint64_t most = 0;
      for (GroupIndex group = 0; group < hierarchy_.group_count(level); ++group) {
        most = std::max<std::uint64_t>(most, i == 0 ? index.units(level, group) : best_fit.pieces(level, group));
      }
      return {hierarchy_.kind(level), piece_blocks, most * unit_blocks};
    }
    unit_blocks = piece_blocks;
  }
  // What its pieces are made of may only come together above the level that it must stay in.
  if (shape_.rungs.front().level > shape_.max_level) {
    return {hierarchy_.kind(shape_.max_level), shape_.count * unit_blocks, 0};
  }
  best_fit.count_pieces(index, shape_.rungs, shape_.max_level);
  std::uint64_t most = 0;
  for (GroupIndex group = 0; group < hierarchy_.group_count(shape_.max_level); ++group) {
    most = std::max<std::uint64_t>(most, best_fit.pieces(shape_.max_level, group));
  }
  return {hierarchy_.kind(shape_.max_level), shape_.count * unit_blocks, most * unit_blocks};
}

void Account::list_excluded(Explanation& why) {
  const auto& topology = fabric_.topology();
  const auto count = [&](std::string_view reason, HostId host, const std::string& taint = {}) {
    auto at = std::ranges::find_if(why.excluded,
                                   [&](const Exclusion& one) { return one.reason == reason && one.taint == taint; });
    if (at == why.excluded.end()) at = why.excluded.insert(at, Exclusion{std::string(reason), 0, {}, taint});
    ++at->nodes;
    if (at->examples.size() < kMaxExamples) at->examples.emplace_back(topology.name(host));
  };
  std::vector<std::uint8_t> excluded(topology.hosts().size(), 0);
  for (const HostId host : refusal_.excluded) excluded[host.index()] = 1;
  const std::set<std::string_view> named(refusal_.spec->only_nodes.begin(), refusal_.spec->only_nodes.end());
  const auto count_filtered = [&](HostId host) {
    const std::string taint = repelling_taint(topology, host, refusal_.spec->tolerations);
    if (!named.empty() && !named.contains(topology.name(host))) {
      count("notNamedByJob", host);
    } else if (taint.empty() || !carries_labels(topology, host, refusal_.spec->node_selector)) {
      count("labelsDiffer", host);
    } else {
      count("tainted", host, taint);
    }
  };
  for (const HostId host : topology.hosts()) {
    const std::uint32_t leaves = hierarchy_.host_leaf_count(host);
    if (leaves == 0) {
      if (topology.kind(host) == fabric::HostKind::compute) count("noGpus", host);
      continue;
    }
    const LeafIndex first = hierarchy_.host_first_leaf(host);
    const auto has_nvlink = [&](LeafIndex leaf) { return hierarchy_.has_nvlink(leaf); };
    bool nvlink = false;
    for (LeafIndex leaf = first; leaf < first + leaves; ++leaf) nvlink = nvlink || has_nvlink(leaf);
    if (excluded[host.index()] != 0)
      count("excludedByJob", host);
    else if (!allowed(refusal_.filter, first))
      count_filtered(host);
    else if (const HostAllocation& now = refusal_.now->allocation(host); now.unavailable)
      count(now.cut_off ? "cutOff" : (now.short_of_link ? "linkDown" : "drained"), host);
    else if (shape_.fit.nvlink && !nvlink)
      count("noNvlinkDomain", host);
    else if (!allowed(shape_.fit.filter, first))
      count("groupInUse", host);
  }
}

// "; taints that it does not tolerate keep it off 3 nodes (dedicated=research) and 1 node (nvlink=degraded)"
std::string taints_text(const Explanation& why) {
  std::string text;
  for (const Exclusion& one : why.excluded) {
    if (one.taint.empty()) continue;
    text += text.empty() ? "; taints that it does not tolerate keep it off " : " and ";
    text += fmt::format("{}{} ({})", one.nodes, one.nodes == 1 ? " node" : " nodes", one.taint);
  }
  return text;
}

std::string gpus_text(std::uint64_t count) { return fmt::format("{}{}", count, count == 1 ? " GPU" : " GPUs"); }

Explanation Account::write(Outcome outcome) {
  Explanation why;
  why.block_gpus = shape_.fit.block;
  count_gpus(why);
  count_levels(why);
  list_excluded(why);
  const Failure failure =
      outcome == Outcome::never ? failure_in(*refusal_.empty, empty_) : failure_in(*refusal_.now, shape_.fit);
  why.level = failure.level;
  why.blocks_needed = failure.needed;
  why.blocks_fit = failure.fit;
  const unsigned failed = hierarchy_.level_of(failure.level);
  const LevelKind called = failed == Hierarchy::kNoLevel ? failure.level : hierarchy_.called(failed);
  const std::string level(called == LevelKind::wan ? "group of joined sites" : to_string(called));
  const std::string blocks = shape_.fit.block == 1
                                 ? (failure.needed == 1 ? "GPU" : "GPUs")
                                 : (failure.needed == 1 ? "group of " : "groups of ") + gpus_text(shape_.fit.block);
  const JobSpec& spec = *refusal_.spec;
  std::string needs = fmt::format("{} {} must share one {}", failure.needed, blocks, level);
  if (spec.exclusive) needs += fmt::format(", each {} used by no other job", to_string(*spec.exclusive));
  if (spec.spares_per_domain > 0) {
    needs += fmt::format(", with {}{} in each NVLink domain", spec.spares_per_domain,
                         spec.spares_per_domain == 1 ? " spare" : " spares");
  }
  if (outcome == Outcome::never) {
    why.code = "jobs.neverFits";
    why.message = fmt::format("{}, but even with no job running at most {} would fit in one", needs, failure.fit);
    if (hierarchy_.total_capacity() < shape_.nested_gpus.back()) {
      why.message = fmt::format("the job needs {}, the whole fabric has {}", gpus_text(shape_.nested_gpus.back()),
                                hierarchy_.total_capacity());
    }
  } else {
    why.code = "jobs.noCapacityAtLevel";
    why.message = fmt::format("{}; now at most {} fit in one ({} free, {} of them in pieces too small)", needs,
                              failure.fit, gpus_text(why.free_gpus), why.stranded_gpus);
  }
  why.message += taints_text(why);
  return why;
}

// A label that no node with GPUs carries is the reason, whatever else is short; what nodes have instead is named.
void name_absent_labels(const PlacementFabric& fabric, const JobSpec& spec, PlacementResult& result) {
  const auto& topology = fabric.topology();
  for (const auto& [key, value] : spec.node_selector) {
    std::set<std::string_view> present;
    for (const HostId host : topology.hosts()) {
      if (topology.gpus(host).empty()) continue;
      for (const auto& label : topology.labels(host)) {
        if (topology.text(label.key) == key) present.insert(topology.text(label.value));
      }
    }
    if (present.contains(value)) continue;
    std::string& message = result.explanation.message;
    message = "no node carries the label " + key + "=" + value;
    std::size_t shown = 0;
    for (const auto other : present) {
      if (shown++ == kMaxExamples) break;
      message += fmt::format("{}{}={}", shown == 1 ? "; there is " : ", ", key, other);
    }
    if (present.empty()) message += ", nor any other value of it";
    result.explanation.code = "jobs.unknownLabel";
    result.outcome = Outcome::never;
    return;
  }
}

}  // namespace

PlacementResult explain(const PlacementFabric& fabric, JobSearch& search, const Refusal& refusal) {
  PlacementResult result;
  result.outcome = search.fits(*refusal.spec, *refusal.empty, refusal.filter) ? Outcome::not_now : Outcome::never;
  const auto choices = level_choices_of(*refusal.spec, fabric.hierarchy());
  std::uint64_t free_gpus = 0;
  for (LeafIndex leaf = 0; leaf < fabric.hierarchy().leaf_count(); ++leaf) {
    if (allowed(refusal.filter, leaf)) free_gpus += refusal.now->free(0, leaf);
  }
  {
    const Claims now(search, *refusal.now, *refusal.spec, refusal.filter);
    const Claims empty(search, *refusal.empty, *refusal.spec, refusal.filter);
    auto shape = shape_of(*refusal.spec, fabric.hierarchy(), choices->required(), now.filter());
    if (!shape) {  // no search would find it, whatever is free
      result.outcome = Outcome::never;
      result.explanation.code = shape.error().code;
      result.explanation.message = shape.error().message;
      return result;
    }
    FitShape fit_empty = shape->fit;
    fit_empty.filter = empty.filter();
    result.explanation =
        Account(fabric, search, refusal, std::move(*shape), std::move(fit_empty), free_gpus).write(result.outcome);
  }
  name_absent_labels(fabric, *refusal.spec, result);
  return result;
}

}  // namespace railweave::scheduler
