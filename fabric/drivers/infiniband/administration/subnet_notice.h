// Notices that subscribers are told: traps of devices as they came, and what the administration itself notices, ports that came
// or went and multicast groups that were created or deleted (IBA 13.4.8.2, 14.2.5.1). Pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/drivers/infiniband/administration/administered_subnet.h"
#include "fabric/drivers/infiniband/administration/multicast_record.h"

namespace railweave::fabric::infiniband {

struct SubnetNotice {
  static constexpr std::size_t kBytes = 80;
  static constexpr std::uint16_t kInService = 64, kOutOfService = 65, kGroupCreated = 66, kGroupDeleted = 67;

  std::array<std::uint8_t, kBytes> bytes{};
  // Partition keys of the port that it is about, or the key of the group: only who shares one of them is told.
  std::vector<std::uint16_t> keys;

  [[nodiscard]] bool is_generic() const;
  [[nodiscard]] std::uint8_t type() const;
  [[nodiscard]] std::uint32_t producer() const;  // or vendor
  [[nodiscard]] std::uint16_t trap() const;      // or device
  [[nodiscard]] Lid issuer_lid() const;
  [[nodiscard]] std::uint64_t issuer_prefix() const;
  [[nodiscard]] Guid issuer() const;
};

// A trap's attribute, from a port with that LID. None: there is no such port.
std::optional<SubnetNotice> forwarded(const AdministeredSubnet& subnet, std::span<const std::uint8_t, 64> trap,
                                      Lid source);
// Ports that have come into service or gone out of it since the snapshot before. Ascending by GUID, those gone first.
std::vector<SubnetNotice> port_changes(const AdministeredSubnet& before, const AdministeredSubnet& now);
SubnetNotice group_change(const AdministeredSubnet& subnet, const Mgid& mgid, std::uint16_t key, bool is_created);

}  // namespace railweave::fabric::infiniband
