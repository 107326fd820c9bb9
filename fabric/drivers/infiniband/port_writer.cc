#include "fabric/drivers/infiniband/port_writer.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/drivers/infiniband/mad/smp.h"

namespace railweave::fabric::infiniband {

DirectedRoute route_to_port(const SubnetMap& map, std::uint32_t node, std::uint8_t port) {
  const SubnetNode& asked = map.nodes[node];
  if (asked.is_switch() || node == map.here || asked.ports[port].peer == kNoNode) return asked.route;
  const SubnetNode& peer = map.nodes[asked.ports[port].peer];
  return peer.route.can_extend() ? peer.route.extended(asked.ports[port].peer_port) : asked.route;
}

void PortWriter::failed(std::uint32_t node, std::uint8_t port, const std::string& reason) {
  report_.failed.push_back(fmt::format("{}/{}: {}", to_string(map_.nodes[node].guid()), port, reason));
  map_.nodes[node].unread = true;  // what is known of it may be wrong: the next sweep reads it, whatever it reports
}

// States only advance, and one that is reached is not set again: devices refuse that.
bool PortWriter::has(const PortInfo& present, const PortSetting& setting) {
  if (setting.reregister) return false;
  if (setting.state != PortState::noChange) return present.state >= setting.state && present.link_up();
  return present.lid == setting.lid && present.sm_lid == setting.sm_lid && present.lmc == setting.lmc;
}

void PortWriter::change(std::uint32_t node, std::uint8_t port, const PortSetting& setting, Done done) {
  const DirectedRoute route = route_to_port(map_, node, port);
  const MadExchange::DeviceKey device = node + std::uint64_t{1};
  exchange_.submit(
      device, MadAddress::directed(), directed_smp(route, MadMethod::get, Attribute::portInfo, port),
      [this, node, port, setting, route, device, done = std::move(done)](const MadReply& reply) {
        if (!reply.ok()) return failed(node, port, "does not answer");
        // What was known of the port may be old: an answer to an earlier Set that took effect may have been lost.
        const PortInfo present = read_port_info(attribute_bytes(*reply.mad));
        map_.nodes[node].ports[port].info = present;
        map_.nodes[node].ports[port].read = true;
        if (has(present, setting)) return;
        if (setting.state == PortState::active && present.state == PortState::initialize) {
          fell_back_ = true;  // it was down meanwhile, and is armed first
          return;
        }
        Mad set = directed_smp(route, MadMethod::set, Attribute::portInfo, port);
        std::ranges::copy(port_info_to_set(attribute_bytes(*reply.mad), setting), attribute_space(set).begin());
        exchange_.submit(device, MadAddress::directed(), set, [this, node, port, done](const MadReply& answer) {
          if (answer.silent()) return failed(node, port, "does not answer");
          if (!answer.ok()) return failed(node, port, "refused PortInfo: " + status_text(answer.status));
          // The answer to Set holds the attribute as it is now.
          const PortInfo info = read_port_info(attribute_bytes(*answer.mad));
          map_.nodes[node].ports[port].info = info;
          map_.nodes[node].ports[port].read = true;
          done(info);
        });
      });
}

Result<void> PortWriter::set_lids(std::span<const LidAssignment> lids, Lid sm_lid) {
  for (const LidAssignment& wanted : lids) {
    const auto found = map_.by_guid.find(wanted.device);
    if (found == map_.by_guid.end() || !map_.nodes[found->second].present ||
        wanted.port >= map_.nodes[found->second].ports.size()) {
      report_.failed.push_back(fmt::format("{}/{}: is not in the subnet", to_string(wanted.device), wanted.port));
      continue;
    }
    const std::uint32_t node = found->second;
    const SubnetPort& port = map_.nodes[node].ports[wanted.port];
    if (port.read && port.info.lid == wanted.lid && port.info.lmc == wanted.lmc && port.info.sm_lid == sm_lid) continue;
    PortSetting setting;
    setting.lid = wanted.lid;
    setting.lmc = wanted.lmc;
    setting.sm_lid = sm_lid;
    change(node, wanted.port, setting, [this, node, wanted](const PortInfo& info) {
      if (info.lid != wanted.lid || info.lmc != wanted.lmc) return failed(node, wanted.port, "does not take its LID");
      ++report_.lids_set;
    });
  }
  return exchange_.run();
}

void PortWriter::announce(std::uint32_t node, std::uint8_t port, std::uint8_t level, std::function<void()> taken) {
  PortSetting setting;
  setting.sm_sl = level;
  setting.reregister = true;
  change(node, port, setting, [taken = std::move(taken)](const PortInfo&) { taken(); });
}

void PortWriter::advance(std::uint32_t node, std::uint8_t port, PortState to) {
  const SubnetPort& end = map_.nodes[node].ports[port];
  PortSetting setting;
  setting.state = to;
  if (to == PortState::armed) {
    // Both ends of a link must agree on MTU and lanes before it carries data.
    const PortInfo& peer = map_.nodes[end.peer].ports[end.peer_port].info;
    if (end.info.mtu_capacity != 0 && peer.mtu_capacity != 0) {
      setting.neighbor_mtu = std::min(end.info.mtu_capacity, peer.mtu_capacity);
    }
    if (end.info.vl_capacity != 0 && peer.vl_capacity != 0) {
      setting.operational_vls = std::min(end.info.vl_capacity, peer.vl_capacity);
    }
  }
  change(node, port, setting, [this, node, port, to](const PortInfo& info) {
    // A port arms and activates by itself where its peer was faster.
    if (info.state < to) return failed(node, port, "does not change its state");
    if (to == PortState::active) ++report_.ports_activated;
  });
}

Result<void> PortWriter::activate_links(std::span<const PortRef> unused) {
  const std::set<PortRef> left(unused.begin(), unused.end());
  if (auto advanced = advance_links(left); !advanced) return advanced;
  return std::exchange(fell_back_, false) ? advance_links(left) : Result<void>();
}

Result<void> PortWriter::advance_links(const std::set<PortRef>& unused) {
  const auto is_unused = [&](std::uint32_t node, std::size_t port) {
    return unused.contains({map_.nodes[node].guid(), static_cast<std::uint8_t>(port)});
  };
  for (const auto& [from, to] :
       {std::pair(PortState::initialize, PortState::armed), std::pair(PortState::armed, PortState::active)}) {
    for (std::uint32_t n = 0; n < map_.nodes.size(); ++n) {
      if (!map_.nodes[n].present) continue;
      for (std::size_t p = 1; p < map_.nodes[n].ports.size(); ++p) {
        const SubnetPort& port = map_.nodes[n].ports[p];
        if (port.peer == kNoNode || !port.read || port.info.state != from) continue;
        if (is_unused(n, p) || is_unused(port.peer, port.peer_port)) continue;
        advance(n, static_cast<std::uint8_t>(p), to);
      }
    }
    if (auto ran = exchange_.run(); !ran) return ran;  // all are armed before the first is active
  }
  return {};
}

}  // namespace railweave::fabric::infiniband
