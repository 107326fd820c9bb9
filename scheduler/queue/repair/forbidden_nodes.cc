#include "scheduler/queue/repair/forbidden_nodes.h"

#include "scheduler/placement/search/node_filters.h"

namespace railweave::scheduler {

ForbiddenNodes::ForbiddenNodes(const PlacementFabric& fabric, const JobSpec& spec) {
  if (spec.only_nodes.empty() && spec.exclude_nodes.empty() && spec.node_selector.empty()) return;
  const auto& topology = fabric.topology();
  const Hierarchy& hierarchy = fabric.hierarchy();
  marked_.assign(topology.hosts().size(), 0);
  NodeFilters filters(fabric);
  if (const auto& allowed = filters.of(spec, NodeFilters::kAnyModel, {}).allowed) {
    for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) {
      if ((*allowed)[leaf] == 0) marked_[hierarchy.host(leaf).index()] = 1;
    }
  }
  for (const auto& name : spec.exclude_nodes) {
    if (const auto host = topology.find_host(name)) marked_[host.index()] = 1;
  }
  for (const auto host : topology.hosts()) {
    if (marked_[host.index()] != 0 && !topology.gpus(host).empty()) hosts_.push_back(host);
  }
}

}  // namespace railweave::scheduler
