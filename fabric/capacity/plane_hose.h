// The hose of one job in one plane: its ports as targets, the same ports as source groups, and the routes between them.
// All ports on one switch are one source group, since packets from them share all routes. Scratch of HoseLoads, kept
// from job to job; not for several threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/capacity/egress_map.h"
#include "fabric/capacity/first_hops.h"
#include "fabric/capacity/source_digest.h"
#include "fabric/routing/plane/forwarding_tables.h"

namespace railweave::fabric {

struct HoseTarget {
  DestinationId id;
  PortId port;
  std::int64_t send_mbps = 0, receive_mbps = 0;
  std::int64_t unrouted_send_mbps = 0;  // of the groups that do not reach it
};

struct HoseSourceGroup {
  std::uint32_t sw = 0;
  std::int64_t unrouted_receive_mbps = 0;  // of the targets that it does not reach
  SourceDigest digest;                     // of the set of this group alone
};

class PlaneHose {
 public:
  using NextHop = EgressMap::NextHop;
  static constexpr std::uint32_t kNone = EgressMap::kNone;
  static constexpr unsigned kMaxHops = 512;  // packets that have not arrived after these hops are in a loop

  // Borrows both.
  PlaneHose(const ForwardingTables& tables, const EgressMap& egress);

  // targets: of one plane, in order of destinations, each once. O(bundles x targets + deviations), see FirstHops.
  void read(PlaneId plane, std::span<const HoseTarget> targets);

  [[nodiscard]] const std::vector<HoseTarget>& targets() const { return targets_; }
  [[nodiscard]] const std::vector<HoseSourceGroup>& groups() const { return groups_; }
  [[nodiscard]] std::uint32_t group_of(std::size_t target) const { return group_of_target_[target]; }
  [[nodiscard]] std::uint32_t home_of(std::size_t target) const { return groups_[group_of_target_[target]].sw; }
  [[nodiscard]] const FirstHops& first_hops() const { return first_hops_; }
  [[nodiscard]] const EgressMap& egress() const { return egress_; }
  [[nodiscard]] std::size_t port_count() const { return port_count_; }  // above every port number in the plane

  // Where packets to a target go from a switch that they have reached.
  [[nodiscard]] NextHop next_hop(std::uint32_t sw, std::size_t target) const {
    return egress_.next_hop(sw, tables_->at(scope_.local(SwitchId(sw)), columns_[target]));
  }
  // Where they go from the switches of a bundle, and from the one switch of a deviation.
  [[nodiscard]] NextHop first_hop(std::size_t bundle, std::size_t target) const {
    return egress_.next_hop(first_hops_.switch_of(bundle), first_hops_.port(bundle, target));
  }
  [[nodiscard]] NextHop first_hop(const FirstHops::Deviation& deviation) const {
    return egress_.next_hop(groups_[deviation.source].sw, deviation.port);
  }

  // Packets from the group do not reach the target.
  void note_unrouted(std::size_t target, std::size_t group);
  [[nodiscard]] std::uint64_t unrouted() const { return unrouted_; }  // pairs noted

 private:
  const EgressMap& egress_;
  const ForwardingTables& all_tables_;
  const RoutingScope& scope_;
  const PlaneTables* tables_ = nullptr;
  FirstHops first_hops_;

  std::vector<HoseTarget> targets_;                       // group by group
  std::vector<HoseSourceGroup> groups_;                   // in order of switches
  std::vector<std::uint32_t> group_of_target_, columns_;  // by target; columns of the plane's tables
  std::vector<FirstHops::Source> sources_;                // by group
  std::size_t port_count_ = 0;
  std::uint64_t unrouted_ = 0;
};

}  // namespace railweave::fabric
