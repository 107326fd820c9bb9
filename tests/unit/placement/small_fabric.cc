#include "small_fabric.h"

#include <algorithm>
#include <map>
#include <utility>

#include <gtest/gtest.h>

#include "fabric/topology/topology_builder.h"

namespace railweave::scheduler::testing_support {

using fabric::GpuId;

namespace {

class Cabling {
 public:
  explicit Cabling(const CabledPlan& plan)
      : plan_(plan), subnet_(builder_.subnet("compute", fabric::SubnetKind::compute)) {}

  fabric::Topology build() {
    for (std::size_t h = 0; h < plan_.hosts.size(); ++h) add(h, plan_.hosts[h]);
    auto topology = std::move(builder_).build();
    EXPECT_TRUE(topology) << topology.error().text();
    return std::move(*topology);
  }

 private:
  static constexpr std::uint8_t kPorts = 128;
  struct Switch {
    fabric::SwitchDraft draft;
    std::uint8_t used = 0;
  };
  Switch& named(const std::string& name, Switch* above, unsigned uplinks) {
    const auto [at, added] = switches_.try_emplace(name);
    if (!added) return at->second;
    fabric::SwitchSpec spec;
    spec.guid = Guid(0x300000 + guid_++);
    spec.name = name;
    spec.ports = kPorts;
    spec.subnet = subnet_;
    at->second.draft = builder_.add_switch(spec);
    for (unsigned i = 0; above != nullptr && i < uplinks; ++i) {
      builder_.connect({at->second.draft, ++at->second.used}, {above->draft, ++above->used},
                       fabric::infiniband_link(4, fabric::LinkSpeed::ndr));
    }
    return at->second;
  }
  void add(std::size_t number, const CabledPlan::Host& plan) {
    const auto host = builder_.host("node-" + std::to_string(number));
    Switch& core = named("core", nullptr, 0);
    Switch& spine = named("spine-" + std::to_string(plan.pod), &core, plan_.pod_uplinks);
    for (std::size_t g = 0; g < plan.domain_of_gpu.size(); ++g) {
      const std::string device = "mlx5_" + std::to_string(g);
      const auto nic =
          builder_.add_hca({.guid = Guid(0x100000 + guid_++), .host = host, .device = device, .description = device});
      fabric::HcaPortSpec port;
      port.guid = Guid(0x200000 + guid_++);
      port.rail = builder_.rail("rail-" + std::to_string(g));
      builder_.set_port(nic, 1, port);
      Switch& leaf =
          named("leaf-" + std::to_string(plan.leaf_group) + "-" + std::to_string(g), &spine, plan_.leaf_uplinks);
      builder_.connect({nic, 1}, {leaf.draft, ++leaf.used}, fabric::infiniband_link(4, fabric::LinkSpeed::ndr));
      const auto gpu = builder_.add_gpu(host);
      const int domain = plan.domain_of_gpu[g];
      if (domain >= 0) {
        builder_.set_nvlink_domain(gpu,
                                   builder_.nvlink_domain("domain-" + std::to_string(domain), "", from_gbps(3600)));
      }
      builder_.add_nic(gpu, nic);
    }
  }

