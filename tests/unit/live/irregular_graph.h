// Random fabrics that are no trees, by seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fabric/topology/topology_builder.h"

namespace railweave::control::irregular_graph {

using namespace fabric;  // NOLINT: this file is about its types

inline constexpr unsigned kSwitches = 12, kHosts = 3, kCables = 24;

// A connected random graph of switches with hosts at each.
inline TopologyPtr graph(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  std::set<std::pair<unsigned, unsigned>> cables;
  for (unsigned i = 1; i < kSwitches; ++i) cables.emplace(below(i), i);
  while (cables.size() < kCables) {
    const auto [a, b] = std::minmax({below(kSwitches), below(kSwitches)});
    if (a != b) cables.emplace(a, b);
  }
  TopologyBuilder builder;
  const LinkSpec ndr = infiniband_link(4, LinkSpeed::ndr);
  std::vector<SwitchDraft> switches;
  std::vector<unsigned> next(kSwitches, 0);
  for (unsigned i = 0; i < kSwitches; ++i) {
    switches.push_back(builder.add_switch({.guid = Guid(0x100U + i),
                                           .name = "sw-" + std::to_string(i),
                                           .description = {},
                                           .ports = kSwitches + kHosts,
                                           .subnet = {},
                                           .rack = {},
                                           .group = {}}));
  }
  for (unsigned n = 0; n < kSwitches * kHosts; ++n) {
    const Guid guid(0x10000U + n);
    const auto host = builder.host("node-" + std::to_string(n));
    const HcaDraft hca = builder.add_hca(
        {.guid = guid, .kind = HcaKind::host, .host = host, .device = {}, .description = {}, .ports = 1});
    builder.set_port(hca, 1, {.guid = guid, .lmc = 0, .rail = {}});
    builder.add_nic(builder.add_gpu(host), hca);
    builder.connect(CableEnd(switches[n / kHosts], ++next[n / kHosts]), CableEnd(hca, 1), ndr);
  }
  for (const auto& [a, b] : cables) {
    const unsigned from = ++next[a], to = ++next[b];
    builder.connect(CableEnd(switches[a], from), CableEnd(switches[b], to), ndr);
  }
  return std::make_shared<const Topology>(std::move(builder).build().value());
}

}  // namespace railweave::control::irregular_graph
