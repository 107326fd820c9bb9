// The better engine taken by itself: durable before a switch is written, in two steps, the same after a restart, and given up where it
// cannot route. Switches are walked by another program than the one that routes.
#include <string>
#include <utility>
#include <vector>

#include "fabric/routing/engine_registry.h"
#include "tests/unit/live/irregular_graph.h"
#include "tests/unit/live/lane_walk_fixture.h"

namespace railweave::control {
namespace taken_engine_test {

class TakenEngineTest : public LaneWalkTest {
 protected:
  // On a fabric that layered suits better than the engine of its shape.
  void start_irregular() {
    engines_.take = true;
    clock_us_ = kNow;
    start_on(better_by_layered());
  }
  static fabric::TopologyPtr better_by_layered() {
    for (std::uint64_t seed = 1; seed < 100; ++seed) {
      auto topology = irregular_graph::graph(seed);
      RoutingCache cache;
      const auto routes = cache.on(fabric::FabricView(topology)).value();
      BalanceInput in{.base = routes, .input = routes->input, .now = routes->routing, .planes = {}, .view_version = 0};
      for (const auto plane : routes->scope().planes()) in.planes.push_back(plane);
      const std::atomic<bool> never{false};
      const ComparedView compared =
          compare_engines(in, std::chrono::minutes(1), never, TakeTerms{.several_lanes = true});
      if (compared.taking && compared.unproven == 0) return topology;
    }
    return irregular_graph::graph(1);
  }
  // At each write no pair is lost and no circle closed, by what senders are told and by level 0 while routes are on one lane.
  void watch() {
    written_ = [this] {
      const Lanes told = lanes();
      was_wrong_ = was_wrong_ || told.lost > 0 || told.has_circle;
    };
  }
  [[nodiscard]] TakenEngine taken() const {
    const auto basis = loop_->state()->route_bases->find(subnet_);
    return basis == loop_->state()->route_bases->end() ? TakenEngine() : basis->second.taken;
  }
  [[nodiscard]] unsigned lanes_used() const { return status()->lanes ? status()->lanes->used : 0; }
  bool until_taken() {
    for (int i = 0; i < 60 && taken().engine.empty(); ++i) step(1'000);
    return !taken().engine.empty();
  }
  void settle_on_lanes() {
    for (int i = 0; i < 60 && (lanes_used() < 2 || status()->phase != SubnetPhase::synced); ++i) step(1'000);
    EXPECT_GT(lanes_used(), 1U) << status()->lanes->problem;
    EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  }
  [[nodiscard]] fabric::ForwardingTables held() {
    std::vector<fabric::SwitchId> all(topology_->switches().begin(), topology_->switches().end());
    const auto routes = routes_now();
    return with_readings((*routes)->routing, *switches_->read_tables(*topology_, all, top_lid((*routes)->scope())))
        .tables;
  }
  [[nodiscard]] std::vector<std::string> texts() const {
    std::vector<std::string> texts;
    const auto blobs = [this](const std::string& digest) { return journal_->blob(digest); };
    ClusterState state;
    EXPECT_TRUE(db::replay(*journal_, 0, [&](const db::Record& record) -> Result<void> {
      auto event = codec_.decode(record, state, blobs);
      if (!event) return std::unexpected(event.error());
      apply(state, *event);
      if (std::holds_alternative<RoutesRebalanced>(event->body))
        texts.push_back(heading(event->body).summary.whole_text());
      return {};
    }));
    return texts;
  }
  void propose(const std::string& engine, std::uint64_t lanes) {
    RoutesRebalanced report{.subnet = subnet_, .links = {}, .switches = {}};
    report.taken = {engine, lanes, 0};
    report.engine_before = "another";
    must(ReportBalance{report, loop_->state()->view_version});
    ASSERT_EQ(taken().engine, engine);
  }

  static constexpr std::int64_t kNow = 1'800'000'000'000'000;
  bool was_wrong_ = false;
};

TEST_F(TakenEngineTest, InTwoStepsAndTheSameAfterARestart) {
  start_irregular();
  settle();
  const auto before = held();
  watch();
  ASSERT_TRUE(until_taken()) << "else the test holds nothing";
  EXPECT_EQ(taken().engine, "layered");
  EXPECT_TRUE(held() == before) << "durable before a switch is written";
  settle_on_lanes();
  EXPECT_FALSE(was_wrong_);
  EXPECT_FALSE(held() == before);
  EXPECT_EQ(alarms("routes.betterEngine") + alarms("routes.onOneLane"), 0U);
  ASSERT_EQ(texts().size(), 1U);
  EXPECT_NE(texts()[0].find("are computed by layered on at most"), std::string::npos) << texts()[0];

  // Whoever replays the journal, also with caches of its own, wants the same tables, which are written already.
  const auto tables = held();
  const auto writes = switches_->writes().size();
  controller_.reset();
  restart();
  RoutingCache another;
  EXPECT_TRUE((*another.wanted(*loop_->state()))->routing.tables == tables);
  EXPECT_TRUE((*another.wanted(replayed()))->routing.tables == tables);
  make_controller();
  settle_on_lanes();
  EXPECT_EQ(switches_->writes().size(), writes);
  EXPECT_EQ(taken().engine, "layered");
  // Nor is it changed again.
  for (int i = 0; i < 60; ++i) step(1'000);
  EXPECT_EQ(texts().size(), 1U);
  EXPECT_FALSE(was_wrong_);
}

// Failures meanwhile, and a restart, while a job runs that was told no levels.
TEST_F(TakenEngineTest, JobsFromBeforeAreWaitedForOnTheRoutesThatThereWere) {
  start_irregular();
  settle();
  must(PutTenant{{.name = "research"}, {}});
  must(submit_job("research", 1, 4));
  const auto jobs = placed();
  ASSERT_EQ(jobs.size(), 1U);
  const auto before = held();
  watch();
  ASSERT_TRUE(until_taken());
  settle_for(20);
  EXPECT_EQ(lanes_used(), 1U);
  EXPECT_TRUE(held() == before);
  EXPECT_FALSE(lanes(false).has_circle);
  controller_.reset();
  restart();
  make_controller();
  settle_for(10);
  EXPECT_EQ(lanes_used(), 1U);
  EXPECT_TRUE(held() == before);
  written_ = nullptr;  // a cut loses packets until it is repaired
  cut(uplink(0));
  step(1);
  settle();
  EXPECT_EQ(lanes().lost, 0U);
  EXPECT_FALSE(lanes().has_circle || lanes(false).has_circle);
  watch();
  must(EndJob{jobs.front(), JobState::completed, "", {}});
  settle_on_lanes();
  EXPECT_FALSE(was_wrong_);
}

TEST_F(TakenEngineTest, OnlyToldWhereItIsNotAskedForOrMayNotBe) {
  engines_.compare = true;
  start_on(better_by_layered());
  settle();
  for (int i = 0; i < 40; ++i) step(1'000);
  EXPECT_TRUE(taken().engine.empty());
  EXPECT_EQ(alarms("routes.betterEngine"), 1U);
  EXPECT_EQ(status()->engines->not_taken, "");
  // Asked for, but senders are given no levels.
  several_lanes_ = false;
  engines_.take = true;
  make_controller();
  for (int i = 0; i < 40; ++i) step(1'000);
  EXPECT_TRUE(taken().engine.empty());
  EXPECT_NE(status()->engines->not_taken.find("several_lanes"), std::string::npos) << status()->engines->not_taken;
}

TEST_F(TakenEngineTest, GivenUpOnceTheSettingsDoNotAskForItAndNotTakenAgainForATime) {
  start_irregular();
  settle();
  const auto before = held();
  ASSERT_TRUE(until_taken());
  settle_on_lanes();
  watch();
  engines_.take = false;
  make_controller();
  for (int i = 0; i < 20; ++i) step(1'000);
  EXPECT_TRUE(taken().engine.empty());
  EXPECT_TRUE(held() == before);
  EXPECT_FALSE(was_wrong_);
  ASSERT_EQ(texts().size(), 2U);
  EXPECT_NE(texts()[1].find("no longer by layered: the settings do not ask for it"), std::string::npos) << texts()[1];
  engines_.take = true;
  make_controller();
  for (int i = 0; i < 60; ++i) step(1'000);
  EXPECT_TRUE(taken().engine.empty());
  EXPECT_EQ(status()->engines->not_taken, "engines change once in 3600 s");
  EXPECT_EQ(alarms("routes.betterEngine"), 1U);
  step(3'600'000);
  EXPECT_TRUE(until_taken()) << status()->engines->not_taken;
}

TEST_F(TakenEngineTest, GivenUpWherePortsRefuseTheLanes) {
  start_irregular();
  switches_->set_data_lanes(1);
  settle();
  const auto before = held();
  watch();
  for (int i = 0; i < 60; ++i) step(1'000);
  EXPECT_TRUE(taken().engine.empty());
  EXPECT_NE(taken().since_us, 0);
  EXPECT_TRUE(held() == before);
  EXPECT_EQ(alarms("routes.onOneLane"), 0U);
  ASSERT_EQ(texts().size(), 2U) << "taken once, given up once";
  EXPECT_NE(texts()[1].find("the ports have 1"), std::string::npos) << texts()[1];
}

TEST_F(TakenEngineTest, JobsWithGuaranteesKeepTheirPaths) {
  start_irregular();
  settle();
  must(PutTenant{{.name = "research"}, {}});
  must(PutContract{{.tenant = "research", .guaranteed = RateMbps(1'000)}, {}});
  must(submit_job("research", 1, 30));
  ASSERT_EQ(loop_->state()->guaranteed->size(), 1U);
  const auto before = held();
  for (int i = 0; i < 60; ++i) step(1'000);
  EXPECT_TRUE(taken().engine.empty());
  EXPECT_TRUE(held() == before);
  EXPECT_EQ(status()->engines->not_taken, "1 of the jobs with guarantees would get other paths");
  // The decision asks again.
  RoutesRebalanced report{.subnet = subnet_, .links = {}, .switches = {}};
  report.taken = {"layered", 8, 0};
  must(ReportBalance{report, loop_->state()->view_version});
  EXPECT_TRUE(taken().engine.empty());
}

TEST_F(TakenEngineTest, WhatCannotRouteTheFabricIsGivenUpAtTheStart) {
  start_irregular();
  settle();
  const auto before = held();
  controller_.reset();
  propose("torus-3d", 2);
  EXPECT_TRUE((*routes_.wanted(*loop_->state()))->routing.tables == before) << "never without tables";
  watch();
  make_controller();
  settle_for(4);
  EXPECT_TRUE(held() == before);
  EXPECT_FALSE(was_wrong_);
  EXPECT_TRUE(taken().engine.empty());
  EXPECT_NE(texts().at(1).find("torus-3d cannot route it"), std::string::npos) << texts().at(1);
}

// Routes as up-down makes them, until it fails.
class FailingEngine final : public fabric::RoutingEngine {
 public:
  explicit FailingEngine(const bool& fails) : fails_(fails) {}
  [[nodiscard]] std::string_view name() const override { return engine_.name(); }
  [[nodiscard]] fabric::EngineFit fit(const fabric::RoutingScope& scope) const override { return engine_.fit(scope); }
  [[nodiscard]] Result<fabric::Routing> route(const fabric::RoutingInput& input) const override {
    if (fails_) return fail(ErrorKind::impossible, "test", "the links that are left do not do");
    return engine_.route(input);
  }

 private:
  const fabric::RoutingEngine& engine_ = *fabric::find_engine("up-down");
  const bool& fails_;
};

TEST_F(TakenEngineTest, WhatFindsNoRoutesAfterAFailureIsReplacedAtOnce) {
  bool fails = false;
  start_live({.hosts_per_leaf = 3, .leaves_per_pod = 3, .spines_per_pod = 3});
  settle();
  engines_.take = true;
  controller_.reset();
  propose("up-down", 1);
  engine_of_taken_ = std::make_unique<FailingEngine>(fails);
  make_controller();
  settle();
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_EQ(taken().engine, "up-down");
  fails = true;
  cut(uplink(0));
  step(1);
  EXPECT_TRUE(walk().verified()) << "repaired at once";
  EXPECT_EQ(walk().unreachable_pairs, 0U);
  settle_for(4);
  EXPECT_EQ(alarms("routes.impossible"), 0U);
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_TRUE(taken().engine.empty());
  EXPECT_NE(texts().at(1).find("the links that are left do not do"), std::string::npos) << texts().at(1);
  controller_.reset();
  const auto writes = switches_->writes().size();
  make_controller();
  settle_for(4);
  EXPECT_EQ(switches_->writes().size(), writes);
}

TEST_F(TakenEngineTest, AnotherModeEndsIt) {
  start_irregular();
  settle();
  ASSERT_TRUE(until_taken());
  must(SetSubnetMode{subnet_, SubnetMode::observe, "", {}});
  EXPECT_FALSE(loop_->state()->route_bases->contains(subnet_));
}

}  // namespace taken_engine_test
}  // namespace railweave::control
