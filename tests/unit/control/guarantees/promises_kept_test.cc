// What changes under the promise of a running job: links that run more slowly than accepted, ports that hold less, other classes,
// another mode. Guarantees say so in the same transaction, with alarms, and the same after events and states are read back.
#include <algorithm>
#include <random>

#include "services/control/codec/journal_codec.h"
#include "services/control/guarantees/alarms.h"
#include "services/control/state/service_levels.h"
#include "services/control/views/guarantee_book.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::promises_kept_test {
namespace {

using fabric::LinkState;
using scheduler::Isolation;
using testing::Cluster;
using testing::leaves_and_spines;
using testing::terms;

std::vector<std::string> cables_of(const Cluster& cluster) {
  std::vector<std::string> cables;
  const auto& t = cluster.state.topology();
  for (const auto link : t.links()) {
    if (t.joins_switches(link)) cables.push_back(t.link_text(link));
  }
  return cables;
}

// All cables between switches at that rate; 0: as accepted.
ReportLinks at_rate(const Cluster& cluster, std::int64_t gbps) {
  ReportLinks report{"default", {}, {}};
  for (const std::string& cable : cables_of(cluster)) {
    report.links.push_back(
        {.link = cable, .state = gbps == 0 ? LinkState::up : LinkState::degraded, .rate = RateMbps(gbps * 1000)});
  }
  return report;
}

bool raises(const std::vector<EventBody>& events, const std::string& id) {
  return std::ranges::any_of(events, [&](const EventBody& body) {
    const auto* const raised = std::get_if<AlarmRaised>(&body);
    return raised != nullptr && raised->alarm.id() == id;
  });
}

// 2 leaves x 4 hosts, 2 spines: a job on all hosts puts twice its rate on each cable between switches, of which its class has
// 0.95 x 0.35 of the rate.
TEST(PromisesKept, AreAtRiskAtOnceWhereLinksRunMoreSlowly) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  cluster.contract(terms(20));
  cluster.must(Cluster::job("t", 8));
  const JobId job = cluster.last_job;
  ASSERT_FALSE(cluster.guarantee(job).at_risk());

  auto events = cluster.ask(at_rate(cluster, 200));  // 66.5 Gb/s of each for the class, 40 needed
  ASSERT_TRUE(events);
  EXPECT_FALSE(cluster.guarantee(job).at_risk()) << "it still fits";
  events = cluster.ask(at_rate(cluster, 100));  // 33.25
  ASSERT_TRUE(events);
  EXPECT_TRUE(cluster.guarantee(job).at_risk());
  EXPECT_TRUE(raises(*events, std::string(kGuaranteeAlarm) + ":" + to_string(job))) << "in the same transaction";
  ASSERT_FALSE(cluster.guarantee(job).links.empty());
  EXPECT_NE(cluster.guarantee(job).reason.whole_text().find("of 33250 Mb/s"), std::string::npos)
      << cluster.guarantee(job).reason.whole_text();

  // Admission counts the same, and so does what is left of each link.
  const auto refused = cluster.ask(Cluster::job("t", 8));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().error.code.starts_with("admission.")) << refused.error().error.text();
  GuaranteeBook book;
  ASSERT_TRUE(book.bring_to(cluster.state));
  const auto cable = cluster.state.topology().find_link(cables_of(cluster).front());
  EXPECT_EQ(book.ledger().capacity_mbps(static_cast<fabric::DirectedLink>(cable.index() * 2)), 100'000);
  EXPECT_LE(book.residual_mbps()[cable.index() * 2], 100'000.0);

  events = cluster.ask(at_rate(cluster, 0));
  ASSERT_TRUE(events);
  EXPECT_FALSE(cluster.guarantee(job).at_risk());
  EXPECT_FALSE(cluster.state.alarms->contains(std::string(kGuaranteeAlarm) + ":" + to_string(job)));
  EXPECT_TRUE(cluster.ask(at_rate(cluster, 0))->empty()) << "what is known already is no event";
}

// Links of which nothing is promised any more, because they are slow, do not take away what failures are covered by elsewhere.
TEST(PromisesKept, StayCoveredWhereTheSlowerLinksStillHoldThem) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  cluster.contract(terms(10, true));
  cluster.must(Cluster::job("t", 8));
  const JobId job = cluster.last_job;
  ASSERT_TRUE(cluster.guarantee(job).covered);
  cluster.must(at_rate(cluster, 200));  // 66.5 of each, 40 needed after any failure
  EXPECT_FALSE(cluster.guarantee(job).at_risk());
  EXPECT_TRUE(cluster.guarantee(job).covered);
  cluster.must(at_rate(cluster, 100));  // 33.25: enough as it is, not after a failure
  EXPECT_FALSE(cluster.guarantee(job).at_risk());
  EXPECT_FALSE(cluster.guarantee(job).covered);
  cluster.must(at_rate(cluster, 0));
  EXPECT_TRUE(cluster.guarantee(job).covered);
}

