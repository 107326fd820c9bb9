#include "fabric/topology/replace_subnet.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace railweave::fabric {
namespace {

class Replacing {
 public:
  Replacing(const Topology& present, const Topology& found, std::string_view subnet)
      : old_(present),
        found_(found),
        keeps_adapter_(present.hcas().size(), false),
        keeps_host_(present.hosts().size(), false),
        old_switch_(present.switches().size()),
        old_hca_(present.hcas().size()),
        old_host_(present.hosts().size()),
        found_switch_(found.switches().size()),
        found_hca_(found.hcas().size()) {
    for (const auto id : present.subnets()) {
      if (present.name(id) == subnet) old_subnet_ = id;
    }
    match();
    choose();
    subnet_ = out_.builder.subnet(subnet, old_subnet_ ? present.kind(old_subnet_) : SubnetKind::unknown);
    add_names();
    add_switches();
    add_hosts();
    add_adapters();
    add_gpus();
    add_links();
    for (const auto& finding : found.source_findings()) out_.builder.add_finding(finding);
  }

  SubnetReplacement take() { return std::move(out_); }

 private:
  // --- 1. match devices found with present ones

  void match() {
    for (const auto hca : found_.hcas()) {
      HcaId same;
      if (found_.guid(hca).known()) same = old_.find_hca(found_.guid(hca));
      if (!same && found_.host(hca)) {
        const HostId host = old_.find_host(found_.name(found_.host(hca)));
        if (host && !found_.device(hca).empty()) {
          for (const auto candidate : old_.hcas(host)) {
            const bool nameless = !old_.guid(candidate).known() || !found_.guid(hca).known();
            if (nameless && old_.device(candidate) == found_.device(hca)) same = candidate;
          }
        }
      }
      same_hca_.push_back(same);
      if (same) hca_found_[same] = hca;
    }
    for (const auto host : found_.hosts()) {
      HostId same = old_.find_host(found_.name(host));
      for (const auto hca : found_.hcas(host)) {
        if (const HcaId known = same_hca_[hca.index()]; !same && known) same = old_.host(known);
      }
      same_host_.push_back(same);
    }
    for (const auto sw : found_.switches()) {
      const SwitchId same =
          found_.guid(sw).known() ? old_.find_switch(found_.guid(sw)) : old_.find_switch(found_.name(sw));
      same_switch_.push_back(same);
      if (same) switch_found_[same] = sw;
    }
  }

  [[nodiscard]] bool is_replaced(SwitchId sw) const {
    return (old_subnet_ && old_.subnet(sw) == old_subnet_) || switch_found_.contains(sw);
  }

  // Whether a link of the present topology is kept.
  [[nodiscard]] bool stays(LinkId link) const {
    if (old_.kind(link) == LinkKind::nvlink) return false;  // made with the GPUs
    for (const PortId port : {old_.a(link), old_.b(link)}) {
      if (const SwitchId sw = old_.switch_of(port); sw && is_replaced(sw)) return false;
      if (const HcaId hca = old_.hca_of(port); hca) {
        const auto found = hca_found_.find(hca);
        if (found == hca_found_.end()) continue;
        const auto ports = found_.ports(found->second);
        const unsigned number = old_.number(port);
        if (number <= ports.size() && found_.link(ports[number - 1])) return false;
      }
    }
    return true;
  }

  void choose() {
    for (const auto hca : old_.hcas()) {
      std::size_t cables = 0;
      std::size_t staying = 0;
      for (const PortId port : old_.ports(hca)) {
        if (const LinkId link = old_.link(port)) {
          ++cables;
          staying += stays(link) ? 1 : 0;
        }
      }
      keeps_adapter_[hca.index()] = hca_found_.contains(hca) || cables == 0 || staying > 0;
    }
    for (const HostId same : same_host_) {
      if (same) keeps_host_[same.index()] = true;
    }
    for (const auto host : old_.hosts()) {
      const auto hcas = old_.hcas(host);
      const auto cabled = [&](HcaId hca) {
        return std::ranges::any_of(old_.ports(hca), [&](PortId port) { return bool(old_.link(port)); });
      };
      bool kept = keeps_host_[host.index()] || std::ranges::none_of(hcas, cabled);
      for (const auto hca : hcas) kept = kept || (keeps_adapter_[hca.index()] && cabled(hca));
      keeps_host_[host.index()] = kept;
      if (kept) continue;
      for (const auto hca : hcas) keeps_adapter_[hca.index()] = false;
      if (old_.gpus(host).size() == 0) continue;
      out_.hosts_lost.emplace_back(old_.name(host));
      out_.gpus_lost += old_.gpus(host).size();
    }
  }

  // --- 2. build the new fabric

