// Traffic between sites: bytes counted message by message against the long-haul links, and the delay of light.
#include <map>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "fabric/flow/flow_paths.h"
#include "fabric/generate/generate.h"
#include "scheduler/collective/placement_cost.h"
#include "scheduler/collective/traffic.h"

namespace railweave::scheduler::sites_test {
namespace {

using fabric::GpuId;

constexpr double kBytes = 1e9;
constexpr std::uint32_t kHosts = 4, kGpus = 4;  // of a site; of a host

struct Joined {
  std::size_t a, b;
  double mbps;
  float us;
};

// Sites of four hosts under one leaf each, joined as said: so thinly that nothing else is ever the bottleneck.
struct Sites {
  Sites(std::size_t count, const std::vector<Joined>& joined) {
    fabric::TopologyBuilder builder;
    for (std::size_t s = 0; s < count; ++s) {
      const std::size_t first = builder.host_count();
      const std::string name(1, static_cast<char>('a' + s));
      const bool made = fabric::generate_into({"fat-tree",
                                               {{"hosts", "4"},
                                                {"gpus-per-host", "4"},
                                                {"nics-per-host", "4"},
                                                {"nvlink-domain", "4"},
                                                {"tiers", s == 0 ? "3" : "2"},
                                                {"hosts-per-leaf", "2"},
                                                {"radix", "32"},
                                                {"prefix", name}}},
                                              builder)
                            .has_value();
      EXPECT_TRUE(made);
      for (std::size_t h = first; h < builder.host_count(); ++h) {
        builder.set_site(fabric::HostDraft(h), builder.site(name));
      }
    }
    for (const Joined& link : joined) {
      builder.join_sites({.a = builder.site(std::string(1, static_cast<char>('a' + link.a))),
                          .b = builder.site(std::string(1, static_cast<char>('a' + link.b))),
                          .rate = RateMbps(static_cast<std::int64_t>(link.mbps)),
                          .latency_us = link.us});
    }
    topology = std::make_shared<const fabric::Topology>(std::move(builder).build().value());
    bundles = std::make_unique<FabricBundles>(*topology, fabric::derive_locality(*topology), gpu_ports(*topology));
    capacity = bundles->capacities(fabric::link_capacities_mbps(fabric::FabricView(topology)));
  }

  [[nodiscard]] PlacementCost predict(std::span<const GpuId> gpus, const Parallelism& p, const TrafficSpec& t) const {
    static const GpuGeneration ideal{
        .name = "ideal",
        .nvlink_mbps = 3'600'000,
        .constants = {.nvls_efficiency = 1, .ring_efficiency = 1, .network_efficiency = 1}};
    return PlacementCostModel(*bundles, ideal).predict(gpus, p, t, capacity);
  }
  // Hosts in an order, all GPUs of each.
  [[nodiscard]] static std::vector<GpuId> gpus(const std::vector<std::uint32_t>& hosts) {
    std::vector<GpuId> all;
    for (const auto h : hosts) {
      for (std::uint32_t g = 0; g < kGpus; ++g) all.emplace_back(h * kGpus + g);
    }
    return all;
  }

