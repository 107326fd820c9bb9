#include "fabric/drivers/infiniband/administration/administered_subnet.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric::infiniband {
namespace {

// By code, in Mb/s.
constexpr std::array<std::uint32_t, 25> kRates = {
    0,       0,       2'500,  10'000,  30'000,  5'000,   20'000, 40'000, 60'000,  80'000,  120'000, 14'000,   56'000,
    112'000, 168'000, 25'000, 100'000, 200'000, 300'000, 28'000, 50'000, 400'000, 600'000, 800'000, 1'200'000};

// On the wire, as the codes count.
std::uint32_t lane_mbps(LinkSpeed speed) {
  switch (speed) {
    case LinkSpeed::sdr:
      return 2'500;
    case LinkSpeed::ddr:
      return 5'000;
    case LinkSpeed::qdr:
    case LinkSpeed::fdr10:
      return 10'000;
    case LinkSpeed::fdr:
      return 14'000;
    case LinkSpeed::edr:
      return 25'000;
    case LinkSpeed::hdr:
      return 50'000;
    case LinkSpeed::ndr:
      return 100'000;
    case LinkSpeed::xdr:
      return 200'000;
    case LinkSpeed::unknown:
    case LinkSpeed::other:
      break;
  }
  return 0;
}

}  // namespace

std::uint8_t rate_code(const LinkSpec& link) {
  const std::uint32_t mbps = lane_mbps(link.speed) * link.width;
  const auto* const found = std::ranges::find(kRates, mbps);
  return mbps == 0 || found == kRates.end() ? std::uint8_t{0} : static_cast<std::uint8_t>(found - kRates.begin());
}

RateMbps nominal_rate(std::uint8_t code) { return RateMbps(code < kRates.size() ? kRates[code] : 0); }

PortPace slower(PortPace a, PortPace b) {
  return {std::min(a.mtu, b.mtu), nominal_rate(a.rate) < nominal_rate(b.rate) ? a.rate : b.rate};
}

bool share_key(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b) {
  return std::ranges::any_of(a, [b](std::uint16_t key) {
    const auto base = static_cast<std::uint16_t>(key & ~kFullMember);
    return base != 0 && std::ranges::any_of(b, [key, base](std::uint16_t other) {
             return (other & ~kFullMember) == base && ((key | other) & kFullMember) != 0;
           });
  });
}

AdministeredSubnet::AdministeredSubnet(std::vector<Node> nodes, const Manager& manager, const Routing& routing,
                                       std::vector<PartitionService> partitions,
                                       std::shared_ptr<const std::vector<PortTables>> tables,
                                       std::vector<LinkId> avoided)
    : nodes_(std::move(nodes)),
      manager_(manager),
      routing_(std::make_shared<const Routing>(routing)),
      partitions_(std::move(partitions)),
      tables_(std::move(tables)),
      avoided_([&avoided] {
        std::ranges::sort(avoided);
        return std::move(avoided);
      }()) {
  if (tables_) {
    for (const PortTables& one : *tables_) tables_by_port_.push_back(&one);
    std::ranges::sort(tables_by_port_, {}, &PortTables::port);
  }
  add_paces();
  add_end_ports();
  add_destinations();
}

bool AdministeredSubnet::is_avoided(const Node& sw, unsigned port) const {
  const Topology& t = routing_->tables.scope().topology();
  if (avoided_.empty() || !sw.sw || port == 0 || port > t.ports(sw.sw).size()) return false;
  const PortId id = t.ports(sw.sw)[port - 1];
  return t.peer(id) && std::ranges::binary_search(avoided_, t.link(id));
}

// Width and speed of both ends, and the packets that both take.
void AdministeredSubnet::add_paces() {
  const Topology& t = routing_->tables.scope().topology();
  pace_.resize(t.switch_ports().size() + t.hca_ports().size());
  for (const Node& node : nodes_) {
    const HcaId hca = node.is_switch() ? HcaId() : t.find_hca(node.info.node_guid);
    for (std::size_t number = 1; number < node.ports.size(); ++number) {
      const Port& port = node.ports[number];
      if (!port.is_read || !port.info.link_up()) continue;
      PortId id;
      if (node.sw && number <= t.ports(node.sw).size()) id = t.ports(node.sw)[number - 1];
      if (hca && number <= t.ports(hca).size()) id = t.ports(hca)[number - 1];
      if (!id) continue;
      const bool extended = (node.is_switch() ? node.ports[0] : port).info.has_extended_speeds();
      pace_[id.index()] = {port.info.neighbor_mtu != 0 ? port.info.neighbor_mtu : port.info.mtu_capacity,
                           rate_code(port.info.link(extended))};
    }
  }
}

void AdministeredSubnet::add_end_ports() {
  const Topology& t = routing_->tables.scope().topology();
  std::map<std::vector<std::uint16_t>, std::uint32_t> tables_seen;
  const auto keys_of = [&](PortRef port) {
    const PortTables* const known = tables(port);
    std::vector<std::uint16_t> keys{kDefaultPartition};
    if (known != nullptr && known->pkeys) keys = *known->pkeys;
    const auto [at, is_new] = tables_seen.try_emplace(keys, static_cast<std::uint32_t>(key_tables_.size()));
    if (is_new) key_tables_.push_back(std::move(keys));
    return at->second;
  };
  const auto is_cabled = [&](const Port& port, PortId peer) {
    return port.peer != kNone && nodes_[port.peer].sw == t.switch_of(peer) && port.peer_port == t.number(peer);
  };
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    first_end_port_.push_back(static_cast<std::uint32_t>(end_ports_.size()));
    const HcaId hca = node.is_switch() ? HcaId() : t.find_hca(node.info.node_guid);
    for (std::size_t number = node.is_switch() ? 0 : 1; number < (node.is_switch() ? 1 : node.ports.size()); ++number) {
      const Port& port = node.ports[number];
      if (!port.is_read || port.info.lid == 0) continue;
      EndPort end{.node = n,
                  .number = static_cast<std::uint8_t>(number),
                  .guid = node.is_switch() ? node.info.node_guid : port.guid,
                  .lid = port.info.lid,
                  .lmc = port.info.lmc,
                  .port = {},
                  .home = node.sw,
                  .keys = keys_of({node.info.node_guid, static_cast<std::uint8_t>(number)})};
      if (hca && number <= t.ports(hca).size()) {
        end.port = t.ports(hca)[number - 1];
        if (const PortId peer = t.peer(end.port); peer && is_cabled(port, peer)) end.home = t.switch_of(peer);
      }
      const auto index = static_cast<std::uint32_t>(end_ports_.size());
      for (std::size_t lid = end.lid; lid < end.lid + (std::size_t{1} << end.lmc); ++lid) {
        if (by_lid_.size() <= lid) by_lid_.resize(lid + 1, kNone);
        by_lid_[lid] = index;
      }
      by_guid_.try_emplace(end.guid, index);
      end_ports_.push_back(end);
    }
  }
  if (const std::uint32_t own = find(manager_.lid); own != kNone) {
    const PortInfo& info = nodes_[end_ports_[own].node].ports[end_ports_[own].number].info;
    if (info.gid_prefix() != 0) gid_prefix_ = info.gid_prefix();
  }
}

