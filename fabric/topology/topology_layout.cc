#include "fabric/topology/topology_layout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/check.h"
#include "fabric/base/natural_order.h"
#include "fabric/topology/rails.h"
#include "fabric/topology/tiers.h"

namespace railweave::fabric {
namespace {

std::vector<std::uint32_t> identity(std::size_t size) {
  std::vector<std::uint32_t> order(size);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

std::vector<std::uint32_t> inverse(const std::vector<std::uint32_t>& order) {
  std::vector<std::uint32_t> result(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) result[order[i]] = i;
  return result;
}

// Whether what the two ends report of a link contradicts. An end that does not know the rate or the width cannot.
bool differ(const LinkSpec& a, const LinkSpec& b) {
  const bool rates = a.rate != RateMbps() && b.rate != RateMbps() && a.rate != b.rate;
  const bool widths = a.width != 0 && b.width != 0 && a.width != b.width;
  return rates || widths || a.kind != b.kind;
}

// The slower report, completed by the other.
LinkSpec agreed(const LinkSpec& a, const LinkSpec& b) {
  const bool b_is_it = a.rate == RateMbps() || (b.rate != RateMbps() && b.rate < a.rate);
  LinkSpec spec = b_is_it ? b : a;
  const LinkSpec& other = b_is_it ? a : b;
  if (spec.speed == LinkSpeed::unknown) spec.speed = other.speed;
  if (spec.width == 0) spec.width = other.width;
  if (spec.cable_length_m == 0) spec.cable_length_m = other.cable_length_m;
  return spec;
}

std::uint32_t rate_column(RateMbps rate) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(rate.value(), 0, UINT32_MAX));
}

}  // namespace

Topology TopologyLayout::lay_out() {
  name_subnets();
  spread_sites();
  lay_out_names();
  lay_out_sites();
  lay_out_hosts();
  lay_out_switches();
  lay_out_hcas();
  lay_out_gpus();
  lay_out_domains();
  lay_out_ports();
  lay_out_links();
  topology_.names_ = std::move(draft_.names_).take();
  lay_out_lookups();
  topology_.source_findings_ = std::move(draft_.findings_);
  derive();
  return std::move(topology_);
}

void TopologyLayout::name_subnets() {
  auto& switches = draft_.switches_;
  std::vector<std::uint32_t> named;
  for (std::uint32_t i = 0; i < switches.size(); ++i) {
    if (switches[i].subnet) named.push_back(i);
  }
  if (named.size() == switches.size()) return;
  for (std::size_t next = 0; next < named.size(); ++next) {
    const auto& sw = switches[named[next]];
    for (std::uint32_t port = sw.first_port; port < sw.first_port + sw.ports; ++port) {
      const auto peer = draft_.ports_[port].peer;
      if (peer == UINT32_MAX) continue;
      const auto [device, is_switch] = draft_.port_devices_[peer];
      if (!is_switch || switches[device].subnet) continue;
      switches[device].subnet = sw.subnet;
      named.push_back(device);
    }
  }
  if (named.size() == switches.size()) return;
  const SubnetId fallback = draft_.subnet("default");
  for (auto& sw : switches) {
    if (!sw.subnet) sw.subnet = fallback;
  }
}

void TopologyLayout::lay_out_names() {
  const auto& names = draft_.names_;
  auto racks = identity(draft_.racks_.size());
  std::ranges::sort(racks, NaturalLess{}, [&](auto i) { return names[draft_.racks_[i]]; });
  rack_of_ = inverse(racks);
  for (const auto i : racks) topology_.rack_name_.push_back(draft_.racks_[i]);

  auto subnets = identity(draft_.subnets_.size());
  std::ranges::sort(subnets, NaturalLess{}, [&](auto i) { return names[draft_.subnets_[i].name]; });
  subnet_of_ = inverse(subnets);
  for (const auto i : subnets) {
    topology_.subnet_name_.push_back(draft_.subnets_[i].name);
    topology_.subnet_kind_.push_back(draft_.subnets_[i].kind);
  }
  topology_.rail_name_ = draft_.rails_;
}