// By events and by a snapshot; a book that is made from the state as read back reserves the same.
TEST(PromisesKept, RatesAreReadBackFromTheJournal) {
  const api::JournalCodec codec;
  std::mt19937_64 random(26);
  for (int round = 0; round < 10; ++round) {
    Cluster cluster(leaves_and_spines(3, 3, 2, 2));
    cluster.contract(terms(5));
    cluster.must(Cluster::job("t", 9));
    ClusterState again = cluster.state;
    const auto cables = cables_of(cluster);
    for (int step = 0; step < 12; ++step) {
      ReportLinks report{"default", {}, {}};
      for (const std::string& cable : cables) {
        if (random() % 3 != 0) continue;
        const auto what = random() % 3;
        report.links.push_back({.link = cable,
                                .state = what == 0   ? LinkState::up
                                         : what == 1 ? LinkState::down
                                                     : LinkState::degraded,
                                .rate = RateMbps(what == 2 ? 2'000 << random() % 8 : 0)});
      }
      const auto events = cluster.ask(report);
      ASSERT_TRUE(events);
      for (const EventBody& body : *events) {
        const Event written{again.seq + 1, 1, cluster.now_us, "tester", body};
        const auto encoded = codec.encode(written, cluster.state);
        const auto read = codec.decode(encoded.record, again, [](const std::string&) { return std::nullopt; });
        ASSERT_TRUE(read) << read.error().text();
        apply(again, *read);
      }
      ASSERT_EQ(codec.encode_state(again), codec.encode_state(cluster.state));
      for (const auto link : again.topology().links()) {
        ASSERT_EQ(again.view.rate(link), cluster.state.view.rate(link));
      }
    }
  }
}

// Classes whose numbers are service levels: with two fewer, what ranks were told is another class's.
fabric::QosClasses fewer() {
  fabric::QosClasses classes = fabric::default_qos_classes();
  std::erase_if(classes, [](const fabric::QosClass& one) { return one.name == "latency" || one.name == "management"; });
  return classes;
}

TEST(PromisesKept, ClassesAreNotReplacedUnderARunningJobUnlessForced) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  auto contract = terms(10);
  contract.isolation = Isolation::lane;
  cluster.contract(contract);
  cluster.must(Cluster::job("t", 8));
  const JobId job = cluster.last_job;
  const std::uint16_t had = service_level_bit(*cluster.state.qos_classes, cluster.state.jobs.find(job)->guarantee);
  const auto refused = cluster.ask(PutQosClasses{fewer(), {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "qosClasses.jobsRemarked");
  EXPECT_NE(refused.error().error.message.find(to_string(job)), std::string::npos);
  EXPECT_EQ(cluster.state.qos_classes->size(), fabric::default_qos_classes().size());

  const auto events = cluster.ask(PutQosClasses{fewer(), {}, true});
  ASSERT_TRUE(events) << events.error().error.text();
  EXPECT_TRUE(raises(*events, std::string(kRemarkedAlarm) + ":" + to_string(job))) << "in the same transaction";
  const JobPtr now = cluster.state.jobs.find(job);
  EXPECT_EQ(now->earlier_levels, had);
  EXPECT_EQ(now->history.back().reason.whole_text().find("other classes"), 0U)
      << now->history.back().reason.whole_text();
  cluster.must(EndJob{job, JobState::completed, {}, {}});
  EXPECT_FALSE(cluster.state.alarms->contains(std::string(kRemarkedAlarm) + ":" + to_string(job)));
}

// The same classes with other shares move no one's marks; what does not fit any more is refused, or at risk where it is forced.
TEST(PromisesKept, SmallerSharesAreRefusedOrPutGuaranteesAtRisk) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  cluster.contract(terms(60));
  cluster.must(Cluster::job("t", 8));
  const JobId job = cluster.last_job;
  auto classes = fabric::default_qos_classes();
  std::ranges::find(classes, "all-reduce", &fabric::QosClass::name)->share_permille = 100;
  const auto refused = cluster.ask(PutQosClasses{classes, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "qosClasses.jobsDoNotFit");
  const auto events = cluster.ask(PutQosClasses{classes, {}, true});
  ASSERT_TRUE(events);
  EXPECT_TRUE(cluster.guarantee(job).at_risk());
  EXPECT_TRUE(raises(*events, std::string(kGuaranteeAlarm) + ":" + to_string(job)));
  cluster.must(PutQosClasses{fabric::default_qos_classes(), {}});
  EXPECT_FALSE(cluster.guarantee(job).at_risk());
}

// A turn of arbitration ends with a whole packet, so that larger packets of others leave less to promise.
TEST(PromisesKept, AreAtRiskWherePortsHoldLess) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  cluster.leave_lanes(3);  // 12 classes
  cluster.must(ReportPortLimits{{"default", {.data_lanes = 15, .arbitration_entries = 12, .mtu_bytes = 256}}});
  cluster.contract(terms(60));
  cluster.must(Cluster::job("t", 8));
  const JobId job = cluster.last_job;
  ASSERT_FALSE(cluster.guarantee(job).at_risk());
  const auto events =
      cluster.ask(ReportPortLimits{{"default", {.data_lanes = 15, .arbitration_entries = 12, .mtu_bytes = 4096}}});
  ASSERT_TRUE(events);
  EXPECT_TRUE(cluster.guarantee(job).at_risk()) << "30% of a link, with 11 packets of others in each turn";
  EXPECT_TRUE(raises(*events, std::string(kGuaranteeAlarm) + ":" + to_string(job)));
  const auto refused = cluster.ask(Cluster::job("t", 8));
  EXPECT_FALSE(refused) << "admission says the same of a job that asks for as much";
  cluster.must(ReportPortLimits{{"default", {.data_lanes = 15, .arbitration_entries = 12, .mtu_bytes = 256}}});
  EXPECT_FALSE(cluster.guarantee(job).at_risk());
}

TEST(PromisesKept, AnotherModeSaysWhichGuaranteesAreNotLookedAfter) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  cluster.must(SetSubnetMode{"default", SubnetMode::direct, {}, {}});
  cluster.must(ReportPortLimits{{"default", {.data_lanes = 15, .arbitration_entries = 64, .mtu_bytes = 4096}}});
  cluster.contract(terms(10));
  cluster.must(Cluster::job("t", 8));
  const std::string id = std::string(kUnkeptAlarm) + ":default";
  EXPECT_FALSE(cluster.state.alarms->contains(id));
  const auto events = cluster.ask(SetSubnetMode{"default", SubnetMode::observe, {}, {}});
  ASSERT_TRUE(events);
  EXPECT_TRUE(raises(*events, id));
  EXPECT_EQ(cluster.state.alarms->at(id).jobs, std::vector<std::string>{to_string(cluster.last_job)});
  cluster.must(SetSubnetMode{"default", SubnetMode::direct, {}, {}});
  EXPECT_FALSE(cluster.state.alarms->contains(id));
}

// The fabric as it is, with links accepted at a lower rate.
TEST(PromisesKept, AnImportThatLowersRatesPutsGuaranteesAtRisk) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  cluster.contract(terms(60));
  cluster.must(Cluster::job("t", 8));
  const JobId job = cluster.last_job;
  const auto slower = leaves_and_spines(2, 4, 2, 2, {}, fabric::infiniband_link(4, fabric::LinkSpeed::edr));
  const auto events = cluster.ask(AcceptTopology{slower, nullptr, "slower", "test", false, {}});
  ASSERT_TRUE(events) << events.error().error.text();
  EXPECT_TRUE(cluster.guarantee(job).at_risk());
  EXPECT_TRUE(raises(*events, std::string(kGuaranteeAlarm) + ":" + to_string(job)));
}

}  // namespace
}  // namespace railweave::control::promises_kept_test
