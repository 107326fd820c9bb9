// MCMemberRecord: what a port asks for when it joins or leaves a multicast group, and what it is told of the group (IBA 15.2.5.17).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "fabric/base/guid.h"
#include "fabric/drivers/infiniband/administration/sa_mad.h"
#include "fabric/topology/ids.h"

namespace railweave::fabric::infiniband {

inline constexpr std::size_t kMulticastRecordBytes = 56;  // in a table; 52 are used
inline constexpr Lid kFirstMulticastLid = 0xc000, kLastMulticastLid = 0xfffe;

using Mgid = std::array<std::uint8_t, 16>;
inline constexpr std::uint8_t kLinkLocalScope = 2;

// Why a port is in a group, a bit each; it may be in it for several reasons.
struct JoinState {
  static constexpr std::uint8_t kFull = 1;
  static constexpr std::uint8_t kNonMember = 2;     // gets packets, but does not keep the group alive
  static constexpr std::uint8_t kSendOnly = 4;      // sends, gets nothing, and does not keep the group alive
  static constexpr std::uint8_t kSendOnlyFull = 8;  // sends, gets nothing, and keeps the group alive
  static constexpr std::uint8_t kKeeps = kFull | kSendOnlyFull;
  static constexpr std::uint8_t kReceives = kFull | kNonMember;
};

struct MulticastRecord {
  // Bits of a request's component mask.
  enum Component : std::uint8_t {
    mgidGiven,
    portGiven,
    queueKeyGiven,
    lidGiven,
    mtuSelectorGiven,
    mtuGiven,
    trafficClassGiven,
    keyGiven,
    rateSelectorGiven,
    rateGiven,
    lifeSelectorGiven,
    lifeGiven,
    levelGiven,
    flowLabelGiven,
    hopLimitGiven,
    scopeGiven,
    joinStateGiven,
    proxyGiven,
  };

  Mgid mgid{};
  std::uint64_t port_prefix = 0;  // with `port`: the GID of the port
  Guid port;
  std::uint32_t queue_key = 0;
  Lid lid = 0;
  // Selectors: 0: more than the value, 1: less, 2: just that, 3: the largest available.
  std::uint8_t mtu_selector = 0, mtu = 0;
  std::uint8_t traffic_class = 0;
  std::uint16_t key = 0;
  std::uint8_t rate_selector = 0, rate = 0;
  std::uint8_t life_selector = 0, life = 0;
  std::uint8_t level = 0;
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t scope = 0, join_state = 0;
  bool by_proxy = false;
  friend bool operator==(const MulticastRecord&, const MulticastRecord&) = default;
};

MulticastRecord read_multicast_record(std::span<const std::uint8_t, kSaDataBytes> data);
void write_multicast_record(std::span<std::uint8_t, kMulticastRecordBytes> to, const MulticastRecord& record);

}  // namespace railweave::fabric::infiniband
