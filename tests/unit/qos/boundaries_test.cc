// What is shipped to switches, exactly, and what happens at limits: weights, promises and waits of arbitration tables, the classes
// that a new store has, what is refused of them.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/qos/arbitration.h"
#include "fabric/qos/ethernet_plan.h"
#include "fabric/qos/guarantee_partition.h"
#include "fabric/qos/infiniband_plan.h"
#include "fabric/qos/port_promises.h"
#include "fabric/qos/qos_class.h"
#include "tests/unit/capacity/routed_fabrics.h"

namespace railweave::fabric {
namespace {

TEST(Arbitration, PacketsAreCountedWithAllTheirHeaders) {
  EXPECT_EQ(packet_units(4096), 66U);
  EXPECT_EQ(packet_units(2048), 34U);
  EXPECT_EQ(packet_units(256), 6U);
}

VlArbitration table_of(const std::vector<VlWeight>& low) {
  VlArbitration table;
  table.low = low;
  return table;
}

TEST(Arbitration, PromisesAreWhatTheTurnsOfOthersLeave) {
  // 66 units a packet: of lane 0 in the worst round 100 of 100 + 200 + 66.
  const VlArbitration two = table_of({{0, 100}, {1, 200}});
  EXPECT_EQ(promised_permille(two, 0), 100U * 1000 / (100 + 200 + 66));
  EXPECT_EQ(promised_permille(two, 1), 200U * 1000 / (200 + 100 + 66));
  EXPECT_EQ(promised_permille(two, 0, 256), 100U * 1000 / (100 + 200 + 6)) << "smaller packets take less";
  EXPECT_EQ(promised_permille(two, 2), 0U);
  // A second turn of another lane costs one packet more; entries of weight 0 are skipped.
  EXPECT_EQ(promised_permille(table_of({{0, 100}, {1, 100}, {2, 0}, {1, 100}}), 0), 100U * 1000 / (100 + 200 + 2 * 66));
  EXPECT_EQ(promised_permille(table_of({{0, 50}, {1, 200}, {0, 50}}), 0), 100U * 1000 / (100 + 200 + 66));
  EXPECT_EQ(promised_permille(table_of({}), 0), 0U);
}

TEST(Arbitration, TheLongestWaitIsTheWidestGapAlsoAcrossTheEnd) {
  const std::uint64_t packet = 66 * 64;
  const VlArbitration table = table_of({{1, 10}, {0, 5}, {2, 20}, {0, 5}, {3, 0}, {1, 40}});
  EXPECT_EQ(longest_wait_bytes(table, 0), 40U * 64 + packet + 10 * 64 + packet) << "from the last entry to the first";
  EXPECT_EQ(longest_wait_bytes(table, 2), (5U + 40 + 10 + 5) * 64 + 4 * packet);
  EXPECT_EQ(longest_wait_bytes(table_of({{0, 5}}), 0), 0U);
  EXPECT_EQ(longest_wait_bytes(table, 2, 256), (5U + 40 + 10 + 5) * 64 + 4 * 6 * 64);
}

struct Promised {
  std::vector<LaneDemand> lanes;
  ArbitrationLimits limits;
};

// Every demand that has a table gets its minimum, and the neighbouring demand that has none is refused: both functions agree.
TEST(Arbitration, WhatCanBePromisedIsWhatATableKeeps) {
  std::size_t possible = 0;
  std::size_t impossible = 0;
  for (std::uint32_t first = 50; first <= 950; first += 30) {
    for (std::uint32_t second = 50; first + second <= 1000; second += 50) {
      for (const std::size_t entries : {2U, 3U, 8U, 16U, 64U, 100U}) {
        const LaneDemand lanes[] = {{0, first, first, true}, {1, second, second}, {2, 0, 10}};
        const ArbitrationLimits limits{.entries = entries};
        const auto table = assign_weights(lanes, limits);
        ASSERT_EQ(table.has_value(), can_promise(lanes, limits)) << first << " " << second << " " << entries;
        if (!table) {
          ++impossible;
          continue;
        }
        ++possible;
        ASSERT_LE(table->low.size(), std::min<std::size_t>(entries, 64));
        EXPECT_GE(promised_permille(*table, 0), first);
        EXPECT_GE(promised_permille(*table, 1), second);
        EXPECT_TRUE(std::ranges::any_of(table->low, [](VlWeight one) { return one.vl == 2 && one.weight > 0; }))
            << "each lane has a turn";
        EXPECT_TRUE(table->high.empty());
        EXPECT_EQ(table->high_limit, 0U);
      }
    }
  }
  EXPECT_GT(possible, 100U);
  EXPECT_GT(impossible, 100U);
}

TEST(Arbitration, WhatIsLeftIsDividedByTheRequests) {
  const LaneDemand lanes[] = {{0, 0, 100}, {1, 0, 300}, {2, 0, 600}};
  const auto table = assign_weights(lanes, {.entries = 64});
  ASSERT_TRUE(table);
  std::vector<double> weight(3);
  for (const VlWeight entry : table->low) weight[entry.vl] += entry.weight;
  const double all = std::accumulate(weight.begin(), weight.end(), 0.0);
  EXPECT_NEAR(weight[0] / all, 0.1, 0.01);
  EXPECT_NEAR(weight[1] / all, 0.3, 0.01);
  EXPECT_NEAR(weight[2] / all, 0.6, 0.01);
}

// No lane that has room is further below its request than one that was served instead.
TEST(Arbitration, WhatIsLeftGoesToTheLaneFurthestBelowItsRequest) {
  for (std::uint32_t first = 10; first <= 900; first += 35) {
    for (std::uint32_t second = 10; first + second <= 990; second += 65) {
      const std::uint32_t third = 1000 - first - second;
      const LaneDemand lanes[] = {{0, 0, first}, {1, 0, second}, {2, 0, third}};
      const auto table = assign_weights(lanes, {.entries = 64});
      ASSERT_TRUE(table);
      std::vector<double> weight(3);
      for (const VlWeight entry : table->low) weight[entry.vl] += entry.weight;
      const double all = weight[0] + weight[1] + weight[2];
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(weight[i] / all, lanes[i].requested_permille / 1000.0, 0.004) << first << " " << second << " " << i;
      }
    }
  }
}

TEST(Arbitration, AnEntryOfWeightOneIsWaitedFor) {
  EXPECT_EQ(longest_wait_bytes(table_of({{0, 4}, {1, 1}, {2, 0}}), 0), 64U + 66 * 64);
}

TEST(Arbitration, ALaneThatMustNotWaitHasShortTurns) {
  const auto turns = [](const VlArbitration& table) {
    return std::ranges::count(table.low, std::uint8_t{0}, &VlWeight::vl);
  };
  std::size_t sooner = 0;
  for (std::uint32_t permille = 20; permille <= 400; permille += 20) {
    const LaneDemand patient[] = {{0, permille, permille}, {1, 0, 300}, {2, 0, 100}};
    const LaneDemand urgent[] = {{0, permille, permille, true}, {1, 0, 300}, {2, 0, 100}};
    const auto slow = assign_weights(patient, {.entries = 64});
    const auto fast = assign_weights(urgent, {.entries = 64});
    ASSERT_TRUE(slow && fast) << permille;
    EXPECT_GE(promised_permille(*fast, 0), permille);
    sooner += turns(*fast) > turns(*slow) || longest_wait_bytes(*fast, 0) < longest_wait_bytes(*slow, 0) ? 1 : 0;
  }
  EXPECT_GT(sooner, 0U);
}

TEST(Arbitration, ARefusalHasTheArithmetic) {
  const LaneDemand lanes[] = {{0, 500, 500}, {3, 495, 495}};
  const auto refused = assign_weights(lanes, {.entries = 100, .mtu_bytes = 2048});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "qos.tableTooSmall");
  EXPECT_EQ(
      refused.error().message,
      "64 entries of at most 16320 bytes, each with up to a packet of 2176 bytes more, cannot promise every lane its "
      "share in permille (VL0 500, VL3 495)");
}

