#include "fabric/topology/fabric_view.h"

#include <memory>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/generate/generate.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric::fabric_view_test {
namespace {

TopologyPtr small_tree() {
  auto topology = generate("fat-tree", {{"hosts", "32"}, {"gpus-per-host", "1"}, {"radix", "8"}, {"tiers", "3"}});
  EXPECT_TRUE(topology.has_value());
  return std::make_shared<const Topology>(std::move(topology).value());
}

LinkId uplink(const Topology& topology) {
  for (const auto link : topology.links()) {
    if (topology.joins_switches(link)) return link;
  }
  return {};
}

TEST(FabricView, EveryLinkIsUpInitially) {
  const FabricView view(small_tree());
  ASSERT_FALSE(view.topology().links().empty());
  for (const auto link : view.topology().links()) {
    EXPECT_EQ(view.state(link), LinkState::up);
    EXPECT_TRUE(view.carries_transit(link));
    EXPECT_TRUE(view.alive(link));
    EXPECT_FALSE(view.drained(link));
  }
}

TEST(FabricView, TheRateIsTheLesserOfAcceptedAndSeen) {
  FabricView view(small_tree());
  const LinkId link = uplink(view.topology());
  const RateMbps accepted = view.topology().rate(link);
  ASSERT_GT(accepted.value(), 2'000);
  EXPECT_EQ(view.rate(link), accepted);
  const FabricView before = view;
  view.set_rate_seen(link, RateMbps(2'000));
  EXPECT_EQ(view.rate(link), RateMbps(2'000));
  EXPECT_EQ(view.rate_seen(link), RateMbps(2'000));
  EXPECT_EQ(before.rate(link), accepted) << "a copy keeps what it was";
  view.set_rate_seen(link, RateMbps(accepted.value() * 2));
  EXPECT_EQ(view.rate(link), accepted) << "no more than accepted is counted on";
  view.set_rate_seen(link, RateMbps(0));
  EXPECT_EQ(view.rate(link), accepted) << "not known";

  TopologyBuilder builder;
  const auto sw = builder.add_switch({.guid = Guid(1), .name = "sw", .ports = 1});
  const auto hca = builder.add_hca({.guid = Guid(2), .host = builder.host("n0"), .device = "mlx5_0"});
  builder.connect({sw, 1}, {hca, 1}, LinkSpec{});
  FabricView unknown(std::make_shared<const Topology>(std::move(builder).build().value()));
  EXPECT_EQ(unknown.rate(LinkId(0)), RateMbps(0));
  unknown.set_rate_seen(LinkId(0), RateMbps(25'000));
  EXPECT_EQ(unknown.rate(LinkId(0)), RateMbps(25'000)) << "where no rate is accepted the one that is seen counts";
}

TEST(FabricView, LinksBetweenSitesHaveStatesAndDrainsOfTheirOwn) {
  const auto made = generate("rail-optimized", {{"hosts", "4"}, {"sites", "3"}, {"wan-links", "4"}});
  ASSERT_TRUE(made);
  FabricView view(std::make_shared<const Topology>(*made));
  const FabricView before = view;
  ASSERT_EQ(view.topology().site_links().size(), 3U);
  const SiteLinkId first(0), second(1);
  EXPECT_EQ(view.links_in_use(first), 4U);
  EXPECT_TRUE(view.site_links_in_use().empty()) << "all of them";
  view.set_state(first, LinkState::down);
  view.set_state(second, LinkState::degraded, 3);
  EXPECT_EQ(view.site_links_in_use(), (std::vector<std::uint32_t>{0, 3, 4}));
  view.set_drained(second, true);
  EXPECT_EQ(view.links_in_use(second), 0U);
  EXPECT_EQ(view.state(second), LinkState::degraded);
  EXPECT_EQ(view.links_up(second), 3U);
  EXPECT_EQ(before.state(first), LinkState::up) << "a copy keeps what it was";
  EXPECT_FALSE(before.drained(second));
  view.set_drained(second, false);
  view.set_state(second, LinkState::degraded);
  EXPECT_EQ(view.links_in_use(second), 4U) << "not known how many: all count";
  view.set_state(second, LinkState::up, 2);
  EXPECT_EQ(view.links_up(second), 0U) << "of degraded ones alone";
  view.set_state(first, LinkState::up);
  EXPECT_TRUE(view.site_links_in_use().empty());
}

TEST(FabricView, DownAndDrainedLinksCarryNoTransit) {
  FabricView view(small_tree());
  const LinkId link = uplink(view.topology());
  view.set_state(link, LinkState::degraded);
  EXPECT_TRUE(view.carries_transit(link));
  view.set_state(link, LinkState::down);
  EXPECT_FALSE(view.alive(link));
  EXPECT_FALSE(view.carries_transit(link));
  view.set_state(link, LinkState::up);
  view.set_drained(link, true);
  EXPECT_TRUE(view.alive(link));
  EXPECT_FALSE(view.carries_transit(link));
  view.set_drained(link, false);
  EXPECT_TRUE(view.carries_transit(link));
}

TEST(FabricView, ADrainedSwitchClosesItsLinksOnly) {
  FabricView view(small_tree());
  const Topology& topology = view.topology();
  const SwitchId sw = topology.switch_of(topology.a(uplink(topology)));
  view.set_drained(sw, true);
  ASSERT_FALSE(topology.links().empty());
  for (const auto link : topology.links()) {
    const bool touches = topology.switch_of(topology.a(link)) == sw || topology.switch_of(topology.b(link)) == sw;
    EXPECT_EQ(view.carries_transit(link), !touches);
    EXPECT_TRUE(view.alive(link));
  }
}

TEST(FabricView, KeepsDrainedHosts) {
  FabricView view(small_tree());
  view.set_drained(HostId(3), true);
  EXPECT_TRUE(view.drained(HostId(3)));
  EXPECT_FALSE(view.drained(HostId(2)));
}

TEST(FabricView, EarlierViewsDoNotChange) {
  std::mt19937 random(4);
  const TopologyPtr topology = small_tree();
  FabricView view(topology);
  std::vector<std::pair<FabricView, std::vector<LinkState>>> published;
  std::vector<LinkState> states(topology->links().size(), LinkState::up);
  for (int step = 0; step < 300; ++step) {
    const LinkId link(random() % states.size());
    states[link.index()] = static_cast<LinkState>(random() % 3);
    view.set_state(link, states[link.index()]);
    if (step % 10 == 0) published.emplace_back(view, states);
  }
  ASSERT_FALSE(published.empty());
  for (const auto& [old, seen] : published) {
    for (const auto link : topology->links()) ASSERT_EQ(old.state(link), seen[link.index()]);
  }
}

TEST(FabricView, VisitsWhatWasWrittenSinceAnEarlierView) {
  FabricView view(small_tree());
  const FabricView before = view;
  const LinkId link = uplink(view.topology());
  view.set_state(link, LinkState::down);
  view.set_drained(SwitchId(2), true);
  std::set<LinkId> links;
  std::set<SwitchId> switches;
  view.for_each_touched_link(before, [&](LinkId touched) { links.insert(touched); });
  view.for_each_touched_switch(before, [&](SwitchId touched) { switches.insert(touched); });
  EXPECT_TRUE(links.contains(link));
  EXPECT_TRUE(switches.contains(SwitchId(2)));
  links.clear();
  before.for_each_touched_link(before, [&](LinkId touched) { links.insert(touched); });
  EXPECT_TRUE(links.empty());
}

}  // namespace
}  // namespace railweave::fabric::fabric_view_test
