// Dragonfly, dragonfly+ and torus: networks without a tree.
#include <array>
#include <cstdio>
#include <map>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "tests/unit/generate/fabric_measures.h"

namespace railweave::fabric::direct_network_test {
namespace {

Topology made(std::string_view kind, const GenerateParameters& parameters) {
  auto topology = generate(kind, parameters);
  EXPECT_TRUE(topology.has_value()) << (topology ? "" : topology.error().text());
  return std::move(topology).value();
}

std::map<std::pair<std::string_view, std::string_view>, unsigned> group_pairs(const Topology& topology) {
  std::map<std::pair<std::string_view, std::string_view>, unsigned> pairs;
  for (const auto& [pair, links] : switch_pairs(topology)) {
    auto a = topology.group(pair.first);
    auto b = topology.group(pair.second);
    if (b < a) std::swap(a, b);
    pairs[{a, b}] += links;
  }
  return pairs;
}

TEST(Dragonfly, AtItsLargestHasOneLinkBetweenEveryTwoGroups) {
  for (const auto& [a, p, h] :
       {std::array{4U, 2U, 2U}, std::array{6U, 3U, 3U}, std::array{3U, 1U, 1U}, std::array{2U, 4U, 5U}}) {
    const auto topology = made("dragonfly", {{"switches-per-group", std::to_string(a)},
                                             {"hosts-per-switch", std::to_string(p)},
                                             {"global-links", std::to_string(h)},
                                             {"gpus-per-host", "1"}});
    const unsigned g = a * h + 1;
    EXPECT_EQ(topology.switches().size(), a * g);
    EXPECT_EQ(topology.hosts().size(), a * p * g);
    const auto pairs = group_pairs(topology);
    EXPECT_EQ(pairs.size(), g + g * (g - 1) / 2);
    ASSERT_FALSE(pairs.empty());
    for (const auto& [pair, links] : pairs) EXPECT_EQ(links, pair.first == pair.second ? a * (a - 1) / 2 : 1U);
    for (const auto sw : topology.switches()) EXPECT_EQ(cabled_ports(topology, sw), p + a - 1 + h);
    EXPECT_LE(diameter(topology), 3U);
  }
}

TEST(Dragonfly, WithFewerGroupsSharesTheLinksEvenly) {
  const auto topology = made("dragonfly", {{"switches-per-group", "8"},
                                           {"hosts-per-switch", "4"},
                                           {"global-links", "4"},
                                           {"groups", "6"},
                                           {"gpus-per-host", "1"},
                                           {"radix", "16"}});
  ASSERT_FALSE(group_pairs(topology).empty());
  for (const auto& [pair, links] : group_pairs(topology)) EXPECT_EQ(links, pair.first == pair.second ? 28U : 32U / 5U);
  EXPECT_LE(diameter(topology), 3U);
}

TEST(Dragonfly, RefusesMoreGroupsThanLinks) {
  const auto result = generate("dragonfly", {{"groups", "10"}});
  ASSERT_FALSE(result.has_value());
  EXPECT_NE(result.error().hint.find("at most 9 groups"), std::string::npos) << result.error().text();
  EXPECT_FALSE(generate("dragonfly", {{"radix", "8"}}).has_value());
  EXPECT_FALSE(generate("dragonfly", {{"groups", "2"}, {"hosts", "17"}}).has_value());
}

TEST(DragonflyPlus, JoinsGroupsByTheirSpines) {
  const auto topology = made("dragonfly-plus", {{"leaves-per-group", "3"},
                                                {"spines-per-group", "4"},
                                                {"hosts-per-leaf", "2"},
                                                {"global-links", "5"},
                                                {"groups", "11"},
                                                {"gpus-per-host", "1"}});
  EXPECT_EQ(topology.switches().size(), 7 * 11U);
  EXPECT_EQ(topology.hosts().size(), 6 * 11U);
  ASSERT_FALSE(group_pairs(topology).empty());
  for (const auto& [pair, links] : group_pairs(topology)) EXPECT_EQ(links, pair.first == pair.second ? 12U : 2U);
  for (const auto sw : topology.switches()) {
    EXPECT_EQ(cabled_ports(topology, sw), topology.is_leaf(sw) ? 2 + 4U : 3 + 5U);
  }
  EXPECT_LE(diameter(topology), 5U);  // up, over, down, or with a spine and leaf of the own group between
}

std::array<int, 3> coordinates(std::string_view name) {
  std::array<int, 3> at{};
  EXPECT_EQ(std::sscanf(std::string(name).c_str(), "torus-%d-%d-%d", &at[0], &at[1], &at[2]), 3);
  return at;
}

TEST(Torus, DistancesAreThoseOfThreeRings) {
  for (const auto& size : {std::array{4, 4, 4}, std::array{5, 3, 2}, std::array{6, 1, 1}, std::array{2, 2, 2}}) {
    const auto topology = made("torus", {{"x", std::to_string(size[0])},
                                         {"y", std::to_string(size[1])},
                                         {"z", std::to_string(size[2])},
                                         {"gpus-per-host", "1"}});
    unsigned links = 0;
    for (const int n : size)
      links += n == 1 ? 0 : static_cast<unsigned>(size[0] * size[1] * size[2]) / (n == 2 ? 2 : 1);
    EXPECT_EQ(switch_pairs(topology).size(), links);
    ASSERT_FALSE(topology.switches().empty());
    for (const auto from : topology.switches()) {
      const auto distance = distances(topology, from);
      const auto a = coordinates(topology.name(from));
      for (const auto to : topology.switches()) {
        const auto b = coordinates(topology.name(to));
        int expected = 0;
        for (std::size_t d = 0; d < 3; ++d) {
          const int apart = std::abs(a[d] - b[d]);
          expected += std::min(apart, size[d] - apart);
        }
        ASSERT_EQ(distance[to.index()], static_cast<unsigned>(expected));
      }
    }
  }
}

TEST(Torus, DirectionsCanBeReadFromThePorts) {
  const auto topology = made("torus", {{"x", "5"},
                                       {"y", "4"},
                                       {"z", "3"},
                                       {"hosts-per-switch", "2"},
                                       {"gpus-per-host", "1"},
                                       {"links-per-neighbour", "2"}});
  const std::array size{5, 4, 3};
  ASSERT_FALSE(topology.switches().empty());
  for (const auto sw : topology.switches()) {
    const auto at = coordinates(topology.name(sw));
    for (const auto port : topology.ports(sw)) {
      if (topology.number(port) <= 2) continue;
      const unsigned direction = (topology.number(port) - 3) / 2;
      auto expected = at;
      auto& moved = expected[direction / 2];
      const int n = size[direction / 2];
      moved = (moved + (direction % 2 == 0 ? 1 : n - 1)) % n;
      ASSERT_TRUE(topology.peer(port).valid());
      EXPECT_EQ(coordinates(topology.name(topology.switch_of(topology.peer(port)))), expected);
    }
  }
}

}  // namespace
}  // namespace railweave::fabric::direct_network_test