  void add_names() {
    for (const auto id : old_.subnets()) out_.builder.subnet(old_.name(id), old_.kind(id));
    for (const auto id : old_.racks()) out_.builder.rack(old_.name(id));
    for (SiteLink link : old_.site_links()) {
      link.a = site(link.a);
      link.b = site(link.b);
      out_.builder.join_sites(link);
    }
    if (old_.rails_inferred()) return;
    for (const auto rail : old_.rails()) rails_.push_back(out_.builder.rail(old_.name(rail)));
    // A new adapter port gets the rail of its switch, if all known ports of the switch are on one.
    std::map<SwitchId, std::pair<RailId, bool>> rail_of;  // of the switch, and whether it has several
    for (const auto port : found_.hca_ports()) {
      const SwitchId sw = switch_at(port);
      const RailId rail = present_rail(port);
      if (!sw || !rail) continue;
      const auto [entry, fresh] = rail_of.try_emplace(sw, rail, false);
      if (!fresh && entry->second.first != rail) entry->second.second = true;
    }
    for (const auto& [sw, rail] : rail_of) {
      if (!rail.second) switch_rail_[sw] = rail.first;
    }
  }

  [[nodiscard]] SwitchId switch_at(PortId port) const {
    const PortId peer = found_.peer(port);
    return peer ? found_.switch_of(peer) : SwitchId();
  }

  // The rail, of the present topology, of the same port.
  [[nodiscard]] RailId present_rail(PortId port) const {
    const HcaId same = same_hca_[found_.hca_of(port).index()];
    if (!same || old_.rails_inferred()) return {};
    const auto ports = old_.ports(same);
    const unsigned number = found_.number(port);
    return number <= ports.size() ? old_.rail(ports[number - 1]) : RailId();
  }

  void add_switches() {
    auto& builder = out_.builder;
    for (const auto sw : old_.switches()) {
      if (is_replaced(sw)) continue;
      old_switch_[sw.index()] = builder.add_switch({.guid = old_.guid(sw),
                                                    .name = old_.name(sw),
                                                    .description = old_.description(sw),
                                                    .ports = static_cast<unsigned>(old_.ports(sw).size()),
                                                    .subnet = builder.subnet(old_.name(old_.subnet(sw))),
                                                    .rack = rack(old_.rack(sw)),
                                                    .site = site(old_.site(sw)),
                                                    .group = old_.group(sw),
                                                    .lid = old_.lid(sw),
                                                    .lmc = old_.lmc(sw)});
    }
    for (const auto sw : found_.switches()) {
      const SwitchId same = same_switch_[sw.index()];
      const bool named =
          same && (old_.name(same) != old_.description(same) || old_.description(same) == found_.description(sw));
      found_switch_[sw.index()] = builder.add_switch({.guid = found_.guid(sw),
                                                      .name = named ? old_.name(same) : found_.name(sw),
                                                      .description = found_.description(sw),
                                                      .ports = static_cast<unsigned>(found_.ports(sw).size()),
                                                      .subnet = subnet_,
                                                      .rack = same ? rack(old_.rack(same)) : RackId(),
                                                      .site = same ? site(old_.site(same)) : SiteId(),
                                                      .group = same ? old_.group(same) : found_.group(sw),
                                                      .lid = found_.lid(sw),
                                                      .lmc = found_.lmc(sw)});
    }
  }

  SiteId site(SiteId old) { return old ? out_.builder.site(old_.name(old)) : SiteId(); }
  RackId rack(RackId old) { return old ? out_.builder.rack(old_.name(old)) : RackId(); }

  void add_hosts() {
    auto& builder = out_.builder;
    for (const auto host : old_.hosts()) {
      if (!keeps_host_[host.index()]) continue;
      const HostDraft draft = builder.host(old_.name(host), old_.kind(host));
      if (old_.rack(host)) builder.set_rack(draft, rack(old_.rack(host)));
      if (old_.site(host)) builder.set_site(draft, site(old_.site(host)));
      for (const auto& label : old_.labels(host)) {
        builder.add_label(draft, old_.text(label.key), old_.text(label.value));
      }
      old_host_[host.index()] = draft;
    }
    for (const auto host : found_.hosts()) {
      const HostId same = same_host_[host.index()];
      found_host_.push_back(same ? old_host_[same.index()] : builder.host(found_.name(host), found_.kind(host)));
    }
  }

  void add_adapters() {
    auto& builder = out_.builder;
    for (const auto hca : old_.hcas()) {
      if (!keeps_adapter_[hca.index()] || hca_found_.contains(hca)) continue;
      const HostId host = old_.host(hca);
      const HcaDraft draft = builder.add_hca({.guid = old_.guid(hca),
                                              .kind = old_.kind(hca),
                                              .host = host ? old_host_[host.index()] : HostDraft(),
                                              .device = old_.device(hca),
                                              .description = old_.description(hca),
                                              .ports = static_cast<unsigned>(old_.ports(hca).size())});
      old_hca_[hca.index()] = draft;
      for (const PortId port : old_.ports(hca)) builder.set_port(draft, old_.number(port), old_port(port));
    }
    for (const auto hca : found_.hcas()) add_found(hca);
  }

