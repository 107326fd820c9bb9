#include "services/rest/json/fabric/link_sighting.h"

#include <utility>

#include "services/control/state/cluster_state.h"
#include "services/control/state/link_state.h"

namespace railweave::api {
namespace {

using namespace fabric;  // NOLINT: every name here is the fabric's

SubnetId subnet_of(const Topology& topology, LinkId link) {
  for (const PortId port : {topology.a(link), topology.b(link)}) {
    if (const SwitchId sw = topology.switch_of(port)) return topology.subnet(sw);
  }
  return {};
}

}  // namespace

LinkSightings::LinkSightings(const control::LiveFabric& live, const control::ClusterState& state) : state_(state) {
  const Topology& topology = state.topology();
  for (const SubnetId id : topology.subnets()) {
    Subnet subnet{live.subnet(topology.name(id))};
    if (subnet.status != nullptr && subnet.status->sights != nullptr &&
        subnet.status->sights->topology == state.view.topology_ptr()) {
      subnet.sights = subnet.status->sights.get();
      for (const auto& one : subnet.sights->flapping) flapping_.emplace(one.link, &one);
    }
    subnets_.push_back(std::move(subnet));
  }
}

std::optional<std::int64_t> LinkSightings::unseen_since(LinkId link) const {
  const SubnetId id = subnet_of(state_.topology(), link);
  if (!id || subnets_[id.index()].status == nullptr) return std::nullopt;
  const Subnet& subnet = subnets_[id.index()];
  if (subnet.sights != nullptr) {
    if (const auto unseen = subnet.sights->unseen.find(link); unseen != subnet.sights->unseen.end())
      return unseen->second;
  }
  if (subnet.status->is_unseen()) return subnet.status->discovery.at_us;
  return std::nullopt;
}

const control::FlappingCable* LinkSightings::flapping(LinkId link) const {
  const auto found = flapping_.find(link);
  return found == flapping_.end() ? nullptr : found->second;
}

std::string_view LinkSightings::state_text(LinkId link) const {
  if (unseen_since(link)) return "unknown";
  const auto* flaps = flapping(link);
  if (flaps != nullptr && flaps->is_held) return "held";
  return control::to_string(state_.view.state(link));
}

}  // namespace railweave::api
