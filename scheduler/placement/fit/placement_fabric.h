// Everything placement needs to know of one topology, derived once and shared: levels of locality as a nested
// hierarchy, NVLink domains inside hosts, which adapters each GPU uses, and the bundles of links they lead to.
// Immutable; any number of threads may read it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fabric/topology/fabric_view.h"
#include "fabric/topology/locality.h"
#include "fabric/topology/topology.h"
#include "scheduler/collective/fabric_bundles.h"
#include "scheduler/placement/fit/gpu_models.h"
#include "scheduler/placement/fit/gpu_nics.h"
#include "scheduler/placement/fit/hierarchy.h"

namespace railweave::scheduler {

class PlacementFabric {
 public:
  // O(hosts x levels + GPUs + ports). The second form takes a locality that was derived elsewhere, or by hand in tests.
  explicit PlacementFabric(fabric::TopologyPtr topology);
  PlacementFabric(fabric::TopologyPtr topology, fabric::Locality locality);
  // The same fabric where only these links between sites are in use: FabricView::site_links_in_use(). Everything else is
  // as in a fabric made without the others. O(hosts x levels + GPUs).
  PlacementFabric(std::shared_ptr<const PlacementFabric> whole, std::vector<std::uint32_t> in_use);

  [[nodiscard]] const fabric::Topology& topology() const { return *topology_; }
  [[nodiscard]] const fabric::TopologyPtr& topology_ptr() const { return topology_; }
  [[nodiscard]] const fabric::Locality& locality() const { return locality_; }
  [[nodiscard]] const Hierarchy& hierarchy() const { return *hierarchy_; }
  [[nodiscard]] const HierarchyPtr& hierarchy_ptr() const { return hierarchy_; }
  [[nodiscard]] LeafIndex leaf(fabric::GpuId gpu) const { return leaf_of_gpu_[gpu.index()]; }
  [[nodiscard]] fabric::NvlinkDomainId domain(LeafIndex leaf) const { return domain_of_leaf_[leaf]; }
  [[nodiscard]] const GpuModels& gpu_models() const { return gpu_models_; }
  [[nodiscard]] const GpuNics& gpu_nics() const { return gpu_nics_; }
  [[nodiscard]] const GpuPorts& gpu_ports() const { return gpu_ports_; }  // the ports that gpu_nics() says
  // With all links between sites; null: this one has all.
  [[nodiscard]] const std::shared_ptr<const PlacementFabric>& whole() const { return whole_; }
  // For what placements are called: the names of levels do not change with what is in use.
  [[nodiscard]] const PlacementFabric& as_cabled() const { return whole_ == nullptr ? *this : *whole_; }
  [[nodiscard]] std::span<const std::uint32_t> site_links_in_use() const { return in_use_; }  // empty: all
  // "east--west, north--south": the links between sites that are not in use; at most five by name.
  [[nodiscard]] std::string site_links_out() const;
  // What communication is predicted on: GPUs send through gpu_ports().
  [[nodiscard]] const FabricBundles& bundles() const { return bundles_; }
  // Mb/s by bundle: of links that are up and not drained.
  [[nodiscard]] std::vector<double> capacities_mbps(const fabric::FabricView& view) const;
  // ... with every link up.
  [[nodiscard]] std::span<const double> nominal_mbps() const { return nominal_mbps_; }

 private:
  void number_leaves();

  fabric::TopologyPtr topology_;
  fabric::Locality locality_;
  HierarchyPtr hierarchy_;
  std::vector<LeafIndex> leaf_of_gpu_;
  std::vector<fabric::NvlinkDomainId> domain_of_leaf_;
  GpuModels gpu_models_;
  GpuPorts gpu_ports_;
  GpuNics gpu_nics_;
  FabricBundles bundles_;
  std::vector<double> nominal_mbps_;
  std::shared_ptr<const PlacementFabric> whole_;
  std::vector<std::uint32_t> in_use_;
};

using PlacementFabricPtr = std::shared_ptr<const PlacementFabric>;

}  // namespace railweave::scheduler
