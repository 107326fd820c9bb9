#include "fabric/drivers/infiniband/port_table_blocks.h"

#include <algorithm>

namespace railweave::fabric::infiniband {

namespace {

unsigned lanes_of(std::uint8_t code) {
  constexpr std::array<unsigned, 6> kLanes{1, 1, 2, 4, 8, 15};
  return code < kLanes.size() ? kLanes[code] : 1;
}

ArbitrationPart part_of(const TableBlock& block) {
  if (block.kind == TableKind::arbitrationHigh) {
    return block.number == 0 ? ArbitrationPart::high : ArbitrationPart::highUpper;
  }
  return block.number == 0 ? ArbitrationPart::low : ArbitrationPart::lowUpper;
}

std::size_t entries_left(std::size_t capacity, std::size_t block, std::size_t per_block) {
  const std::size_t before = block * per_block;
  return capacity <= before ? 0 : std::min(capacity - before, per_block);
}

std::size_t arbitration_capacity(const TableBlock& block, const PortTableLimits& limits) {
  return block.kind == TableKind::arbitrationHigh ? limits.high_entries : limits.low_entries;
}

constexpr std::size_t kHighLimitByte = 38;

Mad ask(const PortPlace& place, const TableBlock& block, MadMethod method) {
  // Adapters are asked through the port itself and know no other.
  const std::uint8_t port = place.is_switch ? place.port : std::uint8_t{0};
  switch (block.kind) {
    case TableKind::slToVl: {
      const auto in_port = static_cast<std::uint8_t>(place.is_switch ? block.number : 0);
      return directed_smp(place.route, method, Attribute::slToVl, sl_to_vl_modifier(in_port, port));
    }
    case TableKind::arbitrationHigh:
    case TableKind::arbitrationLow:
      return directed_smp(place.route, method, Attribute::vlArbitration, arbitration_modifier(part_of(block), port));
    case TableKind::pkeys:
      return directed_smp(place.route, method, Attribute::pkeyTable, pkey_modifier(port, block.number));
    case TableKind::highLimit:
      break;
  }
  return directed_smp(place.route, method, Attribute::portInfo, place.port);
}

}  // namespace

std::expected<PortPlace, std::string> find_port(const SubnetMap& map, PortRef port) {
  const auto found = map.by_guid.find(port.device);
  if (found == map.by_guid.end() || !map.nodes[found->second].present) return std::unexpected("is not in the subnet");
  const SubnetNode& node = map.nodes[found->second];
  if (port.port >= node.ports.size() || (port.port == 0 && !node.is_switch()))
    return std::unexpected("has no such port");
  PortPlace place{found->second, port.port, node.is_switch(), node.route};
  if (node.is_switch() || (place.node == map.here && port.port == map.here_port)) return place;
  const SubnetPort& end = node.ports[port.port];
  if (end.peer == kNoNode || !map.nodes[end.peer].present || !map.nodes[end.peer].route.can_extend()) {
    return std::unexpected("is not connected");
  }
  place.route = map.nodes[end.peer].route.extended(end.peer_port);
  return place;
}

PortTableLimits limits_of(const SubnetMap& map, const PortPlace& place) {
  const SubnetNode& node = map.nodes[place.node];
  PortTableLimits limits;
  limits.pkeys =
      node.is_switch() && place.port != 0 ? node.switch_info.partition_enforcement : node.info.partition_capacity;
  limits.full_default_pkey = place.node == map.here && place.port == map.here_port;
  return limits;
}

void add_lane_limits(PortTableLimits& limits, const SubnetMap& map, const PortPlace& place, const PortInfo& info) {
  // A base port 0 sends management only, on VL 15.
  if (place.is_switch && place.port == 0 && !map.nodes[place.node].switch_info.enhanced_port_zero) return;
  limits.possible_vls = limits.data_vls = lanes_of(info.vl_capacity);
  if (info.link_up() && info.operational_vls != 0) {
    limits.data_vls = std::min(limits.data_vls, lanes_of(info.operational_vls));
  }
  // Codes 1 to 5 are 256 to 4,096 bytes.
  if (info.link_up() && info.neighbor_mtu >= 1 && info.neighbor_mtu <= 5) limits.mtu_bytes = 128U << info.neighbor_mtu;
  constexpr std::size_t kMost = 2 * kArbitrationBlockEntries;
  limits.high_entries = std::min<std::size_t>(info.arbitration_high_capacity, kMost);
  limits.low_entries = std::min<std::size_t>(info.arbitration_low_capacity, kMost);
}

std::string to_string(const TableBlock& block) {
  const std::string number = std::to_string(block.number);
  switch (block.kind) {
    case TableKind::slToVl:
      return "SLtoVL from port " + number;
    case TableKind::arbitrationHigh:
      return "VLArbitration high " + number;
    case TableKind::arbitrationLow:
      return "VLArbitration low " + number;
    case TableKind::highLimit:
      return "VLHighLimit";
    case TableKind::pkeys:
      break;
  }
  return "PKeyTable " + number;
}

std::vector<TableBlock> blocks_of(const PortTables& tables, const PortTableLimits& limits, const SubnetMap& map,
                                  const PortPlace& place) {
  std::vector<TableBlock> blocks;
  const auto add = [&](TableKind kind, std::size_t count, std::size_t first = 0) {
    for (std::size_t n = first; n < count; ++n) blocks.push_back({kind, static_cast<std::uint16_t>(n)});
  };
  if (tables.pkeys) add(TableKind::pkeys, pkey_blocks(limits.pkeys));
  if (tables.sl_to_vl) {
    const SubnetNode& node = map.nodes[place.node];
    // Port 0 sends only what it made itself.
    const bool external = place.is_switch && place.port != 0;
    const std::size_t first = external && !node.switch_info.enhanced_port_zero ? 1 : 0;
    const std::size_t count = external ? node.ports.size() : 1;
    if (external && tables.changed_in_ports) {
      for (const std::uint8_t in : *tables.changed_in_ports) {
        if (in >= first && in < count) blocks.push_back({TableKind::slToVl, in});
      }
    } else {
      add(TableKind::slToVl, count, first);
    }
  }
  if (tables.arbitration) {
    const auto blocks_for = [](std::size_t entries) {
      return (entries + kArbitrationBlockEntries - 1) / kArbitrationBlockEntries;
    };
    add(TableKind::arbitrationHigh, blocks_for(limits.high_entries));
    add(TableKind::arbitrationLow, blocks_for(limits.low_entries));
    if (tables.arbitration->high_limit) add(TableKind::highLimit, 1);
  }
  return blocks;
}

BlockBytes normal_form(const TableBlock& block, const PortTableLimits& limits, AttributeBytes data) {
  BlockBytes out{};
  const AttributeSpace space(out);
  switch (block.kind) {
    case TableKind::slToVl:
      write_sl_to_vl(space, read_sl_to_vl(data));
      break;
    case TableKind::arbitrationHigh:
    case TableKind::arbitrationLow: {
      ArbitrationBlock entries = read_arbitration(data);
      const std::size_t held =
          entries_left(arbitration_capacity(block, limits), block.number, kArbitrationBlockEntries);
      std::fill(entries.begin() + static_cast<std::ptrdiff_t>(held), entries.end(), ArbitrationEntry{});
      write_arbitration(space, entries);
      break;
    }
    case TableKind::pkeys: {
      PKeyBlock entries = read_pkey_block(data);
      const std::size_t held = entries_left(limits.pkeys, block.number, kPKeyBlockEntries);
      std::fill(entries.begin() + static_cast<std::ptrdiff_t>(held), entries.end(), std::uint16_t{0});
      write_pkey_block(space, entries);
      break;
    }
    case TableKind::highLimit:
      out[kHighLimitByte] = data[kHighLimitByte];
      break;
  }
  return out;
}

BlockBytes wanted_form(const TableBlock& block, const PortTableLimits& limits, const PortTables& tables) {
  BlockBytes out{};
  const AttributeSpace space(out);
  switch (block.kind) {
    case TableKind::slToVl:
      write_sl_to_vl(space, tables.sl_to_vl_from(block.number));
      break;
    case TableKind::arbitrationHigh:
    case TableKind::arbitrationLow: {
      const auto& wanted =
          block.kind == TableKind::arbitrationHigh ? tables.arbitration->high : tables.arbitration->low;
      ArbitrationBlock entries{};
      const std::size_t held = entries_left(wanted.size(), block.number, kArbitrationBlockEntries);
      for (std::size_t i = 0; i < held; ++i) {
        const VlWeight entry = wanted[block.number * kArbitrationBlockEntries + i];
        entries[i] = {entry.vl, entry.weight};
      }
      write_arbitration(space, entries);
      break;
    }
    case TableKind::pkeys: {
      PKeyBlock entries{};
      const std::size_t held =
          entries_left(std::min(tables.pkeys->size(), limits.pkeys), block.number, kPKeyBlockEntries);
      for (std::size_t i = 0; i < held; ++i) entries[i] = (*tables.pkeys)[block.number * kPKeyBlockEntries + i];
      write_pkey_block(space, entries);
      break;
    }
    case TableKind::highLimit:
      out[kHighLimitByte] = *tables.arbitration->high_limit;
      break;
  }
  return out;
}

Mad get_block(const PortPlace& place, const TableBlock& block) { return ask(place, block, MadMethod::get); }

Mad set_block(const PortPlace& place, const TableBlock& block, const PortTableLimits& limits, const PortTables& tables,
              AttributeBytes present) {
  Mad mad = ask(place, block, MadMethod::set);
  BlockBytes data = wanted_form(block, limits, tables);
  if (block.kind == TableKind::highLimit) {
    PortSetting setting;
    setting.high_limit = tables.arbitration->high_limit;
    data = port_info_to_set(present, setting);
  }
  std::ranges::copy(data, attribute_space(mad).begin());
  return mad;
}

}  // namespace railweave::fabric::infiniband
