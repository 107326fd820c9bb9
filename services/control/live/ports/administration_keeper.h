// What clients of one subnet in direct mode are told when they ask its administration: kept as what was found, the routes that
// switches hold and the tables of ports are; and switches' tables for the multicast groups that they join. Used by the stepping thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/drivers/administration.h"
#include "services/control/live/links/subnet_context.h"

namespace railweave::control {

// What a plan of classes and partitions says of it.
struct AdministeredTables {
  std::vector<fabric::PartitionService> partitions;
  std::shared_ptr<const std::vector<fabric::PortTables>> ports;
  std::uint64_t revision = 0;
};

// What packets are to avoid, and its version.
struct AvoidedLinks {
  const fabric::FabricView& view;
  std::uint64_t version = 0;
};

class AdministrationKeeper {
 public:
  explicit AdministrationKeeper(const SubnetContext& context) : context_(context) {}

  // Devices, ports or the topology may be others than were told.
  void distrust() { is_due_ = true; }
  // Tells what is told from now on, where that differs, at most four times a second, and leads multicast as it was joined, about as
  // often. routing: that switches hold, with another revision whenever it is another one. Error: the connection failed.
  Result<void> keep(const fabric::Routing& routing, std::uint64_t revision, const AvoidedLinks& avoided,
                    const AdministeredTables& tables);

 private:
  Result<void> tell(const fabric::Routing& routing, std::uint64_t revision, const AvoidedLinks& avoided,
                    const AdministeredTables& tables);
  Result<void> keep_multicast(std::uint64_t revision);
  void show(const fabric::AdministrationCounts& counts);

  const SubnetContext& context_;
  bool is_due_ = true, was_told_ = false;
  std::uint64_t routing_revision_ = 0, tables_revision_ = 0, avoided_version_ = 0;
  std::size_t devices_ = 0, end_ports_ = 0;
  std::int64_t told_us_ = 0, shown_us_ = 0, warned_us_ = 0;
  std::uint64_t warned_of_ = 0;  // requests with wrong keys
  bool is_multicast_due_ = true;
  std::uint64_t multicast_revision_ = 0;  // in switches
  std::int64_t led_us_ = 0, verified_us_ = 0;
  fabric::MulticastReport led_;
};

}  // namespace railweave::control