// LIDs of other subnets that the topology has as well are not this one's.
void AdministeredSubnet::add_destinations() {
  const RoutingScope& scope = routing_->tables.scope();
  const auto own = std::ranges::find_if(nodes_, [](const Node& node) { return node.sw.valid(); });
  if (own == nodes_.end()) return;
  const SubnetId subnet = scope.topology().subnet(own->sw);
  for (const DestinationId id : scope.destinations()) {
    if (scope.topology().subnet(scope.destination(id).home) != subnet) continue;
    const std::size_t lid = scope.lid(id);
    if (lid == 0) continue;
    if (destination_of_.size() <= lid) destination_of_.resize(lid + 1);
    destination_of_[lid] = id;
  }
}

std::uint32_t AdministeredSubnet::find(Guid port_guid) const {
  const auto found = by_guid_.find(port_guid);
  return found == by_guid_.end() ? kNone : found->second;
}

std::uint32_t AdministeredSubnet::find(std::uint32_t node, unsigned port) const {
  for (std::size_t i = first_end_port_[node]; i < end_ports_.size() && end_ports_[i].node == node; ++i) {
    if (nodes_[node].is_switch() || end_ports_[i].number == port) return static_cast<std::uint32_t>(i);
  }
  return kNone;
}

bool AdministeredSubnet::is_attached(Guid port_guid) const {
  const std::uint32_t at = find(port_guid);
  if (at == kNone) return false;
  const Node& node = nodes_[end_ports_[at].node];
  return node.is_switch() || node.ports[end_ports_[at].number].peer != kNone;
}

PortPace AdministeredSubnet::pace(const EndPort& port) const {
  if (port.port) {
    const PortId peer = routing_->tables.scope().topology().peer(port.port);
    return peer ? slower(pace(port.port), pace(peer)) : PortPace();
  }
  // Port 0 has no wire: what the switch can forward.
  const PortInfo& info = nodes_[port.node].ports[port.number].info;
  const std::uint8_t mtu = info.neighbor_mtu != 0 ? info.neighbor_mtu : info.mtu_capacity;
  PortPace fastest;
  for (const Port& other : nodes_[port.node].ports) {
    if (!other.is_read || !other.info.link_up()) continue;
    const std::uint8_t rate = rate_code(other.info.link(info.has_extended_speeds()));
    if (nominal_rate(rate) > nominal_rate(fastest.rate)) fastest.rate = rate;
  }
  fastest.mtu = mtu;
  return fastest;
}

const PortTables* AdministeredSubnet::tables(PortRef port) const {
  const auto at = std::ranges::lower_bound(tables_by_port_, port, {}, &PortTables::port);
  return at != tables_by_port_.end() && (*at)->port == port ? *at : nullptr;
}

std::uint16_t AdministeredSubnet::shared_key(const EndPort& a, const EndPort& b, std::uint16_t wanted) const {
  for (const std::uint16_t key : keys(a)) {
    const auto base = static_cast<std::uint16_t>(key & ~kFullMember);
    if (base == 0 || (wanted != 0 && base != wanted)) continue;
    for (const std::uint16_t other : keys(b)) {
      if ((other & ~kFullMember) == base && ((key | other) & kFullMember) != 0) return key;
    }
  }
  return 0;
}

bool AdministeredSubnet::has_key(const EndPort& port, std::uint16_t key) const {
  const auto base = static_cast<std::uint16_t>(key & ~kFullMember);
  return base != 0 &&
         std::ranges::any_of(keys(port), [base](std::uint16_t has) { return (has & ~kFullMember) == base; });
}

const PartitionService* AdministeredSubnet::partition(std::uint16_t key) const {
  const auto found =
      std::ranges::find(partitions_, static_cast<std::uint16_t>(key & ~kFullMember), &PartitionService::key);
  return found == partitions_.end() ? nullptr : &*found;
}

}  // namespace railweave::fabric::infiniband
