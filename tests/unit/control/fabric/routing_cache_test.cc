#include "services/control/views/routing_cache.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "services/control/state/cluster_state.h"
#include "tests/support/fat_trees.h"

namespace railweave::control::routing_cache_test {
namespace {

ClusterState routed_state() {
  ClusterState state;
  state.set_topology(fabric::testing::make_fat_tree(
      {.hosts_per_leaf = 4, .leaves_per_pod = 4, .spines_per_pod = 4, .pods = 2, .cores_per_spine = 2}));
  state.accepted.digest = "d";
  return state;
}

fabric::LinkId switch_link(const ClusterState& state, std::size_t nth) {
  for (const auto link : state.topology().links()) {
    if (state.topology().joins_switches(link) && nth-- == 0) return link;
  }
  return {};
}

TEST(RoutingCache, HasNoRoutesBeforeAFabricIsImported) {
  RoutingCache cache;
  const auto routes = cache.at(ClusterState());
  ASSERT_FALSE(routes);
  EXPECT_EQ(routes.error().code, "routes.noFabric");
}

TEST(RoutingCache, ComputesOnceWhileNothingChanges) {
  RoutingCache cache;
  ClusterState state = routed_state();
  const FabricRoutesPtr first = cache.at(state).value();
  state.seq = 17;  // jobs start and end
  EXPECT_EQ(cache.at(state).value(), first);
  state.view.set_drained(switch_link(state, 3), true);
  state.view.set_drained(switch_link(state, 3), false);  // touched, but unchanged
  EXPECT_EQ(cache.at(state).value(), first);
  EXPECT_TRUE(first->audit().verified());
  EXPECT_EQ(&first->audit(), &first->audit());
}

TEST(RoutingCache, RerouteEqualsAFullComputation) {
  RoutingCache cache;
  ClusterState state = routed_state();
  FabricRoutesPtr before = cache.at(state).value();
  for (int step = 0; step < 12; ++step) {
    const auto link = switch_link(state, static_cast<std::size_t>(step) * 3);
    if (step % 3 == 2) {
      state.view.set_drained(link, true);
    } else {
      state.view.set_state(link, fabric::LinkState::down);
    }
    const FabricRoutesPtr now = cache.at(state).value();
    EXPECT_NE(now, before);
    EXPECT_TRUE(now->routing.tables == RoutingCache().at(state).value()->routing.tables) << "step " << step;
    EXPECT_TRUE(now->audit().verified());
    before = now;
  }
}

TEST(RoutingCache, ANewTopologyIsRoutedFromScratch) {
  RoutingCache cache;
  const FabricRoutesPtr first = cache.at(routed_state()).value();
  const ClusterState other = routed_state();
  const FabricRoutesPtr second = cache.at(other).value();
  EXPECT_NE(first, second);
  EXPECT_EQ(second->input.view.topology_ptr(), other.accepted.topology);
}

TEST(RoutingCache, AnswersManyThreadsAtOnce) {
  RoutingCache cache;
  const ClusterState state = routed_state();
  std::vector<FabricRoutesPtr> seen(8);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : seen) {
      threads.emplace_back([&cache, &state, &mine] {
        mine = cache.at(state).value();
        EXPECT_TRUE(mine->audit().verified());
      });
    }
  }
  for (const auto& mine : seen) EXPECT_EQ(mine, seen.front());
}

}  // namespace
}  // namespace railweave::control::routing_cache_test
