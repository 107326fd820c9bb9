#include "fabric/topology/topology_builder.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/check.h"
#include "fabric/topology/topology_layout.h"

namespace railweave::fabric {
namespace {

// Gets or creates the entry of that name in a table found through an index.
template <class Make>
std::uint32_t by_name(std::unordered_map<NameRef, std::uint32_t>& index, NameRef name, std::size_t size, Make make) {
  const auto [at, added] = index.try_emplace(name, static_cast<std::uint32_t>(size));
  if (added) make();
  return at->second;
}

}  // namespace

SubnetId TopologyBuilder::subnet(std::string_view name, SubnetKind kind) {
  const NameRef ref = names_.intern(name);
  const SubnetId id(by_name(subnet_by_name_, ref, subnets_.size(), [&] { subnets_.push_back({ref, kind}); }));
  if (subnets_[id.index()].kind == SubnetKind::unknown) subnets_[id.index()].kind = kind;
  return id;
}

RackId TopologyBuilder::rack(std::string_view name) {
  const NameRef ref = names_.intern(name);
  return RackId(by_name(rack_by_name_, ref, racks_.size(), [&] { racks_.push_back(ref); }));
}

RailId TopologyBuilder::rail(std::string_view name) {
  const NameRef ref = names_.intern(name);
  return RailId(by_name(rail_by_name_, ref, rails_.size(), [&] { rails_.push_back(ref); }));
}

SiteId TopologyBuilder::site(std::string_view name) {
  const NameRef ref = names_.intern(name);
  if (sites_.size() >= kMaxSites && !site_by_name_.contains(ref)) {
    refuse("sites");
    return SiteId(0);
  }
  return SiteId(by_name(site_by_name_, ref, sites_.size(), [&] { sites_.push_back(ref); }));
}

void TopologyBuilder::join_sites(const SiteLink& link) {
  RAILWEAVE_CHECK(link.a.index() < sites_.size() && link.b.index() < sites_.size(), "sites are of this builder");
  if (link.a == link.b) {
    const std::string name(names_[sites_[link.a.index()]]);
    add_finding({"siteLinkToItself",
                 Severity::warning,
                 "a link joins the site " + name + " to itself; the link is left out",
                 {name}});
    return;
  }
  if (site_links_.size() >= kMaxSiteLinks) return refuse("links between sites");
  site_links_.push_back(link);
}

HostDraft TopologyBuilder::host(std::string_view name, HostKind kind) {
  const NameRef ref = names_.intern(name);
  if (hosts_.size() >= kMaxHosts && !host_by_name_.contains(ref)) {
    refuse("hosts");
    return HostDraft(0);
  }
  return HostDraft(by_name(host_by_name_, ref, hosts_.size(), [&] { hosts_.push_back({ref, kind, {}, {}, {}, {}}); }));
}

HostDraft TopologyBuilder::find_host(std::string_view name) const {
  const auto ref = names_.find(name);
  const auto found = ref ? host_by_name_.find(*ref) : host_by_name_.end();
  return found == host_by_name_.end() ? HostDraft() : HostDraft(found->second);
}

TopologyBuilder::Host& TopologyBuilder::at(HostDraft host) {
  RAILWEAVE_CHECK(host.index() < hosts_.size(), "a draft is used with the builder that gave it");
  return hosts_[host.index()];
}

TopologyBuilder::Gpu& TopologyBuilder::at(GpuDraft gpu) {
  RAILWEAVE_CHECK(gpu.index() < gpus_.size(), "a draft is used with the builder that gave it");
  return gpus_[gpu.index()];
}

void TopologyBuilder::set_rack(HostDraft host, RackId rack) { at(host).rack = rack; }
void TopologyBuilder::set_site(HostDraft host, SiteId site) { at(host).site = site; }
void TopologyBuilder::set_kind(HostDraft host, HostKind kind) { at(host).kind = kind; }

void TopologyBuilder::add_label(HostDraft host, std::string_view key, std::string_view value) {
  auto& labels = at(host).labels;
  const NameRef key_ref = names_.intern(key);
  const NameRef value_ref = names_.intern(value);
  for (auto& label : labels) {
    if (label.key == key_ref) {
      label.value = value_ref;
      return;
    }
  }
  if (labels.size() >= kMaxLabelsPerHost) {
    refuse("labels of one host");
    return;
  }
  labels.push_back({key_ref, value_ref});
}

std::uint32_t TopologyBuilder::add_ports(unsigned count) {
  if (count > kMaxPortsPerDevice) refuse("ports of one device");
  if (ports_.size() + count > kMaxPorts) refuse("ports");
  const auto first = static_cast<std::uint32_t>(ports_.size());
  if (over_limit_.empty()) ports_.resize(ports_.size() + count);
  return first;
}

SwitchDraft TopologyBuilder::add_switch(const SwitchSpec& spec) {
  if (switches_.size() >= kMaxSwitches) {
    refuse("switches");
    return SwitchDraft(0);
  }
  const SwitchDraft draft(switches_.size());
  const std::uint32_t first = add_ports(spec.ports);
  port_devices_.resize(ports_.size(), {draft.value(), true});
  const NameRef name = names_.intern(spec.name.empty() ? std::string_view(to_string(spec.guid)) : spec.name);
  const NameRef description = spec.description.empty() ? name : names_.intern(spec.description);
  const auto port_count = static_cast<std::uint32_t>(ports_.size()) - first;
  switches_.push_back({spec.guid, name, description, names_.intern(spec.group), spec.subnet, spec.rack, spec.lid,
                       spec.lmc, first, port_count, spec.site});
  return draft;
}

HcaDraft TopologyBuilder::add_hca(const HcaSpec& spec) {
  if (hcas_.size() >= kMaxHcas) {
    refuse("adapters");
    return HcaDraft(0);
  }
  const HcaDraft draft(hcas_.size());
  const std::uint32_t first = add_ports(spec.ports);
  port_devices_.resize(ports_.size(), {draft.value(), false});
  const auto port_count = static_cast<std::uint32_t>(ports_.size()) - first;
  hcas_.push_back({spec.guid, spec.kind, spec.host, names_.intern(spec.device), names_.intern(spec.description), first,
                   port_count});
  return draft;
}

void TopologyBuilder::set_port(HcaDraft hca, unsigned port, const HcaPortSpec& spec) {
  const std::uint32_t index = port_index({hca, port});
  if (index != UINT32_MAX) ports_[index].hca = spec;
}

DomainDraft TopologyBuilder::nvlink_domain(std::string_view name, std::string_view cluster_uuid,
                                           RateMbps rate_per_gpu) {
  const NameRef ref = names_.intern(name);
  return DomainDraft(by_name(domain_by_name_, ref, domains_.size(),
                             [&] { domains_.push_back({ref, names_.intern(cluster_uuid), rate_per_gpu}); }));
}

GpuDraft TopologyBuilder::add_gpu(HostDraft host) {
  auto& gpus = at(host).gpus;
  const bool host_is_full = gpus.size() >= kMaxGpusPerHost;
  if (host_is_full || gpus_.size() >= kMaxGpus) {
    refuse(host_is_full ? "GPUs of one host" : "GPUs");
    return GpuDraft(0);
  }
  const GpuDraft draft(gpus_.size());
  gpus.push_back(draft.value());
  gpus_.push_back({host, {}, kNoClique, {}});
  return draft;
}

std::size_t TopologyBuilder::gpu_count(HostDraft host) const { return hosts_[host.index()].gpus.size(); }
GpuDraft TopologyBuilder::gpu(HostDraft host, std::size_t local_index) const {
  const auto& gpus = hosts_[host.index()].gpus;
  RAILWEAVE_CHECK(local_index < gpus.size(), "the host has that GPU");
  return GpuDraft(gpus[local_index]);
}

void TopologyBuilder::set_nvlink_domain(GpuDraft gpu, DomainDraft domain, std::uint32_t clique) {
  at(gpu).domain = domain;
  at(gpu).clique = clique;
}

void TopologyBuilder::add_nic(GpuDraft gpu, HcaDraft nic) {
  Gpu& draft = at(gpu);
  RAILWEAVE_CHECK(nic.index() < hcas_.size(), "a draft is used with the builder that gave it");
  if (hcas_[nic.index()].host != draft.host) {
    const std::string host(names_[hosts_[draft.host.index()].name]);
    add_finding(
        {"nicOfAnotherHost",
         Severity::error,
         fmt::format("a GPU of {} is listed as near to adapter {}, which is in another host; the adapter is left out",
                     host, to_string(hcas_[nic.index()].guid)),
         {host}});
    return;
  }
  if (std::ranges::find(draft.nics, nic) != draft.nics.end()) return;
  if (draft.nics.size() >= kMaxNicsPerGpu) {
    refuse("adapters near one GPU");
    return;
  }
  draft.nics.push_back(nic);
}

std::string TopologyBuilder::end_text(CableEnd end) const {
  const Guid guid = end.is_switch ? switches_[end.device].guid : hcas_[end.device].guid;
  return fmt::format("{}/{}", to_string(guid), end.port);
}

std::string TopologyBuilder::draft_port_text(std::uint32_t port) const {
  const auto [device, is_switch] = port_devices_[port];
  if (is_switch) return end_text({SwitchDraft(device), port - switches_[device].first_port + 1});
  return end_text({HcaDraft(device), port - hcas_[device].first_port + 1});
}

std::uint32_t TopologyBuilder::port_index(CableEnd end) {
  RAILWEAVE_CHECK(end.device < (end.is_switch ? switches_.size() : hcas_.size()),
                  "a draft is used with the builder that gave it");
  const auto [first, count] = end.is_switch ? std::pair(switches_[end.device].first_port, switches_[end.device].ports)
                                            : std::pair(hcas_[end.device].first_port, hcas_[end.device].ports);
  if (end.port < 1 || end.port > count) {
    add_finding({"portOutOfRange",
                 Severity::error,
                 fmt::format("port {} does not exist: the device has {} ports", end_text(end), count),
                 {end_text(end)}});
    return UINT32_MAX;
  }
  return first + end.port - 1;
}

void TopologyBuilder::connect(CableEnd a, CableEnd b, const LinkSpec& spec) {
  declare_peer(a, b, spec);
  declare_peer(b, a, spec);
}

void TopologyBuilder::declare_peer(CableEnd from, CableEnd to, const LinkSpec& spec) {
  if (!over_limit_.empty()) return;
  const std::uint32_t from_port = port_index(from);
  const std::uint32_t to_port = port_index(to);
  if (from_port == UINT32_MAX || to_port == UINT32_MAX) return;
  if (from_port == to_port) {
    add_finding({"linkToItself",
                 Severity::error,
                 "port " + end_text(from) + " is reported as cabled to itself; the link is left out",
                 {end_text(from)}});
    return;
  }
  auto& claim = ports_[from_port];
  if (claim.peer != UINT32_MAX && claim.peer != to_port) {
    add_finding({"portUsedTwice",
                 Severity::error,
                 "port " + end_text(from) + " is reported as cabled to " + draft_port_text(claim.peer) + " and to " +
                     end_text(to) + "; the first link is kept",
                 {end_text(from), draft_port_text(claim.peer), end_text(to)}});
    return;
  }
  claim.peer = to_port;
  claim.link = spec;
}

void TopologyBuilder::add_finding(Finding finding) {
  static constexpr std::size_t kMaxFindings = 10'000;
  if (findings_.size() < kMaxFindings) {
    findings_.push_back(std::move(finding));
  } else if (findings_.size() == kMaxFindings) {
    findings_.push_back({"tooManyFindings", Severity::error, "there are too many findings; the rest are dropped", {}});
  }
}

void TopologyBuilder::refuse(std::string_view limit) {
  if (over_limit_.empty()) over_limit_ = limit;
}

Result<Topology> TopologyBuilder::build() && {
  if (!over_limit_.empty()) {
    return fail(ErrorKind::tooLarge, "fabric.tooLarge", "the fabric has more " + over_limit_ + " than are supported",
                {}, "import a part of the fabric");
  }
  if (switches_.empty() && hosts_.empty()) {
    return fail(ErrorKind::invalid, "fabric.empty", "the input contains neither a switch nor a host", {},
                "check that the input is a fabric description in the format named");
  }
  return TopologyLayout(std::move(*this)).lay_out();
}

Topology empty_topology() { return TopologyLayout(TopologyBuilder()).lay_out(); }

}  // namespace railweave::fabric
