#include "fabric/topology/topology.h"

#include <algorithm>

#include <fmt/core.h>

#include "fabric/base/natural_order.h"
#include "fabric/base/whole_number.h"

namespace railweave::fabric {

unsigned Topology::tier_count() const {
  unsigned count = 0;
  for (const auto tier : switch_.tier) {
    if (tier != kNoTier) count = std::max(count, tier + 1U);
  }
  return count;
}

PortOwner Topology::owner(PortId port) const {
  const std::uint32_t index = port_.owner[port.index()];
  if (port.index() < hca_ports_begin()) return {DeviceKind::network_switch, index};
  if (port.index() < gpu_ports_begin()) return {DeviceKind::hca, index};
  if (port.index() < domain_ports_begin()) return {DeviceKind::gpu, index};
  return {DeviceKind::nvlink_domain, index};
}

unsigned Topology::number(PortId port) const {
  const PortOwner device = owner(port);
  const Offsets* first = nullptr;
  switch (device.kind) {
    case DeviceKind::network_switch:
      first = &switch_.first_port;
      break;
    case DeviceKind::hca:
      first = &hca_.first_port;
      break;
    case DeviceKind::gpu:
      first = &gpu_.first_port;
      break;
    case DeviceKind::nvlink_domain:
      first = &domain_.first_port;
      break;
  }
  return static_cast<unsigned>(port.index() - (*first)[device.index] + 1);
}

SubnetId Topology::subnet(PortId port) const {
  if (const SwitchId sw = switch_of(port)) return subnet(sw);
  if (const PortId other = peer(port)) {
    if (const SwitchId sw = switch_of(other)) return subnet(sw);
  }
  return {};
}

LinkSpec Topology::spec(LinkId link) const {
  const std::size_t i = link.index();
  return {link_.kind[i], link_.speed[i], link_.width[i], RateMbps(link_.rate_mbps[i]), link_.cable_length_m[i]};
}

HostId Topology::find_host(std::string_view name_wanted) const {
  const auto found = std::ranges::lower_bound(hosts_by_name_, name_wanted, {}, [&](HostId host) { return name(host); });
  return found != hosts_by_name_.end() && name(*found) == name_wanted ? *found : HostId();
}

SwitchId Topology::find_switch(std::string_view name_wanted) const {
  const auto found =
      std::ranges::lower_bound(switches_by_name_, name_wanted, {}, [&](SwitchId sw) { return name(sw); });
  if (found != switches_by_name_.end() && name(*found) == name_wanted) return *found;
  if (const auto guid = parse_guid(name_wanted)) return find_switch(*guid);
  return {};
}

SwitchId Topology::find_switch(Guid guid_wanted) const {  // switches are in GUID order
  if (!guid_wanted.known()) return {};
  const auto found = std::ranges::lower_bound(switch_.guid, guid_wanted);
  return found != switch_.guid.end() && *found == guid_wanted
             ? SwitchId(static_cast<std::size_t>(found - switch_.guid.begin()))
             : SwitchId();
}

HcaId Topology::find_hca(Guid guid_wanted) const {
  const auto found = std::ranges::lower_bound(hcas_by_guid_, guid_wanted, {}, [](const auto& e) { return e.first; });
  return found != hcas_by_guid_.end() && found->first == guid_wanted ? found->second : HcaId();
}

HcaId Topology::find_host_hca(std::string_view text_wanted) const {
  const auto slash = text_wanted.rfind('/');
  if (slash == std::string_view::npos) return {};
  const HostId h = find_host(text_wanted.substr(0, slash));
  const std::string_view device_wanted = text_wanted.substr(slash + 1);
  if (!h || device_wanted.empty()) return {};
  for (const auto hca : hcas(h)) {
    if (device(hca) == device_wanted) return hca;
  }
  const auto nth = device_wanted.front() == '#' ? whole_number<unsigned>(device_wanted.substr(1)) : std::nullopt;
  return nth && *nth < hcas(h).size() ? hcas(h)[*nth] : HcaId();
}

NvlinkDomainId Topology::find_domain(std::string_view name_wanted) const {  // domains are in natural order
  const auto found =
      std::ranges::lower_bound(domain_.name, name_wanted, NaturalLess{}, [&](NameRef ref) { return names_[ref]; });
  return found != domain_.name.end() && names_[*found] == name_wanted
             ? NvlinkDomainId(static_cast<std::size_t>(found - domain_.name.begin()))
             : NvlinkDomainId();
}

PortId Topology::find_port(std::string_view text_wanted) const {
  const auto slash = text_wanted.rfind('/');
  if (slash == std::string_view::npos) return {};
  const std::string_view device_wanted = text_wanted.substr(0, slash);
  std::string_view number_wanted = text_wanted.substr(slash + 1);
  const bool is_gpu = number_wanted.starts_with("gpu");
  if (is_gpu) number_wanted.remove_prefix(3);
  const auto n = whole_number<unsigned>(number_wanted);
  if (!n) return {};
  if (is_gpu) {
    const HostId h = find_host(device_wanted);
    if (!h || *n >= gpus(h).size()) return {};
    const auto range = ports(gpus(h)[*n]);
    return range.empty() ? PortId() : range.front();
  }
  const auto nth = [&](IdRange<PortId> range) { return *n >= 1 && *n <= range.size() ? range[*n - 1] : PortId(); };
  // Text in the form of a GUID in port_text() is a GUID, even if a switch has such a name.
  const auto guid_wanted = parse_guid(device_wanted);
  const bool certainly_guid = guid_wanted && device_wanted.size() == 16;
  if (const SwitchId sw = certainly_guid ? find_switch(*guid_wanted) : SwitchId()) return nth(ports(sw));
  if (const HcaId hca = certainly_guid ? find_hca(*guid_wanted) : HcaId()) return nth(ports(hca));
  if (const SwitchId sw = find_switch(device_wanted)) return nth(ports(sw));
  if (const HcaId hca = guid_wanted ? find_hca(*guid_wanted) : HcaId()) return nth(ports(hca));
  if (const HcaId hca = find_host_hca(device_wanted)) return nth(ports(hca));
  if (const NvlinkDomainId domain_wanted = find_domain(device_wanted)) return nth(ports(domain_wanted));
  return {};
}

LinkId Topology::find_link(std::string_view text_wanted) const {
  // "--" may occur within a name, so every occurrence is tried.
  for (auto at = text_wanted.find("--"); at != std::string_view::npos; at = text_wanted.find("--", at + 1)) {
    const PortId first = find_port(text_wanted.substr(0, at));
    const PortId second = find_port(text_wanted.substr(at + 2));
    if (first && second && peer(first) == second) return link(first);
  }
  return {};
}

std::string Topology::device_text(SwitchId sw) const {
  return find_switch(guid(sw)) == sw ? to_string(guid(sw)) : std::string(name(sw));
}

std::string Topology::device_text(HcaId hca) const {
  const bool own_guid = guid(hca).known() && find_hca(guid(hca)) == hca && !find_switch(guid(hca));
  const HostId h = host(hca);
  if (own_guid || !h) return to_string(guid(hca));
  std::string by_device = fmt::format("{}/{}", name(h), device(hca));
  return find_host_hca(by_device) == hca ? by_device
                                         : fmt::format("{}/#{}", name(h), hca.index() - hcas(h).front().index());
}

std::string Topology::port_text(PortId port) const {
  const PortOwner owned_by = owner(port);
  switch (owned_by.kind) {
    case DeviceKind::network_switch:
      return fmt::format("{}/{}", device_text(SwitchId(owned_by.index)), number(port));
    case DeviceKind::hca:
      return fmt::format("{}/{}", device_text(HcaId(owned_by.index)), number(port));
    case DeviceKind::gpu: {
      const GpuId gpu(owned_by.index);
      return fmt::format("{}/gpu{}", name(host(gpu)), local_index(gpu));
    }
    case DeviceKind::nvlink_domain:
      return fmt::format("{}/{}", name(NvlinkDomainId(owned_by.index)), number(port));
  }
  return {};
}

std::string Topology::link_text(LinkId link) const {
  std::string first = port_text(a(link));
  std::string second = port_text(b(link));
  if (second < first) first.swap(second);
  return first + "--" + second;
}

std::size_t Topology::memory_bytes() const {
  const auto bytes = [](const auto&... columns) {
    return ((columns.capacity() * sizeof(typename std::decay_t<decltype(columns)>::value_type)) + ...);
  };
  std::size_t total =
      bytes(host_.name, host_.kind, host_.rack, host_.site, switch_.site, site_name_, site_links_, host_.first_hca,
            host_.first_gpu, host_.first_label, host_.labels, gpu_.host, gpu_.domain, gpu_.clique, gpu_.first_nic,
            gpu_.first_port, gpu_.nics, hca_.guid, hca_.kind, hca_.host, hca_.device, hca_.description, hca_.first_port,
            switch_.guid, switch_.name, switch_.description, switch_.group, switch_.subnet, switch_.rack, switch_.lid,
            switch_.lmc, switch_.tier, switch_.first_port, port_.owner, port_.peer, port_.link, hca_port_.guid,
            hca_port_.lid, hca_port_.lmc, hca_port_.rail, link_.a, link_.b, link_.kind, link_.speed, link_.width,
            link_.rate_mbps, link_.cable_length_m, rack_name_, rail_name_, subnet_name_, subnet_kind_, domain_.name,
            domain_.cluster_uuid, domain_.rate_mbps, domain_.first_gpu, domain_.first_port, domain_.gpus,
            clique_.domain, clique_.number, hosts_by_name_, switches_by_name_, hcas_by_guid_);
  total += names_.memory_bytes();
  return total;
}

}  // namespace railweave::fabric