  fabric::TopologyPtr topology;
  std::unique_ptr<FabricBundles> bundles;
  std::vector<double> capacity;
};

std::size_t site_of(GpuId gpu) { return gpu.index() / (kHosts * kGpus); }

// Bytes from site to site.
using Crossing = std::map<std::pair<std::size_t, std::size_t>, double>;

void send(Crossing& crossing, GpuId from, GpuId to, double bytes) {
  if (site_of(from) != site_of(to)) crossing[{site_of(from), site_of(to)}] += bytes;
}

// A chain a - b - c: what goes from a to c loads both.
double slowest_us(const Crossing& crossing, double ab_mbps, double bc_mbps) {
  const auto at = [&](std::size_t from, std::size_t to) {
    const auto found = crossing.find({from, to});
    return found == crossing.end() ? 0.0 : found->second;
  };
  return 8 * std::max({(at(0, 1) + at(0, 2)) / ab_mbps, (at(1, 0) + at(2, 0)) / ab_mbps,
                       (at(1, 2) + at(0, 2)) / bc_mbps, (at(2, 1) + at(2, 0)) / bc_mbps});
}
double delay_us(std::size_t from, std::size_t to, double ab_us, double bc_us) {
  if (from > to) std::swap(from, to);
  return from == to ? 0 : from == 0 && to == 2 ? ab_us + bc_us : from == 0 ? ab_us : bc_us;
}

TEST(SitesCost, IsThatOfEveryMessageAcross) {
  constexpr double kAb = 10'000, kBc = 7'000;
  const Sites near(3, {{0, 1, kAb, 0}, {1, 2, kBc, 0}}), far(3, {{0, 1, kAb, 400}, {1, 2, kBc, 1000}});
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<std::uint32_t> hosts(3 * kHosts);
    std::iota(hosts.begin(), hosts.end(), 0U);
    std::ranges::shuffle(hosts, random);
    const Parallelism p{.tensor = kGpus, .expert = 2, .data = 3, .pipeline = 2};
    const auto gpus = Sites::gpus(hosts);
    const TrafficSpec traffic{
        .tensor = {kBytes, 10}, .expert = {kBytes, 6}, .expert_data = {kBytes, 3}, .pipeline = {kBytes, 5}};
    const PlacementCost cost = far.predict(gpus, p, traffic), without = near.predict(gpus, p, traffic);
    Crossing ring, all, stages;
    double ring_us = 0, all_us = 0, stages_us = 0;
    std::map<std::uint64_t, double> round_us;  // by ring
    for (std::uint64_t r = 0; r < gpus.size(); ++r) {
      const RankCoordinates at = coordinates_of(p, r);
      RankCoordinates next = at;
      next.dp = (at.dp + 1) % p.data;
      GpuId to = gpus[rank_of(p, next)];
      send(ring, gpus[r], to, 2.0 * (p.data - 1) / p.data * kBytes);
      RankCoordinates key = at;
      key.dp = 0;
      double& round = round_us[rank_of(p, key)];
      round += delay_us(site_of(gpus[r]), site_of(to), 400, 1000);
      ring_us = std::max(ring_us, 2 * round);
      next = at;
      for (next.ep = 0; next.ep < p.expert; ++next.ep) {
        to = gpus[rank_of(p, next)];
        send(all, gpus[r], to, kBytes / p.expert);
        all_us = std::max(all_us, delay_us(site_of(gpus[r]), site_of(to), 400, 1000));
      }
      next = at;
      if (++next.pp < p.pipeline) {
        to = gpus[rank_of(p, next)];
        send(stages, gpus[r], to, kBytes);
        stages_us = std::max(stages_us, delay_us(site_of(gpus[r]), site_of(to), 400, 1000));
      }
    }
    const auto check = [&](CommGroup group, const Crossing& crossing, double us, double times, double calls) {
      const double expected = times * slowest_us(crossing, kAb, kBc);
      if (expected > 0) {
        EXPECT_NEAR(cost.of(group).transfer_us, expected, 1e-9 * expected) << to_text(group);
        EXPECT_EQ(cost.of(group).bundle_kind, FabricBundles::Kind::wan);
      }
      EXPECT_NEAR(cost.of(group).time_us - without.of(group).time_us, times * calls * us, 1e-3) << to_text(group);
    };
    check(CommGroup::expert_data, ring, ring_us, 1, 3);
    check(CommGroup::expert, all, all_us, 1, 6);
    check(CommGroup::pipeline, stages, stages_us, 2, 5);
    EXPECT_EQ(cost.of(CommGroup::tensor).time_us, without.of(CommGroup::tensor).time_us);
  }
}

TEST(SitesCost, TakesTheFasterRouteAndAddsUpParallelLinks) {
  // a - c is slower than by b; two links a - b are one of both rates, as slow as the slower.
  const Sites sites(4, {{0, 2, 1'000, 5000}, {0, 1, 1'000, 300}, {1, 2, 1'000, 500}, {0, 1, 3'000, 400}});
  const auto& bundles = *sites.bundles;
  const auto& direct = bundles.site_route(0, 1);
  ASSERT_EQ(direct.bundles.size(), 1U);
  EXPECT_EQ(sites.capacity[direct.bundles[0]], 4'000);
  EXPECT_EQ(direct.latency_us, 400);
  const auto& over = bundles.site_route(0, 2);
  ASSERT_EQ(over.bundles.size(), 2U);
  EXPECT_EQ(over.latency_us, 900);
  EXPECT_EQ(over.bundles[0], direct.bundles[0]);
  EXPECT_EQ(bundles.site_route(2, 0).bundles[1] ^ 1U, over.bundles[0]);  // the same route back
  EXPECT_TRUE(bundles.site_route(0, 3).bundles.empty());
  for (std::uint32_t b = 0; b < bundles.bundle_count(); ++b) {
    EXPECT_EQ(bundles.kind(b) == FabricBundles::Kind::wan, b / 2 >= bundles.first_wan());
    if (bundles.kind(b) == FabricBundles::Kind::wan) {
      EXPECT_TRUE(bundles.links(b).empty());
    }
  }
  // Sites without links are unreachable: in the cost, and path by path.
  const TrafficSpec traffic{.data = {kBytes, 1}};
  EXPECT_FALSE(sites.predict(Sites::gpus({0, 12}), {.tensor = 4, .data = 2}, traffic).of(CommGroup::data).reachable);
  EXPECT_TRUE(sites.predict(Sites::gpus({0, 8}), {.tensor = 4, .data = 2}, traffic).of(CommGroup::data).reachable);
  const BundledPaths paths(bundles, sites.capacity);
  std::vector<std::uint32_t> links;
  PathShape shape;
  EXPECT_FALSE(paths.append(GpuId(0), GpuId(12 * kGpus), links, shape));
  EXPECT_TRUE(links.empty());
  ASSERT_TRUE(paths.append(GpuId(0), GpuId(8 * kGpus), links, shape));
  EXPECT_NEAR(path_us(shape), 900, 5);  // the delay, and a few switches
}

TEST(SitesCost, RareAndCompressedExchangesAreWorthWhatTheySave) {
  const Sites sites(2, {{0, 1, 100'000, 400}});
  ModelSpec model{.parameters = 7e9, .layers = 32, .hidden_size = 4096, .sequence_length = 4096, .global_batch = 64};
  const Parallelism p{.tensor = 4, .data = 8};
  const auto gpus = Sites::gpus({0, 1, 2, 3, 4, 5, 6, 7});
  const auto data = [&](std::uint32_t every, double compression) {
    model.synchronise_every = every;
    model.gradient_compression = compression;
    return sites.predict(gpus, p, traffic_of(model, p)).of(CommGroup::data);
  };
  const GroupCost always = data(1, 1), rare = data(100, 1), small = data(1, 4), both = data(100, 4);
  EXPECT_EQ(always.bundle_kind, FabricBundles::Kind::wan);
  EXPECT_NEAR(rare.transfer_us * 100, always.transfer_us, 1e-6 * always.transfer_us);
  EXPECT_NEAR(small.transfer_us * 4, always.transfer_us, 1e-6 * always.transfer_us);
  EXPECT_LT(rare.time_us, always.time_us / 50);
  EXPECT_LT(small.time_us, always.time_us / 2);
  EXPECT_LT(both.time_us, rare.time_us);
}

}  // namespace
}  // namespace railweave::scheduler::sites_test
