#include "scheduler/collective/site_routes.h"

#include <algorithm>
#include <limits>

namespace railweave::scheduler {

namespace {
constexpr double kFar = std::numeric_limits<double>::infinity();
}  // namespace

// Shortest routes by delay (Floyd and Warshall, CACM 1962); there are few sites. Among equals the first one found
// stays.
SiteRoutes::SiteRoutes(const fabric::Topology& topology, std::span<const std::uint32_t> in_use, BundlePair first_pair)
    : first_pair_(first_pair) {
  const auto links = topology.site_links();
  if (links.empty()) return;
  site_count_ = topology.sites().size();
  site_mbps_.assign(site_count_, 0);
  std::vector<double> pair_us;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::uint32_t used = in_use.empty() ? links[i].links : in_use[i];
    if (used == 0) continue;
    // Links are in the order of their sites.
    const std::pair ends(links[i].a.value(), links[i].b.value());
    if (ends_.empty() || ends_.back() != ends) {
      ends_.push_back(ends);
      pair_mbps_.push_back(0);
      pair_us.push_back(0);
    }
    const double mbps = static_cast<double>(links[i].rate.value()) * used;
    pair_mbps_.back() += mbps;
    pair_us.back() = std::max(pair_us.back(), static_cast<double>(links[i].latency_us));
    site_mbps_[ends.first] += mbps;
    site_mbps_[ends.second] += mbps;
  }
  routes_.assign(site_count_ * site_count_, {{}, kFar});
  const auto route = [&](std::size_t from, std::size_t to) -> Route& { return routes_[from * site_count_ + to]; };
  for (std::size_t pair = 0; pair < ends_.size(); ++pair) {
    const auto bundle = static_cast<std::uint32_t>(2 * (first_pair_ + pair));
    route(ends_[pair].first, ends_[pair].second) = {{bundle}, pair_us[pair]};
    route(ends_[pair].second, ends_[pair].first) = {{bundle + 1}, pair_us[pair]};
  }
  for (std::size_t over = 0; over < site_count_; ++over) {
    for (std::size_t from = 0; from < site_count_; ++from) {
      for (std::size_t to = 0; to < site_count_; ++to) {
        if (from == to || from == over || to == over) continue;
        const Route &first = route(from, over), &then = route(over, to);
        const double us = first.latency_us + then.latency_us;
        if (us >= route(from, to).latency_us) continue;
        Route both{first.bundles, us};
        both.bundles.insert(both.bundles.end(), then.bundles.begin(), then.bundles.end());
        route(from, to) = std::move(both);
      }
    }
  }
}

const SiteRoutes::Route& SiteRoutes::of(std::uint32_t from, std::uint32_t to) const {
  static const Route none{{}, kFar};
  if (from >= site_count_ || to >= site_count_ || from == to) return none;
  return routes_[std::size_t{from} * site_count_ + to];
}

std::optional<BundlePair> SiteRoutes::pair_between(std::uint32_t a, std::uint32_t b) const {
  const auto at = std::ranges::find(ends_, std::pair(a, b));
  if (at == ends_.end()) return std::nullopt;
  return first_pair_ + static_cast<BundlePair>(at - ends_.begin());
}

}  // namespace railweave::scheduler
