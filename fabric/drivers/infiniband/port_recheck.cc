#include "fabric/drivers/infiniband/port_recheck.h"

#include <algorithm>
#include <cstdint>

namespace railweave::fabric::infiniband {
namespace {

// Where more switches lost a cable without a report, the next sweep finds what else they lost.
constexpr std::size_t kMaxDoubted = 4;

}  // namespace

PortRecheck::PortRecheck(MadPort& port, SubnetMap& map, const ExchangeOptions& options)
    : map_(map), exchange_(port, options.impatient()) {}  // devices behind a dead link are found by the next sweep

Result<bool> PortRecheck::run(std::span<const Guid> switches, std::span<const Guid> gone) {
  for (const Guid guid : switches) {
    const auto found = map_.by_guid.find(guid);
    if (found == map_.by_guid.end() || !map_.nodes[found->second].present || !map_.nodes[found->second].is_switch()) {
      return false;
    }
    if (std::ranges::find(nodes_, found->second) == nodes_.end()) nodes_.push_back(found->second);
  }
  reporting_ = nodes_;
  for (const Guid guid : gone) {
    const auto found = map_.by_guid.find(guid);
    if (found != map_.by_guid.end() && map_.nodes[found->second].is_switch()) doubt(found->second);
  }
  while (!nodes_.empty() || !ends_.empty()) {
    read_nearest();
    if (auto ran = exchange_.run(); !ran) return std::unexpected(ran.error());
    if (!enough_) return false;
    doubt_quiet_peers();
    if (changed_) find_routes(map_);
    if (std::ranges::any_of(nodes_, [this](std::uint32_t node) { return !map_.nodes[node].present; })) return false;
    std::erase_if(ends_, [this](const End& end) { return !map_.nodes[end.first].present; });
  }
  return true;
}

// The nearest first: a dead link at one of them changes the routes to those behind.
void PortRecheck::read_nearest() {
  std::size_t nearest = SIZE_MAX;
  for (const std::uint32_t node : nodes_) nearest = std::min(nearest, hops(node));
  for (const End& end : ends_) nearest = std::min(nearest, hops(end.first));
  std::erase_if(nodes_, [&](std::uint32_t node) {
    if (hops(node) == nearest) read(node);
    return hops(node) == nearest;
  });
  std::erase_if(ends_, [&](const End& end) {
    if (hops(end.first) == nearest) read_end(end);
    return hops(end.first) == nearest;
  });
}

void PortRecheck::read(std::uint32_t node) {
  for (std::size_t port = 1; port < map_.nodes[node].ports.size(); ++port) {
    exchange_.submit(
        node + std::uint64_t{1}, MadAddress::directed(),
        directed_smp(map_.nodes[node].route, MadMethod::get, Attribute::portInfo, static_cast<std::uint32_t>(port)),
        [this, node, port](const MadReply& reply) {
          if (!reply.ok()) {
            enough_ = false;
            return;
          }
          took(node, static_cast<std::uint8_t>(port), read_port_info(attribute_bytes(*reply.mad)));
        });
  }
}

// One that is not answered stays as it was.
void PortRecheck::read_end(End end) {
  exchange_.submit(end.first + std::uint64_t{1}, MadAddress::directed(),
                   directed_smp(map_.nodes[end.first].route, MadMethod::get, Attribute::portInfo, end.second),
                   [this, end](const MadReply& reply) {
                     if (reply.ok()) took(end.first, end.second, read_port_info(attribute_bytes(*reply.mad)));
                   });
}

void PortRecheck::doubt(std::uint32_t node) {
  doubted_.push_back(node);
  for (const SubnetPort& port : map_.nodes[node].ports) {
    if (port.peer == kNoNode || !map_.nodes[port.peer].is_switch() || !map_.nodes[port.peer].present) continue;
    if (std::ranges::find(reporting_, port.peer) == reporting_.end()) ends_.emplace_back(port.peer, port.peer_port);
  }
}

void PortRecheck::doubt_quiet_peers() {
  for (const std::uint32_t node : std::exchange(lost_peers_, {})) {
    const bool is_read =
        std::ranges::find(reporting_, node) != reporting_.end() || std::ranges::find(doubted_, node) != doubted_.end();
    if (!is_read && map_.nodes[node].is_switch() && doubted_.size() < kMaxDoubted) doubt(node);
  }
}

void PortRecheck::took(std::uint32_t node, std::uint8_t port, const PortInfo& info) {
  SubnetPort& at = map_.nodes[node].ports[port];
  const bool was_up = at.peer != kNoNode;
  // A port that trained again may have another cable by now.
  const bool has_trained = at.read && info.state == PortState::initialize && at.info.state > PortState::initialize;
  if (info.link_up() && (!was_up || has_trained)) enough_ = false;
  changed_ = changed_ || !at.info.same_link(info);
  at.info = info;
  at.read = true;
  if (info.link_up() || !was_up) return;
  lost_peers_.push_back(at.peer);
  SubnetPort& other = map_.nodes[at.peer].ports[at.peer_port];
  other.peer = kNoNode;
  at.peer = kNoNode;
  changed_ = true;
}

void find_routes(SubnetMap& map) {
  for (auto& node : map.nodes) {
    if (node.present) node.present = false;
  }
  if (map.here == kNoNode) return;
  std::vector<std::uint32_t> queue{map.here};
  map.nodes[map.here].present = true;
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const SubnetNode& from = map.nodes[queue[i]];
    if (!from.route.can_extend()) continue;
    for (std::size_t port = 1; port < from.ports.size(); ++port) {
      // Adapters forward nothing; the local one sends by the local port only.
      if (!from.is_switch() && (queue[i] != map.here || port != map.here_port)) continue;
      const std::uint32_t peer = from.ports[port].peer;
      if (peer == kNoNode || map.nodes[peer].present) continue;
      SubnetNode& to = map.nodes[peer];
      to.present = true;
      to.route = from.route.extended(static_cast<std::uint8_t>(port));
      queue.push_back(peer);
    }
  }
}

}  // namespace railweave::fabric::infiniband
