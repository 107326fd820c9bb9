// Cables that were exchanged are used as they are, named by differences and an alarm, and no longer once they are back.
// What switches hold is walked by hand on the cables that are there.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "tests/unit/live/exchanged_cables_fixture.h"

namespace railweave::control {
namespace {

constexpr unsigned kFirstUplink = 4;  // of a leaf of three hosts

// crosswise: what led from leaf to spine leads from leaf to leaf, and from spine to spine.
using Ports = std::vector<std::pair<std::string, unsigned>>;
const Ports kExchanged{{"p0-spine-0", 1}, {"p0-spine-1", 2}};
const Ports kOtherUplinks{{"p0-leaf-0", kFirstUplink + 1}, {"p0-leaf-1", kFirstUplink}};

class TwoExchangedCables : public ExchangedCables, public testing::WithParamInterface<bool> {};

TEST_P(TwoExchangedCables, AreUsedAsTheyAreAndReportedUntilTheyAreBack) {
  const bool crosswise = GetParam();
  start_tree();
  Recabled cables(*topology_);
  const auto one = cables.cable_at("p0-leaf-0", kFirstUplink);
  const auto other = cables.cable_at("p0-leaf-1", kFirstUplink + 1);
  cables.exchange(one, other, crosswise);
  become(cables);
  sweeps(1);
  EXPECT_EQ(accepted().intended, nullptr) << "not before it has settled";
  EXPECT_EQ(differing(FabricDifference::Kind::other_link).size(), 2U);
  EXPECT_EQ(status()->links.down, 2U);
  sweeps(2);
  ASSERT_NE(accepted().intended, nullptr);
  EXPECT_EQ(accepted().intended->digest, intended_digest_);
  EXPECT_NE(accepted().digest, intended_digest_);
  EXPECT_EQ(fabric::write_native_json(*accepted().topology), fabric::write_native_json(*truth_));
  EXPECT_EQ(differing(FabricDifference::Kind::exchanged_link).size(), 2U);
  EXPECT_TRUE(differing(FabricDifference::Kind::other_link).empty());
  EXPECT_EQ(status()->difference_count, 2U);
  EXPECT_EQ(alarms("subnet.differs"), 0U);
  ASSERT_EQ(alarms("link.exchanged"), 1U);
  for (const auto* name : {"p0-leaf-0 port 4", "p0-leaf-1 port 5", "p0-spine-0 port 1", "p0-spine-1 port 2"}) {
    EXPECT_NE(alarm_text("link.exchanged").find(name), std::string::npos) << alarm_text("link.exchanged");
  }
  // Where leaves lead to leaves, routes use the other uplinks of these.
  expect_used(GetParam() ? kOtherUplinks : kExchanged);
  // A restart knows it all.
  const std::string before = state_text();
  EXPECT_EQ(codec_.encode_state(replayed()), before);
  const auto snapshot = codec_.decode_state({.version = 1, .payload = before},
                                            [this](const std::string& digest) { return journal_->blob(digest); });
  ASSERT_TRUE(snapshot) << snapshot.error().text();
  EXPECT_EQ(codec_.encode_state(*snapshot), before);
  stop();
  start();
  EXPECT_EQ(state_text(), before);
  make_controller();
  settle();
  EXPECT_EQ(alarms("link.exchanged"), 1U);

  cables.exchange(one, other, crosswise);
  become(cables);
  sweeps(3);
  expect_as_intended();
  expect_used({{"p0-leaf-0", kFirstUplink}, {"p0-leaf-1", kFirstUplink + 1}});
  EXPECT_EQ(codec_.encode_state(replayed()), state_text());
}

INSTANTIATE_TEST_SUITE_P(Crosswise, TwoExchangedCables, testing::Bool());

TEST_F(ExchangedCables, WhatIsHalfDoneDoesNotCount) {
  start_tree();
  Recabled cables(*topology_);
  const auto one = cables.cable_at("p0-leaf-0", kFirstUplink);
  const auto other = cables.cable_at("p0-leaf-1", kFirstUplink + 1);
  cables.exchange(one, other).unplug(other);
  become(cables);
  sweeps(10);
  EXPECT_EQ(accepted().digest, intended_digest_);
  EXPECT_EQ(status()->links.down, 2U);
  EXPECT_EQ(alarms("subnet.differs"), 1U) << "one cable is where it is not accepted";
  // Done now, but again and again something is moved before it has settled.
  for (int i = 0; i < 5; ++i) {
    become(cables.plug(other));
    sweeps(1);
    become(cables.unplug(other));
    sweeps(1);
  }
  EXPECT_EQ(accepted().digest, intended_digest_);
  become(cables.plug(other));
  sweeps(3);
  EXPECT_NE(accepted().intended, nullptr);
  EXPECT_EQ(alarms("link.exchanged"), 1U);

  // One of them is back, the other is out: as intended, and down.
  become(cables.exchange(one, other).unplug(other));
  sweeps(3);
  EXPECT_EQ(accepted().digest, intended_digest_);
  EXPECT_EQ(alarms("link.exchanged"), 0U);
  EXPECT_EQ(status()->links.down, 1U);
  become(cables.plug(other));
  sweeps(1);
  expect_as_intended();
}

TEST_F(ExchangedCables, ACableInAPortThatIsNotAcceptedIsReportedAndLeftUnused) {
  start_tree();
  Recabled cables(*topology_);
  const auto spine = topology_->find_switch("p0-spine-0");
  cables.put_into(cables.cable_at("p0-leaf-0", kFirstUplink), static_cast<unsigned>(topology_->ports(spine).size()));
  become(cables);
  sweeps(10);
  EXPECT_EQ(accepted().digest, intended_digest_);
  EXPECT_FALSE(differing(FabricDifference::Kind::other_link).empty());
  EXPECT_EQ(walk_by_hand().lost, 0U);
}

// Half done, so that what is accepted stays in force: a switch, another or the same, is where a host was.
enum class InItsPlace : std::uint8_t { spine, other_leaf, same_leaf };
class AHostsCableLeadsToASwitch : public ExchangedCables, public testing::WithParamInterface<InItsPlace> {};

TEST_P(AHostsCableLeadsToASwitch, NothingIsSentIntoIt) {
  start_tree();
  Recabled cables(*topology_);
  const auto host = cables.cable_at("p0-leaf-0", 1);
  const auto uplink = cables.cable_at("p0-leaf-0", kFirstUplink + 1);
  const auto other = GetParam() == InItsPlace::spine        ? cables.cable_at("p0-leaf-1", kFirstUplink)
                     : GetParam() == InItsPlace::other_leaf ? cables.cable_at("p0-leaf-1", 1)
                                                            : cables.cable_at("p0-leaf-0", 2);
  cables.exchange(host, other, GetParam() != InItsPlace::spine).unplug(other);
  become(cables);
  const auto hosts = topology_->hcas().size();
  const std::size_t unplugged = GetParam() == InItsPlace::spine ? 1 : 2;
  for (const unsigned count : {1U, 5U}) {  // found, and looked at again
    sweeps(count);
    const Walked walked = walk_by_hand();
    EXPECT_EQ(walked.round, 0U);
    EXPECT_EQ(walked.lost, walked.pairs - (hosts - unplugged) * (hosts - unplugged - 1));
    EXPECT_EQ(accepted().digest, intended_digest_);
    EXPECT_EQ(alarms("routes.blackHole"), 0U) << alarm_text("routes.blackHole");
    EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
  }
  // What fails meanwhile is repaired, without it as well.
  become(cables.unplug(uplink));
  sweeps(1);
  EXPECT_EQ(walk_by_hand().round, 0U);
  // A controller that starts finds it so.
  make_controller();
  sweeps(1);
  EXPECT_EQ(walk_by_hand().round, 0U);
  become(Recabled(*topology_));
  sweeps(2);
  EXPECT_EQ(walk_by_hand().lost, 0U);
  expect_as_intended();
}

INSTANTIATE_TEST_SUITE_P(InItsPlace, AHostsCableLeadsToASwitch,
                         testing::Values(InItsPlace::spine, InItsPlace::other_leaf, InItsPlace::same_leaf));

TEST_F(ExchangedCables, WhatThePartsOfASubnetKnewOfEachOtherIsDropped) {
  start_live({.hosts_per_leaf = 3, .spines_per_pod = 1, .gpus_per_host = 2});
  settle();
  Recabled cables(*topology_);
  // The only uplink of a leaf leads to a host now, and that host's cable from its leaf to the spine.
  become(cables.exchange(cables.cable_at("p0-leaf-0", kFirstUplink), cables.cable_at("p0-leaf-1", 1)));
  sweeps(4);
  ASSERT_NE(accepted().intended, nullptr);
  std::size_t apart = 0;
  const auto& t = *truth_;
  const auto is_first = [&](fabric::SwitchId sw) { return t.name(sw) == "p0-leaf-0"; };
  for (const auto hca : t.hcas()) {
    const bool is_apart = is_first(t.switch_of(t.peer(t.ports(hca).front())));
    for (const auto sw : t.switches()) {
      if (is_first(sw) == is_apart) continue;
      ++apart;
      EXPECT_EQ(switches_->out_port(t.guid(sw), switches_->lid(t.guid(hca), 1)), fabric::kNoPort)
          << t.name(sw) << " to " << t.description(hca);
    }
  }
  EXPECT_GT(apart, 20U);
  EXPECT_EQ(walk_by_hand().round, 0U);
  EXPECT_EQ(status()->phase, SubnetPhase::synced) << status()->problem;
}

TEST_F(ExchangedCables, SeveralExchangesAtOnceAndOfThreeCablesAndOfHosts) {
  start_tree();
  Recabled cables(*topology_);
  const auto uplink = [&](unsigned leaf, unsigned n) {
    return cables.cable_at("p0-leaf-" + std::to_string(leaf), kFirstUplink + n);
  };
  const auto node = [&](unsigned leaf, unsigned port) {
    return cables.cable_at("p0-leaf-" + std::to_string(leaf), port);
  };
  cables.exchange(uplink(0, 0), uplink(1, 1));
  cables.exchange(uplink(2, 0), uplink(3, 1)).exchange(uplink(3, 1), uplink(2, 2));  // three in a circle
  cables.exchange(node(0, 1), node(3, 2));
  become(cables);
  sweeps(3);
  ASSERT_NE(accepted().intended, nullptr);
  EXPECT_EQ(fabric::write_native_json(*accepted().topology), fabric::write_native_json(*truth_));
  EXPECT_EQ(alarms("link.exchanged"), 3U);
  EXPECT_EQ(status()->difference_count, 7U);
  expect_used({{"p0-leaf-0", 1},
               {"p0-leaf-3", 2},
               {"p0-leaf-0", 4},
               {"p0-leaf-1", 5},
               {"p0-leaf-2", 4},
               {"p0-leaf-3", 5},
               {"p0-leaf-2", 6}});
  // Some of it goes back.
  cables.exchange(node(0, 1), node(3, 2));
  become(cables);
  sweeps(3);
  EXPECT_EQ(alarms("link.exchanged"), 2U);
  EXPECT_EQ(status()->difference_count, 5U);
  become(Recabled(*topology_));
  sweeps(3);
  expect_as_intended();
}

TEST_F(ExchangedCables, AnOperatorMayWantThemOnlyReported) {
  start_tree(SubnetMode::direct, false);
  Recabled cables(*topology_);
  cables.exchange(cables.cable_at("p0-leaf-0", kFirstUplink), cables.cable_at("p0-leaf-1", kFirstUplink + 1));
  become(cables);
  sweeps(10);
  EXPECT_EQ(accepted().digest, intended_digest_);
  EXPECT_EQ(status()->links.down, 2U);
  EXPECT_EQ(differing(FabricDifference::Kind::other_link).size(), 2U);
  EXPECT_EQ(alarms("subnet.differs"), 1U);
  // What is in force since before goes back with the cables all the same.
  use_swapped_cables_ = true;
  make_controller();
  sweeps(4);
  ASSERT_NE(accepted().intended, nullptr);
  use_swapped_cables_ = false;
  make_controller();
  settle();
  become(Recabled(*topology_));
  sweeps(3);
  expect_as_intended();
}

TEST_F(ExchangedCables, TheyAreTheTruthInASubnetThatIsOnlyObserved) {
  start_tree(SubnetMode::observe);
  Recabled cables(*topology_);
  cables.exchange(cables.cable_at("p0-leaf-0", kFirstUplink), cables.cable_at("p0-leaf-1", kFirstUplink + 1));
  become(cables);
  sweeps(4);
  EXPECT_NE(accepted().intended, nullptr);
  EXPECT_EQ(alarms("link.exchanged"), 1U);
  EXPECT_TRUE(switches_->writes().empty());
}

TEST_F(ExchangedCables, OnesThatComeAndGoAreFollowedSixTimesInTenMinutes) {
  start_tree();
  Recabled cables(*topology_);
  const auto one = cables.cable_at("p0-leaf-0", kFirstUplink);
  const auto other = cables.cable_at("p0-leaf-1", kFirstUplink + 1);
  std::size_t imports = 0;
  for (int i = 0; i < 15; ++i) {  // of half a minute each
    const auto version = accepted().version;
    become(cables.exchange(one, other));
    sweeps(3);
    imports += accepted().version != version ? 1 : 0;
  }
  EXPECT_EQ(imports, 6U);
  sweeps(60);
  EXPECT_EQ(fabric::write_native_json(*accepted().topology), fabric::write_native_json(*truth_));
}

TEST_F(ExchangedCables, WhatThePortsOfADrainedLinkHaveInsteadIsDrainedWithIt) {
  start_tree();
  const auto link_at = [&](const std::string& sw, unsigned port) {
    const auto& t = *loop_->state()->accepted.topology;
    return t.link_text(t.link(t.ports(t.find_switch(sw))[port - 1]));
  };
  const DrainTarget drained{DrainKind::link, link_at("p0-leaf-0", kFirstUplink)};
  must(RequestDrain{drained, "bad optics", false, {}, loop_->state()->view_version});
  sweeps(1);
  ASSERT_EQ(loop_->state()->drains->at(drained).state, DrainState::drained);
  Recabled cables(*topology_);
  const auto one = cables.cable_at("p0-leaf-0", kFirstUplink);
  const auto other = cables.cable_at("p0-leaf-1", kFirstUplink + 1);
  become(cables.exchange(one, other));
  sweeps(3);
  ASSERT_NE(accepted().intended, nullptr);
  const DrainTarget first{DrainKind::link, link_at("p0-leaf-0", kFirstUplink)};
  const DrainTarget second{DrainKind::link, link_at("p0-leaf-1", kFirstUplink + 1)};
  EXPECT_EQ(state_->drains->size(), 3U);
  for (const auto& target : {first, second}) {
    ASSERT_TRUE(state_->drains->contains(target)) << target.id;
    EXPECT_EQ(state_->drains->at(target).follows, drained.id);
    EXPECT_EQ(state_->drains->at(target).state, DrainState::drained);
    EXPECT_FALSE(walk_by_hand().used.contains(target.id));
  }
  EXPECT_EQ(walk_by_hand().lost, 0U);
  EXPECT_EQ(codec_.encode_state(replayed()), state_text());
  // The drain of the cable ends: so do those that follow it.
  must(ClearDrain{drained, ""});
  EXPECT_TRUE(loop_->state()->drains->empty());
  sweeps(1);
  EXPECT_TRUE(walk_by_hand().used.contains(first.id));
  // Drained as it is, then put back: what its ports lead to is drained, and again its own link alone once that is back.
  must(RequestDrain{drained, "bad optics", true, {}, loop_->state()->view_version});
  become(cables.exchange(one, other));
  sweeps(3);
  expect_as_intended();
  ASSERT_EQ(loop_->state()->drains->size(), 1U);
  EXPECT_FALSE(walk_by_hand().used.contains(drained.id));
  EXPECT_EQ(walk_by_hand().lost, 0U);
}

TEST_F(ExchangedCables, OtherLinksThatAreDownStayDown) {
  start_tree();
  const auto down = uplink(7);
  cut(down);
  sweeps(1);
  const std::string name = topology_->link_text(down.link);
  Recabled cables(*topology_);
  const auto one = cables.cable_at("p0-leaf-0", kFirstUplink);
  const auto other = cables.cable_at("p0-leaf-1", kFirstUplink + 1);
  const auto at = cables.cable_at(std::string(topology_->name(topology_->find_switch(down.sw))), down.port);
  ASSERT_NE(at, one);
  ASSERT_NE(at, other);
  become(cables.exchange(one, other).unplug(at));
  for (int i = 0; i < 4 && accepted().intended == nullptr; ++i) {
    now_us_ += 10'000'000;
    controller_->step(loop_->state(), std::chrono::milliseconds(0));
    record();
  }
  ASSERT_NE(accepted().intended, nullptr);
  // In the same events, before anything more is found.
  EXPECT_EQ(state_->view.state(state_->topology().find_link(name)), fabric::LinkState::down);
}

TEST_F(ExchangedCables, AnImportByTheOperatorIsWhatIsIntended) {
  start_tree();
  Recabled cables(*topology_);
  cables.exchange(cables.cable_at("p0-leaf-0", kFirstUplink), cables.cable_at("p0-leaf-1", kFirstUplink + 1));
  become(cables);
  sweeps(3);
  ASSERT_NE(accepted().intended, nullptr);
  // What is in force, accepted as it is.
  must(accept(truth_));
  settle();
  EXPECT_EQ(told("topology.differs", "is accepted as it is from now on"), 2U);
  EXPECT_EQ(accepted().intended, nullptr);
  EXPECT_EQ(alarms("link.exchanged"), 0U);
  EXPECT_EQ(status()->difference_count, 0U);
  sweeps(3);
  expect_used({{"p0-leaf-0", kFirstUplink}});
  // The first cabling, accepted again: found otherwise, and followed.
  must(accept(topology_));
  sweeps(4);
  ASSERT_NE(accepted().intended, nullptr);
  EXPECT_EQ(alarms("link.exchanged"), 1U);
}

TEST_F(ExchangedCables, GuaranteesAreRecheckedInTheSameTransaction) {
  start_tree();
  must(PutTenant{{.name = "research"}, {}});
  auto command = submit_job("research", 1, 6);
  command.spec.gpus_per_node = 1;
  for (int i = 0; i < 6; ++i) command.spec.only_nodes.push_back("node-" + std::to_string(i));  // of two leaves
  JobId job;
  for (std::int64_t gbps = 400; gbps > 0 && job == JobId(); gbps -= 10) {  // as much as the uplinks hold
    must(PutContract{{.tenant = "research", .guaranteed = RateMbps(gbps * 1000)}, {}});
    if (const auto placed = ask(command)) job = placed->job;
  }
  ASSERT_NE(job, JobId());
  Recabled cables(*topology_);
  const auto one = cables.cable_at("p0-leaf-0", kFirstUplink);
  const auto other = cables.cable_at("p0-leaf-1", kFirstUplink + 1);
  // Two uplinks of one leaf, not used yet: it lacks both. With the event that puts them in force the guarantee holds again.
  const auto beside = cables.cable_at("p0-leaf-0", kFirstUplink + 1);
  become(cables.exchange(one, beside));
  sweeps(1);
  ASSERT_EQ(accepted().intended, nullptr);
  EXPECT_TRUE(state_->jobs.find(job)->guarantee->at_risk());
  EXPECT_EQ(alarms("guarantee.atRisk"), 1U);
  sweeps(2);
  ASSERT_NE(accepted().intended, nullptr);
  EXPECT_FALSE(state_->jobs.find(job)->guarantee->at_risk());
  EXPECT_EQ(alarms("guarantee.atRisk"), 0U);
  std::map<std::string, std::int64_t> told_us;  // the last of each kind; the clock goes on with every command
  const auto read = db::replay(*journal_, 0, [&](const db::Record& record) -> Result<void> {
    told_us[record.kind] = record.time_us;
    return {};
  });
  ASSERT_TRUE(read);
  EXPECT_TRUE(told_us.contains("guarantee.restored"));
  EXPECT_EQ(told_us["guarantee.restored"], told_us["topology.accepted"]);
  // From leaf to leaf and from spine to spine they are in use as well, but an uplink less is left at each of both leaves.
  become(cables.exchange(one, beside).exchange(one, other, true));
  sweeps(3);
  ASSERT_NE(accepted().intended, nullptr);
  EXPECT_TRUE(state_->jobs.find(job)->guarantee->at_risk());
  EXPECT_EQ(alarms("guarantee.atRisk"), 1U);
  become(cables.exchange(one, other, true));
  sweeps(3);
  expect_as_intended();
  EXPECT_FALSE(state_->jobs.find(job)->guarantee->at_risk());
  EXPECT_EQ(alarms("guarantee.atRisk"), 0U);
}

}  // namespace
}  // namespace railweave::control
