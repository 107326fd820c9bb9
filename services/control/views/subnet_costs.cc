#include "services/control/views/subnet_costs.h"

#include <algorithm>

namespace railweave::control {

std::string_view subnet_of_link(const fabric::Topology& topology, std::string_view link_text) {
  const auto link = topology.find_link(link_text);
  return link && topology.joins_switches(link) ? topology.name(topology.subnet(topology.switch_of(topology.a(link))))
                                               : std::string_view();
}

std::size_t costs_in(const ClusterState& state, std::string_view subnet) {
  return static_cast<std::size_t>(std::ranges::count_if(state.link_costs->by_link, [&](const auto& one) {
    return subnet_of_link(state.topology(), one.first) == subnet;
  }));
}

}  // namespace railweave::control