TEST(QosClasses, ANewStoreHasThese) {
  const QosClasses classes = default_qos_classes();
  struct One {
    std::string name;
    std::uint32_t permille;
    unsigned priority, dscp;
    bool lossless, open;
    ClassBound bound;
  };
  const std::vector<One> expected = {{"latency", 175, 0, 46, true, false, ClassBound::latency},
                                     {"management", 50, 1, 48, false, true, ClassBound::latency},
                                     {"all-reduce", 350, 2, 26, true, false, ClassBound::bandwidth},
                                     {"all-to-all", 225, 3, 24, true, false, ClassBound::bandwidth},
                                     {"storage", 115, 4, 10, true, true, ClassBound::bandwidth},
                                     {"best-effort", 50, 5, 0, false, false, ClassBound::bandwidth}};
  ASSERT_EQ(classes.size(), expected.size());
  for (std::size_t i = 0; i < classes.size(); ++i) {
    EXPECT_EQ(classes[i].name, expected[i].name);
    EXPECT_EQ(classes[i].share_permille, expected[i].permille);
    EXPECT_EQ(classes[i].priority, expected[i].priority);
    EXPECT_EQ(classes[i].dscp, expected[i].dscp);
    EXPECT_EQ(classes[i].lossless, expected[i].lossless);
    EXPECT_EQ(classes[i].open, expected[i].open);
    EXPECT_EQ(classes[i].bound, expected[i].bound);
  }
  EXPECT_TRUE(check_qos_classes(classes));
  const CapacityRules rules = capacity_rules(classes);
  EXPECT_EQ(rules.usable_permille, 950U);
  EXPECT_THAT(rules.class_permille, ::testing::ElementsAre(175, 50, 350, 225, 115, 50));
  EXPECT_EQ(capacity_rules(classes, 900).usable_permille, 900U);
}

