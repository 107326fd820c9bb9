// Compiles QoS classes for an InfiniBand subnet: service levels and lanes, arbitration at every port, partitions, rate
// limits. The same plan as tables of each port, and as OpenSM's files, which have one table for all ports. Pure.
//
// Classes share lanes with the routing: an engine that needs R lanes to be free of deadlocks needs R per class, class c
// and routing lane l on VL c x R + l, service level c x L + routing level. With 8 lanes that is 8 classes on a fat
// tree, 4 on a dragonfly with two lanes, and so on; classes that do not fit are refused.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/qos/arbitration.h"
#include "fabric/qos/opensm_settings.h"
#include "fabric/qos/port_tables.h"
#include "fabric/qos/qos_class.h"
#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

struct TenantPartition {
  std::string tenant;             // as opensm::Partition::name
  std::uint16_t pkey = 0;         // 1 to 0x7ffe, unique
  std::vector<PortId> members;    // full
  std::vector<PortId> limited;    // members that reach full members only: shared services
  std::uint8_t qos_class = 0;     // of path records that the subnet administrator returns
  std::optional<RateMbps> limit;  // of these paths
  friend bool operator==(const TenantPartition&, const TenantPartition&) = default;
};

struct InfinibandPlanInput {
  const QosClasses* classes = nullptr;
  SubnetId subnet;  // none: all subnets
  FabricView view;
  RoutingScopePtr scope;
  const Lanes* lanes = nullptr;         // of the routing
  const Ledger* ledger = nullptr;       // null: weights by the shares of the classes alone, the same at every port
  unsigned data_lanes = 8;              // of the port with the fewest
  std::size_t arbitration_entries = 8;  // of a port's low-priority table
  std::vector<TenantPartition> tenants;
  std::vector<PortId> managers;  // full members of the default partition: where subnet managers run
};

struct InfinibandPlan {
  unsigned routing_lanes = 1, routing_levels = 1;
  unsigned classes = 0;
  bool uniform = true;                    // every port has the same arbitration
  std::vector<PortTables> ports;          // of switches, then adapters; only ports with a cable
  std::vector<std::string> not_as_asked;  // requirements that the plan does not meet, as sentences

  [[nodiscard]] std::uint8_t lane(unsigned qos_class, unsigned routing_lane) const {
    return static_cast<std::uint8_t>(qos_class * routing_lanes + routing_lane);
  }
  [[nodiscard]] std::uint8_t service_level(unsigned qos_class, unsigned routing_level) const {
    return static_cast<std::uint8_t>(qos_class * routing_levels + routing_level);
  }
};

// Errors: impossible, code "qos.lanesDoNotSuffice", "qos.levelsDoNotSuffice", "qos.lanesDependOnInput",
// "qos.tableTooSmall"; invalid for partitions that share a key.
Result<InfinibandPlan> plan_infiniband(const InfinibandPlanInput& input);

struct OpenSmPolicy {
  opensm::LaneSharing sharing;
  std::vector<opensm::Partition> partitions;
  opensm::QosPolicy qos;
};
// Errors: impossible "qos.notUniform" if ports differ: OpenSM has one table for all.
Result<OpenSmPolicy> opensm_policy(const InfinibandPlanInput& input, const InfinibandPlan& plan);

}  // namespace railweave::fabric
