// Hose loads against the definition (naive_hose.h): every pair, every link.
#include "fabric/capacity/hose_load.h"

#include <gtest/gtest.h>

#include "tests/support/seeds.h"
#include "tests/unit/capacity/naive_hose.h"
#include "tests/unit/capacity/routed_fabrics.h"

namespace railweave::fabric {
namespace {

using testing::NaivePort;

std::vector<NaivePort> random_ports(const testing::Routed& fabric, std::mt19937_64& random, bool even) {
  std::vector<PortId> ends = fabric.ends;
  std::ranges::shuffle(ends, random);
  ends.resize(std::min<std::size_t>(ends.size(), 2 + random() % 24));
  std::vector<NaivePort> ports;
  for (const PortId port : ends) {
    const auto rate = [&] { return even ? 1000 : static_cast<std::int64_t>(random() % 5) * 700; };
    ports.push_back({port, rate(), rate()});
  }
  return ports;
}

struct Compared {
  std::size_t links = 0, differ = 0, flow_links = 0, above_exact = 0, below_exact = 0;
};

void compare(std::uint64_t seed, testing::Health health, Compared& sum) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  const testing::Routed fabric = testing::random_fabric(seed, health);
  std::mt19937_64 random(seed * 77);
  HoseLoads loads(fabric.view, fabric.routing.tables);
  for (int job = 0; job < 3; ++job) {
    const auto ports = random_ports(fabric, random, job == 0);
    const HoseLoad exact = loads.load(testing::as_hose(ports));
    const HoseLoad bound = loads.load(testing::as_hose(ports), HoseMethod::bound);
    sum.flow_links += exact.flow_links;
    std::size_t loaded = 0;
    for (const auto& [way, pairs] : testing::crossing_pairs(fabric.view, fabric.routing.tables, ports)) {
      const auto link = static_cast<DirectedLink>(way.first * 2 + (way.second ? 0 : 1));
      const std::int64_t expected = testing::largest_matching(ports, pairs);
      ++sum.links;
      loaded += expected > 0 ? 1 : 0;
      if (load_on(exact.loads, link) != expected) ++sum.differ;
      if (load_on(bound.loads, link) < expected) ++sum.below_exact;
      if (load_on(bound.loads, link) > expected) ++sum.above_exact;
    }
    EXPECT_EQ(exact.loads.size(), loaded);
    EXPECT_TRUE(std::ranges::is_sorted(exact.loads, {}, &LinkLoad::link));
  }
}

TEST(HoseLoad, ClosedFormIsTheLargestMatchingOnEveryLinkOfHealthyFatTrees) {
  Compared sum;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(150); ++seed) compare(seed, testing::Health::even, sum);
  EXPECT_EQ(sum.differ, 0U);
  EXPECT_EQ(sum.above_exact, 0U) << "the bound alone is exact";
  EXPECT_EQ(sum.flow_links, 0U) << "and no maximum flow is needed";
  EXPECT_GT(sum.links, part_of_seeds(15'000));
  RecordProperty("links", static_cast<int>(sum.links));
}

// Where hosts, uplinks and cores do not divide evenly, routes to one switch's hosts fan in differently even without
// failures.
TEST(HoseLoad, IsTheLargestMatchingOnHealthyFatTreesOfAnyCounts) {
  Compared sum;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(100); ++seed) compare(seed, testing::Health::uneven, sum);
  EXPECT_EQ(sum.differ, 0U);
  EXPECT_EQ(sum.below_exact, 0U);
  EXPECT_GT(sum.flow_links, part_of_seeds(100));
}

TEST(HoseLoad, IsTheLargestMatchingOnFabricsWithFailures) {
  Compared sum;
  for (std::uint64_t seed = 1; seed <= part_of_seeds(250); ++seed) compare(seed, testing::Health::failures, sum);
  EXPECT_EQ(sum.differ, 0U);
  EXPECT_EQ(sum.below_exact, 0U) << "the bound is never less";
  EXPECT_GT(sum.flow_links, part_of_seeds(100)) << "the test reaches the maximum flow";
  EXPECT_GT(sum.above_exact, part_of_seeds(10)) << "and links on which it differs from the bound";
  RecordProperty("links", static_cast<int>(sum.links));
  RecordProperty("flow_links", static_cast<int>(sum.flow_links));
}

TEST(HoseLoad, NamesPortsThatAreCutOff) {
  const TopologyPtr topology = testing::make_fat_tree({});
  FabricView view(topology);
  const PortId lost = *topology->hca_ports().begin();
  view.set_state(topology->link(lost), LinkState::down);
  const testing::Routed fabric = testing::route_view(view);
  std::vector<HosePort> ports;
  for (const PortId port : fabric.ends) ports.push_back({port, 10, 10});
  ports.push_back(ports.back());  // twice
  HoseLoads loads(fabric.view, fabric.routing.tables);
  const HoseLoad load = loads.load(ports);
  EXPECT_EQ(load.cut_off, std::vector<PortId>{lost});
  EXPECT_FALSE(load.complete());
  ASSERT_FALSE(load.loads.empty());
  for (const LinkLoad& one : load.loads) EXPECT_NE(link_of(one.link), topology->link(lost));
  EXPECT_TRUE(loads.load({}).loads.empty());
  EXPECT_TRUE(loads.load(std::span(ports).subspan(1, 1)).loads.empty()) << "one port has no other to send to";
}

TEST(HoseLoad, DoesNotDependOnTheOrderOfPortsOrOnEarlierJobs) {
  const testing::Routed fabric = testing::random_fabric(5, testing::Health::failures);
  std::mt19937_64 random(9);
  auto ports = testing::as_hose(random_ports(fabric, random, false));
  HoseLoads first(fabric.view, fabric.routing.tables), second(fabric.view, fabric.routing.tables);
  const LoadVector expected = first.load(ports).loads;
  for (int i = 0; i < 5; ++i) {
    (void)second.load(testing::as_hose(random_ports(fabric, random, true)));
    std::ranges::shuffle(ports, random);
    EXPECT_EQ(second.load(ports).loads, expected);
  }
}

TEST(HoseLoad, LoadsOfManyPortsAreInOrderOfLinks) {
  const testing::Routed fabric = testing::route_view(FabricView(testing::make_fat_tree(testing::tree_of_648())));
  std::vector<HosePort> ports;
  for (const PortId port : fabric.ends) ports.push_back({port, 10, 10});
  HoseLoads loads(fabric.view, fabric.routing.tables);
  const HoseLoad load = loads.load(ports);
  EXPECT_EQ(load.loads.size(), directed_link_count(fabric.view.topology())) << "every link is crossed";
  for (std::size_t i = 0; i < load.loads.size(); ++i) {
    ASSERT_EQ(load.loads[i].link, i);
    if (!fabric.view.topology().joins_switches(link_of(load.loads[i].link))) {
      ASSERT_EQ(load.loads[i].mbps, 10);
    }
  }
}

}  // namespace
}  // namespace railweave::fabric