TEST(QosClasses, NumbersFollowTheListAndTheLowestIsFirst) {
  const QosClasses classes = {{"a", 100, 1, ClassBound::bandwidth, true, 1},
                              {"b", 100, 9, ClassBound::bandwidth, true, 0},
                              {"c", 100, 2, ClassBound::bandwidth, true, 2}};
  EXPECT_EQ(lowest_class(classes), 1);
  EXPECT_EQ(class_number(classes, 0), 1);
  EXPECT_EQ(class_number(classes, 1), 0);
  EXPECT_EQ(class_number(classes, 2), 2);
}

TEST(QosClasses, AreRefusedBeyondTheirLimitsAndNotAtThem) {
  const auto said = [](auto change) -> std::string {
    QosClasses classes = {{"first", 400, 0, ClassBound::bandwidth, true, 8},
                          {"last", 600, 1, ClassBound::bandwidth, true, 0}};
    change(classes);
    const auto checked = check_qos_classes(classes);
    return checked ? "" : checked.error().location + ": " + checked.error().message;
  };
  using Classes = QosClasses;
  EXPECT_EQ(said([](Classes&) {}), "");
  EXPECT_EQ(said([](Classes& c) { c.clear(); }), "/classes: there must be 1 to 15 classes");
  const auto many = [](std::size_t count) {
    return [count](Classes& c) {
      c.clear();
      for (std::size_t i = 0; i < count; ++i) {
        c.push_back({"c" + std::to_string(i), 60, static_cast<std::uint8_t>(i), ClassBound::bandwidth, true,
                     static_cast<std::uint8_t>(count - 1 - i)});
      }
    };
  };
  EXPECT_EQ(said(many(15)), "");
  EXPECT_EQ(said(many(1)), "");
  EXPECT_EQ(said(many(16)), "/classes: there must be 1 to 15 classes");
  EXPECT_EQ(said([](Classes& c) { c[1].share_permille = 601; }), "/classes: the shares sum to 1001 of 1000 permille");
  EXPECT_EQ(said([](Classes& c) { c[1].share_permille = 1; }), "");
  EXPECT_EQ(said([](Classes& c) { c[1].share_permille = 0; }),
            "/classes/1: the share of last must be at least 1 permille");
  EXPECT_EQ(said([](Classes& c) { c[0].dscp = 63; }), "");
  EXPECT_EQ(said([](Classes& c) { c[0].dscp = 64; }), "/classes/0: the DSCP of first must be at most 63");
  EXPECT_EQ(said([](Classes& c) { c[1].dscp = 8; }), "/classes/1: two classes have DSCP 8");
  EXPECT_EQ(said([](Classes& c) { c[1].name = "first"; }), "/classes/1: two classes have the name first");
  EXPECT_EQ(said([](Classes& c) { c[0].name = std::string(31, 'x'); }), "");
  const std::string bad = "/classes/0: the name of a class must be 1 to 31 letters, digits, '-', '_' and '.'";
  EXPECT_EQ(said([](Classes& c) { c[0].name = std::string(32, 'x'); }), bad);
  EXPECT_EQ(said([](Classes& c) { c[0].name = ""; }), bad);
  EXPECT_EQ(said([](Classes& c) { c[0].name = "a b"; }), bad);
  EXPECT_EQ(said([](Classes& c) { std::swap(c[0].dscp, c[1].dscp); }).substr(0, 11), "/classes/0:");
}