void TopologyLayout::lay_out_hosts() {
  hosts_ = identity(draft_.hosts_.size());
  std::ranges::sort(hosts_, NaturalLess{}, [&](auto i) { return draft_.names_[draft_.hosts_[i].name]; });
  host_of_ = inverse(hosts_);
  topology_.host_.first_label.push_back(0);
  for (const auto i : hosts_) {
    auto& host = draft_.hosts_[i];
    topology_.host_.name.push_back(host.name);
    topology_.host_.kind.push_back(host.kind);
    topology_.host_.rack.push_back(host.rack ? RackId(rack_of_[host.rack.index()]) : RackId());
    topology_.host_.site.push_back(host.site ? SiteId(site_of_[host.site.index()]) : SiteId());
    std::ranges::sort(host.labels, {}, [&](const auto& label) { return draft_.names_[label.key]; });
    topology_.host_.labels.insert(topology_.host_.labels.end(), host.labels.begin(), host.labels.end());
    topology_.host_.first_label.push_back(static_cast<std::uint32_t>(topology_.host_.labels.size()));
  }
}

// By GUID, then name.
void TopologyLayout::sort_switches() {
  std::ranges::sort(switches_, [&](auto i, auto j) {
    const auto& a = draft_.switches_[i];
    const auto& b = draft_.switches_[j];
    if (a.guid != b.guid) return a.guid < b.guid;
    if (a.name != b.name) return draft_.names_[a.name] < draft_.names_[b.name];
    return i < j;
  });
}

void TopologyLayout::make_switch_names_unique() {
  std::unordered_map<NameRef, int> uses;
  for (const auto& sw : draft_.switches_) ++uses[sw.name];
  std::unordered_map<NameRef, int> renamed;
  for (const auto i : switches_) {
    auto& sw = draft_.switches_[i];
    if (uses[sw.name] < 2) continue;
    const std::string plain(draft_.names_[sw.name]);
    std::string unique = fmt::format("{}@{}", plain, to_string(sw.guid));
    const int nth = ++renamed[draft_.names_.intern(unique)];
    if (nth > 1) unique += fmt::format("#{}", nth);  // the GUID is shared too
    draft_.add_finding({"duplicateName",
                        Severity::warning,
                        "several switches are called '" + plain + "'; this one is renamed to '" + unique + "'",
                        {unique}});
    sw.name = draft_.names_.intern(unique);
  }
}

void TopologyLayout::lay_out_switches() {
  switches_ = identity(draft_.switches_.size());
  sort_switches();
  make_switch_names_unique();
  sort_switches();  // by the new names, so that reading an exported fabric gives the same order
  switch_of_ = inverse(switches_);
  Guid last;
  for (const auto i : switches_) {
    const auto& sw = draft_.switches_[i];
    if (sw.guid.known() && sw.guid == last) {
      draft_.add_finding(
          {"duplicateGuid",
           Severity::error,
           fmt::format("two switches have the GUID {}; one of them must be replaced", to_string(sw.guid)),
           {to_string(sw.guid)}});
    }
    last = sw.guid;
    topology_.switch_.guid.push_back(sw.guid);
    topology_.switch_.name.push_back(sw.name);
    topology_.switch_.description.push_back(sw.description);
    topology_.switch_.group.push_back(sw.group);
    topology_.switch_.subnet.emplace_back(subnet_of_[sw.subnet.index()]);
    topology_.switch_.rack.push_back(sw.rack ? RackId(rack_of_[sw.rack.index()]) : RackId());
    topology_.switch_.site.push_back(sw.site ? SiteId(site_of_[sw.site.index()]) : SiteId());
    topology_.switch_.lid.push_back(sw.lid);
    topology_.switch_.lmc.push_back(sw.lmc);
  }
}

void TopologyLayout::lay_out_hcas() {
  const auto host_rank = [&](const TopologyBuilder::Hca& hca) {
    return hca.host ? host_of_[hca.host.index()] : UINT32_MAX;
  };
  hcas_ = identity(draft_.hcas_.size());
  std::ranges::sort(hcas_, [&](auto i, auto j) {
    const auto& a = draft_.hcas_[i];
    const auto& b = draft_.hcas_[j];
    if (host_rank(a) != host_rank(b)) return host_rank(a) < host_rank(b);
    if (a.host && a.device != b.device) {
      return natural_compare(draft_.names_[a.device], draft_.names_[b.device]) < 0;
    }
    if (a.guid != b.guid) return a.guid < b.guid;
    return i < j;
  });
  hca_of_ = inverse(hcas_);
  auto& first = topology_.host_.first_hca;
  first.assign(hosts_.size() + 1, 0);
  for (const auto i : hcas_) {
    const auto& hca = draft_.hcas_[i];
    if (hca.host) ++first[host_rank(hca) + 1];
    topology_.hca_.guid.push_back(hca.guid);
    topology_.hca_.kind.push_back(hca.kind);
    topology_.hca_.host.push_back(hca.host ? HostId(host_rank(hca)) : HostId());
    topology_.hca_.device.push_back(hca.device);
    topology_.hca_.description.push_back(hca.description);
  }
  std::partial_sum(first.begin(), first.end(), first.begin());
}

