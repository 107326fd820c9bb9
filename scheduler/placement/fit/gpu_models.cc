#include "scheduler/placement/fit/gpu_models.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <utility>

namespace railweave::scheduler {
namespace {

std::string name_of(const fabric::Topology& topology, fabric::HostId host, fabric::GpuId gpu) {
  for (const auto& label : topology.labels(host)) {
    if (topology.text(label.key) != "gpu") continue;
    const GpuGeneration* const known = generation_named(topology.text(label.value));
    return std::string(known == nullptr ? topology.text(label.value) : known->name);
  }
  const auto domain = topology.nvlink_domain(gpu);
  if (!domain || topology.rate_per_gpu(domain).value() == 0) return {};
  return std::string(generation_by_nvlink(static_cast<double>(topology.rate_per_gpu(domain).value())).name);
}

}  // namespace

GpuModels::GpuModels(const fabric::Topology& topology, const Hierarchy& hierarchy) {
  std::map<std::string, std::vector<LeafIndex>> leaves;
  for (LeafIndex leaf = 0; leaf < hierarchy.leaf_count(); ++leaf) {
    const fabric::HostId host = hierarchy.host(leaf);
    const auto first = static_cast<std::size_t>(std::countr_zero(hierarchy.gpu_mask(leaf)));
    leaves[name_of(topology, host, topology.gpus(host)[first])].push_back(leaf);
  }
  // Hosts that say nothing are taken for the commonest model.
  if (const auto unknown = leaves.find(""); unknown != leaves.end() && leaves.size() > 1) {
    const auto silent = std::move(unknown->second);
    leaves.erase(unknown);
    auto& most = std::ranges::max_element(leaves, {}, [](const auto& entry) { return entry.second.size(); })->second;
    most.insert(most.end(), silent.begin(), silent.end());
  }
  for (const auto& [name, of_model] : leaves) models_.push_back({name, find_generation(name)});
  std::ranges::stable_sort(models_, {}, [](const Model& model) {
    return model.generation == nullptr ? std::pair(0.0, 0.0)
                                       : std::pair(model.generation->nvlink_mbps, model.generation->peak_bf16_tflops);
  });
  of_leaf_.resize(hierarchy.leaf_count());
  for (std::size_t model = 0; model < models_.size(); ++model) {
    for (const LeafIndex leaf : leaves.at(models_[model].name)) of_leaf_[leaf] = static_cast<std::uint16_t>(model);
  }
}

}  // namespace railweave::scheduler
