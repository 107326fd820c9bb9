#include "scheduler/placement/search/node_filters.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "scheduler/placement/fit/node_labels.h"
#include "scheduler/placement/score/node_preferences.h"

namespace railweave::scheduler {

JobSearch::Filter intersection(const JobSearch::Filter& a, const JobSearch::Filter& b) {
  if (!a) return b;
  auto filter = std::make_shared<LeafFilter>(*a);
  for (std::size_t leaf = 0; leaf < filter->size(); ++leaf) (*filter)[leaf] &= (*b)[leaf];
  return filter;
}

NodeFilters::NodeFilters(const PlacementFabric& fabric) : fabric_(&fabric) {
  const auto& topology = fabric.topology();
  for (const fabric::HostId host : topology.hosts()) {
    if (!topology.gpus(host).empty() && !repelling_taint(topology, host, {}).empty()) tainted_.push_back(host);
  }
}

const NodeFilters::Filters& NodeFilters::of(const JobSpec& spec, unsigned model,
                                            std::span<const JobSearch::Filter> full_rate_leaves) {
  const auto known = std::ranges::find_if(kept_, [&](const Kept& entry) {
    return entry.model == model && entry.selector == spec.node_selector && entry.only_nodes == spec.only_nodes &&
           entry.tolerations == spec.tolerations;
  });
  if (known != kept_.end()) {
    std::rotate(kept_.begin(), known, known + 1);
    return kept_.front().filters;
  }
  Kept made{.selector = spec.node_selector,
            .only_nodes = spec.only_nodes,
            .tolerations = spec.tolerations,
            .model = model,
            .filters = {allowed_by(spec, model), {}}};
  for (const auto& leaves : full_rate_leaves) {
    made.filters.full_rate.push_back(intersection(made.filters.allowed, leaves));
  }
  if (kept_.size() == kMaxKept) kept_.pop_back();
  kept_.insert(kept_.begin(), std::move(made));
  return kept_.front().filters;
}

JobSearch::Filter NodeFilters::allowed_by(const JobSpec& spec, unsigned model) const {
  const auto& topology = fabric_->topology();
  std::vector<fabric::HostId> closed;
  for (const fabric::HostId host : tainted_) {
    if (!repelling_taint(topology, host, spec.tolerations).empty()) closed.push_back(host);
  }
  if (spec.node_selector.empty() && spec.only_nodes.empty() && model == kAnyModel && closed.empty()) return nullptr;
  const Hierarchy& hierarchy = fabric_->hierarchy();
  std::vector<std::uint8_t> named(topology.hosts().size(), spec.only_nodes.empty() ? 1 : 0);
  for (const auto& name : spec.only_nodes) {
    if (const fabric::HostId host = topology.find_host(name)) named[host.index()] = 1;
  }
  for (const fabric::HostId host : closed) named[host.index()] = 0;
  auto filter = std::make_shared<LeafFilter>(carrying_labels(*fabric_, spec.node_selector));
  for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) {
    const bool of_model = model == kAnyModel || fabric_->gpu_models().of(leaf) == model;
    if (!of_model || named[hierarchy.host(leaf).index()] == 0) (*filter)[leaf] = 0;
  }
  return filter;
}

}  // namespace railweave::scheduler
