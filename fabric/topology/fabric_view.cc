#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

FabricView::FabricView(TopologyPtr topology)
    : topology_(std::move(topology)),
      links_(topology_->links().size()),
      switch_drained_(topology_->switches().size()),
      host_drained_(topology_->hosts().size()) {}

bool FabricView::carries_transit(LinkId link) const {
  if (!alive(link) || drained(link)) return false;
  for (const auto port : {topology_->a(link), topology_->b(link)}) {
    if (const SwitchId sw = topology_->switch_of(port); sw && drained(sw)) return false;
  }
  return true;
}

void FabricView::set_state(LinkId link, LinkState state) {
  links_.write(link.index()).state = static_cast<std::uint8_t>(state);
}
void FabricView::set_drained(LinkId link, bool drained) { links_.write(link.index()).drained = drained; }
void FabricView::set_cost(LinkId link, float cost) { links_.write(link.index()).cost = cost >= 1 ? cost : 1; }
void FabricView::set_drained(SwitchId sw, bool drained) { switch_drained_.write(sw.index()) = drained ? 1 : 0; }
void FabricView::set_drained(HostId host, bool drained) { host_drained_.write(host.index()) = drained ? 1 : 0; }

}  // namespace railweave::fabric
