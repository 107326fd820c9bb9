// Where packets go in one plane whose subnet spreads them (path_spread.h), and the fraction of them on each arc.
//
// lmc: each LID of the end port has the same fraction, on the path that the tables give it. adaptive: a switch sends to
// the end port by every live arc to a switch that is one hop nearer by its own table, in proportion to the arcs' rates;
// the hops are those of the tables' routes to the first LID, so the port of the table is always one of them, and no
// packet comes back. Switches know nothing of drains: drained links carry their share until they are down.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "fabric/capacity/hose_frontier.h"
#include "fabric/capacity/route_changes.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

// How the plane's subnet spreads its packets.
PathSpread spread_of(const FabricView& view, const RoutingScope& scope, PlaneId plane);

struct ArcShare {
  std::uint32_t arc = 0;
  double fraction = 0;  // above 0
};

class SpreadPaths {
 public:
  // Borrows the tables and the view. The plane's subnet spreads its packets.
  SpreadPaths(const FabricView& view, const ForwardingTables& tables, PlaneId plane);

  // From now on without this link, on tables with these changes; both are borrowed. null: on those given.
  void fail(LinkId link, const RouteChanges* changes);

  // The end port, which is of the plane, that the following calls are about.
  void aim(PortId target);
  // From a switch (local number): what each arc gets, each once, in no order; none: some packets do not arrive. Valid
  // until the next call. adaptive: O(arcs on shortest paths), lmc: O(LIDs x hops).
  std::optional<std::span<const ArcShare>> from(std::uint32_t sw);

  // The same of many switches: visit(positions, shares) with the positions of those for which the shares are the same; what
  // an arc gets from one switch is in one call. No shares: from these some packets do not arrive. Switches whose first
  // hops are alike, as those of a pod are, are followed together.
  using Visit = std::function<void(std::span<const std::uint32_t>, std::optional<std::span<const ArcShare>>)>;
  void from_each(std::span<const std::uint32_t> switches, const Visit& visit);

  [[nodiscard]] const Plane& plane() const { return plane_; }
  [[nodiscard]] PathSpread spread() const { return spread_; }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  [[nodiscard]] std::uint16_t port_at(std::uint32_t sw, std::uint32_t destination) const;
  [[nodiscard]] std::uint32_t next_arc(std::uint32_t sw, std::uint32_t destination) const;
  [[nodiscard]] std::uint32_t hops(std::uint32_t sw);
  void add(std::uint32_t arc, double fraction);
  bool follow(std::uint32_t sw, std::uint32_t destination, double fraction);
  // By which arcs a switch sends to the target, and the part of its packets on each.
  [[nodiscard]] std::span<const ArcShare> next_hops(std::uint32_t sw);
  void flood();  // what is on the frontier, to the target
  std::span<const ArcShare> take_shares();

  const RoutingScope& scope_;
  const Plane& plane_;
  const PlaneTables& tables_;
  const PathSpread spread_;
  std::vector<std::uint8_t> alive_;  // by arc
  LinkId failed_;
  const RouteChanges* changes_ = nullptr;

  std::uint32_t home_ = 0;
  std::vector<std::uint32_t> destinations_;  // of the target's LIDs; kNone: has none
  std::vector<std::uint32_t> hops_;          // by switch; kNone: packets are lost
  std::vector<std::uint8_t> has_hops_;
  std::vector<std::uint32_t> trail_;
  struct NextHops {
    std::uint32_t first = kNone, count = 0;  // in next_; none: not known yet
  };
  std::vector<NextHops> next_of_;  // by switch
  std::vector<ArcShare> next_;
  HoseFrontier<double> frontier_;
  std::vector<double> fraction_;  // by arc; of shares_
  std::vector<ArcShare> shares_;
};

}  // namespace railweave::fabric
