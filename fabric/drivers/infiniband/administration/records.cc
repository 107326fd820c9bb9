#include "fabric/drivers/infiniband/administration/records.h"

#include <algorithm>
#include <array>

#include "fabric/drivers/infiniband/administration/record_fields.h"
#include "fabric/drivers/infiniband/mad/table_blocks.h"
#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric::infiniband {
namespace {

using Node = AdministeredSubnet::Node;
using EndPort = AdministeredSubnet::EndPort;
using Take = std::function<bool(std::span<const std::uint8_t>)>;
using Record = std::array<std::uint8_t, 112>;  // the longest

// The records of one end port; false once the caller has enough.
class Lister {
 public:
  Lister(const AdministeredSubnet& subnet, SaAttribute attribute, const MulticastTables* multicast, const Take& take)
      : subnet_(subnet), attribute_(attribute), multicast_(multicast), take_(take) {}

  bool list(const EndPort& end) {
    const Node& node = subnet_.nodes()[end.node];
    switch (attribute_) {
      case SaAttribute::nodeRecord:
        return list_node(end, node);
      case SaAttribute::portInfoRecord:
        return list_ports(end, node);
      case SaAttribute::linkRecord:
        return list_links(end, node);
      case SaAttribute::switchInfoRecord:
        return list_switch(end, node);
      case SaAttribute::linearForwardingTableRecord:
        return list_forwarding(end, node);
      case SaAttribute::slToVlRecord:
        return list_lanes(end, node);
      case SaAttribute::pkeyTableRecord:
        return list_keys(end, node);
      case SaAttribute::smInfoRecord:
        return list_manager(end);
      case SaAttribute::multicastForwardingTableRecord:
        return list_multicast(end, node);
      case SaAttribute::vlArbitrationRecord:
        return list_arbitration(end, node);
      case SaAttribute::guidInfoRecord:
        return list_guids(end, node);
      case SaAttribute::classPortInfo:
      case SaAttribute::multiPathRecord:
      case SaAttribute::notice:
      case SaAttribute::informInfo:
      case SaAttribute::informInfoRecord:
      case SaAttribute::pathRecord:
      case SaAttribute::multicastMemberRecord:
      case SaAttribute::serviceRecord:
        break;
    }
    return false;
  }

 private:
  void begin(const EndPort& end) {
    record_.fill(0);
    write_be(record_, 0, 2, end.lid);
  }
  [[nodiscard]] std::span<std::uint8_t, 64> attribute_at(std::size_t offset) {
    return std::span<std::uint8_t, 64>(record_.data() + offset, std::size_t{64});
  }
  bool give() { return take_(std::span<const std::uint8_t>(record_.data(), record_bytes(attribute_))); }
  [[nodiscard]] unsigned first_port(const EndPort& end, const Node& node) const {
    return node.is_switch() ? 0U : end.number;
  }
  // An adapter's other ports have LIDs, and records, of their own.
  [[nodiscard]] unsigned last_port(const EndPort& end, const Node& node) const {
    return node.is_switch() ? static_cast<unsigned>(node.ports.size() - 1) : end.number;
  }

  bool list_node(const EndPort& end, const Node& node) {
    begin(end);
    NodeInfo info = node.info;
    info.port_guid = end.guid;
    info.local_port = end.number;
    write_node_info(attribute_at(4), info);
    std::ranges::copy(node.description.substr(0, 64), record_.begin() + 44);
    return give();
  }

  bool list_ports(const EndPort& end, const Node& node) {
    for (unsigned p = first_port(end, node); p <= last_port(end, node); ++p) {
      if (!node.ports[p].is_read) continue;
      begin(end);
      record_[2] = static_cast<std::uint8_t>(p);
      std::ranges::copy(node.ports[p].info.as_read.bytes, attribute_at(4).begin());
      write_port_key(attribute_at(4), {});
      if (!give()) return false;
    }
    return true;
  }

  bool list_links(const EndPort& end, const Node& node) {
    for (unsigned p = std::max(1U, first_port(end, node)); p <= last_port(end, node); ++p) {
      const auto& port = node.ports[p];
      if (port.peer == AdministeredSubnet::kNone || !port.is_read || !port.info.link_up()) continue;
      const std::uint32_t other = subnet_.find(port.peer, port.peer_port);
      if (other == AdministeredSubnet::kNone) continue;
      begin(end);
      record_[2] = static_cast<std::uint8_t>(p);
      record_[3] = port.peer_port;
      write_be(record_, 4, 2, subnet_.end_ports()[other].lid);
      if (!give()) return false;
    }
    return true;
  }

  bool list_switch(const EndPort& end, const Node& node) {
    if (!node.is_switch()) return true;
    begin(end);
    std::copy_n(node.switch_info.as_read.bytes.begin(), 20, record_.begin() + 4);
    write_be(record_, 10, 2, std::max<unsigned>(node.switch_info.linear_top, subnet_.top_lid()));
    write_bits(record_, 15, 2, 1, 0);  // PortStateChange is between the switch and its manager
    return give();
  }

  bool list_forwarding(const EndPort& end, const Node& node) {
    if (!node.sw) return true;
    const ForwardingTables& tables = subnet_.routing().tables;
    for (unsigned block = 0; block <= subnet_.top_lid() / kLftBlockEntries; ++block) {
      begin(end);
      write_be(record_, 2, 2, block);
      for (unsigned i = 0; i < kLftBlockEntries; ++i) {
        const DestinationId id = subnet_.destination(static_cast<Lid>(block * kLftBlockEntries + i));
        const std::uint16_t port = id ? tables.out_port(node.sw, id) : kNoPort;
        record_[8 + i] = port == kNoPort ? kLftDropsPacket : static_cast<std::uint8_t>(port);
      }
      if (!give()) return false;
    }
    return true;
  }

