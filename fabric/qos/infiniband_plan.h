// Compiles QoS classes for an InfiniBand subnet: service levels and lanes, arbitration at every port, partitions, rate
// limits. The same plan as tables of each port, and as OpenSM's files, which have one table for all ports. Pure.
//
// Classes share lanes with the routing: an engine that needs R lanes to be free of deadlocks needs R per class, class c
// and routing lane l on VL n x R + l, service level n x L + routing level, where n is class_number(): the
// lowest class has the first, which unmarked packets use. With 8 lanes that is 8 classes on a fat tree, 4 on a dragonfly
// with two lanes, and so on; classes that do not fit are refused.
//
// What is left are lanes that jobs may have of their own (Reservation::lane): the o-th behind c classes is on VL
// (c + o) x R + l, service level (c + o) x L + routing level. A port gives it what its owner has reserved there, and the
// owner's class that much less. Where no job has it, its packets are in the lowest class, on the same routing lane: none is
// dropped while tables change or a guarantee is at risk, and as every packet keeps its routing lane, no credits can wait
// for each other that would not on the routing's lanes alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/capacity/lane_passages.h"
#include "fabric/qos/arbitration.h"
#include "fabric/qos/opensm_settings.h"
#include "fabric/qos/port_tables.h"
#include "fabric/qos/qos_class.h"
#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

struct TenantMember {
  PortId port;
  std::uint16_t index = 0;  // of the key in the port's table, 1 on; 0: the first that is free
  friend bool operator==(const TenantMember&, const TenantMember&) = default;
};

struct TenantPartition {
  std::string tenant;                 // as opensm::Partition::name
  std::uint16_t pkey = 0;             // 1 to 0x7ffe, unique
  std::vector<TenantMember> members;  // full
  std::vector<PortId> limited;        // members that reach full members only: shared services
  std::uint8_t qos_class = 0;         // of path records that the subnet administrator returns
  std::optional<RateMbps> limit;      // of these paths
  friend bool operator==(const TenantPartition&, const TenantPartition&) = default;
};

struct InfinibandPlanInput {
  const QosClasses* classes = nullptr;
  SubnetId subnet;  // none: all subnets
  FabricView view;
  RoutingScopePtr scope;
  const Lanes* lanes = nullptr;    // of the routing
  const Ledger* ledger = nullptr;  // null: weights by the shares of the classes alone
  bool uniform = false;      // the same weights at every port: by what is reserved on the fullest link of each class
  bool owned_lanes = false;  // jobs may have lanes of their own; never with the same weights at every port
  // Switches drop service levels that no job at the host has (ingress_filter.h); none: they pass all.
  std::optional<std::vector<IngressUser>> users;
  std::uint16_t shared_lanes = 0;  // a bit each: jobs that are not their owners may send on them, and are not cut off
  // Where else packets of owners come from, now or once switches have the routes that they get next.
  LanePassages passages;
  // Ports are written before routes change. Else lanes stay open to links on which no job has them, but for jobs that survive
  // link failures, which have theirs on every link that they may need.
  bool ports_first = true;
  // Levels that ranks still send with, a bit each: where nothing else uses them, they lead to the lowest class.
  std::uint16_t kept_levels = 0;
  unsigned data_lanes = 8;        // of the port with the fewest
  ArbitrationLimits arbitration;  // of the port with the fewest entries
  std::vector<TenantPartition> tenants;
  // Ports with index 0 of the default partition, and which of them are limited members: they reach full members only.
  // Full members are where subnet managers run, shared services, and all ports that no tenant has asked to isolate.
  std::vector<PortId> limited_default;  // ascending
};

struct InfinibandPlan {
  unsigned routing_lanes = 1, routing_levels = 1;
  unsigned owned_lanes = 0;               // that jobs may have of their own
  std::vector<std::uint8_t> numbers;      // of classes: class_number()
  unsigned mtu_bytes = kLargestMtuBytes;  // that the promises are made for
  bool uniform = true;                    // every port has the same arbitration
  std::vector<PortTables> ports;          // of switches, then adapters; only ports with a cable
  std::uint16_t open_levels = 0xffff;     // that every host may send with, a bit each
  std::vector<std::string> not_as_asked;  // requirements that the plan does not meet, as sentences

  [[nodiscard]] unsigned classes() const { return static_cast<unsigned>(numbers.size()); }
  [[nodiscard]] std::uint8_t lane(unsigned qos_class, unsigned routing_lane) const {
    return static_cast<std::uint8_t>(numbers[qos_class] * routing_lanes + routing_lane);
  }
  [[nodiscard]] std::uint8_t service_level(unsigned qos_class, unsigned routing_level) const {
    return static_cast<std::uint8_t>(numbers[qos_class] * routing_levels + routing_level);
  }
  [[nodiscard]] std::uint8_t owned_lane(unsigned lane, unsigned routing_lane) const {
    return static_cast<std::uint8_t>((classes() + lane) * routing_lanes + routing_lane);
  }
  [[nodiscard]] std::uint8_t owned_level(unsigned lane, unsigned routing_level) const {
    return static_cast<std::uint8_t>((classes() + lane) * routing_levels + routing_level);
  }
  // What a port's table promises to a class, or to a lane's owner, whichever of its lanes traffic is on.
  [[nodiscard]] std::uint32_t promised_permille(const VlArbitration& table, unsigned qos_class) const;
  [[nodiscard]] std::uint32_t promised_to_owner(const VlArbitration& table, unsigned lane) const;
};

// The lanes and service levels that routes need for each class, as plan_infiniband() counts them.
struct RoutingLanes {
  unsigned lanes = 1, levels = 1;
};
RoutingLanes routing_lanes(const FabricView& view, const RoutingScope& scope, const Lanes& lanes, SubnetId subnet);

// Whether the lanes and levels of the classes exist. Errors: impossible "qos.lanesDoNotSuffice",
// "qos.levelsDoNotSuffice".
Result<void> check_lanes(const QosClasses& classes, RoutingLanes routing, unsigned data_lanes);

// The number of lanes that jobs may have of their own beside that many classes.
unsigned owned_lanes(std::size_t classes, RoutingLanes routing, unsigned data_lanes);

// What has to be promised to each class, in permille of a link, as lanes; behind the classes, to the owner of each lane: 0
// where there is none.
std::vector<LaneDemand> lane_demands(const QosClasses& classes, unsigned routing_lanes,
                                     std::span<const std::uint32_t> min_permille);

// Errors: impossible, code "qos.lanesDoNotSuffice", "qos.levelsDoNotSuffice", "qos.lanesDependOnInput" (one table for all),
// "qos.tableTooSmall"; invalid for partitions that share a key.
Result<InfinibandPlan> plan_infiniband(const InfinibandPlanInput& input);
// The partition keys alone, which need no lanes. Errors: invalid for partitions that share a key.
Result<std::vector<PortTables>> plan_partitions(const InfinibandPlanInput& input);

struct OpenSmPolicy {
  opensm::LaneSharing sharing;
  std::vector<opensm::Partition> partitions;
  opensm::QosPolicy qos;
};
// Errors: impossible "qos.notUniform" if ports differ: OpenSM has one table for all.
Result<OpenSmPolicy> opensm_policy(const InfinibandPlanInput& input, const InfinibandPlan& plan);

}  // namespace railweave::fabric
