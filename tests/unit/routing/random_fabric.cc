#include "tests/unit/routing/random_fabric.h"

#include <algorithm>
#include <numeric>

namespace railweave::fabric::testing {

TopologyPtr build(const FabricSketch& sketch) {
  TopologyBuilder builder;
  const LinkSpec ndr = infiniband_link(4, LinkSpeed::ndr);
  std::vector<std::uint64_t> guids(sketch.switches.size());
  std::iota(guids.begin(), guids.end(), 0x100U);
  if (sketch.guid_seed != 0) {
    std::mt19937_64 random(sketch.guid_seed);
    std::shuffle(guids.begin(), guids.end(), random);
  }
  std::vector<unsigned> ports(sketch.switches.size(), 0);
  for (const auto& [a, b] : sketch.cables) ++ports[a], ++ports[b];
  std::vector<SwitchDraft> switches;
  std::uint64_t hca_guid = 0x10000;
  unsigned host_count = 0;
  for (unsigned i = 0; i < sketch.switches.size(); ++i) {
    const auto& sw = sketch.switches[i];
    switches.push_back(builder.add_switch({.guid = Guid(guids[i]),
                                           .name = "sw-" + std::to_string(i),
                                           .description = {},
                                           .ports = ports[i] + sw.hosts + sw.aggregation_nodes,
                                           .subnet = {},
                                           .rack = {},
                                           .group = {}}));
  }
  std::vector<unsigned> next(sketch.switches.size(), 0);
  for (unsigned i = 0; i < sketch.switches.size(); ++i) {
    const auto add = [&](HcaKind kind, HostDraft host, std::uint8_t lmc) {
      const HcaDraft hca = builder.add_hca(
          {.guid = Guid(hca_guid), .kind = kind, .host = host, .device = {}, .description = {}, .ports = 1});
      builder.set_port(hca, 1, {.guid = Guid(hca_guid++), .lmc = lmc, .rail = {}});
      builder.connect(CableEnd(switches[i], ++next[i]), CableEnd(hca, 1), ndr);
    };
    for (unsigned n = 0; n < sketch.switches[i].hosts; ++n, ++host_count) {
      add(HcaKind::host, builder.host("node-" + std::to_string(host_count)),
          static_cast<std::uint8_t>(sketch.lmc_of_hosts[host_count % sketch.lmc_of_hosts.size()]));
    }
    for (unsigned n = 0; n < sketch.switches[i].aggregation_nodes; ++n) add(HcaKind::aggregation, {}, 0);
  }
  for (std::size_t i = 0; i < sketch.cables.size(); ++i) {
    const auto& [a, b] = sketch.cables[i];
    const unsigned from = ++next[a], to = ++next[b];
    builder.connect(CableEnd(switches[a], from), CableEnd(switches[b], to),
                    i < sketch.cable_specs.size() ? sketch.cable_specs[i] : ndr);
  }
  return std::make_shared<const Topology>(std::move(builder).build().value());
}

namespace {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  unsigned below(unsigned n) { return static_cast<unsigned>(engine_() % n); }
  unsigned between(unsigned least, unsigned most) { return least + below(most - least + 1); }
  bool once_in(unsigned n) { return below(n) == 0; }
  std::uint64_t word() { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

// One tree of two or three tiers, appended; returns the numbers of its switches, tier by tier.
std::vector<std::vector<unsigned>> add_tree(FabricSketch& sketch, Random& random) {
  std::vector<std::vector<unsigned>> tiers(3);
  const auto add = [&](std::size_t tier, unsigned hosts) {
    tiers[tier].push_back(static_cast<unsigned>(sketch.switches.size()));
    sketch.switches.push_back({hosts, 0});
    return tiers[tier].back();
  };
  const bool three = random.once_in(2);
  const unsigned pods = three ? random.between(1, 3) : 1, planes = random.between(1, 3), cores = random.between(1, 3);
  for (unsigned plane = 0; three && plane < planes; ++plane) {
    for (unsigned c = 0; c < cores; ++c) add(2, 0);
  }
  for (unsigned pod = 0; pod < pods; ++pod) {
    const unsigned leaves = random.between(1, three ? 3 : 6);
    const unsigned parallel = random.between(1, 2);
    std::vector<unsigned> spines;
    for (unsigned plane = 0; plane < planes; ++plane) {
      spines.push_back(add(1, 0));
      for (unsigned c = 0; three && c < cores; ++c)
        sketch.cables.emplace_back(spines.back(), tiers[2][plane * cores + c]);
    }
    for (unsigned i = 0; i < leaves; ++i) {
      const unsigned leaf = add(0, random.between(1, 4));
      for (const unsigned spine : spines) {
        for (unsigned p = 0; p < parallel; ++p) sketch.cables.emplace_back(leaf, spine);
      }
    }
  }
  return tiers;
}

}  // namespace

FabricSketch random_tree(std::uint64_t seed) {
  Random random(seed);
  FabricSketch sketch;
  sketch.guid_seed = random.once_in(3) ? 0 : random.word() | 1U;
  const auto tiers = add_tree(sketch, random);
  if (random.once_in(4)) {  // another tree, separate or cabled to the first
    const auto other = add_tree(sketch, random);
    if (random.once_in(2)) {
      const auto& tops = tiers[2].empty() ? tiers[1] : tiers[2];
      const auto& other_tops = other[2].empty() ? other[1] : other[2];
      for (const unsigned top : other_tops) sketch.cables.emplace_back(top, tops[random.below(unsigned(tops.size()))]);
    }
  }
  const auto any = [&] { return random.below(static_cast<unsigned>(sketch.switches.size())); };
  if (random.once_in(2)) {  // cables missing
    for (unsigned n = random.between(1, 4); n > 0 && sketch.cables.size() > 1; --n) {
      sketch.cables.erase(sketch.cables.begin() + random.below(static_cast<unsigned>(sketch.cables.size())));
    }
  }
  if (random.once_in(3)) {  // same-rank links
    for (unsigned n = random.between(1, 3); n > 0; --n) {
      const auto& tier = tiers[random.below(tiers[2].empty() ? 2 : 3)];
      const unsigned a = tier[random.below(unsigned(tier.size()))], b = tier[random.below(unsigned(tier.size()))];
      if (a != b) sketch.cables.emplace_back(a, b);
    }
  }
  if (random.once_in(3)) {  // a leaf on leaves, or on a top
    const auto leaf = static_cast<unsigned>(sketch.switches.size());
    sketch.switches.push_back({random.between(1, 3), 0});
    for (unsigned n = random.between(1, 2); n > 0; --n) {
      const auto& tier = random.once_in(2) ? tiers[0] : (tiers[2].empty() ? tiers[1] : tiers[2]);
      sketch.cables.emplace_back(leaf, tier[random.below(unsigned(tier.size()))]);
    }
  }
  if (random.once_in(2)) {  // aggregation nodes everywhere
    for (auto& sw : sketch.switches) sw.aggregation_nodes = 1;
  } else if (random.once_in(2)) {  // end ports on some spines
    for (unsigned n = random.between(1, 3); n > 0; --n) ++sketch.switches[any()].hosts;
  }
  if (random.once_in(4)) {  // any two switches joined
    const unsigned a = any(), b = any();
    if (a != b) sketch.cables.emplace_back(a, b);
  }
  if (random.once_in(3)) {  // mixed speeds
    for (std::size_t i = 0; i < sketch.cables.size(); ++i) {
      sketch.cable_specs.push_back(infiniband_link(4, random.once_in(3) ? LinkSpeed::hdr : LinkSpeed::ndr));
    }
  }
  if (random.once_in(6)) sketch.lmc_of_hosts = {0, 1, 2};
  return sketch;
}

FabricSketch random_graph(std::uint64_t seed) {
  Random random(seed);
  FabricSketch sketch;
  sketch.guid_seed = random.word() | 1U;
  const unsigned switches = random.between(2, 14);
  for (unsigned i = 0; i < switches; ++i) {
    sketch.switches.push_back({random.once_in(3) ? 0 : random.between(1, 3), random.once_in(5) ? 1U : 0U});
  }
  for (unsigned i = 1; i < switches; ++i) sketch.cables.emplace_back(i, random.below(i));
  for (unsigned n = random.below(2 * switches); n > 0; --n) {
    const unsigned a = random.below(switches), b = random.below(switches);
    if (a != b) sketch.cables.emplace_back(a, b);
  }
  sketch.switches.front().hosts += 1;
  return sketch;
}

}  // namespace railweave::fabric::testing
