#include "scheduler/placement/fit/placement_fabric.h"

#include <bit>
#include <utility>

#include <fmt/core.h>

#include "fabric/flow/directed_link.h"
#include "fabric/topology/site_link_name.h"

namespace railweave::scheduler {

// NOLINTNEXTLINE(performance-unnecessary-value-param): read by the second argument, so it cannot be moved into the first
PlacementFabric::PlacementFabric(fabric::TopologyPtr topology)
    : PlacementFabric(topology, fabric::derive_locality(*topology)) {}

PlacementFabric::PlacementFabric(fabric::TopologyPtr topology, fabric::Locality locality)
    : topology_(std::move(topology)),
      locality_(std::move(locality)),
      hierarchy_(std::make_shared<const Hierarchy>(*topology_, locality_)),
      leaf_of_gpu_(topology_->gpus().size()),
      domain_of_leaf_(hierarchy_->leaf_count()),
      gpu_models_(*topology_, *hierarchy_),
      gpu_ports_(scheduler::gpu_ports(*topology_)),
      gpu_nics_(*topology_, gpu_ports_),
      bundles_(*topology_, locality_, gpu_ports_),
      nominal_mbps_(capacities_mbps(fabric::FabricView(topology_))) {
  number_leaves();
}

namespace {
fabric::Locality joined(const PlacementFabric& whole, std::span<const std::uint32_t> in_use) {
  fabric::Locality locality = whole.locality();
  fabric::join_sites(whole.topology(), in_use, locality);
  return locality;
}
}  // namespace

PlacementFabric::PlacementFabric(std::shared_ptr<const PlacementFabric> whole, std::vector<std::uint32_t> in_use)
    : topology_(whole->topology_),
      locality_(joined(*whole, in_use)),
      hierarchy_(std::make_shared<const Hierarchy>(*topology_, locality_)),
      leaf_of_gpu_(topology_->gpus().size()),
      domain_of_leaf_(hierarchy_->leaf_count()),
      gpu_models_(*topology_, *hierarchy_),
      gpu_ports_(whole->gpu_ports_),
      gpu_nics_(whole->gpu_nics_),
      bundles_(whole->bundles_, *topology_, in_use),
      nominal_mbps_(capacities_mbps(fabric::FabricView(topology_))),
      whole_(std::move(whole)),
      in_use_(std::move(in_use)) {
  number_leaves();
}

void PlacementFabric::number_leaves() {
  for (LeafIndex leaf = 0; leaf < hierarchy_->leaf_count(); ++leaf) {
    const auto gpus = topology_->gpus(hierarchy_->host(leaf));
    for (std::uint64_t rest = hierarchy_->gpu_mask(leaf); rest != 0; rest &= rest - 1) {
      const auto gpu = gpus[static_cast<std::size_t>(std::countr_zero(rest))];
      leaf_of_gpu_[gpu.index()] = leaf;
      domain_of_leaf_[leaf] = topology_->nvlink_domain(gpu);
    }
  }
}

std::string PlacementFabric::site_links_out() const {
  constexpr std::size_t kNamed = 5;
  std::string names;
  std::size_t out = 0;
  for (std::size_t i = 0; i < in_use_.size(); ++i) {
    if (in_use_[i] != 0 || ++out > kNamed) continue;
    names += (names.empty() ? "" : ", ") + fabric::site_link_text(*topology_, fabric::SiteLinkId(i));
  }
  return out > kNamed ? fmt::format("{} and {} more", names, out - kNamed) : names;
}

std::vector<double> PlacementFabric::capacities_mbps(const fabric::FabricView& view) const {
  std::vector<double> links = fabric::link_capacities_mbps(view);
  for (const auto link : topology_->links()) {
    if (view.drained(link)) links[link.index() * 2] = links[link.index() * 2 + 1] = 0;
  }
  return bundles_.capacities(links);
}

}  // namespace railweave::scheduler
