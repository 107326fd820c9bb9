// What subnet administration knows of one subnet: devices, ports, LIDs, partitions, tables and the routes that paths take. A
// snapshot: built by one thread, then const and read by any number of them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "fabric/base/guid.h"
#include "fabric/drivers/infiniband/mad/node_info.h"
#include "fabric/drivers/infiniband/mad/port_info.h"
#include "fabric/drivers/infiniband/mad/sm_info.h"
#include "fabric/drivers/infiniband/mad/switch_info.h"
#include "fabric/qos/partition_service.h"
#include "fabric/qos/port_tables.h"
#include "fabric/routing/plane/destination.h"
#include "fabric/topology/ids.h"

namespace railweave::fabric {
struct Routing;
}  // namespace railweave::fabric

namespace railweave::fabric::infiniband {

inline constexpr std::uint16_t kDefaultPartition = 0xffff;  // with full membership
inline constexpr std::uint16_t kFullMember = 0x8000;        // of keys

// How fast and how large packets through a port can be, in the codes of PathRecord. 0: no link, or not known.
struct PortPace {
  std::uint8_t mtu = 0;
  std::uint8_t rate = 0;
};
std::uint8_t rate_code(const LinkSpec& link);  // of PathRecord (IBA 15.2.5.16); 0: none
RateMbps nominal_rate(std::uint8_t code);      // that the code stands for; 0: unknown code
PortPace slower(PortPace a, PortPace b);
// Whether ports with these keys are in one partition, at least one of them as a full member.
bool share_key(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b);

class AdministeredSubnet {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Port {  // of a device, with a cable or without
    PortInfo info;
    Guid guid;  // of end ports
    bool is_read = false;
    std::uint32_t peer = kNone;  // node
    std::uint8_t peer_port = 0;
  };
  struct Node {
    NodeInfo info;
    std::string description;
    SwitchInfo switch_info;
    std::vector<Port> ports;  // [0] is a switch's management port
    SwitchId sw;              // of switches that are routed
    [[nodiscard]] bool is_switch() const { return info.type == NodeType::networkSwitch; }
  };
  // A port with LIDs: an adapter's, or port 0 of a switch.
  struct EndPort {
    std::uint32_t node = 0;
    std::uint8_t number = 0;
    Guid guid;
    Lid lid = 0;
    std::uint8_t lmc = 0;
    PortId port;    // of adapters' that are routed
    SwitchId home;  // the switch at which its paths begin; none: it has none, as where its cable is not as accepted
    std::uint32_t keys = 0;
  };
  // What is the same for all that is asked.
  struct Manager {
    Lid lid = 0;  // where it runs
    SmInfo info;
    std::uint64_t key = 0;  // of trusted requesters; 0: there are none
  };

  // nodes: those present. routing: as written to switches. tables: of ports as they are to be; null: as devices come.
  // avoided: links that multicast does without where it can.
  AdministeredSubnet(std::vector<Node> nodes, const Manager& manager, const Routing& routing,
                     std::vector<PartitionService> partitions, std::shared_ptr<const std::vector<PortTables>> tables,
                     std::vector<LinkId> avoided = {});

  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<EndPort>& end_ports() const { return end_ports_; }
  [[nodiscard]] const Manager& manager() const { return manager_; }
  [[nodiscard]] const Routing& routing() const { return *routing_; }
  [[nodiscard]] const std::vector<PartitionService>& partitions() const { return partitions_; }
  [[nodiscard]] std::uint64_t gid_prefix() const { return gid_prefix_; }
  [[nodiscard]] bool is_avoided(const Node& sw, unsigned port) const;

  // kNone: there is none.
  [[nodiscard]] std::uint32_t find(Guid port_guid) const;
  [[nodiscard]] std::uint32_t find(Lid lid) const { return lid < by_lid_.size() ? by_lid_[lid] : kNone; }
  [[nodiscard]] std::uint32_t find(std::uint32_t node, unsigned port) const;
  // There is such an end port, and a cable leads to it.
  [[nodiscard]] bool is_attached(Guid port_guid) const;
  // The destination that switches forward packets with this LID to; none: they drop them.
  [[nodiscard]] DestinationId destination(Lid lid) const {
    return lid < destination_of_.size() ? destination_of_[lid] : DestinationId();
  }
  [[nodiscard]] Lid top_lid() const {
    return static_cast<Lid>(destination_of_.empty() ? 0 : destination_of_.size() - 1);
  }
  [[nodiscard]] PortPace pace(PortId port) const { return pace_[port.index()]; }
  [[nodiscard]] PortPace pace(const EndPort& port) const;

  // Keys of a port, by the index in its table; 0: none.
  [[nodiscard]] const std::vector<std::uint16_t>& keys(const EndPort& port) const { return key_tables_[port.keys]; }
  [[nodiscard]] const PortTables* tables(PortRef port) const;  // null: not known
  // A key of a's table by which both may send to each other: one of them at least is a full member. wanted: only this one,
  // without the bit of membership; 0: any, of the lowest index. 0: there is none.
  [[nodiscard]] std::uint16_t shared_key(const EndPort& a, const EndPort& b, std::uint16_t wanted = 0) const;
  // The port is a member of the key's partition, a full one or a limited one.
  [[nodiscard]] bool has_key(const EndPort& port, std::uint16_t key) const;
  [[nodiscard]] const PartitionService* partition(std::uint16_t key) const;

 private:
  void add_end_ports();
  void add_destinations();
  void add_paces();

  const std::vector<Node> nodes_;
  const Manager manager_;
  const std::shared_ptr<const Routing> routing_;
  const std::vector<PartitionService> partitions_;
  const std::shared_ptr<const std::vector<PortTables>> tables_;
  const std::vector<LinkId> avoided_;              // ascending
  std::vector<const PortTables*> tables_by_port_;  // ascending by port
  std::vector<EndPort> end_ports_;
  std::vector<std::uint32_t> first_end_port_;  // by node
  std::unordered_map<Guid, std::uint32_t> by_guid_;
  std::vector<std::uint32_t> by_lid_;
  std::vector<DestinationId> destination_of_;
  std::vector<PortPace> pace_;  // by PortId: of switches' and adapters'
  std::vector<std::vector<std::uint16_t>> key_tables_;
  std::uint64_t gid_prefix_ = kDefaultGidPrefix;
};
using AdministeredSubnetPtr = std::shared_ptr<const AdministeredSubnet>;

}  // namespace railweave::fabric::infiniband
