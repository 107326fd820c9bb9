#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "fabric/routing/opensm/opensm_dumps.h"

namespace railweave::fabric {

namespace {

template <class... Args>
void append(std::string& out, const char* format, Args... args) {
  char text[160];
  const int length = std::snprintf(text, sizeof text, format, args...);
  out.append(text, static_cast<std::size_t>(std::clamp<int>(length, 0, sizeof text - 1)));
}

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
