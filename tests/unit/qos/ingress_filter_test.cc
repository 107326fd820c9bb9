// What enters switches from adapters, on irregular fabrics with jobs by seed: every combination of input port, output port
// and service level is decided here by going through all jobs, without any code of the filter.
#include <random>

#include <gtest/gtest.h>

#include "fabric/qos/infiniband_plan.h"
#include "tests/unit/capacity/routed_fabrics.h"

namespace railweave::fabric {
namespace {

using testing::Health;

struct Site {
  testing::Routed fabric;
  QosClasses classes = default_qos_classes();
  Ledger ledger;
  std::vector<IngressUser> users;

  explicit Site(std::uint64_t seed)
      : fabric(testing::random_fabric(seed, seed % 2 == 0 ? Health::uneven : Health::failures)),
        ledger(whole_capacities_mbps(fabric.view), capacity_rules(classes)) {
    std::mt19937_64 random(seed);
    for (const PortId port : fabric.ends) {
      for (std::size_t jobs = random() % 3; jobs-- > 0;) {
        IngressUser user{.port = port, .qos_class = {}, .lane = {}, .earlier_levels = 0};
        if (random() % 4 != 0) user.qos_class = static_cast<std::uint8_t>(random() % classes.size());
        if (random() % 2 == 0) user.lane = static_cast<std::uint8_t>(random() % 9);
        if (random() % 4 == 0) user.earlier_levels = static_cast<std::uint16_t>(1U << random() % 16);
        users.push_back(user);
      }
    }
    std::ranges::shuffle(users, random);
  }
  [[nodiscard]] Result<InfinibandPlan> plan(bool filtered) const {
    return plan_infiniband({.classes = &classes,
                            .view = fabric.view,
                            .scope = fabric.scope,
                            .lanes = &fabric.routing.lanes,
                            .ledger = &ledger,
                            .owned_lanes = true,
                            .users = filtered ? std::optional(users) : std::nullopt,
                            .data_lanes = 15,
                            .arbitration = {.entries = kMaxArbitrationEntries}});
  }
  // Whether a level is one of those that jobs at the port may send with, or open to all.
  [[nodiscard]] bool may_enter(const InfinibandPlan& plan, PortId adapter, unsigned level) const {
    const unsigned slot = level / plan.routing_levels;
    for (unsigned c = 0; c < classes.size(); ++c) {
      const std::string& name = classes[c].name;
      const bool is_open = name == "storage" || name == "management" || name == "best-effort";
      if (is_open && slot == plan.numbers[c]) return true;
    }
    for (const IngressUser& user : users) {
      if (user.port != adapter) continue;
      if (user.qos_class && slot == plan.numbers[*user.qos_class]) return true;
      if (user.lane && *user.lane < plan.owned_lanes && slot == classes.size() + *user.lane) return true;
      if ((user.earlier_levels >> level & 1U) != 0) return true;
    }
    return false;
  }
};

TEST(IngressFilter, DropsWhatNoJobAtTheHostMaySendAndNothingElse) {
  std::size_t dropped = 0, passed = 0, between = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Site site(seed);
    const auto all = site.plan(false), filtered = site.plan(true);
    ASSERT_EQ(all.has_value(), filtered.has_value());
    if (!all) continue;  // the routing of some needs more lanes than there are
    ASSERT_EQ(all->ports.size(), filtered->ports.size());
    const Topology& t = site.fabric.view.topology();
    for (std::size_t i = 0; i < all->ports.size(); ++i) {
      const PortTables &open = all->ports[i], &tables = filtered->ports[i];
      ASSERT_EQ(open.port, tables.port);
      EXPECT_EQ(open.arbitration, tables.arbitration);
      const SwitchId sw = t.find_switch(tables.port.device);
      if (!sw) {
        EXPECT_EQ(tables.sl_to_vl_from(0), *open.sl_to_vl) << "adapters send as before";
        continue;
      }
      EXPECT_EQ(tables.sl_to_vl_from(0), *open.sl_to_vl) << "what the switch makes itself";
      for (const PortId in : t.ports(sw)) {
        const auto map = tables.sl_to_vl_from(static_cast<unsigned>(t.number(in)));
        const PortId peer = t.peer(in);
        const bool is_switch = peer && t.is_switch_port(peer);
        for (unsigned level = 0; level < 16; ++level) {
          const bool enters = is_switch || site.may_enter(*filtered, peer, level);
          const auto open_map = open.sl_to_vl_from(static_cast<unsigned>(t.number(in)));
          ASSERT_EQ(map[level], enters ? open_map[level] : kDropLane)
              << t.port_text(in) << " level " << level << " users " << site.users.size();
          (is_switch ? between : enters ? passed : dropped) += 1;
        }
      }
    }
  }
  EXPECT_GT(dropped, 1000U);
  EXPECT_GT(passed, 1000U);
  EXPECT_GT(between, 1000U);
}

// Where jobs have lanes of their own, others' packets on these lanes are dropped within the fabric too, and nothing else is.
TEST(IngressFilter, LanesOfOwnersCloseNoLevelOfAClass) {
  std::size_t closed = 0, open = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Site site(seed);
    const auto before = site.plan(true);
    std::mt19937_64 random(seed);
    for (std::uint8_t lane = 0; lane < 3; ++lane) {
      Reservation one{.job = "job-" + std::to_string(lane), .tenant = "t", .lane = lane};
      for (DirectedLink link = 0; link < site.ledger.links(); ++link) {
        if (random() % 3 == 0) one.loads.push_back({link, 1000});
      }
      site.ledger.reserve(std::make_shared<Reservation>(std::move(one)));
    }
    const auto after = site.plan(true);
    if (!before || !after) continue;
    ASSERT_EQ(before->ports.size(), after->ports.size());
    for (std::size_t i = 0; i < after->ports.size(); ++i) {
      for (unsigned in = 0; in < 64; ++in) {
        const LaneMap was = before->ports[i].sl_to_vl_from(in), is = after->ports[i].sl_to_vl_from(in);
        for (unsigned level = 0; level < 16; ++level) {
          const bool of_class = level / after->routing_levels < site.classes.size();
          const bool dropped = is[level] == kDropLane && was[level] != kDropLane;
          EXPECT_FALSE(of_class && is[level] != was[level]) << "port " << i << " from " << in << " level " << level;
          (dropped ? closed : open) += 1;
        }
      }
    }
  }
  EXPECT_GT(closed, 100U);
  EXPECT_GT(open, 1000U);
}

TEST(IngressFilter, AreEqualByWhatPasses) {
  const std::vector<std::uint16_t> some{0xffff, 1, 5};
  EXPECT_EQ(IngressFilter(some), IngressFilter(some));
  EXPECT_NE(IngressFilter(some), IngressFilter(std::vector<std::uint16_t>{0xffff, 1, 4}));
  EXPECT_NE(IngressFilter(some), IngressFilter());
  EXPECT_TRUE(IngressFilter(some).passes(7, 3)) << "ports that it does not know";
  EXPECT_FALSE(IngressFilter(some).passes(2, 1));
}

}  // namespace
}  // namespace railweave::fabric
