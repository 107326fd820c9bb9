#include "services/rest/handlers/fabric/changed_view.h"

#include "services/rest/handlers/fabric/fabric_lists.h"

namespace railweave::api {

Result<fabric::FabricView> changed_view(const control::ClusterState& state, const RouteChange& change) {
  const auto& topology = state.topology();
  fabric::FabricView view = state.view;
  for (const auto* names : {&change.fail_links, &change.drain_links}) {
    for (const auto& name : *names) {
      const auto link = topology.find_link(name);
      if (!link) {
        return fail(ErrorKind::notFound, "links.notFound", "there is no link '" + name + "'", {},
                    "<guid>/<port>--<guid>/<port>; GET /v1/links lists them");
      }
      if (names == &change.fail_links) {
        view.set_state(link, fabric::LinkState::down);
      } else {
        view.set_drained(link, true);
      }
    }
  }
  for (const auto* names : {&change.fail_switches, &change.drain_switches}) {
    for (const auto& name : *names) {
      const auto sw = find_switch(topology, name);
      if (!sw) {
        return std::unexpected(no_switch(name));
      }
      if (names == &change.drain_switches) {
        view.set_drained(sw, true);
        continue;
      }
      for (const fabric::PortId port : topology.ports(sw)) {
        if (const auto link = topology.link(port)) view.set_state(link, fabric::LinkState::down);
      }
    }
  }
  return view;
}

}  // namespace railweave::api
