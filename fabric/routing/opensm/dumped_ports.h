// What the switches and ports that a dump names are in this fabric: found by GUID, else by name where only one port has
// it (ibsim makes GUIDs up), else by LID.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "fabric/routing/plane/routing_scope.h"

namespace railweave::fabric {

// By GUID or name. Immutable; borrows the scope.
class DumpedPorts {
 public:
  explicit DumpedPorts(const RoutingScope& scope);

  [[nodiscard]] SwitchId network_switch(std::uint64_t guid, std::string_view name) const;
  [[nodiscard]] DestinationId end_port(std::uint64_t guid, std::string_view name) const;
  // The management destination of a switch with LID offset 0; none: it is not routed.
  [[nodiscard]] DestinationId management(SwitchId sw) const;

 private:
  void add_name(std::string_view name, DestinationId id);

  const RoutingScope& scope_;
  const Topology& topology_;
  std::unordered_map<std::uint64_t, DestinationId> by_guid_;
  std::unordered_map<std::string_view, DestinationId> by_name_;
};

// By LID, as an opensm-subnet.lst has them; without one, as the scope does. Borrows the scope and the text.
class DumpedLids {
 public:
  DumpedLids(const RoutingScope& scope, const DumpedPorts& ports, std::string_view subnet_list);

  // The destination that a switch reaches by a LID; none: this fabric has no port with it.
  [[nodiscard]] DestinationId find(SwitchId sw, std::uint16_t lid) const;
  // The name of a switch in the list; empty: it is not in it.
  [[nodiscard]] std::string_view switch_name(std::uint64_t guid) const;

 private:
  void read(std::string_view subnet_list, const DumpedPorts& ports);
  [[nodiscard]] std::uint32_t key(SwitchId sw, std::uint16_t lid) const;

  const RoutingScope& scope_;
  std::unordered_map<std::uint64_t, std::string_view> switch_names_;  // by GUID
  std::unordered_map<std::uint16_t, DestinationId> listed_;           // by LID
  std::unordered_map<std::uint32_t, DestinationId> of_scope_;         // by subnet and LID
};

}  // namespace railweave::fabric
