// A generated fabric, routed, with everything a prediction on it takes.
#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "fabric/generate/generate.h"
#include "fabric/routing/engine_registry.h"
#include "scheduler/collective/fabric_bundles.h"
#include "scheduler/collective/path_model.h"

namespace railweave::scheduler::testing {

struct RoutedFabric {
  explicit RoutedFabric(std::string_view kind, const fabric::GenerateParameters& parameters)
      : RoutedFabric(std::make_shared<const fabric::Topology>(fabric::generate(kind, parameters).value())) {}
  explicit RoutedFabric(fabric::TopologyPtr given)
      : topology(std::move(given)),
        view(topology),
        scope(fabric::RoutingScope::make(topology).value()),
        routing(fabric::choose_engine(*scope).engine->route({.view = view, .scope = scope}).value()),
        walker(view, routing.tables),
        ports(gpu_ports(*topology)),
        capacity(fabric::link_capacities_mbps(view)),
        locality(fabric::derive_locality(*topology)),
        bundles(*topology, locality, ports),
        bundle_capacity(bundles.capacities(capacity)) {}
  RoutedFabric(const RoutedFabric&) = delete;

  [[nodiscard]] RoutedPaths routed() const { return {*topology, walker, ports, capacity}; }
  [[nodiscard]] BundledPaths bundled() const { return {bundles, bundle_capacity}; }
  [[nodiscard]] std::vector<fabric::GpuId> gpus(std::size_t count) const {
    std::vector<fabric::GpuId> all;
    for (std::size_t i = 0; i < count; ++i) all.emplace_back(i);
    return all;
  }
  [[nodiscard]] std::vector<fabric::GpuId> shuffled(std::size_t count, std::uint64_t seed) const {
    std::vector<fabric::GpuId> all = gpus(count);
    std::mt19937_64 random(seed);
    std::ranges::shuffle(all, random);
    return all;
  }

  fabric::TopologyPtr topology;
  fabric::FabricView view;
  fabric::RoutingScopePtr scope;
  fabric::Routing routing;
  fabric::PathWalker walker;
  GpuPorts ports;
  std::vector<double> capacity;
  fabric::Locality locality;
  FabricBundles bundles;
  std::vector<double> bundle_capacity;
};

// 64 hosts of 4 GPUs, all adapters of a host on one leaf, three tiers, oversubscribed.
inline const RoutedFabric& tree() {
  static const RoutedFabric fabric("fat-tree", {{"hosts", "64"},
                                                {"gpus-per-host", "4"},
                                                {"nics-per-host", "4"},
                                                {"nvlink-domain", "4"},
                                                {"radix", "32"},
                                                {"hosts-per-leaf", "4"},
                                                {"down-ports", "16"},
                                                {"uplinks", "8"},
                                                {"tiers", "3"},
                                                {"leaves-per-pod", "4"}});
  return fabric;
}

}  // namespace railweave::scheduler::testing
