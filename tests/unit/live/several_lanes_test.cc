// A subnet in direct mode whose routes need several lanes. What switches hold is walked here, forwarding tables and SL to VL, by
// the levels that the service says paths have.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "fabric/generate/generate.h"
#include "fabric/routing/plane/route_trace.h"
#include "gtest/gtest.h"
#include "tests/unit/live/live_fixture.h"

namespace railweave::control {
namespace several_lanes_test {

class SeveralLanesTest : public LiveTest {
 protected:
  void start_shape(const std::string& kind, const std::map<std::string, std::string>& parameters) {
    start();
    auto made = fabric::generate(kind, {parameters.begin(), parameters.end()});
    ASSERT_TRUE(made) << made.error().text();
    topology_ = std::make_shared<const fabric::Topology>(std::move(*made));
    switches_ = std::make_shared<fabric::SimulatedDriver>(topology_);
    must(accept(topology_));
    subnet_ = topology_->name(fabric::SubnetId(0));
    must(SetSubnetMode{subnet_, SubnetMode::direct, "", {}});
    make_controller();
  }
  void start_torus() { start_shape("torus", {{"x", "4"}, {"y", "4"}, {"z", "1"}}); }
  void start_dragonfly() { start_shape("dragonfly", {{"switches-per-group", "3"}, {"global-links", "1"}}); }

