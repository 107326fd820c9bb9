#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <vector>

#include "fabric/routing/opensm/opensm_dumps.h"
#include "fabric/routing/plane/port_arcs.h"

namespace railweave::fabric {

namespace {

template <class... Args>
void append(std::string& out, const char* format, Args... args) {
  char text[160];
  const int length = std::snprintf(text, sizeof text, format, args...);
  out.append(text, static_cast<std::size_t>(std::clamp<int>(length, 0, sizeof text - 1)));
}

// The lengths of routes by the tables, in links; kLost where they do not reach the destination.
class Hops {
 public:
  static constexpr unsigned kLost = UINT32_MAX;
  explicit Hops(const Plane& plane) : plane_(plane), port_arcs_(plane) {}
  // From s, without the link to an end port.
  [[nodiscard]] unsigned from(const PlaneTables& tables, std::uint32_t s, std::uint32_t destination) const {
    const std::uint32_t end = plane_.homes[plane_.destination_home[destination]].sw;
    unsigned hops = 0;
    for (; s != end; ++hops) {
      const std::uint32_t arc = port_arcs_.arc(s, tables.at(s, destination));
      if (hops > plane_.switch_count() || arc == Plane::kNone) return kLost;
      s = plane_.arcs[arc].to;
    }
    return hops;
  }

 private:
  const Plane& plane_;
  PortArcs port_arcs_;
};

const char* speed_text(LinkSpeed speed) {
  switch (speed) {
    case LinkSpeed::sdr:
      return "2.5";
    case LinkSpeed::ddr:
      return "5";
    case LinkSpeed::qdr:
    case LinkSpeed::fdr10:
      return "10";
    case LinkSpeed::fdr:
      return "14";
    case LinkSpeed::edr:
      return "25";
    case LinkSpeed::hdr:
      return "50";
    case LinkSpeed::ndr:
      return "100";
    case LinkSpeed::xdr:
      return "200";
    case LinkSpeed::unknown:
    case LinkSpeed::other:
      return "2.5";
  }
  return "2.5";
}

// Readers take a brace as the end of the description.
std::string description_text(std::string_view text) {
  std::string safe(text);
  std::ranges::replace_if(safe, [](char c) { return c == '{' || c == '}' || c == '\n'; }, '_');
  return safe;
}

std::string end_text(const Topology& t, const RoutingScope& scope, PortId port) {
  std::string out;
  const auto one = [&](const char* kind, std::size_t ports, Guid node, Guid port_guid, std::string_view description,
                       Lid lid, unsigned number) {
    append(out, "{ %s Ports:%02zX SystemGUID:%016" PRIx64 " NodeGUID:%016" PRIx64 " PortGUID:%016" PRIx64, kind, ports,
           node.value(), node.value(), port_guid.value());
    out += " VenID:000002C9 DevID:00000000 Rev:00000000 {" + description_text(description) + "}";
    append(out, " LID:%04X PN:%02X }", lid, number);
  };
  if (const SwitchId sw = t.switch_of(port)) {
    one("SW", t.ports(sw).size(), t.guid(sw), t.guid(sw), t.description(sw), scope.lid(sw), t.number(port));
    return out;
  }
  const HcaId hca = t.hca_of(port);
  const DestinationId id = scope.find(port);
  const Lid lid = id ? scope.lid(id) : t.lid(port);
  const std::string_view description = !t.description(hca).empty() ? t.description(hca)
                                       : t.host(hca)               ? t.name(t.host(hca))
                                                                   : std::string_view("end port");
  one("CA", t.ports(hca).size(), t.guid(hca), t.port_guid(port), description, lid, t.number(port));
  return out;
}

}  // namespace

std::string write_fdbs(const ForwardingTables& tables) {
  const RoutingScope& scope = tables.scope();
  const Topology& t = scope.topology();
  std::string out;
  for (const PlaneId id : scope.planes()) {
    const Plane& plane = scope.plane(id);
    const PlaneTables& entries = tables.plane(id);
    if (entries.destinations() != plane.destination_count()) continue;
    std::vector<std::pair<Lid, std::uint32_t>> by_lid;
    for (std::uint32_t d = 0; d < plane.destination_count(); ++d) {
      if (const Lid lid = scope.lid(plane.destination(d)); lid != 0) by_lid.emplace_back(lid, d);
    }
    std::ranges::sort(by_lid);
    const Hops hops(plane);
    for (std::uint32_t s = 0; s < plane.switch_count(); ++s) {
      append(out, "dump_ucast_routes: Switch 0x%016" PRIx64 "\nLID    : Port : Hops : Optimal\n",
             t.guid(plane.switches[s]).value());
      for (const auto& [lid, d] : by_lid) {
        const std::uint16_t port = entries.at(s, d);
        const unsigned links = port == kNoPort ? Hops::kLost : hops.from(entries, s, d);
        if (links == Hops::kLost) {
          append(out, "0x%04X : UNREACHABLE\n", lid);
          continue;
        }
        const bool end_port = plane.destination_port[d] != kPortZero;
        append(out, "0x%04X : %03u  : %02u   : yes\n", lid, port, links + (end_port ? 1 : 0));
      }
      out += '\n';
    }
  }
  return out;
}

std::string write_subnet_list(const FabricView& view, const RoutingScope& scope) {
  const Topology& t = view.topology();
  std::string out;
  for (const LinkId link : t.links()) {
    if (t.kind(link) == LinkKind::nvlink || !view.alive(link)) continue;
    const LinkSpec spec = t.spec(link);
    out += end_text(t, scope, t.a(link)) + " " + end_text(t, scope, t.b(link));
    append(out, " PHY=%ux LOG=ACT SPD=%s\n", spec.width == 0 ? 4U : unsigned{spec.width}, speed_text(spec.speed));
  }
  return out;
}

}  // namespace railweave::fabric