  void add_found(HcaId hca) {
    auto& builder = out_.builder;
    const HcaId same = same_hca_[hca.index()];
    const HostId host = found_.host(hca);
    const std::size_t before = same ? old_.ports(same).size() : 0;
    const std::size_t ports = std::max(before, found_.ports(hca).size());
    const bool nameless = same && found_.device(hca).empty();
    const HcaDraft draft = builder.add_hca({.guid = found_.guid(hca),
                                            .kind = found_.kind(hca),
                                            .host = host ? found_host_[host.index()] : HostDraft(),
                                            .device = nameless ? old_.device(same) : found_.device(hca),
                                            .description = found_.description(hca),
                                            .ports = static_cast<unsigned>(ports)});
    found_hca_[hca.index()] = draft;
    if (same) old_hca_[same.index()] = draft;
    for (std::size_t i = 0; i < ports; ++i) {
      HcaPortSpec spec;
      if (i < before) spec = old_port(old_.ports(same)[i]);
      if (i < found_.ports(hca).size()) {
        const PortId port = found_.ports(hca)[i];
        if (found_.port_guid(port).known()) spec.guid = found_.port_guid(port);
        if (found_.link(port) || spec.lid == 0) {
          spec.lid = found_.lid(port);
          spec.lmc = found_.lmc(port);
        }
        const auto rail = switch_rail_.find(switch_at(port));
        if (!spec.rail && rail != switch_rail_.end()) spec.rail = rails_[rail->second.index()];
      }
      builder.set_port(draft, static_cast<unsigned>(i) + 1, spec);
    }
  }

  [[nodiscard]] HcaPortSpec old_port(PortId port) const {
    const RailId rail = old_.rails_inferred() ? RailId() : old_.rail(port);
    return {.guid = old_.port_guid(port),
            .lid = old_.lid(port),
            .lmc = old_.lmc(port),
            .rail = rail ? rails_[rail.index()] : RailId()};
  }

  void add_gpus() {
    auto& builder = out_.builder;
    for (const auto gpu : old_.gpus()) {
      const HostDraft host = old_host_[old_.host(gpu).index()];
      if (!host) continue;
      const GpuDraft draft = builder.add_gpu(host);
      if (const auto domain = old_.nvlink_domain(gpu)) {
        const auto clique = old_.clique(gpu);
        builder.set_nvlink_domain(
            draft, builder.nvlink_domain(old_.name(domain), old_.cluster_uuid(domain), old_.rate_per_gpu(domain)),
            clique ? old_.number(clique) : TopologyBuilder::kNoClique);
      }
      for (const auto nic : old_.nics(gpu)) {
        const HcaDraft near = old_hca_[nic.index()];
        if (near && builder.host_of(near) == host) builder.add_nic(draft, near);
      }
    }
  }

  [[nodiscard]] std::optional<CableEnd> old_end(PortId port) const {
    if (const SwitchId sw = old_.switch_of(port)) {
      if (!old_switch_[sw.index()]) return std::nullopt;
      return CableEnd(old_switch_[sw.index()], old_.number(port));
    }
    const HcaDraft hca = old_hca_[old_.hca_of(port).index()];
    if (!hca) return std::nullopt;
    return CableEnd(hca, old_.number(port));
  }

  [[nodiscard]] CableEnd found_end(PortId port) const {
    if (const SwitchId sw = found_.switch_of(port)) return {found_switch_[sw.index()], found_.number(port)};
    return {found_hca_[found_.hca_of(port).index()], found_.number(port)};
  }

  void add_links() {
    for (const auto link : old_.links()) {
      if (!stays(link)) continue;
      const auto a = old_end(old_.a(link));
      const auto b = old_end(old_.b(link));
      if (a && b) out_.builder.connect(*a, *b, old_.spec(link));
    }
    for (const auto link : found_.links()) {
      if (found_.kind(link) == LinkKind::nvlink) continue;
      LinkSpec spec = found_.spec(link);
      if (const LinkId same = old_.find_link(found_.link_text(link)); same && spec.cable_length_m == 0) {
        spec.cable_length_m = old_.spec(same).cable_length_m;
      }
      out_.builder.connect(found_end(found_.a(link)), found_end(found_.b(link)), spec);
    }
  }

  const Topology& old_;
  const Topology& found_;
  SubnetReplacement out_;
  SubnetId old_subnet_;  // of the present topology
  SubnetId subnet_;      // of the builder

  // By id of the found topology: the same thing in the present one; none: new.
  std::vector<HcaId> same_hca_;
  std::vector<HostId> same_host_;
  std::vector<SwitchId> same_switch_;
  // And back.
  std::map<HcaId, HcaId> hca_found_;
  std::map<SwitchId, SwitchId> switch_found_;

  std::vector<bool> keeps_adapter_, keeps_host_;
  std::vector<RailId> rails_;               // of the present topology -> of the builder; empty where inferred
  std::map<SwitchId, RailId> switch_rail_;  // found switch -> present rail, if all its ports are on the same

  // Drafts; none: left out.
  std::vector<SwitchDraft> old_switch_;
  std::vector<HcaDraft> old_hca_;
  std::vector<HostDraft> old_host_;
  std::vector<SwitchDraft> found_switch_;
  std::vector<HcaDraft> found_hca_;
  std::vector<HostDraft> found_host_;
};

}  // namespace

SubnetReplacement replace_subnet(const Topology& present, const Topology& found, std::string_view subnet) {
  return Replacing(present, found, subnet).take();
}

}  // namespace railweave::fabric
