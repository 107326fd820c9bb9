#include "services/control/state/drain.h"

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "fabric/topology/site_link_name.h"

namespace railweave::control {
namespace {

std::string switch_text(const fabric::Topology& topology, fabric::SwitchId sw) {
  return topology.guid(sw).known() ? to_string(topology.guid(sw)) : std::string(topology.name(sw));
}

}  // namespace

std::string to_string(const DrainTarget& target) { return fmt::format("{} {}", to_string(target.kind), target.id); }

Result<DrainTarget> resolve(const fabric::Topology& topology, DrainKind kind, const std::string& text) {
  switch (kind) {
    case DrainKind::link:
      if (const auto link = topology.find_link(text)) {
        if (topology.kind(link) == fabric::LinkKind::nvlink) {
          return fail(ErrorKind::invalid, "links.notDrainable", "'" + text + "' is an NVLink, which no route can avoid",
                      {}, "drain the node instead");
        }
        return DrainTarget{kind, topology.link_text(link)};
      }
      [[fallthrough]];
    case DrainKind::site_link:
      if (const auto link = fabric::find_site_link(topology, text)) {
        return DrainTarget{DrainKind::site_link, fabric::site_link_text(topology, link)};
      }
      return fail(ErrorKind::notFound, "links.notFound", "there is no link '" + text + "'", {},
                  "<guid>/<port>--<guid>/<port>, or <site>--<site>; GET /v1/links lists them");
    case DrainKind::network_switch:
      if (const auto sw = topology.find_switch(text)) return DrainTarget{kind, switch_text(topology, sw)};
      return fail(ErrorKind::notFound, "switches.notFound", "there is no switch '" + text + "'", {},
                  "a name or a GUID; GET /v1/switches lists them");
    case DrainKind::gpu:
      if (const auto gpu = find_gpu(topology, text)) return DrainTarget{kind, gpu_text(topology, gpu)};
      return fail(ErrorKind::notFound, "nodes.notFound", "there is no GPU '" + text + "'", {},
                  "NODE:INDEX; GET /v1/nodes/" + text.substr(0, text.find(':')) + " lists the GPUs of that node");
    case DrainKind::node:
      if (const auto host = topology.find_host(text)) return DrainTarget{kind, std::string(topology.name(host))};
      return fail(ErrorKind::notFound, "nodes.notFound", "there is no node '" + text + "'", {},
                  "GET /v1/nodes lists them");
  }
  return fail(ErrorKind::internal, "drains.kind", "no such kind of drain");
}

std::string gpu_text(const fabric::Topology& topology, fabric::GpuId gpu) {
  return fmt::format("{}:{}", topology.name(topology.host(gpu)), topology.local_index(gpu));
}

fabric::GpuId find_gpu(const fabric::Topology& topology, std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return {};
  const auto host = topology.find_host(text.substr(0, colon));
  const auto index = whole_number<unsigned>(text.substr(colon + 1));
  if (!host || !index || *index >= topology.gpus(host).size()) return {};
  return topology.gpus(host)[*index];
}

std::string_view node_of(const DrainTarget& target) {
  const std::string_view id = target.id;
  return target.kind == DrainKind::gpu ? id.substr(0, id.rfind(':')) : id;
}

bool mark_drained(fabric::FabricView& view, const DrainTarget& target, bool drained) {
  const auto& topology = view.topology();
  switch (target.kind) {
    case DrainKind::link:
      if (const auto link = topology.find_link(target.id)) return view.set_drained(link, drained), true;
      return false;
    case DrainKind::network_switch:
      if (const auto sw = topology.find_switch(target.id)) return view.set_drained(sw, drained), true;
      return false;
    case DrainKind::site_link:
      if (const auto link = fabric::find_site_link(topology, target.id)) return view.set_drained(link, drained), true;
      return false;
    case DrainKind::gpu:
      return false;
    case DrainKind::node:
      if (const auto host = topology.find_host(target.id)) return view.set_drained(host, drained), true;
      return false;
  }
  return false;
}

}  // namespace railweave::control