  struct Lanes {
    std::size_t lost = 0, delivered = 0;
    std::set<unsigned> used{};
    bool has_circle = false;
  };
  // Of packets with the levels that their senders are told; as_told: else level 0.
  Lanes lanes(bool as_told = true) {
    const auto routes = routes_now();
    const auto& scope = (*routes)->scope();
    const auto& t = *topology_;
    std::vector<fabric::SwitchId> all(t.switches().begin(), t.switches().end());
    std::map<fabric::SwitchId, std::vector<std::uint16_t>> tables;
    const auto readings = switches_->read_tables(t, all, top_lid(scope));
    for (const auto& reading : *readings) tables[reading.sw] = reading.ports;
    std::map<fabric::PortId, std::map<std::uint8_t, fabric::LaneMap>> maps;
    Lanes walked;
    using Channel = std::pair<fabric::PortId, unsigned>;
    std::map<Channel, std::set<Channel>> next;
    for (const auto from : t.hca_ports()) {
      for (const auto to : t.hca_ports()) {
        if (from == to || !t.peer(from) || !t.peer(to)) continue;
        const auto lid = scope.lid(scope.find(to));
        const auto traced = fabric::trace_route((*routes)->input.view, (*routes)->routing.tables,
                                                (*routes)->routing.lanes, from, scope.find(to));
        const unsigned level = as_told ? traced.service_level : 0;
        auto in = t.peer(from);
        Channel before;
        unsigned hops = 0;
        for (; t.is_switch_port(in) && hops < 64; ++hops) {
          const auto sw = t.switch_of(in);
          const unsigned number = tables[sw][lid];
          if (number == 0 || number > t.ports(sw).size()) break;
          const auto out = t.ports(sw)[number - 1];
          if (!switches_->read_link(t.guid(sw), number).up) break;
          if (t.is_switch_port(t.peer(out))) {
            if (!maps.contains(out)) {
              const fabric::PortRef ref{t.guid(sw), static_cast<std::uint8_t>(number)};
              maps[out] = (*switches_->read_port_tables(std::vector<fabric::PortRef>{ref}))[0].lane_maps;
            }
            const Channel channel{out, maps[out].at(static_cast<std::uint8_t>(t.number(in)))[level]};
            walked.used.insert(channel.second);
            next.try_emplace(channel);
            if (before.first) next[before].insert(channel);
            before = channel;
          }
          in = t.peer(out);
        }
        ++(in == to ? walked.delivered : walked.lost);
      }
    }
    walked.has_circle = has_circle(next);
    return walked;
  }
  template <class Next>
  static bool has_circle(const Next& next) {
    std::map<typename Next::key_type, std::size_t> waits;
    for (const auto& [from, to] : next) {
      waits.try_emplace(from, 0);
      for (const auto& one : to) ++waits[one];
    }
    std::vector<typename Next::key_type> free;
    for (const auto& [one, count] : waits) {
      if (count == 0) free.push_back(one);
    }
    std::size_t done = 0;
    for (; done < free.size(); ++done) {
      const auto one = free[done];
      const auto after = next.find(one);
      if (after == next.end()) continue;
      for (const auto& to : after->second) {
        if (--waits[to] == 0) free.push_back(to);
      }
    }
    return done != waits.size();
  }
  void expect_several(const char* when) {
    EXPECT_EQ(status()->phase, SubnetPhase::synced) << when << ": " << status()->problem;
    ASSERT_TRUE(status()->lanes) << when;
    EXPECT_EQ(status()->lanes->used, 2U) << when << ": " << status()->lanes->problem;
    EXPECT_EQ(alarms("routes.onOneLane"), 0U) << when;
    const Lanes walked = lanes();
    EXPECT_EQ(walked.lost, 0U) << when;
    EXPECT_GT(walked.delivered, 0U) << when;
    EXPECT_EQ(walked.used, (std::set<unsigned>{0, 1})) << when;
    EXPECT_FALSE(walked.has_circle) << when;
  }
  void expect_one(const char* why) {
    EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
    ASSERT_TRUE(status()->lanes);
    EXPECT_EQ(status()->lanes->used, 1U);
    EXPECT_EQ(status()->lanes->needed, 2U);
    EXPECT_NE(status()->lanes->problem.find(why), std::string::npos) << status()->lanes->problem;
    EXPECT_EQ(alarms("routes.onOneLane"), 1U);
    EXPECT_EQ(alarms("routes.needLanes"), 0U);
    const auto report = walk();  // on one lane
    EXPECT_TRUE(report.verified());
    EXPECT_EQ(report.unreachable_pairs, 0U);
  }
  [[nodiscard]] std::vector<JobId> placed() const {
    std::vector<JobId> ids;
    loop_->state()->jobs.visit_after(JobId(0), [&](const JobPtr& job) {
      if (job->holds_gpus()) ids.push_back(job->id);
      return true;
    });
    return ids;
  }
  void settle_for(int seconds) {
    for (int i = 0; i < seconds; ++i) step(1'000);
  }
};

TEST_F(SeveralLanesTest, ATorusIsBroughtUpOnTwo) {
  start_torus();
  settle();
  expect_several("brought up");
  EXPECT_TRUE(lanes(false).has_circle) << "with level 0 throughout this could deadlock, which the walk finds";
  cut(uplink(0));
  step(1);
  settle();
  expect_several("after a cut");
  join(uplink(0));
  step(1);
  settle();
  expect_several("joined again");
}

TEST_F(SeveralLanesTest, LanesOfADragonflyDependOnThePortThatAPacketCameBy) {
  start_dragonfly();
  settle();
  expect_several("brought up");
  cut(uplink(0));
  step(1);
  settle();
  EXPECT_EQ(lanes().lost, 0U);
  EXPECT_FALSE(lanes().has_circle);
}

TEST_F(SeveralLanesTest, ASwitchThatComesBackWithoutItsMapsHasThemBeforePacketsPass) {
  start_torus();
  settle();
  const auto cable = uplink(0);
  cut(cable);
  step(1);
  settle();
  switches_->lose_port_tables(cable.sw);
  bool was_early = false;
  written_ = [&] { was_early = was_early || lanes().has_circle; };
  join(cable);
  step(1);
  settle();
  written_ = nullptr;
  EXPECT_FALSE(was_early);
  expect_several("joined again");
}

TEST_F(SeveralLanesTest, WhereSendersAreGivenNoLevelsRoutesGoUpAndDown) {
  several_lanes_ = false;
  start_torus();
  settle();
  expect_one("several_lanes is false");
  for (int i = 0; i < 10; ++i) step(4'000);
  const SubnetTables* tables = loop_->state()->tables(subnet_);
  ASSERT_NE(tables, nullptr);
  EXPECT_EQ(tables->source, TablesSource::seen) << "the service computes others, on two lanes";
  cut(uplink(0));
  step(1);
  settle();
  expect_one("several_lanes is false");
}

TEST_F(SeveralLanesTest, WherePortsHaveTooFewLanesRoutesGoUpAndDownUntilTheyHaveThem) {
  start_torus();
  switches_->set_data_lanes(1);
  settle();
  expect_one("the ports have 1");
  switches_->set_data_lanes(8);
  settle_for(20);
  expect_several("once ports have lanes");
}

// Who began before levels were told sends on level 0, which could close a circle of waits on two lanes.
TEST_F(SeveralLanesTest, JobsFromBeforeEndOnOneLane) {
  several_lanes_ = false;
  start_torus();
  settle();
  must(PutTenant{{.name = "research"}, {}});
  must(submit_job("research", 1, 4));
  ASSERT_EQ(placed().size(), 1U);
  several_lanes_ = true;
  make_controller();
  bool was_circle = false;
  written_ = [&] { was_circle = was_circle || lanes(false).has_circle || lanes().has_circle; };
  settle_for(30);
  expect_one("1 job started before senders were told");
  EXPECT_EQ(loop_->state()->tables(subnet_)->levels, "torus-3d on 2 lanes");
  EXPECT_EQ(lanes().used, (std::set<unsigned>{0, 1}))
      << "levels are told and ports map them, on the tables from before";
  cut(uplink(0));
  step(1);
  settle();
  expect_one("1 job started before senders were told");
  // One that begins now was told.
  const JobId before = placed().front();
  must(submit_job("research", 1, 3));
  settle_for(3);
  expect_one("1 job started before senders were told");
  EXPECT_FALSE(was_circle);
  written_ = [&] { was_circle = was_circle || lanes().has_circle; };
  must(EndJob{before, JobState::completed, "", {}});
  settle_for(5);
  expect_several("once it has ended");
  EXPECT_FALSE(was_circle);
  ASSERT_TRUE(status()->lanes->old_levels);
  EXPECT_EQ(status()->lanes->old_levels->outcome, fabric::OldLevels::Outcome::kept);
}

TEST_F(SeveralLanesTest, ARestartKnowsWhatSendersWereTold) {
  start_torus();
  settle();
  expect_several("brought up");
  must(PutTenant{{.name = "research"}, {}});
  must(submit_job("research", 1, 4));
  settle_for(3);
  controller_.reset();
  cut(uplink(0), false);
  make_controller();
  settle_for(2);
  expect_several("after a restart that finds a cable cut");
  // As if another service had written the tables.
  auto forgotten = *loop_->state()->tables(subnet_);
  forgotten.levels.clear();
  controller_.reset();
  must(ReportTables{{subnet_, forgotten}});
  join(uplink(0), false);
  cut(uplink(1), false);
  make_controller();
  settle_for(2);
  expect_one("senders");
}

TEST_F(SeveralLanesTest, APortThatDoesNotKeepItsMapsIsNamed) {
  start_torus();
  const auto cable = uplink(0);
  switches_->garble(cable.sw, 100);
  settle();
  ASSERT_TRUE(status()->lanes);
  EXPECT_EQ(status()->lanes->used, 1U);
  EXPECT_NE(status()->lanes->problem.find("reads back differently"), std::string::npos) << status()->lanes->problem;
  switches_->garble(cable.sw, 0);
  settle_for(60);
  expect_several("once it keeps them");
}

}  // namespace several_lanes_test
}  // namespace railweave::control
