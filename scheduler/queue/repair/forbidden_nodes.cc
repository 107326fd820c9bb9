#include "scheduler/queue/repair/forbidden_nodes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "scheduler/placement/fit/node_labels.h"
#include "scheduler/placement/search/node_filters.h"

namespace railweave::scheduler {

namespace {

// The model of all ranks; none: they run on several, or may.
std::optional<unsigned> model_to_keep(const PlacementFabric& fabric, const JobSpec& spec,
                                      std::span<const fabric::GpuId> gpu_of_rank) {
  const GpuModels& models = fabric.gpu_models();
  if (spec.mixed_gpus || models.count() < 2 || gpu_of_rank.empty()) return std::nullopt;
  const unsigned model = models.of(fabric.leaf(gpu_of_rank.front()));
  const bool one =
      std::ranges::all_of(gpu_of_rank, [&](fabric::GpuId gpu) { return models.of(fabric.leaf(gpu)) == model; });
  return one ? std::optional(model) : std::nullopt;
}

}  // namespace

ForbiddenNodes::ForbiddenNodes(const PlacementFabric& fabric, const JobSpec& spec,
                               std::span<const fabric::GpuId> gpu_of_rank) {
  const auto model = model_to_keep(fabric, spec, gpu_of_rank);
  const auto& topology = fabric.topology();
  const NodeFilters filters(fabric);
  if (spec.only_nodes.empty() && spec.exclude_nodes.empty() && spec.node_selector.empty() && !model &&
      filters.tainted().empty()) {
    return;
  }
  const Hierarchy& hierarchy = fabric.hierarchy();
  marked_.assign(topology.hosts().size(), 0);
  const std::set<std::string_view> only(spec.only_nodes.begin(), spec.only_nodes.end());
  for (const auto host : topology.hosts()) {
    const bool named = only.empty() || only.contains(topology.name(host));
    if (!named || !carries_labels(topology, host, spec.node_selector)) marked_[host.index()] = 1;
  }
  for (LeafIndex leaf = 0; model && leaf < hierarchy.leaf_count(); ++leaf) {
    if (fabric.gpu_models().of(leaf) != *model) marked_[hierarchy.host(leaf).index()] = 1;
  }
  for (const auto& name : spec.exclude_nodes) {
    if (const auto host = topology.find_host(name)) marked_[host.index()] = 1;
  }
  std::vector<std::uint8_t> closed = marked_;
  for (const auto host : filters.tainted()) {
    if (!repelling_taint(topology, host, spec.tolerations).empty()) closed[host.index()] = 1;
  }
  for (const auto host : topology.hosts()) {
    if (closed[host.index()] != 0 && !topology.gpus(host).empty()) hosts_.push_back(host);
  }
}

}  // namespace railweave::scheduler
