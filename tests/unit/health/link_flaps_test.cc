#include "fabric/health/link_flaps.h"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fat_trees.h"

namespace railweave::fabric::health::link_flaps_test {
namespace {

constexpr std::int64_t kSecond = 1'000'000;

class LinkFlapsTest : public ::testing::Test {
 protected:
  LinkFlapsTest() { up_.resize(links_.size(), true); }
  // All cables of the switch, hosts too, as they are seen where `hosts` says so.
  void set(SwitchId sw, bool up, bool hosts = true) {
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const bool is_of =
          topology_->switch_of(topology_->a(links_[i])) == sw || topology_->switch_of(topology_->b(links_[i])) == sw;
      if (is_of && (hosts || topology_->joins_switches(links_[i]))) up_[i] = up;
    }
  }
  LinkFlaps::Seen see() { return flaps_.see(up_, now_us_ += kSecond); }
  [[nodiscard]] std::size_t uplink(SwitchId sw, std::size_t nth) const {
    for (std::size_t i = 0; i < links_.size(); ++i) {
      const bool is_of = topology_->joins_switches(links_[i]) && (topology_->switch_of(topology_->a(links_[i])) == sw ||
                                                                  topology_->switch_of(topology_->b(links_[i])) == sw);
      if (is_of && nth-- == 0) return i;
    }
    return SIZE_MAX;
  }

  TopologyPtr topology_ = fabric::testing::make_fat_tree(
      {.hosts_per_leaf = 2, .leaves_per_pod = 9, .spines_per_pod = 9, .pods = 1, .cores_per_spine = 0});
  std::vector<LinkId> links_{topology_->links().begin(), topology_->links().end()};
  LinkFlaps flaps_{*topology_, links_, 60 * kSecond};
  std::vector<bool> up_;
  std::int64_t now_us_ = 0;
  SwitchId leaf_ = topology_->find_switch("p0-leaf-3"), spine_ = topology_->find_switch("p0-spine-5");
};

TEST_F(LinkFlapsTest, ALinkThatComesBackByItselfFlapped) {
  see();
  const auto cable = uplink(leaf_, 2);
  up_[cable] = false;
  EXPECT_THAT(see().flapped, ::testing::IsEmpty()) << "it may be gone for good";
  up_[cable] = true;
  const auto seen = see();
  EXPECT_THAT(seen.flapped, ::testing::ElementsAre(links_[cable]));
  EXPECT_THAT(seen.restarted, ::testing::IsEmpty());
  EXPECT_THAT(see().flapped, ::testing::IsEmpty());
}

TEST_F(LinkFlapsTest, ASwitchThatRestartsIsOneEventWhateverIsSeenOfItsPorts) {
  see();
  for (const bool hosts : {true, false}) {
    for (const SwitchId sw : {leaf_, spine_}) {
      // Its ports go and come in several looks, and one bounces while it starts.
      up_[uplink(sw, 0)] = false;
      see();
      set(sw, false, hosts);
      see();
      up_[uplink(sw, 1)] = true;
      EXPECT_THAT(see().flapped, ::testing::IsEmpty());
      set(sw, true, hosts);
      const auto back = see();
      EXPECT_THAT(back.flapped, ::testing::IsEmpty());
      EXPECT_THAT(back.restarted, ::testing::ElementsAre(sw));
      up_[uplink(sw, 4)] = false;
      see();
      up_[uplink(sw, 4)] = true;
      EXPECT_THAT(see().flapped, ::testing::IsEmpty()) << "part of its start";
      now_us_ += 61 * kSecond;
      up_[uplink(sw, 4)] = false;
      see();
      up_[uplink(sw, 4)] = true;
      EXPECT_THAT(see().flapped, ::testing::SizeIs(1)) << "a minute later it is not";
      now_us_ += 61 * kSecond;
    }
  }
}

TEST_F(LinkFlapsTest, OneOfManyPortsMayHaveBeenReadBeforeItWent) {
  see();
  set(spine_, false);
  up_[uplink(spine_, 3)] = true;
  see();
  set(spine_, true);
  EXPECT_THAT(see().flapped, ::testing::IsEmpty());
}

TEST_F(LinkFlapsTest, ASwitchThatWasNeverThereIsNotRestarted) {
  set(spine_, false);
  see();
  set(spine_, true);
  const auto seen = see();
  EXPECT_THAT(seen.flapped, ::testing::IsEmpty());
  EXPECT_THAT(seen.restarted, ::testing::IsEmpty());
}

// Switches restart and single cables flap, apart from each other: every flap is told, and nothing else.
TEST_F(LinkFlapsTest, RandomRestartsAndFlapsAreToldApart) {
  std::size_t flaps = 0, restarts = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    flaps_ = LinkFlaps(*topology_, links_, 60 * kSecond);
    up_.assign(up_.size(), true);
    see();
    for (int act = 0; act < 60; ++act) {
      now_us_ += 61 * kSecond;
      const SwitchId sw(random() % topology_->switches().size());
      if (random() % 2 == 0) {
        set(sw, false, random() % 2 == 0);
        ASSERT_THAT(see().flapped, ::testing::IsEmpty());
        set(sw, true);
        const auto seen = see();
        ASSERT_THAT(seen.flapped, ::testing::IsEmpty());
        ASSERT_THAT(seen.restarted, ::testing::ElementsAre(sw));
        ++restarts;
      } else {
        std::vector<std::size_t> cables;
        for (std::size_t i = random() % 3; i < 3; ++i) cables.push_back(uplink(sw, random() % 9));
        for (const auto cable : cables) up_[cable] = false;
        ASSERT_THAT(see().flapped, ::testing::IsEmpty());
        std::set<LinkId> expected;
        for (const auto cable : cables) expected.insert(links_[cable]);
        for (const auto cable : cables) up_[cable] = true;
        const auto seen = see();
        ASSERT_EQ(std::set(seen.flapped.begin(), seen.flapped.end()), expected) << "seed " << seed;
        ASSERT_THAT(seen.restarted, ::testing::IsEmpty());
        flaps += expected.size();
      }
    }
  }
  EXPECT_GT(flaps, 1000U);
  EXPECT_GT(restarts, 500U);
}

}  // namespace
}  // namespace railweave::fabric::health::link_flaps_test