TEST(EthernetClasses, TheTwoLargestOfTheLosslessArePaused) {
  EXPECT_THAT(lossless_on_ethernet(default_qos_classes()), ::testing::ElementsAre(2, 3)) << "350 and 225 permille";
  QosClasses classes = {{"a", 300, 0, ClassBound::bandwidth, true, kCongestionDscp},
                        {"b", 200, 1, ClassBound::bandwidth, true, 8},
                        {"c", 400, 2, ClassBound::bandwidth, true, 0}};
  EXPECT_THAT(lossless_on_ethernet(classes), ::testing::ElementsAre(1)) << "neither notifications nor the lowest";
  classes[1].lossless = false;
  EXPECT_THAT(lossless_on_ethernet(classes), ::testing::IsEmpty());
}

TEST(EthernetClasses, LanesAreWhatTheClassesLeave) {
  QosClasses classes = default_qos_classes();
  EXPECT_EQ(ethernet_lanes(classes), 2U) << "management has the DSCP of notifications";
  EXPECT_EQ(lane_traffic_class(classes, 0), 6);
  EXPECT_EQ(lane_traffic_class(classes, 1), 7);
  EXPECT_EQ(lane_dscp(classes, 0), 3);
  EXPECT_EQ(lane_dscp(classes, 1), 7);
  classes[0].dscp = 7;
  EXPECT_EQ(lane_dscp(classes, 1), 11) << "one that no class has";
  classes[1].dscp = 3;
  EXPECT_EQ(lane_dscp(classes, 0), 11);
  EXPECT_EQ(lane_dscp(classes, 1), 15);
  EXPECT_EQ(ethernet_lanes(classes), 1U) << "notifications need a traffic class of their own now";
  EXPECT_EQ(lane_traffic_class(classes, 0), 7);
  classes.push_back({"more", 1, 6, ClassBound::bandwidth, false, 20});
  EXPECT_EQ(ethernet_lanes(classes), 0U);
  classes.push_back({"most", 1, 7, ClassBound::bandwidth, false, 21});
  EXPECT_EQ(ethernet_lanes(classes), 0U);
}

TEST(GuaranteePartition, ExactCases) {
  constexpr std::int64_t kAll = kUnlimitedMbps;
  EXPECT_THAT(divide_guarantee(-5, std::vector<std::int64_t>{3, 4}), ::testing::ElementsAre(0, 0));
  EXPECT_THAT(divide_guarantee(10, std::vector<std::int64_t>{-3, 4}), ::testing::ElementsAre(0, 4));
  EXPECT_THAT(divide_guarantee(8, std::vector<std::int64_t>{kAll, kAll, kAll}), ::testing::ElementsAre(3, 3, 2));
  const auto rates = [](std::vector<std::int64_t> send, std::vector<std::int64_t> receive,
                        std::vector<ActivePair> pairs) { return partition_guarantees(send, receive, pairs); };
  EXPECT_THAT(rates({-1}, {10}, {{0, 0}}), ::testing::ElementsAre(0));
  EXPECT_THAT(rates({10}, {-1}, {{0, 0}}), ::testing::ElementsAre(0));
  EXPECT_THAT(rates({10, 10}, {12}, {{0, 0}, {1, 0}}), ::testing::ElementsAre(6, 6));
  EXPECT_THAT(rates({10, 10}, {13}, {{0, 0}, {1, 0}}), ::testing::ElementsAre(7, 6))
      << "the unit that is left goes to the first";
  EXPECT_THAT(rates({10, 10}, {13}, {{0, 0, 2}, {1, 0}}), ::testing::ElementsAre(2, 10));
  EXPECT_THAT(rates({10}, {4, 20}, {{0, 0}, {0, 1}}), ::testing::ElementsAre(4, 6));
  EXPECT_THAT(rates({10}, {10}, {{0, 0, -1}}), ::testing::ElementsAre(0));
}

struct ReservedFabric {
  testing::Routed fabric = testing::route_view(FabricView(testing::make_fat_tree({})));
  QosClasses classes = default_qos_classes();
  Ledger ledger{whole_capacities_mbps(fabric.view), capacity_rules(classes)};
  [[nodiscard]] const Topology& topology() const { return fabric.view.topology(); }
  void reserve(const std::string& job, std::uint8_t qos_class, LoadVector loads) {
    auto one = std::make_shared<Reservation>();
    one->job = job;
    one->qos_class = qos_class;
    one->loads = std::move(loads);
    ledger.reserve(one);
  }
};

