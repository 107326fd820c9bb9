#include "services/rest/handlers/fabric/fabric_lists.h"

#include <algorithm>
#include <vector>

#include "services/rest/handlers/list_query.h"
#include "services/rest/json/fabric/fabric.h"
#include "services/rest/json/fabric/link.h"
#include "services/rest/json/page.h"

namespace railweave::api {
namespace {

// A page of dense ids: those that keep(id) accepts, as write(id) writes them.
template <class IdType, class Keep, class Write>
Result<Response> list_ids(const control::ClusterState& state, IdRange<IdType> ids, const ListQuery& query, Keep keep,
                          Write write) {
  const auto from = read_cursor(query.cursor, state.accepted.version);
  if (!from) return std::unexpected(from.error());
  PageWriter page(query.limit, query.fields);
  std::string next;
  for (std::size_t i = *from; i < ids.size(); ++i) {
    if (!keep(ids[i])) continue;
    if (page.full()) {
      next = make_cursor(state.accepted.version, i);
      break;
    }
    page.add(write(ids[i]));
  }
  return Response::json(std::move(page).finish(next, state.seq));
}

constexpr auto all = [](auto) { return true; };

bool touches_switch(const fabric::Topology& topology, fabric::LinkId link, fabric::SwitchId sw) {
  return topology.switch_of(topology.a(link)) == sw || topology.switch_of(topology.b(link)) == sw;
}

fabric::HostId host_of(const fabric::Topology& topology, fabric::PortId port) {
  const auto owner = topology.owner(port);
  if (owner.kind == fabric::DeviceKind::hca) return topology.host(fabric::HcaId(owner.index));
  if (owner.kind == fabric::DeviceKind::gpu) return topology.host(fabric::GpuId(owner.index));
  return {};
}

}  // namespace

Error no_switch(const std::string& text) {
  return {ErrorKind::notFound,
          "switches.notFound",
          "there is no switch '" + text + "'",
          {},
          "a name, a GUID or lid:N; GET /v1/switches lists them"};
}

fabric::SwitchId find_switch(const fabric::Topology& topology, const std::string& text) {
  if (text.starts_with("lid:")) {
    const auto lid = parse_number("lid", std::string_view(text).substr(4), UINT16_MAX);
    fabric::SwitchId found;
    for (const auto sw : topology.switches()) {
      if (!lid || topology.lid(sw) != *lid || *lid == 0) continue;
      if (found) return {};  // in several subnets
      found = sw;
    }
    return found;
  }
  return topology.find_switch(text);
}

Result<Response> list_nodes(const Call& call) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  const auto state = call.plane.loop.state();
  const auto& topology = state->topology();
  const auto* rack = call.request.query("rack");
  const auto* kind = call.request.query("kind");
  if (kind != nullptr && !parse_enum<fabric::HostKind>(*kind)) {
    return fail(ErrorKind::invalid, "query.invalidKind", "there is no kind of node '" + *kind + "'", {},
                std::string(enum_texts<fabric::HostKind>()));
  }
  const auto* name = call.request.query("name");
  return list_ids(
      *state, topology.hosts(), *query,
      [&](fabric::HostId host) {
        if (rack != nullptr && (!topology.rack(host) || topology.name(topology.rack(host)) != *rack)) return false;
        if (kind != nullptr && railweave::to_text(topology.kind(host)) != *kind) return false;
        return name == nullptr || topology.name(host).find(*name) != std::string_view::npos;
      },
      [&](fabric::HostId host) { return write_node(*state, host); });
}

Result<Response> list_switches(const Call& call) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  const auto state = call.plane.loop.state();
  const auto& topology = state->topology();
  const auto* subnet = call.request.query("subnet");
  const auto tier = read_number(call, "tier", 254);
  if (!tier) return std::unexpected(tier.error());
  return list_ids(
      *state, topology.switches(), *query,
      [&](fabric::SwitchId sw) {
        if (*tier && topology.tier(sw) != **tier) return false;
        return subnet == nullptr || topology.name(topology.subnet(sw)) == *subnet;
      },
      [&](fabric::SwitchId sw) { return write_switch(*state, sw); });
}

Result<Response> list_links(const Call& call) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  const auto state = call.plane.loop.state();
  const auto& topology = state->topology();
  std::optional<fabric::LinkKind> kind;
  bool only_wan = false;
  if (const auto* text = call.request.query("kind")) {
    kind = fabric::parse_link_kind(*text);
    only_wan = *text == "wan";
    if (!kind && !only_wan) {
      return fail(ErrorKind::invalid, "query.invalidKind", "there is no link kind '" + *text + "'", {},
                  "infiniband, ethernet, nvlink or wan");
    }
  }
  fabric::SwitchId sw;
  if (const auto* text = call.request.query("switch")) {
    sw = find_switch(topology, *text);
    if (!sw) {
      return std::unexpected(no_switch(*text));
    }
  }
  fabric::HostId host;
  if (const auto* text = call.request.query("node")) {
    host = topology.find_host(*text);
    if (!host) {
      return fail(ErrorKind::notFound, "nodes.notFound", "there is no node '" + *text + "'", {},
                  "GET /v1/nodes lists them");
    }
  }
  // Links between sites follow the cables.
  const std::size_t cables = topology.links().size();
  const IdRange<fabric::LinkId> both(0, cables + topology.site_links().size());
  const LinkSightings seen(call.plane.live, *state);
  return list_ids(
      *state, both, *query,
      [&](fabric::LinkId link) {
        if (link.index() >= cables) return !kind && !sw && !host;
        if (only_wan) return false;
        if (kind && topology.kind(link) != *kind) return false;
        if (sw && !touches_switch(topology, link, sw)) return false;
        return !host || host_of(topology, topology.a(link)) == host || host_of(topology, topology.b(link)) == host;
      },
      [&](fabric::LinkId link) {
        return link.index() < cables ? write_link(*state, link, seen)
                                     : write_link(*state, fabric::SiteLinkId(link.index() - cables));
      });
}

Result<Response> list_nvlink_domains(const Call& call) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  const auto state = call.plane.loop.state();
  return list_ids(*state, state->topology().nvlink_domains(), *query, all,
                  [&](fabric::NvlinkDomainId domain) { return write_nvlink_domain(*state, domain); });
}

Result<Response> list_rails(const Call& call) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  const auto state = call.plane.loop.state();
  const auto& topology = state->topology();
  std::vector<std::size_t> ports(topology.rails().size());
  for (const auto port : topology.hca_ports()) {
    if (const auto rail = topology.rail(port)) ++ports[rail.index()];
  }
  return list_ids(*state, topology.rails(), *query, all,
                  [&](fabric::RailId rail) { return write_rail(*state, rail, ports[rail.index()]); });
}

Result<Response> list_racks(const Call& call) {
  const auto query = read_list_query(call);
  if (!query) return std::unexpected(query.error());
  const auto state = call.plane.loop.state();
  const auto& topology = state->topology();
  std::vector<std::size_t> nodes(topology.racks().size());
  for (const auto host : topology.hosts()) {
    if (const auto rack = topology.rack(host)) ++nodes[rack.index()];
  }
  return list_ids(*state, topology.racks(), *query, all,
                  [&](fabric::RackId rack) { return write_rack(*state, rack, nodes[rack.index()]); });
}

}  // namespace railweave::api
