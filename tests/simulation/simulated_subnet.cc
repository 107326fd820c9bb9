#include "tests/simulation/simulated_subnet.h"

#include <algorithm>

#include <infiniband/mad.h>

#include "fabric/base/check.h"
#include "fabric/drivers/infiniband/mad/notice.h"
#include "fabric/drivers/infiniband/mad/smp.h"
#include "tests/simulation/simulated_port.h"

namespace railweave::simulation {

using namespace fabric::infiniband;  // NOLINT: this file is about its types

void SimulatedSubnet::join(int a, int b) {
  const unsigned a_port = ++used_[a];
  const unsigned b_port = ++used_[b];
  RAILWEAVE_CHECK(a_port <= kPorts && b_port <= kPorts, "switches have ports enough");
  cables.push_back({a, b, a_port, b_port, true});
  subnet.cable(a, a_port, b, b_port);
}

int SimulatedSubnet::add_switch(std::uint64_t guid, const std::string& description) {
  switches_.push_back(subnet.add_switch(guid, kPorts, description));
  return switches_.back();
}

int SimulatedSubnet::add_adapter(std::uint64_t guid, const std::string& description) {
  adapters_.push_back(subnet.add_adapter(guid, 1, description));
  return adapters_.back();
}

const SimulatedSubnet::Cable* SimulatedSubnet::cable_at(int node, unsigned port) const {
  const auto found = std::ranges::find_if(
      cables, [&](const Cable& c) { return (c.a == node && c.a_port == port) || (c.b == node && c.b_port == port); });
  return found == cables.end() ? nullptr : &*found;
}

std::string SimulatedSubnet::link_text(const Cable& cable) {
  const auto sw = topology->find_switch(Guid(subnet.node(cable.a).guid));
  return topology->link_text(topology->link(topology->ports(sw)[cable.a_port - 1]));
}

bool SimulatedSubnet::has(const control::DrainTarget& target) {
  using control::DrainKind;
  if (target.kind == DrainKind::link) {
    return std::ranges::any_of(cables, [&](const Cable& cable) { return link_text(cable) == target.id; });
  }
  return target.kind == DrainKind::network_switch &&
         std::ranges::any_of(switches_, [&](int sw) { return to_string(Guid(subnet.node(sw).guid)) == target.id; });
}

void SimulatedSubnet::set(Cable& cable, bool up, bool trapped) {
  if (cable.is_up == up) return;
  cable.is_up = up;
  ++changes;
  up ? subnet.cable(cable.a, cable.a_port, cable.b, cable.b_port) : subnet.cut(cable.a, cable.a_port);
  if (!trapped) return;
  for (const int end : {cable.a, cable.b}) {
    if (is_switch(end)) report(end);
  }
}

void SimulatedSubnet::report(int sw) {
  Mad trap = lid_routed_smp(MadMethod::trap, Attribute::notice, 0);
  mad_set_field(trap.data() + 64, 0, IB_NOTICE_IS_GENERIC_F, 1);
  mad_set_field(trap.data() + 64, 0, IB_NOTICE_TRAP_NUMBER_F, kTrapLinkStateChange);
  const auto lid = static_cast<fabric::Lid>(subnet.node(sw).ports[0].lid);
  mad_set_field(trap.data() + 64, 0, IB_NOTICE_DATA_LID_F, lid);
  for (auto* port : open_ports_) {
    if (reached_from(port->station()).contains(sw)) port->arrive(time_.now_us(), {trap, lid, false});
  }
}

void SimulatedSubnet::forget_tables(int sw) {
  ++changes;
  auto& node = subnet.node(sw);
  std::ranges::fill(node.lft, 255);
  node.linear_top = 0;
}

std::set<int> SimulatedSubnet::reached_from(int station) {
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
