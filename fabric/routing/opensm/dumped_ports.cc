#include "fabric/routing/opensm/dumped_ports.h"

#include "fabric/routing/opensm/dump_text.h"

namespace railweave::fabric {

DumpedPorts::DumpedPorts(const RoutingScope& scope) : scope_(scope), topology_(scope.topology()) {
  for (const DestinationId id : scope.destinations()) {
    const Destination& d = scope.destination(id);
    if (!d.port || d.lid_offset != 0) continue;
    by_guid_.emplace(topology_.port_guid(d.port).value(), id);
    const HcaId hca = topology_.hca_of(d.port);
    const std::string_view host = topology_.host(hca) ? topology_.name(topology_.host(hca)) : std::string_view();
    add_name(topology_.description(hca), id);
    if (host != topology_.description(hca)) add_name(host, id);
  }
}

void DumpedPorts::add_name(std::string_view name, DestinationId id) {
  if (name.empty()) return;
  const auto [at, is_new] = by_name_.emplace(name, id);
  if (!is_new) at->second = DestinationId();  // ambiguous
}

SwitchId DumpedPorts::network_switch(std::uint64_t guid, std::string_view name) const {
  if (const SwitchId sw = topology_.find_switch(Guid(guid))) return sw;
  return name.empty() ? SwitchId() : topology_.find_switch(name);
}

DestinationId DumpedPorts::end_port(std::uint64_t guid, std::string_view name) const {
  if (const auto found = by_guid_.find(guid); found != by_guid_.end()) return found->second;
  const auto named = by_name_.find(name);
  return named == by_name_.end() ? DestinationId() : named->second;
}

DestinationId DumpedPorts::management(SwitchId sw) const {
  const Plane& plane = scope_.plane(scope_.plane_of(sw));
  const std::uint32_t home = plane.home_of[scope_.local(sw)];
  if (home == Plane::kNone) return {};
  for (const Segment& segment : plane.segments_of(plane.homes[home])) {
    if (segment.kind == DestinationKind::switch_management && segment.lid_offset == 0) {
      return plane.destination(segment.first);
    }
  }
  return {};
}

DumpedLids::DumpedLids(const RoutingScope& scope, const DumpedPorts& ports, std::string_view subnet_list)
    : scope_(scope) {
  read(subnet_list, ports);
  for (const DestinationId id : scope.destinations()) {
    if (const Lid lid = scope.lid(id); lid != 0) of_scope_.emplace(key(scope.destination(id).home, lid), id);
  }
}

void DumpedLids::read(std::string_view subnet_list, const DumpedPorts& ports) {
  (void)for_each_line(subnet_list, [&](std::string_view line, std::size_t) -> Result<void> {
    const auto middle = line.find(" } { ");
    if (middle == std::string_view::npos) return {};
    for (const std::string_view end : {line.substr(0, middle), line.substr(middle + 5)}) {
      const auto guid = parse_number(text_after(end, "PortGUID:"), 16), lid = parse_number(text_after(end, "LID:"), 16);
      if (!guid || !lid || *lid == 0 || *lid > RoutingScope::kLastLid) continue;
      const std::string_view name = text_between(end.substr(0, end.find(" LID:")), '{', '}');
      const std::string_view own = name.substr(name.starts_with("{") ? 1 : 0);
      const bool is_switch = end.find("SW Ports:") != std::string_view::npos;
      if (is_switch) switch_names_.emplace(*guid, own);
      const SwitchId sw = is_switch ? ports.network_switch(*guid, own) : SwitchId();
      const DestinationId id = !is_switch ? ports.end_port(*guid, own) : sw ? ports.management(sw) : DestinationId();
      if (id) listed_.emplace(static_cast<std::uint16_t>(*lid), id);
    }
    return {};
  });
}

std::uint32_t DumpedLids::key(SwitchId sw, std::uint16_t lid) const {
  const SubnetId subnet = scope_.topology().subnet(sw);
  return (subnet ? static_cast<std::uint32_t>(subnet.index()) : UINT16_MAX) << 16U | lid;
}

DestinationId DumpedLids::find(SwitchId sw, std::uint16_t lid) const {
  if (const auto found = listed_.find(lid); found != listed_.end()) return found->second;
  if (!listed_.empty() || !sw) return {};
  const auto found = of_scope_.find(key(sw, lid));
  return found == of_scope_.end() ? DestinationId() : found->second;
}

std::string_view DumpedLids::switch_name(std::uint64_t guid) const {
  const auto found = switch_names_.find(guid);
  return found == switch_names_.end() ? std::string_view() : found->second;
}

}  // namespace railweave::fabric
