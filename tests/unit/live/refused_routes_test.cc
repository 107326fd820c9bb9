// Routes that do not pass the audit are not programmed.
#include "tests/unit/live/live_fixture.h"

namespace railweave::control {
namespace {

using fabric::Routing;
using fabric::RoutingInput;

// Routes as another engine does, but while `loops` two switches send packets for one destination to each other: of the
// first plane, or of the one given, which also needs more lanes than switches have then.
class LoopingEngine final : public fabric::RoutingEngine {
 public:
  LoopingEngine(const fabric::RoutingEngine& engine, const bool& loops, fabric::PlaneId only = {})
      : engine_(engine), loops_(loops), only_(only) {}
  [[nodiscard]] std::string_view name() const override { return engine_.name(); }
  [[nodiscard]] fabric::EngineFit fit(const fabric::RoutingScope& scope) const override { return engine_.fit(scope); }
  [[nodiscard]] Result<Routing> route(const RoutingInput& input) const override {
    auto routing = engine_.route(input);
    if (routing && loops_) add_loop(*routing);
    return routing;
  }
  [[nodiscard]] Result<Routing> reroute(const Routing& before, const RoutingInput& input) const override {
    auto routing = only_ ? engine_.reroute(before, input) : fabric::RoutingEngine::reroute(before, input);
    if (only_ && routing && loops_) add_loop(*routing);
    return routing;
  }

 private:
  void add_loop(Routing& routing) const {
    const auto& scope = routing.tables.scope();
    const auto& topology = scope.topology();
    for (const auto link : topology.links()) {
      if (!topology.joins_switches(link)) continue;
      const auto a = topology.switch_of(topology.a(link));
      const auto b = topology.switch_of(topology.b(link));
      const auto plane = scope.plane_of(a);
      if (only_ && plane != only_) continue;
      if (only_) routing.lanes.planes[plane.index()].lanes = 4;
      for (const auto id : scope.destinations()) {
        const auto home = scope.destination(id).home;
        if (scope.plane_of(id) != plane || home == a || home == b) continue;
        auto tables = routing.tables.plane(plane);
        {
          fabric::PlaneTables::Editor editor(tables);
          editor.set(scope.local(a), scope.local(id), static_cast<std::uint16_t>(topology.number(topology.a(link))));
          editor.set(scope.local(b), scope.local(id), static_cast<std::uint16_t>(topology.number(topology.b(link))));
        }
        routing.tables.set_plane(plane, std::move(tables));
        return;
      }
    }
  }

  const fabric::RoutingEngine& engine_;
  const bool& loops_;
  const fabric::PlaneId only_;
};

class RefusedRoutesTest : public LiveTest {
 protected:
  void start_looping(bool from_the_start, SubnetMode mode = SubnetMode::direct) {
    loops_ = from_the_start;
    engine_ = std::make_unique<LoopingEngine>(*fabric::find_engine("up-down"), loops_);
    start_live({.hosts_per_leaf = 3, .leaves_per_pod = 3, .spines_per_pod = 3}, mode);
    settle();
  }
  // Of two subnets the other one, which this controller does not program, gets routes that loop and need many lanes.
  void start_beside_looping() {
    loops_ = true;
    start_live({.hosts_per_leaf = 2, .leaves_per_pod = 2, .spines_per_pod = 2, .planes = 2}, SubnetMode::observe);
    const auto scope = fabric::RoutingScope::make(topology_).value();
    for (const auto sw : topology_->switches()) {
      if (topology_->name(topology_->subnet(sw)) == "plane-0") continue;
      engine_ = std::make_unique<LoopingEngine>(*fabric::find_engine("up-down"), loops_, scope->plane_of(sw));
      break;
    }
    must(SetSubnetMode{"plane-0", SubnetMode::direct, "", {}});
    settle();
  }
  // Pairs whose packets loop on the tables that switches hold.
  [[nodiscard]] std::uint64_t loops_programmed() { return walk().looping_pairs; }
  bool loops_ = false;
};

TEST_F(RefusedRoutesTest, TheFirstRoutesAreAuditedBeforeTheyAreProgrammed) {
  start_looping(true);
  EXPECT_TRUE(switches_->writes().empty());
  EXPECT_EQ(loops_programmed(), 0U);
  EXPECT_EQ(alarms("routes.unsound"), 1U);
  EXPECT_NE(status()->problem.find("do not pass the audit"), std::string::npos) << status()->problem;
}

TEST_F(RefusedRoutesTest, RefusedRoutesAreNoBaselineForTheNextOnes) {
  start_looping(false);
  ASSERT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  const auto writes = switches_->writes().size();
  loops_ = true;
  for (std::size_t n = 0; n < 3; ++n) {
    cut(uplink(n));
    settle();
    EXPECT_EQ(switches_->writes().size(), writes) << "the same loop is no sounder for being old";
    EXPECT_EQ(loops_programmed(), 0U);
    EXPECT_EQ(alarms("routes.unsound"), 1U);
  }
  must(RequestDrain{
      {DrainKind::link, topology_->link_text(uplink(4).link)}, "", false, {}, loop_->state()->view_version});
  settle();
  EXPECT_EQ(switches_->writes().size(), writes);
  loops_ = false;
  join(uplink(0));
  settle();
  EXPECT_GT(switches_->writes().size(), writes);
  EXPECT_EQ(alarms("routes.unsound"), 0U);
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  EXPECT_TRUE(walk().verified());
}

TEST_F(RefusedRoutesTest, RoutesOfAnotherSubnetStopNothingHere) {
  start_beside_looping();
  EXPECT_EQ(alarms("routes.unsound"), 0U);
  EXPECT_EQ(alarms("routes.needLanes"), 0U);
  ASSERT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  const auto writes = switches_->writes().size();
  EXPECT_GT(writes, 0U);
  cut(uplink(0));
  settle();
  EXPECT_GT(switches_->writes().size(), writes) << "the repair is of this subnet";
  EXPECT_EQ(alarms("routes.unsound"), 0U);
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
}

TEST_F(RefusedRoutesTest, AnObserverRaisesNoAlarm) {
  start_looping(true, SubnetMode::observe);
  EXPECT_EQ(alarms("routes.unsound"), 0U);
  EXPECT_EQ(status()->phase, SubnetPhase::watching);
  must(SetSubnetMode{"plane-0", SubnetMode::direct, "", {}});
  settle();
  EXPECT_EQ(alarms("routes.unsound"), 1U);
  EXPECT_TRUE(switches_->writes().empty());
}

}  // namespace
}  // namespace railweave::control
