// Sites in the layout of a topology: which hosts and switches are at each, and the links between them.
#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "fabric/base/natural_order.h"
#include "fabric/topology/topology_layout.h"

namespace railweave::fabric {

// Breadth first over cables from every device that names its site: naming the site of one switch is enough, and a
// host that is discovered later gets the site of its switches.
void TopologyLayout::spread_sites() {
  if (draft_.sites_.empty()) return;
  auto& hosts = draft_.hosts_;
  auto& switches = draft_.switches_;
  std::vector<std::vector<std::uint32_t>> adapters(hosts.size());
  for (std::uint32_t i = 0; i < draft_.hcas_.size(); ++i) {
    if (draft_.hcas_[i].host) adapters[draft_.hcas_[i].host.index()].push_back(i);
  }
  std::vector<std::pair<std::uint32_t, bool>> open;  // (host or switch, is a switch)
  for (std::uint32_t i = 0; i < switches.size(); ++i) {
    if (switches[i].site) open.emplace_back(i, true);
  }
  for (std::uint32_t i = 0; i < hosts.size(); ++i) {
    if (hosts[i].site) open.emplace_back(i, false);
  }
  const auto visit = [&](std::uint32_t first_port, std::uint32_t ports, SiteId site) {
    for (std::uint32_t port = first_port; port < first_port + ports; ++port) {
      const auto peer = draft_.ports_[port].peer;
      if (peer == UINT32_MAX) continue;
      const auto [device, is_switch] = draft_.port_devices_[peer];
      const HostDraft host = is_switch ? HostDraft() : draft_.hcas_[device].host;
      if (!is_switch && !host) continue;
      SiteId& theirs = is_switch ? switches[device].site : hosts[host.index()].site;
      if (theirs) continue;
      theirs = site;
      open.emplace_back(is_switch ? device : host.value(), is_switch);
    }
  };
  for (std::size_t next = 0; next < open.size(); ++next) {
    const auto [device, is_switch] = open[next];
    if (is_switch) {
      visit(switches[device].first_port, switches[device].ports, switches[device].site);
      continue;
    }
    for (const auto i : adapters[device]) visit(draft_.hcas_[i].first_port, draft_.hcas_[i].ports, hosts[device].site);
  }
}

void TopologyLayout::lay_out_sites() {
  Order order(draft_.sites_.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, NaturalLess{}, [&](auto i) { return draft_.names_[draft_.sites_[i]]; });
  site_of_.resize(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    site_of_[order[i]] = i;
    topology_.site_name_.push_back(draft_.sites_[order[i]]);
  }
  auto& links = topology_.site_links_;
  links = draft_.site_links_;
  for (SiteLink& link : links) {
    link.a = SiteId(site_of_[link.a.index()]);
    link.b = SiteId(site_of_[link.b.index()]);
    if (link.b < link.a) std::swap(link.a, link.b);
  }
  std::ranges::sort(links, {}, [](const SiteLink& link) {
    return std::tuple(link.a, link.b, link.length_km, link.latency_us, link.rate, link.links);
  });
}

}  // namespace railweave::fabric