TEST(PortPromises, AShareIsRoundedUpToWholePermille) {
  ReservedFabric f;
  const std::int64_t capacity = f.ledger.capacity_mbps(0);
  f.reserve("a", 2, {{0, capacity / 10}});
  EXPECT_EQ(reserved_permille(f.ledger, 0)[2], 100U);
  f.reserve("b", 2, {{0, 1}});
  EXPECT_EQ(reserved_permille(f.ledger, 0)[2], 101U);
  EXPECT_EQ(reserved_permille(f.ledger, 0)[3], 0U);
  EXPECT_EQ(reserved_permille(f.ledger, 1)[2], 0U);
  EXPECT_EQ(reserved_permille(f.ledger, 0).size(), f.classes.size());
}

TEST(PortPromises, WhatHoldsIsWhatATableKeeps) {
  ReservedFabric f;
  PortPromises promises(f.classes, {}, 1);
  std::size_t held = 0;
  std::size_t refused = 0;
  for (std::uint32_t permille = 0; permille <= 1000; permille += 10) {
    std::vector<std::uint32_t> wanted(f.classes.size(), 0);
    wanted[2] = permille;
    wanted[4] = 100;
    const bool expected = can_promise(lane_demands(f.classes, 1, wanted), {});
    EXPECT_EQ(promises.hold(wanted), expected) << permille;
    EXPECT_EQ(promises.hold(wanted), expected) << "remembered: " << permille;
    ++(expected ? held : refused);
  }
  EXPECT_GT(held, 20U);
  EXPECT_GT(refused, 5U);
}

TEST(PortPromises, ALinkThatCannotPromiseMoreIsNamedWithWhatItCould) {
  ReservedFabric f;
  const std::int64_t capacity = f.ledger.capacity_mbps(0);
  f.reserve("a", 4, {{0, capacity / 10}, {1, capacity / 10}});
  PortPromises promises(f.classes, {}, 1);
  const LoadVector fits = {{0, capacity / 10}};
  EXPECT_THAT(promises.full_links(f.topology(), f.ledger, {.loads = fits, .qos_class = 2}), ::testing::IsEmpty());
  const LoadVector loads = {{0, capacity * 95 / 100}, {1, capacity / 100}, {2, capacity * 99 / 100}};
  const auto full = promises.full_links(f.topology(), f.ledger, {.loads = loads, .qos_class = 2});
  ASSERT_EQ(full.size(), 2U);
  EXPECT_EQ(full[0].link, 0U);
  EXPECT_EQ(full[0].wanted_mbps, capacity * 95 / 100);
  EXPECT_EQ(full[0].reserved_mbps, 0);
  ASSERT_EQ(full[0].holders.size(), 1U);
  EXPECT_EQ(full[0].holders[0].job, "a");
  EXPECT_EQ(full[0].holders[0].mbps, capacity / 10);
  EXPECT_EQ(full[1].link, 2U);
  EXPECT_TRUE(full[1].holders.empty());
  // The limit holds, and a permille more does not.
  for (const auto& [one, others] : {std::pair{full[0], 100U}, std::pair{full[1], 0U}}) {
    std::vector<std::uint32_t> wanted(f.classes.size(), 0);
    wanted[4] = others;
    wanted[2] = static_cast<std::uint32_t>(one.limit_mbps * 1000 / capacity);
    EXPECT_TRUE(promises.hold(wanted)) << one.link;
    ++wanted[2];
    EXPECT_FALSE(promises.hold(wanted)) << one.link;
  }
  EXPECT_EQ(promises.full_links(f.topology(), f.ledger, {.loads = loads, .qos_class = 2}, 1).size(), 1U);
}

TEST(InfinibandLanes, AreCountedByClassesAndRouting) {
  const QosClasses classes = default_qos_classes();
  EXPECT_TRUE(check_lanes(classes, {1, 1}, 6)) << "just enough";
  EXPECT_EQ(check_lanes(classes, {1, 1}, 5).error().code, "qos.lanesDoNotSuffice");
  EXPECT_TRUE(check_lanes(classes, {2, 2}, 12));
  EXPECT_EQ(check_lanes(classes, {2, 2}, 11).error().code, "qos.lanesDoNotSuffice");
  EXPECT_EQ(check_lanes(classes, {1, 3}, 15).error().code, "qos.levelsDoNotSuffice") << "18 of 16 levels";
  EXPECT_TRUE(check_lanes(classes, {1, 2}, 15));
  EXPECT_EQ(owned_lanes(6, {1, 1}, 8), 2U);
  EXPECT_EQ(owned_lanes(6, {1, 1}, 6), 0U);
  EXPECT_EQ(owned_lanes(6, {2, 2}, 15), 1U) << "14 lanes, 14 levels";
  EXPECT_EQ(owned_lanes(6, {2, 2}, 13), 0U);
}

}  // namespace
}  // namespace railweave::fabric