  const CabledPlan& plan_;
  fabric::TopologyBuilder builder_;
  fabric::SubnetId subnet_;
  std::map<std::string, Switch> switches_;
  std::uint64_t guid_ = 1;
};

}  // namespace

PlacementFabricPtr CabledPlan::build() const {
  return std::make_shared<const PlacementFabric>(std::make_shared<const fabric::Topology>(Cabling(*this).build()));
}

CabledPlan random_cabled(Random& random, std::size_t hosts, unsigned gpus, unsigned domains) {
  CabledPlan plan;
  plan.leaf_uplinks = static_cast<unsigned>(1 + below(random, 3));
  plan.pod_uplinks = static_cast<unsigned>(1 + below(random, 4));
  std::uint32_t leaf_group = 0, pod = 0;
  int domain = 0;
  bool paired = false;  // with the host before
  for (std::size_t h = 0; h < hosts; ++h) {
    if (h > 0) ++domain;
    const bool joins = domains == 2 ? h % 2 == 1 : domains == 3 && h > 0 && !paired && below(random, 2) == 0;
    paired = joins;
    if (joins) --domain;
    if (h > 0 && !joins && below(random, 2) == 0) {
      ++leaf_group;
      if (below(random, 2) == 0) ++pod;
    }
    CabledPlan::Host host{.domain_of_gpu = {}, .leaf_group = leaf_group, .pod = pod};
    for (unsigned g = 0; g < gpus; ++g) {
      host.domain_of_gpu.push_back(domains == 1 ? static_cast<int>(2 * h + g * 2 / gpus) : domain);
    }
    plan.hosts.push_back(std::move(host));
  }
  return plan;
}

SmallCase partly_full(Random& random, PlacementFabricPtr fabric, double fill, std::size_t most_free) {
  SmallCase on{.fabric = std::move(fabric), .allocations = {}, .free = {}};
  const auto& topology = on.fabric->topology();
  on.allocations = no_allocations(topology);
  const auto take = [&](GpuId gpu) {
    on.allocations.write(topology.host(gpu).index()).used |= std::uint64_t{1} << topology.local_index(gpu);
  };
  for (const GpuId gpu : topology.gpus()) {
    if (static_cast<double>(below(random, 1000)) < fill * 1000) {
      take(gpu);
    } else {
      on.free.push_back(gpu);
    }
  }
  while (on.free.size() > most_free) {
    const auto at = on.free.begin() + static_cast<std::ptrdiff_t>(below(random, on.free.size()));
    take(*at);
    on.free.erase(at);
  }
  return on;
}

std::vector<NodePreference> random_preferences(Random& random, std::size_t hosts, std::size_t most) {
  std::vector<NodePreference> preferences(1 + below(random, most));
  for (NodePreference& preference : preferences) {
    preference.weight = static_cast<std::uint32_t>(1 + below(random, NodePreference::kMaxWeight));
    preference.avoid = below(random, 3) == 0;
    for (std::size_t host = 0; host < hosts; ++host) {
      if (below(random, 3) == 0) preference.nodes.push_back("node-" + std::to_string(host));
    }
    if (preference.nodes.empty()) preference.nodes.emplace_back("node-0");
  }
  return preferences;
}

JobSpec with_random_traffic(Random& random, Parallelism parallelism) {
  JobSpec spec;
  spec.parallelism = parallelism;
  TrafficSpec traffic;
  const auto some = [&](double unit) { return unit * static_cast<double>(1 + below(random, 40)); };
  if (parallelism.tensor > 1) traffic.tensor = {some(1e8), 100};
  if (parallelism.context > 1) traffic.context = {some(1e8), 50};
  if (parallelism.expert > 1) traffic.expert = {some(1e7), 20};
  if (parallelism.data * parallelism.expert * parallelism.context > 1) traffic.data = {some(1e8), 20};
  if (parallelism.pipeline > 1) traffic.pipeline = {some(2e7), 16};
  spec.traffic = traffic;
  return spec;
}

Ruler::Ruler(const PlacementFabric& fabric, const JobSpec& spec)
    : fabric_(fabric),
      parallelism_(spec.parallelism),
      traffic_(traffic_of_job(spec).traffic),
      model_(fabric.bundles(), generation_of(fabric)) {}

double Ruler::operator()(std::span<const GpuId> gpu_of_rank) {
  return model_.predict(gpu_of_rank, parallelism_, traffic_, fabric_.nominal_mbps()).total_us;
}

std::string text_of(const PlacementFabric& fabric, std::span<const GpuId> gpu_of_rank) {
  std::string text;
  const auto& topology = fabric.topology();
  for (const GpuId gpu : gpu_of_rank) {
    text += " " + std::string(topology.name(topology.host(gpu))).substr(5) + "." +
            std::to_string(topology.local_index(gpu));
  }
  return text;
}

std::string text_of(const Parallelism& p) {
  return "tp" + std::to_string(p.tensor) + " cp" + std::to_string(p.context) + " ep" + std::to_string(p.expert) +
         " dp" + std::to_string(p.data) + " pp" + std::to_string(p.pipeline);
}

}  // namespace railweave::scheduler::testing_support
