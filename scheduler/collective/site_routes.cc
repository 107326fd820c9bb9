// Long-haul links between sites as bundles, and the routes over them.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "fabric/base/check.h"
#include "scheduler/collective/fabric_bundles.h"

namespace railweave::scheduler {

// Shortest routes by delay (Floyd and Warshall, CACM 1962); there are few sites. Among equals the first one found
// stays.
void FabricBundles::join_sites(const fabric::Topology& topology) {
  if (topology.site_links().empty()) return;
  site_count_ = topology.sites().size();
  site_mbps_.assign(site_count_, 0);
  constexpr double kFar = std::numeric_limits<double>::infinity();
  std::map<std::pair<std::size_t, std::size_t>, std::pair<std::size_t, double>> direct;  // to (bundle pair, delay)
  for (const fabric::SiteLink& link : topology.site_links()) {
    const auto [at, is_new] = direct.try_emplace({link.a.index(), link.b.index()}, first_wan_ + wan_mbps_.size(), 0.0);
    if (is_new) wan_mbps_.push_back(0);
    wan_mbps_[at->second.first - first_wan_] += link.total_mbps();
    site_mbps_[link.a.index()] += link.total_mbps();
    site_mbps_[link.b.index()] += link.total_mbps();
    at->second.second = std::max(at->second.second, static_cast<double>(link.latency_us));
  }
  site_routes_.assign(site_count_ * site_count_, {{}, kFar});
  const auto route = [&](std::size_t from, std::size_t to) -> SiteRoute& {
    return site_routes_[from * site_count_ + to];
  };
  for (const auto& [sites, joined] : direct) {
    const auto bundle = static_cast<std::uint32_t>(2 * joined.first);
    route(sites.first, sites.second) = {{bundle}, joined.second};
    route(sites.second, sites.first) = {{bundle + 1}, joined.second};
  }
  for (std::size_t over = 0; over < site_count_; ++over) {
    for (std::size_t from = 0; from < site_count_; ++from) {
      for (std::size_t to = 0; to < site_count_; ++to) {
        if (from == to || from == over || to == over) continue;
        const SiteRoute &first = route(from, over), &then = route(over, to);
        const double us = first.latency_us + then.latency_us;
        if (us >= route(from, to).latency_us) continue;
        SiteRoute both{first.bundles, us};
        both.bundles.insert(both.bundles.end(), then.bundles.begin(), then.bundles.end());
        route(from, to) = std::move(both);
      }
    }
  }
}

const FabricBundles::SiteRoute& FabricBundles::site_route(std::uint32_t from, std::uint32_t to) const {
  static const SiteRoute none{{}, std::numeric_limits<double>::infinity()};
  if (from >= site_count_ || to >= site_count_ || from == to) return none;
  return site_routes_[std::size_t{from} * site_count_ + to];
}

}  // namespace railweave::scheduler
