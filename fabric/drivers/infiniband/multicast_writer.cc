#include "fabric/drivers/infiniband/multicast_writer.h"

#include <algorithm>

#include "fabric/drivers/infiniband/mad/smp.h"

namespace railweave::fabric::infiniband {
namespace {

MadExchange::DeviceKey key_of(std::uint32_t node) { return node + std::uint64_t{1}; }

std::uint8_t positions_of(const SubnetNode& node) {
  return static_cast<std::uint8_t>((node.ports.size() + kMulticastPositionPorts - 1) / kMulticastPositionPorts);
}

// Its packets are on levels that no circle was found for.
bool may_lead(const AdministeredSubnet& subnet, const ProvenCables& proven, const MulticastMembers& group) {
  constexpr unsigned kLevelBits = 32;
  if (proven.levels == UINT32_MAX) return true;
  const PartitionService* partition = subnet.partition(group.key);
  const unsigned first = partition == nullptr ? 0 : partition->first_level;
  return group.level >= first && group.level - first < kLevelBits && (proven.levels >> (group.level - first) & 1U) != 0;
}

}  // namespace

// What each present switch is to hold: of the blocks that groups use, and of those that they used before.
void MulticastWriter::plan(const SubnetMap& map, const AdministeredSubnet& subnet,
                           const std::vector<MulticastMembers>& groups, MulticastReport& report) {
  const AttachedSwitches& attached = attached_;
  std::erase_if(switches_, [&](const auto& entry) { return map.find(entry.first) == nullptr; });
  for (const std::uint32_t n : attached.nodes) {
    const Guid guid = subnet.nodes()[n].info.node_guid;
    const auto found = map.by_guid.find(guid);
    if (found == map.by_guid.end() || !map.nodes[found->second].present) continue;
    Switch& one = switches_[guid];
    one.node = found->second;
    for (auto& [place, block] : one.blocks) block.wanted = {};
    for (const MulticastMembers& group : groups) {
      const auto block = static_cast<std::uint16_t>((group.lid - kFirstMulticastLid) / kMulticastBlockEntries);
      if (group.lid - kFirstMulticastLid >= map.nodes[one.node].switch_info.multicast_capacity) continue;
      for (std::uint8_t position = 0; position < positions_of(map.nodes[one.node]); ++position) {
        one.blocks.try_emplace({block, position});
      }
    }
  }
  MulticastTrees trees(proven_.graph);
  report.left_out = proven_.left_out;
  for (const MulticastMembers& group : groups) {
    const auto places = places_of(subnet, attached, group);
    report.members += group.members.size();
    report.unreachable += group.members.size() - places.size();
    if (!may_lead(subnet, proven_, group)) {
      ++report.unproven;
      continue;
    }
    const unsigned entry = group.lid - kFirstMulticastLid;
    for (const auto& [sw, ports] : trees.grow(places, group.lid)) {
      const auto known = switches_.find(subnet.nodes()[attached.nodes[sw]].info.node_guid);
      if (known == switches_.end()) continue;
      for (std::size_t port = 0; port < ports.size(); ++port) {
        if (!ports[port]) continue;
        const auto at = known->second.blocks.find({static_cast<std::uint16_t>(entry / kMulticastBlockEntries),
                                                   static_cast<std::uint8_t>(port / kMulticastPositionPorts)});
        if (at == known->second.blocks.end()) continue;
        std::uint16_t& mask = at->second.wanted[entry % kMulticastBlockEntries];
        mask = static_cast<std::uint16_t>(mask | 1U << port % kMulticastPositionPorts);
      }
    }
  }
  report.groups = groups.size();
}

Result<void> MulticastWriter::read(MadExchange& exchange, const SubnetMap& map, bool all) {
  for (auto& [guid, one] : switches_) {
    for (auto& [place, block] : one.blocks) {
      if (block.has && !all) continue;
      exchange.submit(key_of(one.node), MadAddress::directed(),
                      directed_smp(map.nodes[one.node].route, MadMethod::get, Attribute::multicastForwardingTable,
                                   multicast_modifier(place.first, place.second)),
                      [&held = block](const MadReply& reply) {
                        held.has.reset();
                        held.is_broken = !reply.ok();
                        if (reply.ok()) held.has = read_multicast_block(attribute_bytes(*reply.mad));
                      });
    }
  }
  return exchange.run();
}

Result<void> MulticastWriter::write(MadExchange& exchange, const SubnetMap& map, Step step, MulticastReport& report) {
  for (auto& [guid, one] : switches_) {
    for (auto& [place, block] : one.blocks) {
      if (block.is_broken) continue;
      const auto entries = step(block);
      if (!entries) continue;
      Mad set = directed_smp(map.nodes[one.node].route, MadMethod::set, Attribute::multicastForwardingTable,
                             multicast_modifier(place.first, place.second));
      write_multicast_block(attribute_space(set), *entries);
      Mad get = set;
      get[3] = static_cast<std::uint8_t>(MadMethod::get);
      exchange.submit(
          key_of(one.node), MadAddress::directed(), set,
          [&exchange, &held = block, get, entries = *entries, key = key_of(one.node)](const MadReply& reply) {
            held.has.reset();
            held.is_broken = !reply.ok();
            if (!reply.ok()) return;
            exchange.submit(key, MadAddress::directed(), get, [&held, entries](const MadReply& back) {
              if (back.ok()) held.has = read_multicast_block(attribute_bytes(*back.mad));
              held.is_broken = !back.ok() || held.has != entries;
            });
          });
      ++report.blocks;
    }
  }
  return exchange.run();
}

MulticastTablesPtr MulticastWriter::tables() const {
  auto tables = std::make_shared<MulticastTables>();
  for (const auto& [guid, one] : switches_) {
    for (const auto& [place, block] : one.blocks) {
      if (block.has) (*tables)[guid].push_back({place.first, place.second, *block.has});
    }
  }
  return tables;
}

Result<void> MulticastWriter::keep(MadExchange& exchange, const SubnetMap& map, const AdministeredSubnetPtr& subnet,
                                   const std::vector<MulticastMembers>& groups, bool verify, MulticastReport& report) {
  if (proven_of_ != subnet) {
    attached_ = attached_switches(*subnet);
    proven_ = proven_cables(*subnet, attached_);
    proven_of_ = subnet;
  }
  plan(map, *subnet, groups, report);
  for (auto& [guid, one] : switches_) {
    for (auto& [place, block] : one.blocks) block.is_broken = false;
  }
  if (auto done = read(exchange, map, verify); !done) return done;
  const auto without_others = [](const Block& block) -> std::optional<MulticastEntries> {
    MulticastEntries both = *block.has;
    for (std::size_t i = 0; i < both.size(); ++i) both[i] = static_cast<std::uint16_t>(both[i] & block.wanted[i]);
    return both == *block.has ? std::nullopt : std::optional(both);
  };
  if (auto done = write(exchange, map, without_others, report); !done) return done;
  const auto as_wanted = [](const Block& block) -> std::optional<MulticastEntries> {
    return block.wanted == *block.has ? std::nullopt : std::optional(block.wanted);
  };
  if (auto done = write(exchange, map, as_wanted, report); !done) return done;
  for (const auto& [guid, one] : switches_) {
    for (const auto& [place, block] : one.blocks) report.failed += block.is_broken ? 1 : 0;
  }
  return {};
}

}  // namespace railweave::fabric::infiniband
