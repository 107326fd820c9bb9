#include "tests/simulation/simulated_fabric.h"

#include <string>

#include "fabric/base/check.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::simulation {

// What the topology is built of, by the nodes of each subnet.
class SimulatedFabric::Drafts {
 public:
  fabric::TopologyBuilder builder;
  std::vector<fabric::HostDraft> hosts;
  struct OfSubnet {
    fabric::SubnetId network;
    std::map<int, fabric::SwitchDraft> switches;
    std::map<int, fabric::HcaDraft> adapters;
  };
  std::vector<OfSubnet> subnets;
};

// Leaves, spines, an adapter of each host, and cables between them.
void SimulatedFabric::cable(Drafts& drafts, SimulatedSubnet& into, unsigned hosts, Random& random) {
  const std::uint64_t number = drafts.subnets.size();
  auto& own = drafts.subnets.emplace_back();
  own.network = drafts.builder.subnet(into.name(), fabric::SubnetKind::compute);
  const unsigned leaves = 1 + random.pick(4), spines = leaves == 1 ? random.pick(2) : 1 + random.pick(3);
  const auto add_switch = [&](const std::string& tier, unsigned n) {
    const std::uint64_t guid = 0x2000 + 0x100 * number + into.switches().size();
    const std::string name = tier + "-" + std::to_string(number) + "-" + std::to_string(n);
    const int node = into.add_switch(guid, name);
    own.switches[node] = drafts.builder.add_switch(
        {.guid = Guid(guid), .name = name, .ports = SimulatedSubnet::kPorts, .subnet = own.network});
    return node;
  };
  std::vector<int> leaf, spine;
  for (unsigned l = 0; l < leaves; ++l) leaf.push_back(add_switch("leaf", l));
  for (unsigned s = 0; s < spines; ++s) spine.push_back(add_switch("spine", s));
  for (unsigned h = 0; h < hosts; ++h) {
    const std::string device = "mlx5_" + std::to_string(number);
    const std::uint64_t guid = 0x1000 + 0x10 * h + 0x4 * number;
    const int node = into.add_adapter(guid, "node-" + std::to_string(h) + " " + device);
    own.adapters[node] = drafts.builder.add_hca({.guid = Guid(guid), .host = drafts.hosts[h], .device = device});
    drafts.builder.set_port(own.adapters[node], 1, {.guid = Guid(guid + 1)});
    // The first of each leaf, so that none is empty while there are hosts enough.
    const unsigned at = h < leaves ? h : random.pick(leaves);
    into.join(leaf[at], node);
  }
  for (const int sw : leaf) {
    const unsigned first = spine.empty() ? 0 : random.pick(spine.size());
    for (unsigned s = 0; s < spine.size(); ++s) {
      if (s != first && random.one_in(5)) continue;  // irregular
      for (unsigned n = random.one_in(3) ? 2 : 1; n > 0; --n) into.join(sw, spine[s]);
    }
  }
  for (const auto& cable : into.cables) {
    const fabric::CableEnd a(own.switches.at(cable.a), cable.a_port);
    const auto b = into.is_switch(cable.b) ? fabric::CableEnd(own.switches.at(cable.b), cable.b_port)
                                           : fabric::CableEnd(own.adapters.at(cable.b), cable.b_port);
    drafts.builder.connect(a, b, fabric::infiniband_link(4, fabric::LinkSpeed::qdr));
  }
}

SimulatedFabric::SimulatedFabric(SimulatedTime& time, std::uint64_t seed) {
  Random random(seed);
  Drafts drafts;
  const unsigned hosts = 1 + random.pick(8), networks = random.one_in(3) ? 2 : 1;
  const unsigned gpus = networks << random.pick(4 - networks);
  for (unsigned h = 0; h < hosts; ++h) drafts.hosts.push_back(drafts.builder.host("node-" + std::to_string(h)));
  for (unsigned n = 0; n < networks; ++n) {
    subnets_.push_back(std::make_unique<SimulatedSubnet>(time, "sim-" + std::to_string(n)));
    cable(drafts, *subnets_.back(), hosts, random);
  }
  for (unsigned h = 0; h < hosts; ++h) {
    const auto domain = drafts.builder.nvlink_domain("node-" + std::to_string(h), "", from_gbps(3600));
    for (unsigned g = 0; g < gpus; ++g) {
      const auto gpu = drafts.builder.add_gpu(drafts.hosts[h]);
      drafts.builder.set_nvlink_domain(gpu, domain);
      const auto& subnet = *subnets_[g % networks];
      drafts.builder.add_nic(gpu, drafts.subnets[g % networks].adapters.at(subnet.adapters()[h]));
    }
  }
  auto built = std::move(drafts.builder).build();
  RAILWEAVE_CHECK(built.has_value(), "it is a fabric");
  topology_ = std::make_shared<const fabric::Topology>(std::move(*built));
  for (auto& subnet : subnets_) subnet->topology = topology_;
}

void SimulatedFabric::heal() {
  for (auto& subnet : subnets_) {
    subnet->lose(0, 1);
    subnet->delay_us.clear();
    subnet->broken_until_us = 0;
    for (const int sw : subnet->switches()) subnet->subnet.node(sw).silent = false;
  }
}

}  // namespace railweave::simulation
