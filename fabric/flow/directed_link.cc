#include "fabric/flow/directed_link.h"

namespace railweave::fabric {

std::vector<double> link_capacities_mbps(const FabricView& view, double unknown_mbps) {
  const Topology& topology = view.topology();
  std::vector<double> capacity(directed_link_count(topology));
  for (const LinkId link : topology.links()) {
    const auto rate = static_cast<double>(view.rate(link).value());
    const double usable = !view.alive(link) ? 0 : rate > 0 ? rate : unknown_mbps;
    capacity[link.index() * 2] = capacity[link.index() * 2 + 1] = usable;
  }
  return capacity;
}

}  // namespace railweave::fabric