void TopologyLayout::lay_out_gpus() {
  gpu_of_.resize(draft_.gpus_.size());
  topology_.host_.first_gpu.push_back(0);
  for (const auto i : hosts_) {
    for (const auto gpu : draft_.hosts_[i].gpus) {
      gpu_of_[gpu] = static_cast<std::uint32_t>(gpus_.size());
      gpus_.push_back(gpu);
    }
    topology_.host_.first_gpu.push_back(static_cast<std::uint32_t>(gpus_.size()));
  }
  topology_.gpu_.first_nic.push_back(0);
  for (const auto g : gpus_) {
    const auto& gpu = draft_.gpus_[g];
    topology_.gpu_.host.emplace_back(host_of_[gpu.host.index()]);
    for (const auto nic : gpu.nics) topology_.gpu_.nics.emplace_back(hca_of_[nic.index()]);
    topology_.gpu_.first_nic.push_back(static_cast<std::uint32_t>(topology_.gpu_.nics.size()));
  }
}

void TopologyLayout::lay_out_domains() {
  std::vector<bool> used(draft_.domains_.size());
  for (const auto& gpu : draft_.gpus_) {
    if (gpu.domain) used[gpu.domain.index()] = true;
  }
  domains_ = identity(draft_.domains_.size());
  std::erase_if(domains_, [&](auto i) { return !used[i]; });
  std::ranges::sort(domains_, NaturalLess{}, [&](auto i) { return draft_.names_[draft_.domains_[i].name]; });
  domain_of_.assign(draft_.domains_.size(), UINT32_MAX);
  for (std::uint32_t i = 0; i < domains_.size(); ++i) domain_of_[domains_[i]] = i;
  for (const auto d : domains_) {
    topology_.domain_.name.push_back(draft_.domains_[d].name);
    topology_.domain_.cluster_uuid.push_back(draft_.domains_[d].cluster_uuid);
    topology_.domain_.rate_mbps.push_back(rate_column(draft_.domains_[d].rate_per_gpu));
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> cliques;  // (domain, number)
  std::vector<std::vector<GpuId>> members(domains_.size());
  for (std::uint32_t g = 0; g < gpus_.size(); ++g) {
    const auto& gpu = draft_.gpus_[gpus_[g]];
    const auto domain = gpu.domain ? domain_of_[gpu.domain.index()] : UINT32_MAX;
    topology_.gpu_.domain.push_back(gpu.domain ? NvlinkDomainId(domain) : NvlinkDomainId());
    if (!gpu.domain) continue;
    members[domain].emplace_back(g);
    if (gpu.clique != TopologyBuilder::kNoClique) cliques.emplace(std::pair(domain, gpu.clique), 0);
  }
  for (auto& [key, index] : cliques) {
    index = static_cast<std::uint32_t>(topology_.clique_.domain.size());
    topology_.clique_.domain.emplace_back(key.first);
    topology_.clique_.number.push_back(key.second);
  }
  for (std::uint32_t g = 0; g < gpus_.size(); ++g) {
    const auto& gpu = draft_.gpus_[gpus_[g]];
    const bool known = gpu.domain && gpu.clique != TopologyBuilder::kNoClique;
    topology_.gpu_.clique.push_back(known ? CliqueId(cliques.at({domain_of_[gpu.domain.index()], gpu.clique}))
                                          : CliqueId());
  }
  topology_.domain_.first_gpu.push_back(0);
  for (const auto& gpus : members) {
    topology_.domain_.gpus.insert(topology_.domain_.gpus.end(), gpus.begin(), gpus.end());
    topology_.domain_.first_gpu.push_back(static_cast<std::uint32_t>(topology_.domain_.gpus.size()));
  }
}

void TopologyLayout::lay_out_ports() {
  port_of_.assign(draft_.ports_.size(), UINT32_MAX);
  auto& owner = topology_.port_.owner;
  const auto place = [&](std::uint32_t device, std::uint32_t first_draft, std::uint32_t count) {
    for (std::uint32_t p = 0; p < count; ++p) {
      port_of_[first_draft + p] = static_cast<std::uint32_t>(owner.size());
      owner.push_back(device);
    }
  };
  for (std::uint32_t s = 0; s < switches_.size(); ++s) {
    topology_.switch_.first_port.push_back(static_cast<std::uint32_t>(owner.size()));
    place(s, draft_.switches_[switches_[s]].first_port, draft_.switches_[switches_[s]].ports);
  }
  topology_.switch_.first_port.push_back(static_cast<std::uint32_t>(owner.size()));
  for (std::uint32_t h = 0; h < hcas_.size(); ++h) {
    topology_.hca_.first_port.push_back(static_cast<std::uint32_t>(owner.size()));
    const auto& hca = draft_.hcas_[hcas_[h]];
    place(h, hca.first_port, hca.ports);
    for (std::uint32_t p = 0; p < hca.ports; ++p) {
      const auto& port = draft_.ports_[hca.first_port + p].hca;
      topology_.hca_port_.guid.push_back(port.guid.known() ? port.guid : Guid());
      topology_.hca_port_.lid.push_back(port.lid);
      topology_.hca_port_.lmc.push_back(port.lmc);
      topology_.hca_port_.rail.push_back(port.rail);
    }
  }
  topology_.hca_.first_port.push_back(static_cast<std::uint32_t>(owner.size()));
  for (std::uint32_t g = 0; g < gpus_.size(); ++g) {
    topology_.gpu_.first_port.push_back(static_cast<std::uint32_t>(owner.size()));
    if (topology_.gpu_.domain[g]) owner.push_back(g);
  }
  topology_.gpu_.first_port.push_back(static_cast<std::uint32_t>(owner.size()));
  for (std::uint32_t d = 0; d < domains_.size(); ++d) {
    topology_.domain_.first_port.push_back(static_cast<std::uint32_t>(owner.size()));
    owner.insert(owner.end(), topology_.domain_.first_gpu[d + 1] - topology_.domain_.first_gpu[d], d);
  }
  topology_.domain_.first_port.push_back(static_cast<std::uint32_t>(owner.size()));
  topology_.port_.peer.assign(owner.size(), PortId());
  topology_.port_.link.assign(owner.size(), LinkId());
}

void TopologyLayout::add_link(PortId a, PortId b, const LinkSpec& spec) {
  if (b < a) std::swap(a, b);
  const LinkId link(topology_.link_.a.size());
  topology_.link_.a.push_back(a);
  topology_.link_.b.push_back(b);
  topology_.link_.kind.push_back(spec.kind);
  topology_.link_.speed.push_back(spec.speed);
  topology_.link_.width.push_back(spec.width);
  topology_.link_.rate_mbps.push_back(rate_column(spec.rate));
  topology_.link_.cable_length_m.push_back(spec.cable_length_m);
  topology_.port_.peer[a.index()] = b;
  topology_.port_.peer[b.index()] = a;
  topology_.port_.link[a.index()] = topology_.port_.link[b.index()] = link;
}

void TopologyLayout::lay_out_links() {
  auto& ports = draft_.ports_;
  // Mutual claims first, so that a one-sided claim never takes a port from a cable that both ends report.
  std::vector<std::uint32_t> by_final(ports.size());
  for (std::uint32_t p = 0; p < ports.size(); ++p) by_final[port_of_[p]] = p;
  for (const bool mutual : {true, false}) {
    for (const auto p : by_final) {
      const auto q = ports[p].peer;
      if (q == UINT32_MAX || topology_.port_.link[port_of_[p]].valid()) continue;
      const bool both = ports[q].peer == p;
      if (both != mutual) continue;
      const PortId from(port_of_[p]);
      const PortId to(port_of_[q]);
      if (!both && (ports[q].peer != UINT32_MAX || topology_.port_.link[to.index()].valid())) {
        draft_.add_finding({"asymmetricLink",
                            Severity::error,
                            draft_text(p) + " names " + draft_text(q) +
                                " as its peer, but that port is cabled to another port; the link is left out",
                            {draft_text(p), draft_text(q)}});
        continue;
      }
      if (!both) {
        draft_.add_finding({"danglingLink",
                            Severity::warning,
                            "the link " + draft_text(p) + "--" + draft_text(q) + " is reported by its first end only",
                            {draft_text(p), draft_text(q)}});
      } else if (differ(ports[p].link, ports[q].link)) {
        draft_.add_finding({"linkEndsDiffer",
                            Severity::warning,
                            "the ends of the link " + draft_text(p) + "--" + draft_text(q) +
                                " report different kinds, widths or speeds; the slower is used",
                            {draft_text(p), draft_text(q)}});
      }
      add_link(from, to, both ? agreed(ports[p].link, ports[q].link) : ports[p].link);
    }
  }
  order_links();
  for (std::uint32_t d = 0; d < domains_.size(); ++d) {
    std::size_t port = topology_.domain_.first_port[d];
    const LinkSpec spec = nvlink_link(0, RateMbps(topology_.domain_.rate_mbps[d]));
    for (std::uint32_t i = topology_.domain_.first_gpu[d]; i < topology_.domain_.first_gpu[d + 1]; ++i, ++port) {
      add_link(PortId(topology_.gpu_.first_port[topology_.domain_.gpus[i].index()]), PortId(port), spec);
    }
  }
}

// In order of their smaller port, so that one-sided links, which were added last, are where a source that knows both
// ends would have put them.
void TopologyLayout::order_links() {
  if (std::ranges::is_sorted(topology_.link_.a)) return;
  auto order = identity(topology_.link_.a.size());
  std::ranges::sort(order, {}, [&](auto link) { return topology_.link_.a[link]; });
  const auto reorder = [&](auto& column) {
    auto sorted = column;
    for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = column[order[i]];
    column = std::move(sorted);
  };
  reorder(topology_.link_.a);
  reorder(topology_.link_.b);
  reorder(topology_.link_.kind);
  reorder(topology_.link_.speed);
  reorder(topology_.link_.width);
  reorder(topology_.link_.rate_mbps);
  reorder(topology_.link_.cable_length_m);
  for (std::size_t i = 0; i < order.size(); ++i) {
    topology_.port_.link[topology_.link_.a[i].index()] = LinkId(i);
    topology_.port_.link[topology_.link_.b[i].index()] = LinkId(i);
  }
}

void TopologyLayout::lay_out_lookups() {
  const auto& topology = topology_;
  for (const auto host : topology.hosts()) topology_.hosts_by_name_.push_back(host);
  std::ranges::sort(topology_.hosts_by_name_, {}, [&](HostId host) { return topology.name(host); });
  for (const auto sw : topology.switches()) topology_.switches_by_name_.push_back(sw);
  std::ranges::sort(topology_.switches_by_name_, {}, [&](SwitchId sw) { return topology.name(sw); });
  auto& by_guid = topology_.hcas_by_guid_;
  for (const auto hca : topology.hcas()) {
    if (topology.guid(hca).known()) by_guid.emplace_back(topology.guid(hca), hca);
    for (const auto port : topology.ports(hca)) {
      const Guid guid = topology.port_guid(port);
      if (guid.known() && guid != topology.guid(hca)) by_guid.emplace_back(guid, hca);
    }
  }
  std::ranges::sort(by_guid);
  for (std::size_t i = 0; i < by_guid.size(); ++i) {
    const Guid guid = by_guid[i].first;
    if (i > 0 && guid == by_guid[i - 1].first) {
      draft_.add_finding(
          {"duplicateGuid",
           Severity::error,
           fmt::format("two adapters or their ports share the GUID {}; one of them must be replaced", to_string(guid)),
           {to_string(guid)}});
    } else if (topology.find_switch(guid)) {
      draft_.add_finding(
          {"duplicateGuid",
           Severity::error,
           fmt::format("a switch and an adapter share the GUID {}; one of them must be replaced", to_string(guid)),
           {to_string(guid)}});
    }
  }
}

void TopologyLayout::derive() {
  topology_.switch_.tier = compute_tiers(topology_);
  const auto named = std::ranges::any_of(topology_.hca_port_.rail, [](RailId rail) { return rail.valid(); });
  if (named) return;
  RailAssignment inferred = infer_rails(topology_);
  topology_.rails_inferred_ = !inferred.names.empty();
  topology_.rail_confidence_ = inferred.confidence;
  topology_.hca_port_.rail = std::move(inferred.rail_of_port);
  StringInterner names(std::move(topology_.names_));
  topology_.rail_name_.clear();
  for (const auto& name : inferred.names) topology_.rail_name_.push_back(names.intern(name));
  topology_.names_ = std::move(names).take();
}

}  // namespace railweave::fabric
