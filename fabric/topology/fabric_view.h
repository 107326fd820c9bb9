// A Topology together with what changes on it: link states, rates, drains, link costs. A value: copying costs one pointer per
// 256 links, and a change copies one chunk. Published copies are const and may be read by any number of threads.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "fabric/base/chunked_vector.h"
#include "fabric/base/enum_text.h"
#include "fabric/topology/path_spread.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

enum class LinkState : std::uint8_t { up, degraded, down };
BOOST_DESCRIBE_ENUM(LinkState, up, degraded, down)

// A next hop that was chosen for the traffic that there is: the port by which a switch sends to an end port.
struct ChosenHop {
  SwitchId sw;
  PortId to;
  std::uint16_t port = 0;  // of the switch
  friend auto operator<=>(const ChosenHop&, const ChosenHop&) = default;
};

// What was out of use when routes were last spread again over the links that were left, and next hops that engines use where
// they are next hops on routes as long; ascending.
struct SpreadBasis {
  std::vector<LinkId> links;
  std::vector<SwitchId> switches;
  std::vector<ChosenHop> hops;
  [[nodiscard]] bool empty() const { return links.empty() && switches.empty() && hops.empty(); }
  friend bool operator==(const SpreadBasis&, const SpreadBasis&) = default;
};

class FabricView {
 public:
  FabricView() = default;
  explicit FabricView(TopologyPtr topology);

  [[nodiscard]] const Topology& topology() const { return *topology_; }
  [[nodiscard]] const TopologyPtr& topology_ptr() const { return topology_; }

  [[nodiscard]] LinkState state(LinkId link) const { return static_cast<LinkState>(links_[link.index()].state); }
  [[nodiscard]] bool drained(LinkId link) const { return links_[link.index()].drained; }
  // Divides the share of destinations that its rate would give the link; at least 1 (2: half of the destinations).
  [[nodiscard]] float cost(LinkId link) const { return links_[link.index()].cost; }
  [[nodiscard]] bool drained(SwitchId sw) const { return switch_drained_[sw.index()] != 0; }
  [[nodiscard]] bool drained(HostId host) const { return host_drained_[host.index()] != 0; }
  // May carry transit traffic: up or degraded, and neither the link nor a switch at its ends is drained.
  [[nodiscard]] bool carries_transit(LinkId link) const;
  // What the link carries in each direction: the lesser of the accepted rate and the one that it is seen to run at, of which
  // 0 is one that is not known. All that asks what a link can carry asks this, never Topology::rate().
  [[nodiscard]] RateMbps rate(LinkId link) const;
  // That the link is seen to run at where that is less than accepted; 0: as accepted, or not known.
  [[nodiscard]] RateMbps rate_seen(LinkId link) const { return RateMbps(links_[link.index()].seen_mbps); }
  // Not down, drained or not.
  [[nodiscard]] bool alive(LinkId link) const { return state(link) != LinkState::down; }

  // Of long-haul links between sites. They take no space as long as all are up and none is drained.
  [[nodiscard]] LinkState state(SiteLinkId link) const { return site_overlay(link).state; }
  [[nodiscard]] bool drained(SiteLinkId link) const { return site_overlay(link).drained; }
  // How many of its parallel links carry traffic; 0: it is down or drained.
  [[nodiscard]] std::uint32_t links_in_use(SiteLinkId link) const;
  // The same by SiteLinkId; empty: all of them.
  [[nodiscard]] std::vector<std::uint32_t> site_links_in_use() const;

  // links_up: of a degraded link, how many of its parallel links are up; 0: not known, so all count.
  void set_state(SiteLinkId link, LinkState state, std::uint32_t links_up = 0);
  void set_drained(SiteLinkId link, bool drained);
  // Of a degraded link as it was set.
  [[nodiscard]] std::uint32_t links_up(SiteLinkId link) const { return site_overlay(link).links_up; }

  // How the subnet's packets are spread over paths; single until it is set.
  [[nodiscard]] PathSpread spread(SubnetId subnet) const {
    return spreads_ == nullptr ? PathSpread::single : (*spreads_)[subnet.index()];
  }
  [[nodiscard]] bool is_spread_alike(const FabricView& other) const;  // another view of the same topology
  void set_spread(SubnetId subnet, PathSpread spread);
  void set_spreads(const FabricView& other) { spreads_ = other.spreads_; }  // of the same topology

  // Null: routes are spread as cabled. Engines that spread by it say so; to the others it is nothing.
  [[nodiscard]] const std::shared_ptr<const SpreadBasis>& spread_basis() const { return spread_basis_; }
  [[nodiscard]] bool is_based_alike(const FabricView& other) const;       // another view of the same topology
  [[nodiscard]] bool is_spread_over_same(const FabricView& other) const;  // the same, whatever hops were chosen
  void set_spread_basis(std::shared_ptr<const SpreadBasis> basis) { spread_basis_ = std::move(basis); }

  void set_state(LinkId link, LinkState state);
  void set_rate_seen(LinkId link, RateMbps rate);
  void set_drained(LinkId link, bool drained);
  void set_cost(LinkId link, float cost);
  void set_drained(SwitchId sw, bool drained);
  void set_drained(HostId host, bool drained);

  // Calls visit(LinkId), or visit(SwitchId), for a superset of the links or switches whose overlay differs from that of
  // an earlier view of the same topology: those in chunks that were written since.
  template <class Visit>
  void for_each_touched_link(const FabricView& before, Visit visit) const {
    links_.for_each_unshared(before.links_, [&](std::size_t i) { visit(LinkId(i)); });
  }
  template <class Visit>
  void for_each_touched_switch(const FabricView& before, Visit visit) const {
    switch_drained_.for_each_unshared(before.switch_drained_, [&](std::size_t i) { visit(SwitchId(i)); });
  }

 private:
  struct LinkOverlay {
    std::uint8_t state = 0;
    bool drained = false;
    std::uint32_t seen_mbps = 0;
    float cost = 1;
  };
  struct SiteLinkOverlay {
    LinkState state = LinkState::up;
    bool drained = false;
    std::uint32_t links_up = 0;
    friend bool operator==(const SiteLinkOverlay&, const SiteLinkOverlay&) = default;
  };
  using SiteLinkOverlays = std::vector<SiteLinkOverlay>;

  [[nodiscard]] SiteLinkOverlay site_overlay(SiteLinkId link) const {
    return site_links_ == nullptr ? SiteLinkOverlay() : (*site_links_)[link.index()];
  }
  void write(SiteLinkId link, const SiteLinkOverlay& overlay);

  TopologyPtr topology_;
  ChunkedVector<LinkOverlay> links_;
  ChunkedVector<std::uint8_t> switch_drained_;
  ChunkedVector<std::uint8_t> host_drained_;
  std::shared_ptr<const std::vector<PathSpread>> spreads_;  // by SubnetId; null: all single
  std::shared_ptr<const SpreadBasis> spread_basis_;         // null: as cabled
  std::shared_ptr<const SiteLinkOverlays> site_links_;      // null: all are up and none is drained
};

}  // namespace railweave::fabric
