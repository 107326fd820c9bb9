// InformInfo: which notices a client wants to be told (IBA 13.4.8.3), and InformInfoRecord, by which subscriptions are read
// (15.2.5.12). 0xffff and 0xffffff stand for any.
#pragma once

#include <cstdint>
#include <span>

#include "fabric/base/guid.h"
#include "fabric/topology/ids.h"

namespace railweave::fabric::infiniband {

struct InformInfo {
  static constexpr std::size_t kBytes = 36, kRecordBytes = 64;
  static constexpr std::uint16_t kAny = 0xffff;
  static constexpr std::uint32_t kAnyProducer = 0xffffff;

  // Whose notices: of the port with this GID; if it is 0, of ports with these LIDs. last_lid 0: of the first one alone.
  std::uint64_t gid_prefix = 0;
  Guid gid;
  Lid first_lid = 0, last_lid = 0;
  bool is_generic = false;
  std::uint8_t subscribe = 0;  // 1; 0: ends the subscription
  std::uint16_t type = 0;
  std::uint16_t trap = 0;        // of vendors' notices: the device
  std::uint32_t queue_pair = 0;  // of the subscriber, which names it when it ends the subscription
  std::uint8_t response_time = 0;
  std::uint32_t producer = 0;  // a type of node; of vendors' notices: the vendor
  friend bool operator==(const InformInfo&, const InformInfo&) = default;

  [[nodiscard]] bool names_port() const { return gid_prefix != 0 || gid.known(); }
};

InformInfo read_inform_info(std::span<const std::uint8_t> data);  // at least kBytes
void write_inform_info(std::span<std::uint8_t> to, const InformInfo& info);

}  // namespace railweave::fabric::infiniband
