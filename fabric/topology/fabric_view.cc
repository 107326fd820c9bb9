#include "fabric/topology/fabric_view.h"

#include <algorithm>
#include <limits>

namespace railweave::fabric {

FabricView::FabricView(TopologyPtr topology)
    : topology_(std::move(topology)),
      links_(topology_->links().size()),
      switch_drained_(topology_->switches().size()),
      host_drained_(topology_->hosts().size()) {}

bool FabricView::carries_transit(LinkId link) const {
  if (!alive(link) || drained(link)) return false;
  for (const auto port : {topology_->a(link), topology_->b(link)}) {
    if (const SwitchId sw = topology_->switch_of(port); sw && drained(sw)) return false;
  }
  return true;
}

RateMbps FabricView::rate(LinkId link) const {
  const RateMbps accepted = topology_->rate(link), seen = rate_seen(link);
  if (seen.value() == 0 || accepted.value() == 0) return seen.value() == 0 ? accepted : seen;
  return std::min(accepted, seen);
}

std::uint32_t FabricView::links_in_use(SiteLinkId link) const {
  const SiteLinkOverlay overlay = site_overlay(link);
  if (overlay.drained || overlay.state == LinkState::down) return 0;
  const std::uint32_t all = topology_->site_links()[link.index()].links;
  return overlay.state == LinkState::degraded && overlay.links_up != 0 ? std::min(all, overlay.links_up) : all;
}

std::vector<std::uint32_t> FabricView::site_links_in_use() const {
  std::vector<std::uint32_t> in_use;
  if (site_links_ == nullptr) return in_use;
  bool all = true;
  for (std::size_t i = 0; i < site_links_->size(); ++i) {
    in_use.push_back(links_in_use(SiteLinkId(i)));
    all = all && in_use.back() == topology_->site_links()[i].links;
  }
  if (all) in_use.clear();
  return in_use;
}

void FabricView::set_state(SiteLinkId link, LinkState state, std::uint32_t links_up) {
  SiteLinkOverlay overlay = site_overlay(link);
  overlay.state = state;
  overlay.links_up = state == LinkState::degraded ? links_up : 0;
  write(link, overlay);
}

void FabricView::set_drained(SiteLinkId link, bool drained) {
  SiteLinkOverlay overlay = site_overlay(link);
  overlay.drained = drained;
  write(link, overlay);
}

void FabricView::write(SiteLinkId link, const SiteLinkOverlay& overlay) {
  auto changed = site_links_ == nullptr ? std::make_shared<SiteLinkOverlays>(topology_->site_links().size())
                                        : std::make_shared<SiteLinkOverlays>(*site_links_);
  changed->at(link.index()) = overlay;
  const bool any = std::ranges::any_of(*changed, [](const auto& one) { return one != SiteLinkOverlay(); });
  site_links_ = any ? std::move(changed) : nullptr;
}

bool FabricView::is_spread_alike(const FabricView& other) const {
  if (spreads_ == other.spreads_) return true;
  return std::ranges::all_of(topology_->subnets(), [&](SubnetId one) { return spread(one) == other.spread(one); });
}

bool FabricView::is_based_alike(const FabricView& other) const {
  if (spread_basis_ == other.spread_basis_) return true;
  return spread_basis_ && other.spread_basis_ && *spread_basis_ == *other.spread_basis_;
}

bool FabricView::is_spread_over_same(const FabricView& other) const {
  if (spread_basis_ == other.spread_basis_) return true;
  static const SpreadBasis kCabled;
  const SpreadBasis& own = spread_basis_ ? *spread_basis_ : kCabled;
  const SpreadBasis& its = other.spread_basis_ ? *other.spread_basis_ : kCabled;
  return own.links == its.links && own.switches == its.switches;
}

void FabricView::set_spread(SubnetId subnet, PathSpread spread) {
  if (this->spread(subnet) == spread) return;
  auto changed = spreads_ == nullptr ? std::make_shared<std::vector<PathSpread>>(topology_->subnets().size())
                                     : std::make_shared<std::vector<PathSpread>>(*spreads_);
  changed->at(subnet.index()) = spread;
  const bool any = std::ranges::any_of(*changed, [](PathSpread one) { return one != PathSpread::single; });
  spreads_ = any ? std::move(changed) : nullptr;
}

void FabricView::set_state(LinkId link, LinkState state) {
  links_.write(link.index()).state = static_cast<std::uint8_t>(state);
}
void FabricView::set_rate_seen(LinkId link, RateMbps rate) {
  links_.write(link.index()).seen_mbps =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(rate.value(), 0, std::numeric_limits<std::uint32_t>::max()));
}
void FabricView::set_drained(LinkId link, bool drained) { links_.write(link.index()).drained = drained; }
void FabricView::set_cost(LinkId link, float cost) { links_.write(link.index()).cost = cost >= 1 ? cost : 1; }
void FabricView::set_drained(SwitchId sw, bool drained) { switch_drained_.write(sw.index()) = drained ? 1 : 0; }
void FabricView::set_drained(HostId host, bool drained) { host_drained_.write(host.index()) = drained ? 1 : 0; }

}  // namespace railweave::fabric
