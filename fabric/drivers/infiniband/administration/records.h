// Records of what a subnet has, one by one: devices, ports, links, tables of switches and ports. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "fabric/drivers/infiniband/administration/administered_subnet.h"
#include "fabric/drivers/infiniband/administration/multicast_tables.h"
#include "fabric/drivers/infiniband/administration/sa_mad.h"

namespace railweave::fabric::infiniband {

// What of a subnet is listed.
struct RecordScope {
  std::function<bool(const AdministeredSubnet::EndPort&)> is_visible;  // devices and tables that are managed through it
  std::function<bool(const AdministeredSubnet::EndPort&)> is_own;      // of the requester: its tables of partition keys
  std::optional<Lid> lid;                                              // only records with this LID first; none: all
  const MulticastTables* multicast = nullptr;                          // that switches hold; null: not known
};

// Calls back with each record of the attribute, record_bytes() long, until the callback returns false.
void list_records(const AdministeredSubnet& subnet, SaAttribute attribute, const RecordScope& scope,
                  const std::function<bool(std::span<const std::uint8_t>)>& take);

}  // namespace railweave::fabric::infiniband
