// Routes between sites over the long-haul links that are in use, as bundles: the links of one pair of sites are one
// bundle with the delay of the longest. Immutable; made again when such a link fails or returns.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::scheduler {

// Bundles come in pairs: 2i outwards (up), 2i + 1 inwards (down).
using BundlePair = std::uint32_t;

class SiteRoutes {
 public:
  // From one site to another, over other sites where that is faster: bundles, each in its direction, and the one-way
  // delay. No bundles: no route.
  struct Route {
    std::vector<std::uint32_t> bundles;
    double latency_us = 0;
  };

  SiteRoutes() = default;
  // in_use: FabricView::site_links_in_use(). Pairs of bundles are numbered from first_pair on. O(sites^3).
  SiteRoutes(const fabric::Topology& topology, std::span<const std::uint32_t> in_use, BundlePair first_pair);

  [[nodiscard]] const Route& of(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] bool joined(std::uint32_t from, std::uint32_t to) const { return !of(from, to).bundles.empty(); }
  // The pair of the links between two sites, the smaller first; none: no link joins them directly.
  [[nodiscard]] std::optional<BundlePair> pair_between(std::uint32_t a, std::uint32_t b) const;
  // Mb/s by pair, and of all links of a site.
  [[nodiscard]] std::span<const double> pair_mbps() const { return pair_mbps_; }
  [[nodiscard]] double mbps_of_site(std::uint32_t site) const {
    return site < site_mbps_.size() ? site_mbps_[site] : 0;
  }

 private:
  BundlePair first_pair_ = 0;
  std::size_t site_count_ = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends_;  // by pair
  std::vector<double> pair_mbps_, site_mbps_;
  std::vector<Route> routes_;  // from x to
};

}  // namespace railweave::scheduler
