// Cables of an Ethernet fabric as its devices tell of them, each device in a file of its own: LLDP neighbours and SONiC's
// configuration. Ports have names there and numbers in a Topology: they are numbered in natural order of names, so that the
// first port of a switch is its "Ethernet0". What is a switch: a device with a SONiC configuration, one whose neighbour
// says that it bridges, or one with ports called as those of switches (EthernetN, swpN, Et1/1); all else are hosts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/base/natural_order.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

class EthernetCables {
 public:
  static constexpr std::size_t kMaxDevices = std::size_t{1} << 20U;
  static constexpr std::int64_t kAssumedMbps = 400'000;

  enum class Role : std::uint8_t { unknown, host, network_switch };

  // Roles that are known stay; `where` is who says so.
  void add_device(std::string_view device, Role role);
  void add_port(std::string_view device, std::string_view port, std::int64_t rate_mbps);  // 0: not known
  void add_cable(std::string_view device, std::string_view port, std::string_view peer, std::string_view peer_port);
  // What a device received by LLDP at a port. False: the neighbour tells no name of its own or of its port, and is left out.
  struct Neighbour {
    std::string name, port;
    bool bridges = false, is_station = false;  // its capabilities that are enabled
  };
  bool add_neighbour(std::string_view device, std::string_view port, const Neighbour& neighbour);

  [[nodiscard]] bool empty() const { return devices_.empty(); }
  [[nodiscard]] bool over_limit() const { return devices_.size() > kMaxDevices; }

  // Findings: speedAssumed (cables of which no end tells its rate), portWithTwoCables, and what the builder finds of
  // cables that only one end tells of. Error: tooLarge.
  Result<void> move_into(const std::string& subnet, TopologyBuilder& builder) &&;

 private:
  struct Port {
    std::int64_t rate_mbps = 0;
    std::string peer, peer_port;
    bool in_cable = false;
  };
  struct Device {
    Role role = Role::unknown;
    std::map<std::string, Port, NaturalLess> ports;
    SwitchDraft network_switch;
    std::map<std::string, HcaDraft> adapters;  // of a host, one for each port
  };
  [[nodiscard]] bool is_switch(const Device& device) const;
  [[nodiscard]] CableEnd end_of(const Device& device, const std::string& port) const;
  void add_drafts(const std::string& subnet, TopologyBuilder& builder);
  void connect(TopologyBuilder& builder);
  Port& port_at(std::string_view device, std::string_view port);

  std::map<std::string, Device, NaturalLess> devices_;
  std::set<std::string> two_cables_;
};

}  // namespace railweave::fabric
