// The policy that railweaved sends to the plugin: drained links and switches, how much traffic ports expect, and the tables
// of ports. A value; devices are named by GUID, which every program shares.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/guid.h"
#include "fabric/drivers/opensm/protocol/port_lanes.h"

namespace railweave::fabric::opensm {

// "248a070300f0e1d0/12": of a switch or an adapter, by node GUID.
struct PortName {
  Guid device;
  unsigned port = 0;  // 1 to 254
  friend auto operator<=>(const PortName&, const PortName&) = default;
};

struct LinkName {
  PortName a, b;  // a < b
  friend auto operator<=>(const LinkName&, const LinkName&) = default;
};

struct PortWeight {
  Guid port;                 // port GUID of an adapter
  std::uint32_t weight = 1;  // from 1; relative to each other, ports not named have 1
  friend auto operator<=>(const PortWeight&, const PortWeight&) = default;
};

struct RoutingPolicy {
  std::uint64_t revision = 0;  // the service's own number; equal content may have different ones
  std::uint64_t term = 0;      // of the leader that sent it, among several services; never goes back
  std::vector<LinkName> drained_links;
  std::vector<Guid> drained_switches;
  std::vector<PortWeight> weights;
  PortPolicy ports{};
  std::uint64_t repeat =
      0;  // another number: ports did not get their tables, which are to be written again; 0: none was
  std::uint64_t rewrite =
      0;  // another number: switches do not have OpenSM's forwarding tables, which are to be written again; 0: none was
  bool keeps_ports = false;  // of ports, what the policy before says: the sender does not know yet

  // What routes follow from.
  [[nodiscard]] bool same_routes(const RoutingPolicy& other) const {
    return drained_links == other.drained_links && drained_switches == other.drained_switches &&
           weights == other.weights;
  }
  [[nodiscard]] bool same_content(const RoutingPolicy& other) const {
    return same_routes(other) && ports == other.ports && keeps_ports == other.keeps_ports;
  }
  friend bool operator==(const RoutingPolicy&, const RoutingPolicy&) = default;
};

// Sorted, link ends the smaller first. Errors: a GUID of 0, a port or a weight out of range, a link of a port with
// itself, a name used twice, more than kMaxPolicyLines lines.
Result<RoutingPolicy> canonical(RoutingPolicy policy);

inline constexpr std::size_t kMaxPolicyLines = std::size_t{1} << 18U;

std::string to_string(const PortName& name);
std::string to_string(const LinkName& name);  // "<port>--<port>"

// The document of protocol.md, its `end` line included. The policy is canonical.
std::string write_policy(const RoutingPolicy& policy);

// 16 digits: digests, which are FNV-1a of the bytes in `end` lines.
std::string hex64(std::uint64_t value);

}  // namespace railweave::fabric::opensm
