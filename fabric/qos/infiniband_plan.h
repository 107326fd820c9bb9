// QoS classes on an InfiniBand subnet: service levels and lanes, arbitration at every port, partitions, rate limits.
// The same plan as tables for ports (fabric/drivers) and as OpenSM's files, which give all ports of a kind one table.
//
// Classes share lanes with the routing: an engine that needs R lanes to be free of deadlocks takes R per class, class c
// and routing lane l on VL c x R + l, service level c x L + routing level. On 8 lanes that is 8 classes on a fat tree,
// 4 on a dragonfly of two lanes, and so on; what does not fit is refused.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/drivers/opensm/opensm_files.h"
#include "fabric/drivers/port_tables.h"
#include "fabric/qos/arbitration.h"
#include "fabric/qos/qos_class.h"
#include "fabric/routing/plane/routing_engine.h"

namespace railweave::fabric {

struct TenantPartition {
  std::string tenant;             // as opensm::Partition::name
  std::uint16_t pkey = 0;         // 1 to 0x7ffe, its own
  std::vector<PortId> members;    // full
  std::vector<PortId> limited;    // reach full members only: shared services
  std::uint8_t qos_class = 0;     // of what asks the subnet's administration for a path
  std::optional<RateMbps> limit;  // of such a path
  friend bool operator==(const TenantPartition&, const TenantPartition&) = default;
};

struct InfinibandPlanInput {
  const QosClasses* classes = nullptr;
  SubnetId subnet;  // none: all of them
  FabricView view;
  RoutingScopePtr scope;
  const Lanes* lanes = nullptr;         // of the routing
  const Ledger* ledger = nullptr;       // none: weights by the classes' shares alone, the same at every port
  unsigned data_lanes = 8;              // of the port with fewest
  std::size_t arbitration_entries = 8;  // of a port's low-priority table
  std::vector<TenantPartition> tenants;
  std::vector<PortId> managers;  // full members of the default partition: where subnet managers run
};

struct InfinibandPlan {
  unsigned routing_lanes = 1, routing_levels = 1;
  unsigned classes = 0;
  bool uniform = true;                    // every port has the same arbitration
  std::vector<PortTables> ports;          // of switches, then adapters; those with a cable
  std::vector<std::string> not_as_asked;  // what the plan leaves out, for people

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
// Errors: impossible "qos.notUniform", where ports differ: OpenSM knows one table for all.
Result<OpenSmPolicy> opensm_policy(const InfinibandPlanInput& input, const InfinibandPlan& plan);

}  // namespace railweave::fabric
