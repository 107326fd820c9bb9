// What is to be routed, as cabled: the planes of a topology, the destinations in them and their LIDs. Built once per
// topology and shared by all tables computed on it. Immutable; any number of threads may read one.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/id.h"
#include "fabric/routing/plane/destination.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/topology/finding.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

struct ScopeOptions {
  bool aggregation_nodes = true;   // route to SHARP nodes, which in-network collectives need
  bool switch_management = false;  // route to port 0 of every switch, for in-band management by LID
  // LMC of every host port, instead of the topology's; all end ports then get new LIDs.
  std::optional<std::uint8_t> lmc{};
};

class RoutingScope {
 public:
  // Unicast LIDs (InfiniBand Architecture Specification 1.7, 4.1.3).
  static constexpr Lid kFirstLid = 0x0001;
  static constexpr Lid kLastLid = 0xBFFF;
  static constexpr std::size_t kMaxDestinations = 1U << 22U;
  static constexpr std::size_t kMaxLmc = 7;

  // Errors: more destinations than kMaxDestinations. O(ports log ports).
  static Result<std::shared_ptr<const RoutingScope>> make(TopologyPtr topology, const ScopeOptions& options = {});

  [[nodiscard]] const Topology& topology() const { return *topology_; }
  [[nodiscard]] const TopologyPtr& topology_ptr() const { return topology_; }

  [[nodiscard]] IdRange<PlaneId> planes() const { return {0, planes_.size()}; }
  [[nodiscard]] const Plane& plane(PlaneId id) const { return planes_[id.index()]; }
  [[nodiscard]] PlaneId plane_of(SwitchId sw) const { return plane_of_switch_[sw.index()]; }
  [[nodiscard]] PlaneId plane_of(DestinationId id) const { return plane_of_switch_[destination(id).home.index()]; }
  [[nodiscard]] std::uint32_t local(SwitchId sw) const { return local_switch_[sw.index()]; }
  [[nodiscard]] std::uint32_t local(DestinationId id) const {
    return id.value() - planes_[plane_of(id).index()].first_destination;
  }

  [[nodiscard]] IdRange<DestinationId> destinations() const { return {0, destinations_.size()}; }
  [[nodiscard]] const Destination& destination(DestinationId id) const { return destinations_[id.index()]; }
  // The arc of a link between switches that leaves the link's port a; arc kNone: the link joins no two switches.
  struct LinkArc {
    PlaneId plane;
    std::uint32_t arc = Plane::kNone;
  };
  [[nodiscard]] LinkArc arc_of(LinkId link) const { return link_arc_[link.index()]; }

  // The first destination of an end port (LID offset 0); none: it is not routed to.
  [[nodiscard]] DestinationId find(PortId end_port) const;
  // Of a LID of it, 0 to lid_count() - 1 from its first. O(log ports of a switch).
  [[nodiscard]] DestinationId find(PortId end_port, unsigned lid_offset) const;
  [[nodiscard]] unsigned lid_count(PortId end_port) const;  // 2^LMC

  // The LID of a destination: the topology's where it has one, else the lowest free one, in order of destinations. 0:
  // the subnet has more end ports than unicast LIDs, which a finding reports.
  [[nodiscard]] Lid lid(DestinationId id) const { return lids_[id.index()]; }
  // The LID of a switch's management port, routed or not.
  [[nodiscard]] Lid lid(SwitchId sw) const { return switch_lids_[sw.index()]; }

  [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }

 private:
  RoutingScope() = default;
  void number_planes();
  Result<void> number_destinations(const ScopeOptions& options);
  void lay_out_planes();
  void add_arcs(Plane& plane, std::uint32_t s, std::vector<std::uint32_t>& arc_of_port) const;
  std::size_t add_home(Plane& plane, std::uint32_t s, std::size_t next) const;
  void join_arcs(Plane& plane, const std::vector<std::uint32_t>& arc_of_port);
  void assign_lids();
  [[nodiscard]] std::size_t lmc(PortId end_port) const;

  TopologyPtr topology_;
  std::optional<std::uint8_t> lmc_;
  std::vector<Plane> planes_;
  std::vector<PlaneId> plane_of_switch_;
  std::vector<std::uint32_t> local_switch_;
  std::vector<Destination> destinations_;
  std::vector<LinkArc> link_arc_;
  std::vector<DestinationId> destination_of_port_;  // by adapter port, from the first
  std::vector<Lid> lids_, switch_lids_;
  std::vector<Finding> findings_;
};

using RoutingScopePtr = std::shared_ptr<const RoutingScope>;

}  // namespace railweave::fabric
