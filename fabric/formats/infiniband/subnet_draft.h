// One InfiniBand subnet as a dump describes it, device by device and cable end by cable end, before it goes into a
// TopologyBuilder. Shared by ibnetdiscover and ibsim netlists: which adapters belong to one host, what
// becomes of devices that are only named as peers, and which LIDs count.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/formats/infiniband/netlist_line.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

class SubnetDraft {
 public:
  // So that no input can exhaust memory: one more than either is refused.
  static constexpr std::size_t kMaxDevices = TopologyBuilder::kMaxHcas;
  static constexpr std::size_t kMaxCableEnds = std::size_t{1} << 23U;

  struct Device {
    NetlistDevice type = NetlistDevice::network_switch;
    Guid guid;
    unsigned ports = 0;                 // 0 until its own section is read
    std::string_view description = {};  // as on the wire
    unsigned lid = 0;                   // of a switch
    unsigned lmc = 0;
    unsigned highest_port_named = 0;
    bool has_section = false;
  };
  // What a device says of one of its ports.
  struct CableEnd {
    std::uint32_t device = 0;
    unsigned port = 0;
    std::uint32_t peer = 0;
    unsigned peer_port = 0;
    Guid guid, peer_guid;  // of the ports
    unsigned lid = 0, lmc = 0, peer_lid = 0;
    LinkSpec link;
  };

  std::uint32_t add_device(const Device& device);
  [[nodiscard]] Device& device(std::uint32_t index) { return devices_[index]; }
  [[nodiscard]] std::size_t device_count() const { return devices_.size(); }
  void add_cable_end(const CableEnd& end);
  [[nodiscard]] bool over_limit() const { return devices_.size() > kMaxDevices || cables_.size() > kMaxCableEnds; }
  [[nodiscard]] static Error over_limit_error(const ReadOptions& options);

  // Puts everything into the builder. Parts whose switches are all called after storage are subnets of their own beside others:
  // "<subnet>-storage". Findings: deviceWithoutSection, duplicateDescription, equalDescriptions, lidNotUnicast,
  // unprintableName, and what the builder finds. Error: more ports than the builder takes.
  Result<void> move_into(const ReadOptions& options, TopologyBuilder& builder) &&;

 private:
  class Assembly;
  std::vector<Device> devices_;
  std::vector<CableEnd> cables_;
};

}  // namespace railweave::fabric
