#include "fabric/drivers/opensm/routing/cabling.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "fabric/topology/topology_builder.h"

namespace railweave::fabric::opensm {
namespace {

constexpr std::size_t kLids = 0x10000;

std::size_t lid_count(unsigned lmc) { return std::size_t{1} << std::min(lmc, 7U); }

// The same device, ports and cables, whatever is healthy.
bool same_cabling(const CabledDevice& a, const CabledDevice& b) {
  const auto same_port = [](CabledPort x, const CabledPort& y) {
    x.healthy = y.healthy;
    return x == y;
  };
  return a.type == b.type && a.description == b.description && a.lid == b.lid && a.lmc == b.lmc &&
         std::ranges::equal(a.ports, b.ports, same_port);
}

class Learning {
 public:
  explicit Learning(std::map<Guid, CabledDevice>& known) : known_(known) {}

  bool run(const Cabling& seen) {
    for (auto& [guid, device] : known_) {
      for (CabledPort& port : device.ports) port.healthy = false;
    }
    for (const auto& [guid, device] : seen.devices) take(guid, device);
    drop_stale_ends();
    clear_taken_lids(seen);
    return changed_;
  }

 private:
  void take(Guid guid, const CabledDevice& device) {
    const auto [at, is_new] = known_.try_emplace(guid, device);
    if (is_new) {
      changed_ = true;
      return;
    }
    CabledDevice merged = device;
    const std::size_t both = std::min(merged.ports.size(), at->second.ports.size());
    for (std::size_t p = 0; p < both; ++p) {
      CabledPort& port = merged.ports[p];
      const CabledPort& before = at->second.ports[p];
      if (port.peer.known()) continue;
      // A cable that is not seen, of a device that is: kept, with what belongs to it.
      port.peer = before.peer;
      port.peer_port = before.peer_port;
      port.link = before.link;
      port.healthy = false;
      if (!port.guid.known()) port.guid = before.guid;
      if (port.lid == 0) {
        port.lid = before.lid;
        port.lmc = before.lmc;
      }
    }
    changed_ = changed_ || !same_cabling(merged, at->second);
    at->second = std::move(merged);
  }

  // Ends of remembered cables whose other end has another cable now.
  void drop_stale_ends() {
    for (auto& [guid, device] : known_) {
      for (std::size_t p = 0; p < device.ports.size(); ++p) {
        CabledPort& port = device.ports[p];
        if (!port.peer.known() || port.healthy) continue;
        const auto peer = known_.find(port.peer);
        if (peer != known_.end() && port.peer_port >= 1 && port.peer_port <= peer->second.ports.size()) {
          const CabledPort& back = peer->second.ports[port.peer_port - 1U];
          if (back.peer == guid && back.peer_port == p + 1) continue;
        }
        port.peer = {};
        port.peer_port = 0;
        port.link = {};
        changed_ = true;
      }
    }
  }

  // LIDs that OpenSM gave to other devices since.
  void clear_taken_lids(const Cabling& seen) {
    std::vector<Guid> holder(kLids);  // of each LID that is seen
    const auto each_lid = [](auto& devices, auto visit) {
      for (auto& [guid, device] : devices) {
        visit(guid, device.lid, device.lmc);
        for (auto& port : device.ports) visit(guid, port.lid, port.lmc);
      }
    };
    each_lid(seen.devices, [&](Guid guid, Lid lid, std::uint8_t lmc) {
      for (std::size_t i = lid; lid != 0 && i < std::min(kLids, lid + lid_count(lmc)); ++i) holder[i] = guid;
    });
    each_lid(known_, [&](Guid guid, Lid& lid, std::uint8_t lmc) {
      for (std::size_t i = lid; lid != 0 && i < std::min(kLids, lid + lid_count(lmc)); ++i) {
        if (!holder[i].known() || holder[i] == guid) continue;
        lid = 0;
        changed_ = true;
      }
    });
  }

  std::map<Guid, CabledDevice>& known_;
  bool changed_ = false;
};

}  // namespace

bool Cabling::learn(const Cabling& seen) { return Learning(devices).run(seen); }

Result<Topology> Cabling::topology(const ReadOptions& options) const {
  SubnetDraft draft;
  std::unordered_map<Guid, std::uint32_t> index;
  for (const auto& [guid, device] : devices) {
    SubnetDraft::Device described{.type = device.type,
                                  .guid = guid,
                                  .ports = static_cast<unsigned>(device.ports.size()),
                                  .description = device.description,
                                  .lid = device.lid,
                                  .lmc = device.lmc};
    described.has_section = true;
    index.emplace(guid, draft.add_device(described));
  }
  for (const auto& [guid, device] : devices) {
    for (std::size_t p = 0; p < device.ports.size(); ++p) {
      const CabledPort& port = device.ports[p];
      const auto peer = devices.find(port.peer);
      if (peer == devices.end() || port.peer_port < 1 || port.peer_port > peer->second.ports.size()) continue;
      const CabledPort& back = peer->second.ports[port.peer_port - 1U];
      const bool to_switch = peer->second.type == NetlistDevice::network_switch;
      draft.add_cable_end({.device = index.at(guid),
                           .port = static_cast<unsigned>(p + 1),
                           .peer = index.at(port.peer),
                           .peer_port = port.peer_port,
                           .guid = port.guid,
                           .peer_guid = back.guid,
                           .lid = port.lid,
                           .lmc = port.lmc,
                           .peer_lid = to_switch ? peer->second.lid : back.lid,
                           .link = port.link});
    }
  }
  if (draft.over_limit()) return std::unexpected(SubnetDraft::over_limit_error(options));
  TopologyBuilder builder;
  if (auto moved = std::move(draft).move_into(options, builder); !moved) return std::unexpected(moved.error());
  return std::move(builder).build();
}

std::vector<LinkName> Cabling::broken() const {
  std::vector<LinkName> links;
  for (const auto& [guid, device] : devices) {
    for (std::size_t p = 0; p < device.ports.size(); ++p) {
      const CabledPort& port = device.ports[p];
      if (!port.peer.known() || port.healthy) continue;
      LinkName link{{guid, static_cast<unsigned>(p + 1)}, {port.peer, port.peer_port}};
      if (link.b < link.a) std::swap(link.a, link.b);
      links.push_back(link);
    }
  }
  std::ranges::sort(links);
  links.erase(std::ranges::unique(links).begin(), links.end());
  return links;
}

}  // namespace railweave::fabric::opensm
