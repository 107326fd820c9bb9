// A fabric as a few bundles of links, each with the sum of its links' capacities: each GPU's NVLink, each adapter, the
// uplinks of each leaf and of each pod, and the long-haul links between each pair of sites. The cost of a placement is
// a sum over bundles and needs no routes; it is accurate as far as routing spreads traffic evenly over the links of a
// bundle. Derived once per topology, and again in part when a long-haul link fails; immutable; used by PlacementCostModel and
// BundledPaths.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "fabric/topology/fabric_view.h"
#include "fabric/topology/locality.h"
#include "scheduler/collective/network_parts.h"
#include "scheduler/collective/path_model.h"
#include "scheduler/collective/site_routes.h"

namespace railweave::scheduler {

class FabricBundles {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  FabricBundles(const fabric::Topology& topology, const fabric::Locality& locality, const GpuPorts& ports);
  // The same with those links between sites alone that are in use: FabricView::site_links_in_use().
  FabricBundles(FabricBundles whole, const fabric::Topology& topology, std::span<const std::uint32_t> in_use);

  struct Place {
    std::uint32_t host = 0;
    std::uint32_t domain = kNone;  // NVLink domain
    std::uint32_t unit = 0;        // dense: NVLink domains, then the hosts of GPUs without NVLink
    BundlePair nvlink = kNone;
    BundlePair nic = kNone;        // the ports that it sends over; shared by GPUs that have some of them in common
    BundlePair leaf = kNone;       // uplinks of the leaves that those ports are cabled to
    BundlePair pod = kNone;        // links of its pod to the rest, in the same network; none: no pods
    std::uint32_t leaf_group = 0;  // leaves of the same hosts
    std::uint32_t rail = kNone;
    std::uint32_t network = kNone;  // connected part: between two of them there is no path
    std::uint32_t site = kNone;     // fabric::SiteId
    bool reduces = false;           // switches of its network reduce (SHARP): they have aggregation nodes
  };
  [[nodiscard]] const Place& place(fabric::GpuId gpu) const { return places_[gpu.index()]; }
  [[nodiscard]] std::span<const Place> places() const { return places_; }  // by GpuId
  // With every link up.
  [[nodiscard]] const NetworkParts& parts() const { return parts_; }
  [[nodiscard]] std::size_t bundle_count() const { return first_link_.size() - 1; }
  [[nodiscard]] std::size_t unit_count() const { return unit_count_; }
  [[nodiscard]] std::size_t leaf_group_count() const { return leaf_group_count_; }

  enum class Kind : std::uint8_t { nvlink, adapter, leaf, pod, wan };
  [[nodiscard]] Kind kind(std::uint32_t bundle) const;
  using SiteRoute = SiteRoutes::Route;
  [[nodiscard]] const SiteRoute& site_route(std::uint32_t from, std::uint32_t to) const {
    return site_routes_.of(from, to);
  }
  [[nodiscard]] BundlePair first_uplink() const { return first_leaf_; }  // pairs from this one on are shared by hosts
  [[nodiscard]] BundlePair first_wan() const { return first_wan_; }      // pairs from this one on join sites

  // The directed links of a bundle; none for a bundle of long-haul links (fabric::SiteLink).
  [[nodiscard]] std::span<const fabric::DirectedLink> links(std::uint32_t bundle) const {
    return std::span(links_).subspan(first_link_[bundle], first_link_[bundle + 1] - first_link_[bundle]);
  }

  // Mb/s by bundle, from the capacity or residual capacity of each directed link; long-haul links in use have their
  // nominal rate. O(links).
  [[nodiscard]] std::vector<double> capacities(std::span<const double> link_mbps) const;

 private:
  class Builder;
  void join_sites(const fabric::Topology& topology, std::span<const std::uint32_t> in_use);

  NetworkParts parts_;
  std::vector<Place> places_;              // by GpuId
  std::vector<std::uint32_t> first_link_;  // by bundle, and the end
  std::vector<fabric::DirectedLink> links_;
  std::size_t unit_count_ = 0, leaf_group_count_ = 1;
  std::uint32_t first_nic_ = 0, first_leaf_ = 0, first_pod_ = 0, first_wan_ = 0;  // pairs; those of NVLink come first
  SiteRoutes site_routes_;
  std::vector<std::pair<BundlePair, std::uint32_t>> lone_leaves_;  // with its site: what leaves it is on those links
};

// Two GPUs of different networks communicate through an NVLink neighbour on the right network (NCCL's PXN); they are
// counted as if they were on the same one.
class BundledPaths final : public PathModel {
 public:
  BundledPaths(const FabricBundles& bundles, std::span<const double> capacity_mbps)
      : bundles_(&bundles), capacity_(capacity_mbps) {}
  [[nodiscard]] std::span<const double> capacity_mbps() const override { return capacity_; }
  bool append(fabric::GpuId from, fabric::GpuId to, std::vector<std::uint32_t>& links, PathShape& shape) const override;
  bool append_end(fabric::GpuId gpu, bool outward, bool inside, std::vector<std::uint32_t>& links) const override;

 private:
  const FabricBundles* bundles_;
  std::span<const double> capacity_;
};

}  // namespace railweave::scheduler