  // Only where they are written from here: what a device began with is not known.
  bool list_lanes(const EndPort& end, const Node& node) {
    const unsigned ins = node.is_switch() ? static_cast<unsigned>(node.ports.size() - 1) : 0U;
    for (unsigned out = first_port(end, node); out <= last_port(end, node); ++out) {
      const PortTables* tables = subnet_.tables({node.info.node_guid, static_cast<std::uint8_t>(out)});
      if (tables == nullptr || !tables->sl_to_vl) continue;
      for (unsigned in = 0; in <= ins; ++in) {
        if (node.is_switch() && in == out) continue;
        begin(end);
        record_[2] = static_cast<std::uint8_t>(in);
        record_[3] = static_cast<std::uint8_t>(node.is_switch() ? out : 0);
        write_sl_to_vl(attribute_at(8), tables->sl_to_vl_from(in));
        if (!give()) return false;
      }
    }
    return true;
  }

  bool list_multicast(const EndPort& end, const Node& node) {
    if (multicast_ == nullptr) return true;
    const auto found = multicast_->find(node.info.node_guid);
    if (found == multicast_->end()) return true;
    for (const MulticastTableBlock& one : found->second) {
      begin(end);
      write_be(record_, 2, 2, unsigned{one.position} << 12U | one.block);
      write_multicast_block(attribute_at(8), one.entries);
      if (!give()) return false;
    }
    return true;
  }

  // As lanes: only where they are written from here.
  bool list_arbitration(const EndPort& end, const Node& node) {
    for (unsigned p = first_port(end, node); p <= last_port(end, node); ++p) {
      const PortTables* tables = subnet_.tables({node.info.node_guid, static_cast<std::uint8_t>(p)});
      if (tables == nullptr || !tables->arbitration) continue;
      for (unsigned part = 1; part <= 4; ++part) {
        const auto& weights = part > 2 ? tables->arbitration->high : tables->arbitration->low;
        const std::size_t first = part % 2 == 0 ? kArbitrationBlockEntries : 0;
        ArbitrationBlock entries{};
        for (std::size_t i = 0; i < entries.size() && first + i < weights.size(); ++i) {
          entries[i] = {weights[first + i].vl, weights[first + i].weight};
        }
        begin(end);
        record_[2] = static_cast<std::uint8_t>(p);
        record_[3] = static_cast<std::uint8_t>(part);
        write_arbitration(attribute_at(8), entries);
        if (!give()) return false;
      }
    }
    return true;
  }

  // A port has its own GUID; others that it may have been given are not read.
  bool list_guids(const EndPort& end, const Node& node) {
    constexpr std::size_t kCapacity = 50, kGuidsOfBlock = 8;  // of PortInfo
    const unsigned capacity = std::max<unsigned>(1, node.ports[end.number].info.as_read.bytes[kCapacity]);
    for (unsigned block = 0; block * kGuidsOfBlock < capacity; ++block) {
      begin(end);
      record_[2] = static_cast<std::uint8_t>(block);
      if (block == 0) write_be(record_, 8, 8, end.guid.value());
      if (!give()) return false;
    }
    return true;
  }

  bool list_keys(const EndPort& end, const Node& node) {
    for (unsigned p = first_port(end, node); p <= last_port(end, node); ++p) {
      const PortTables* tables = subnet_.tables({node.info.node_guid, static_cast<std::uint8_t>(p)});
      const bool is_end = !node.is_switch() || p == 0;
      if (!is_end && (tables == nullptr || !tables->pkeys)) continue;
      const auto& keys = is_end ? subnet_.keys(end) : *tables->pkeys;
      for (std::size_t block = 0; block < std::max<std::size_t>(1, pkey_blocks(keys.size())); ++block) {
        begin(end);
        write_be(record_, 2, 2, block);
        record_[4] = static_cast<std::uint8_t>(node.is_switch() ? p : 0);
        PKeyBlock entries{};
        for (std::size_t i = 0; i < entries.size() && block * kPKeyBlockEntries + i < keys.size(); ++i) {
          entries[i] = keys[block * kPKeyBlockEntries + i];
        }
        write_pkey_block(attribute_at(8), entries);
        if (!give()) return false;
      }
    }
    return true;
  }

  bool list_manager(const EndPort& end) {
    if (end.lid != subnet_.manager().lid) return true;
    begin(end);
    SmInfo info = subnet_.manager().info;
    info.key = 0;
    write_sm_info(attribute_at(4), info);
    return give();
  }

  const AdministeredSubnet& subnet_;
  const SaAttribute attribute_;
  const MulticastTables* const multicast_;
  const Take& take_;
  Record record_{};
};

}  // namespace

void list_records(const AdministeredSubnet& subnet, SaAttribute attribute, const RecordScope& scope, const Take& take) {
  Lister lister(subnet, attribute, scope.multicast, take);
  const auto& is_listed = attribute == SaAttribute::pkeyTableRecord ? scope.is_own : scope.is_visible;
  if (scope.lid) {
    const std::uint32_t at = subnet.find(*scope.lid);
    if (at == AdministeredSubnet::kNone || !is_listed(subnet.end_ports()[at])) return;
    lister.list(subnet.end_ports()[at]);
    return;
  }
  for (const EndPort& end : subnet.end_ports()) {
    if (is_listed(end) && !lister.list(end)) return;
  }
}

}  // namespace railweave::fabric::infiniband
