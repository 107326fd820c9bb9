// Lanes of jobs' own in the control loop: given with placement, kept while a job runs, changed by an announced event where
// routes change, refused with those who have them; the same after every event is read back from the journal.
#include <map>
#include <random>

#include "fabric/capacity/lane_owners.h"
#include "services/control/codec/journal_codec.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/rest/json/guarantees/guarantee.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::lanes_test {
namespace {

using fabric::LinkState;
using scheduler::Isolation;
using testing::Cluster;
using testing::leaves_and_spines;

scheduler::Contract with_lanes(std::int64_t gbps, bool survives = false) {
  auto contract = testing::terms(gbps, survives);
  contract.isolation = Isolation::lane;
  return contract;
}

SubmitJob on(const std::vector<unsigned>& nodes) {
  auto job = Cluster::job("t", static_cast<std::uint32_t>(nodes.size()));
  for (const unsigned node : nodes) job.spec.only_nodes.push_back("node-" + std::to_string(node));
  return job;
}

// No two jobs that hold their guarantee have one lane on a link, by the loads of a book of its own.
void expect_apart(const Cluster& cluster, const std::string& when) {
  GuaranteeBook book;
  ASSERT_TRUE(book.bring_to(cluster.state));
  std::map<std::pair<fabric::DirectedLink, unsigned>, std::string> owners;
  for (const auto& one : book.ledger().reservations()) {
    const auto& guarantee = cluster.guarantee(job_of(*one));
    ASSERT_EQ(one->lane, guarantee.lane) << one->job << when;
    if (!one->lane) continue;
    for (const auto& load : one->loads) {
      const auto [at, is_first] = owners.try_emplace({load.link, *one->lane}, one->job);
      EXPECT_TRUE(is_first) << at->second << " and " << one->job << " have lane " << int{*one->lane} << when;
    }
  }
}

TEST(OwnLanes, AreDifferentOnlyWhereJobsMeet) {
  Cluster cluster(leaves_and_spines(4, 4, 2, 2));
  cluster.contract(with_lanes(10));
  cluster.must(on({0, 1, 4, 5}));
  const JobId first = cluster.last_job;
  EXPECT_EQ(cluster.guarantee(first).isolation, Isolation::lane);
  EXPECT_EQ(cluster.guarantee(first).lane, 0);
  cluster.must(on({2, 3, 6, 7}));
  const JobId second = cluster.last_job;
  EXPECT_EQ(cluster.guarantee(second).lane, 1) << "on the same cables between switches";
  cluster.must(on({8, 9, 12, 13}));
  EXPECT_EQ(cluster.guarantee(cluster.last_job).lane, 0) << "on others";
  expect_apart(cluster, "");
  cluster.must(EndJob{first, JobState::completed, {}, {}});
  EXPECT_EQ(cluster.guarantee(second).lane, 1) << "a running job's lane never moves";
  cluster.must(on({0, 1, 4, 5}));
  EXPECT_EQ(cluster.guarantee(cluster.last_job).lane, 0) << "the lane of a job that ended is free";
  expect_apart(cluster, "");
}

TEST(OwnLanes, AreRefusedWithThoseWhoHaveThemAndPlacementAvoidsThem) {
  Cluster cluster(leaves_and_spines(4, 4, 2, 2));
  cluster.leave_lanes(1);
  cluster.contract(with_lanes(1));
  cluster.must(on({0, 1, 4, 5}));
  const JobId first = cluster.last_job;
  const auto refused = cluster.ask(on({2, 3, 6, 7}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "admission.lanesTaken") << refused.error().error.text();
  EXPECT_EQ(refused.error().error.kind, ErrorKind::conflict);
  ASSERT_FALSE(refused.error().links.empty());
  ASSERT_FALSE(refused.error().links.front().holders.empty());
  EXPECT_EQ(refused.error().links.front().holders.front().job, to_string(first));
  ASSERT_NE(refused.error().placement, nullptr);
  EXPECT_EQ(refused.error().placement->outcome, scheduler::Outcome::not_now);
  // Where it may choose, it is placed on other leaves.
  cluster.must(Cluster::job("t", 8));
  for (const auto& node : cluster.state.jobs.find(cluster.last_job)->nodes)
    EXPECT_GE(std::stoi(node.substr(5)), 8) << node;
  EXPECT_EQ(cluster.guarantee(cluster.last_job).lane, 0);
  // Classes that would take a lane that a job has are refused.
  fabric::QosClasses classes = *cluster.state.qos_classes;
  classes.insert(classes.begin(), {"one-more", 1, 0, fabric::ClassBound::bandwidth, true, 63});
  EXPECT_EQ(cluster.ask(PutQosClasses{classes, {}}).error().error.code, "qosClasses.jobsDoNotFit");
  // With no lane left at all it is never.
  Cluster none(leaves_and_spines(2, 4, 2, 2));
  none.leave_lanes(0);
  none.contract(with_lanes(1));
  EXPECT_EQ(none.ask(Cluster::job("t", 8)).error().error.code, "admission.noLanes");
}

TEST(OwnLanes, FollowTheContract) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  cluster.contract(testing::terms(10));
  cluster.must(on({0, 1, 4, 5}));
  const JobId job = cluster.last_job;
  EXPECT_FALSE(cluster.guarantee(job).lane);
  const auto amended = cluster.ask(PutContract{with_lanes(10), {}});
  ASSERT_TRUE(amended);
  EXPECT_EQ(cluster.guarantee(job).lane, 0);
  EXPECT_EQ(heading((*amended)[1]).type, "guarantee.amended");
  auto within = testing::terms(10);
  within.isolation = Isolation::within_class;
  EXPECT_EQ(cluster.ask(PutContract{within, {}}).error().error.code, "contracts.weakensGuarantees");
  cluster.must(PutContract{within, {}, true});
  EXPECT_FALSE(cluster.guarantee(job).lane);
  EXPECT_EQ(cluster.guarantee(job).isolation, Isolation::within_class);
}

// One spine is left to both jobs: they meet on its cables. The first keeps its lane, the second gets another one by an
// event, or is at risk where there is none.
TEST(OwnLanes, ChangeOnlyByAnEventWhenRoutesLetOwnersMeet) {
  for (const unsigned lanes : {2U, 1U}) {
    SCOPED_TRACE(std::to_string(lanes) + " lanes");
    Cluster cluster(leaves_and_spines(3, 2, 2, 2));
    cluster.leave_lanes(lanes);
    cluster.contract(with_lanes(1));
    // Two jobs on the same leaves that cross different spines, by trial: routes decide which pairs do.
    JobId first, second;
    for (const auto& [a, b] : std::vector<std::pair<std::vector<unsigned>, std::vector<unsigned>>>{
             {{0, 2}, {1, 3}}, {{0, 3}, {1, 2}}, {{0, 2}, {1, 5}}, {{0, 4}, {1, 3}}, {{0, 3}, {2, 5}}}) {
      cluster.must(on(a));
      first = cluster.last_job;
      const auto other = cluster.ask(on(b));
      second = cluster.last_job;
      if (other && cluster.guarantee(second).lane == cluster.guarantee(first).lane) break;
      if (other) cluster.must(EndJob{second, JobState::completed, {}, {}});
      cluster.must(EndJob{first, JobState::completed, {}, {}});
      first = second = JobId();
    }
    ASSERT_NE(second, JobId()) << "no two jobs share a lane before the failure";
    ASSERT_EQ(cluster.guarantee(first).lane, 0);
    ASSERT_EQ(cluster.guarantee(second).lane, 0);
    for (const char* leaf : {"leaf-0", "leaf-1", "leaf-2"}) {
      cluster.must(Cluster::report(cluster.cable(leaf, "spine-0"), LinkState::down));
      expect_apart(cluster, std::string(" without ") + leaf);
    }
    EXPECT_EQ(cluster.guarantee(first).lane, 0);
    EXPECT_FALSE(cluster.guarantee(first).at_risk());
    const JobGuarantee& changed = cluster.guarantee(second);
    EXPECT_EQ(changed.at_risk(), lanes == 1);
    EXPECT_EQ(changed.lane, lanes == 1 ? 0 : 1);
    if (lanes == 1) {
      EXPECT_NE(changed.reason.whole_text().find("no lane of its own is free"), std::string::npos)
          << changed.reason.whole_text();
      EXPECT_FALSE(changed.links.empty());
      cluster.must(EndJob{first, JobState::completed, {}, {}});
      EXPECT_FALSE(cluster.guarantee(second).at_risk()) << "the lane is free again";
      continue;
    }
    const auto& history = cluster.state.jobs.find(second)->history;
    EXPECT_TRUE(std::ranges::any_of(
        history, [](const auto& one) { return one.reason.whole_text().find("another lane") != std::string::npos; }));
    // When the cables are back it stays where it is.
    for (const char* leaf : {"leaf-0", "leaf-1", "leaf-2"}) {
      cluster.must(Cluster::report(cluster.cable(leaf, "spine-0"), LinkState::up));
    }
    EXPECT_EQ(cluster.guarantee(second).lane, 1);
    expect_apart(cluster, " whole");
  }
}

// Jobs come, end and links fail by seed. Whatever happens, owners are apart, a lane changes only with an event that says
// so, and the events as the journal keeps them make the same lanes again.
TEST(OwnLanes, StayApartThroughFailuresAndAreTheSameWhenReadBack) {
  std::size_t changed = 0, at_risk = 0, read_back = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Cluster cluster(leaves_and_spines(4, 4, 2 + seed % 2, 2));
    cluster.leave_lanes(2 + static_cast<unsigned>(seed % 2));
    cluster.contract(with_lanes(1, seed % 3 == 0));
    std::mt19937_64 random(seed);
    std::vector<JobId> running;
    std::set<std::string> down;
    const api::JournalCodec codec;
    ClusterState again = cluster.state;  // made of what the journal keeps of each event
    for (int step = 0; step < 40; ++step) {
      const auto before = cluster.state;
      const auto what = random() % 8;
      std::expected<std::vector<EventBody>, Rejection> events;
      if (what < 4) {
        std::set<unsigned> nodes;
        while (nodes.size() < 2 + random() % 3) nodes.insert(static_cast<unsigned>(random() % 16));
        events = cluster.ask(on({nodes.begin(), nodes.end()}));
        if (events) running.push_back(cluster.last_job);
      } else if (what < 6 && !running.empty()) {
        const auto at = static_cast<std::ptrdiff_t>(random() % running.size());
        events = cluster.ask(EndJob{running[static_cast<std::size_t>(at)], JobState::completed, {}, {}});
        running.erase(running.begin() + at);
      } else {
        const std::string cable =
            cluster.cable("leaf-" + std::to_string(random() % 4), "spine-" + std::to_string(random() % 2));
        const bool fails = !down.contains(cable);
        events = cluster.ask(Cluster::report(cable, fails ? LinkState::down : LinkState::up));
        fails ? (void)down.insert(cable) : (void)down.erase(cable);
      }
      if (!events) continue;
      expect_apart(cluster, " at step " + std::to_string(step));
      std::set<JobId> announced;
      for (const EventBody& event : *events) {
        const auto* one = std::get_if<GuaranteeChanged>(&event);
        if (one != nullptr) announced.insert(one->job);
        if (one != nullptr && one->change == GuaranteeChange::lane_changed) ++changed;
        if (one != nullptr && one->change == GuaranteeChange::at_risk) ++at_risk;
        ClusterState after = again;
        const Event written{again.seq + 1, 1, cluster.now_us, "tester", event};
        apply(after, written);
        const auto encoded = codec.encode(written, after);
        const auto read = codec.decode(encoded.record, again, [](const std::string&) { return std::nullopt; });
        ASSERT_TRUE(read) << read.error().text();
        apply(again, *read);
        ++read_back;
      }
      for (const JobId id : *before.guaranteed) {
        if (!cluster.state.guaranteed->contains(id) || announced.contains(id)) continue;
        EXPECT_EQ(cluster.guarantee(id).lane, before.jobs.find(id)->guarantee->lane) << "moved without an event";
      }
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(codec.encode_state(again), codec.encode_state(cluster.state));
    for (const JobId id : *cluster.state.guaranteed) {
      EXPECT_EQ(again.jobs.find(id)->guarantee, cluster.state.jobs.find(id)->guarantee) << to_string(id);
    }
  }
  EXPECT_GT(changed, 0U);
  EXPECT_GT(at_risk, 0U);
  EXPECT_GT(read_back, 100U);
}

// Ranks are told their lane's service level where Railweave writes the tables, and their class's elsewhere: ports that
// have no such lane would take it for something else.
TEST(OwnLanes, MarkPacketsOnlyWhereTablesAreWritten) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  cluster.contract(with_lanes(10));
  cluster.must(on({0, 1, 4, 5}));
  const auto job = cluster.state.jobs.find(cluster.last_job);
  auto& book = cluster.placers.guarantees();
  ASSERT_TRUE(book.bring_to(cluster.state));
  const auto marks = [&](const JobGuarantee& guarantee) {
    return api::class_marks(cluster.state, guarantee, job->placement.gpu_of_rank, book.routes()->routing.lanes)
        ->service_level;
  };
  EXPECT_EQ(marks(*job->guarantee), 3U) << "of all-reduce";
  cluster.must(SetSubnetMode{"default", SubnetMode::direct, {}, {}});
  EXPECT_EQ(marks(*job->guarantee), 6U) << "of the first lane behind six classes";
  JobGuarantee lost = *job->guarantee;
  lost.at_risk_since_us = 1;
  EXPECT_EQ(marks(lost), 3U) << "at risk it has none";
}

}  // namespace
}  // namespace railweave::control::lanes_test
