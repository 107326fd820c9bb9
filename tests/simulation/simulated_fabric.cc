#include "tests/simulation/simulated_fabric.h"

#include <algorithm>

#include <infiniband/mad.h>

#include "fabric/base/check.h"
#include "fabric/drivers/infiniband/mad/notice.h"
#include "fabric/drivers/infiniband/mad/smp.h"
#include "fabric/topology/topology_builder.h"
#include "tests/simulation/simulated_port.h"

namespace railweave::simulation {
namespace {

using namespace fabric::infiniband;  // NOLINT: this file is about its types

constexpr unsigned kPorts = 12;

}  // namespace

void SimulatedFabric::join(int a, int b) {
  const unsigned a_port = ++used_[a];
  const unsigned b_port = ++used_[b];
  RAILWEAVE_CHECK(a_port <= kPorts && b_port <= kPorts, "switches have ports enough");
  cables.push_back({a, b, a_port, b_port, true});
  subnet.cable(a, a_port, b, b_port);
}

SimulatedFabric::SimulatedFabric(SimulatedTime& time, std::uint64_t seed) : time_(time) {
  Random random(seed);
  const unsigned leaves = 1 + random.pick(4), spines = leaves == 1 ? random.pick(2) : 1 + random.pick(3);
  const unsigned gpus = 1U << random.pick(3);
  fabric::TopologyBuilder builder;
  const auto network = builder.subnet(kSubnet, fabric::SubnetKind::compute);
  std::map<int, fabric::SwitchDraft> drafts;
  std::map<int, fabric::HcaDraft> hcas;
  std::vector<int> leaf, spine;
  const auto add_switch = [&](const std::string& name) {
    const std::uint64_t guid = 0x2000 + switches_.size();
    const int node = subnet.add_switch(guid, kPorts, name);
    drafts[node] = builder.add_switch({.guid = Guid(guid), .name = name, .ports = kPorts, .subnet = network});
    switches_.push_back(node);
    return node;
  };
  for (unsigned l = 0; l < leaves; ++l) leaf.push_back(add_switch("leaf-" + std::to_string(l)));
  for (unsigned s = 0; s < spines; ++s) spine.push_back(add_switch("spine-" + std::to_string(s)));
  for (const int sw : leaf) {
    for (unsigned hosts = 1 + random.pick(leaves == 1 ? 4 : 3); hosts > 0; --hosts) {
      const std::string name = "node-" + std::to_string(adapters_.size());
      const std::uint64_t guid = 0x1000 + 16 * adapters_.size();
      const int node = subnet.add_adapter(guid, 1, name + " mlx5_0");
      const auto host = builder.host(name);
      hcas[node] = builder.add_hca({.guid = Guid(guid), .host = host, .device = "mlx5_0"});
      builder.set_port(hcas[node], 1, {.guid = Guid(guid + 1)});
      const auto domain = builder.nvlink_domain(name, "", from_gbps(3600));
      for (unsigned g = 0; g < gpus; ++g) {
        const auto gpu = builder.add_gpu(host);
        builder.set_nvlink_domain(gpu, domain);
        builder.add_nic(gpu, hcas[node]);
      }
      adapters_.push_back(node);
      join(sw, node);
    }
    const unsigned first = spine.empty() ? 0 : random.pick(spine.size());
    for (unsigned s = 0; s < spine.size(); ++s) {
      if (s != first && random.one_in(5)) continue;  // irregular
      for (unsigned n = random.one_in(3) ? 2 : 1; n > 0; --n) join(sw, spine[s]);
    }
  }
  for (const auto& cable : cables) {
    const auto spec = fabric::infiniband_link(4, fabric::LinkSpeed::qdr);
    const fabric::CableEnd a(drafts.at(cable.a), cable.a_port);
    builder.connect(a,
                    is_switch(cable.b) ? fabric::CableEnd(drafts.at(cable.b), cable.b_port)
                                       : fabric::CableEnd(hcas.at(cable.b), cable.b_port),
                    spec);
  }
  auto built = std::move(builder).build();
  RAILWEAVE_CHECK(built.has_value(), "it is a fabric");
  topology_ = std::make_shared<const fabric::Topology>(std::move(*built));
}

const SimulatedFabric::Cable* SimulatedFabric::cable_at(int node, unsigned port) const {
  const auto found = std::ranges::find_if(
      cables, [&](const Cable& c) { return (c.a == node && c.a_port == port) || (c.b == node && c.b_port == port); });
  return found == cables.end() ? nullptr : &*found;
}

std::string SimulatedFabric::link_text(const Cable& cable) {
  const auto sw = topology_->find_switch(Guid(subnet.node(cable.a).guid));
  return topology_->link_text(topology_->link(topology_->ports(sw)[cable.a_port - 1]));
}

void SimulatedFabric::set(Cable& cable, bool up, bool trapped) {
  if (cable.is_up == up) return;
  cable.is_up = up;
  ++changes;
  up ? subnet.cable(cable.a, cable.a_port, cable.b, cable.b_port) : subnet.cut(cable.a, cable.a_port);
  if (!trapped) return;
  for (const int end : {cable.a, cable.b}) {
    if (is_switch(end)) report(end);
  }
}

void SimulatedFabric::report(int sw) {
  Mad trap = lid_routed_smp(MadMethod::trap, Attribute::notice, 0);
  mad_set_field(trap.data() + 64, 0, IB_NOTICE_IS_GENERIC_F, 1);
  mad_set_field(trap.data() + 64, 0, IB_NOTICE_TRAP_NUMBER_F, kTrapLinkStateChange);
  const auto lid = static_cast<fabric::Lid>(subnet.node(sw).ports[0].lid);
  mad_set_field(trap.data() + 64, 0, IB_NOTICE_DATA_LID_F, lid);
  for (auto* port : open_ports_) {
    if (reached_from(port->station()).contains(sw)) port->arrive(time_.now_us(), {trap, lid, false});
  }
}

void SimulatedFabric::forget_tables(int sw) {
  ++changes;
  auto& node = subnet.node(sw);
  std::ranges::fill(node.lft, 255);
  node.linear_top = 0;
}

std::set<int> SimulatedFabric::reached_from(int station) {
  std::set<int> seen{station};
  std::vector<int> queue{station};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    if (i > 0 && !is_switch(queue[i])) continue;
    for (const auto& port : subnet.node(queue[i]).ports) {
      if (port.peer < 0 || subnet.node(port.peer).silent || !seen.insert(port.peer).second) continue;
      queue.push_back(port.peer);
    }
  }
  return seen;
}

}  // namespace railweave::simulation
