// Guarantees in the control loop: admitted with placement, at risk and restored as links fail and come back, bound to
// contracts.
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/guarantees/gate.h"
#include "services/control/guarantees/recheck.h"
#include "tests/unit/control/control_fixture.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::guarantee_test {
namespace {

using fabric::LinkState;
using testing::Cluster;
using testing::leaves_and_spines;
using testing::terms;

// 2 leaves x 4 hosts, 2 spines: a job on all 8 hosts puts twice its rate on each cable between switches, four times
// where one of two is down. The class "all-reduce" has 400,000 x 0.95 x 0.35 = 133,000 Mb/s of a cable.
Cluster small(std::int64_t gbps, bool survives = false) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  cluster.contract(terms(gbps, survives));
  return cluster;
}

TEST(Guarantee, FitsBesideOthersOrIsRefusedWithLinksAndHolders) {
  auto cluster = small(60);
  cluster.must(Cluster::job("t", 8));
  const JobId first = cluster.last_job;
  EXPECT_EQ(cluster.guarantee(first).rate, RateMbps(60'000));
  EXPECT_EQ(cluster.guarantee(first).qos_class, "all-reduce");
  EXPECT_EQ(cluster.guarantee(first).admitted_seq, cluster.state.seq);

  const auto refused = cluster.ask(Cluster::job("t", 8));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "admission.linksFull");
  EXPECT_EQ(refused.error().error.kind, ErrorKind::conflict);
  ASSERT_FALSE(refused.error().links.empty());
  ASSERT_FALSE(refused.error().links.front().holders.empty());
  EXPECT_EQ(refused.error().links.front().holders.front().job, to_string(first));
  EXPECT_EQ(refused.error().links.front().holders.front().mbps, 120'000);
  EXPECT_EQ(refused.error().links.front().limit_mbps, 133'000);
  ASSERT_NE(refused.error().placement, nullptr);
  EXPECT_EQ(refused.error().placement->outcome, scheduler::Outcome::not_now);

  // In another class there is room; best effort asks for none.
  auto other = Cluster::job("t", 8);
  other.spec.bandwidth = scheduler::BandwidthTerms{.guaranteed = RateMbps(40'000), .qos_class = "all-to-all"};
  cluster.must(other);
  EXPECT_EQ(cluster.guarantee(cluster.last_job).qos_class, "all-to-all");
  cluster.must(EndJob{cluster.last_job, JobState::completed, {}, {}});
  auto none = Cluster::job("t", 8);
  none.spec.bandwidth = scheduler::BandwidthTerms{.guaranteed = RateMbps(0)};
  cluster.must(none);
  EXPECT_FALSE(cluster.state.jobs.find(cluster.last_job)->guarantee);
  cluster.must(EndJob{cluster.last_job, JobState::completed, {}, {}});

  cluster.must(EndJob{first, JobState::completed, {}, {}});
  cluster.must(Cluster::job("t", 8));
}

// Other nodes, other routes or another order of ranks may hold it: never is said only where no cable carries the rate.
TEST(Guarantee, IsNeverOnlyWhereThatIsProven) {
  auto cluster = small(70);
  const auto refused = cluster.ask(Cluster::job("t", 8));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "admission.linksFull");
  EXPECT_EQ(refused.error().error.kind, ErrorKind::conflict);
  ASSERT_NE(refused.error().placement, nullptr);
  EXPECT_EQ(refused.error().placement->outcome, scheduler::Outcome::not_now);
  cluster.must(Cluster::job("t", 4));  // on one leaf only host cables carry it

  auto too_much = small(134);                             // of 133 Gb/s that the class has of a cable
  const auto never = too_much.ask(Cluster::job("t", 4));  // more than one host holds
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().error.code, "admission.neverFits");
  EXPECT_EQ(never.error().error.kind, ErrorKind::impossible);
}

// One route for each pair is not what Ethernet switches use: hashing makes a link several times as full.
TEST(Guarantee, IsNotGivenWhereEthernetHashesFlows) {
  Cluster cluster(testing::leaves_and_spines(2, 4, 2, 1, {}, fabric::ethernet_link(from_gbps(400))));
  scheduler::Contract contract{.tenant = "t", .guaranteed = RateMbps(10'000)};
  contract.classes = {"all-reduce"};
  cluster.contract(contract);
  const auto refused = cluster.ask(Cluster::job("t", 8));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "admission.hashedRoutes");
  cluster.must(Cluster::job("t", 4));  // on one leaf nothing is hashed
  EXPECT_TRUE(cluster.state.jobs.find(cluster.last_job)->guarantee);
}

// Each change that a refusal names was tried, and a job that asks for it is placed.
TEST(Guarantee, RefusalsSayWhatWouldChangeThem) {
  auto cluster = small(60, true);
  const auto refused = cluster.ask(Cluster::job("t", 8));
  ASSERT_FALSE(refused);
  ASSERT_NE(refused.error().placement, nullptr);
  std::set<std::string> changes;
  for (const auto& one : refused.error().placement->explanation.counterfactuals) {
    EXPECT_EQ(one.outcome, scheduler::Outcome::placed) << one.change;
    changes.insert(one.change);
  }
  EXPECT_TRUE(changes.contains("survive a link failure -> not"));
  EXPECT_TRUE(changes.contains("model hose -> pattern"));
  const auto rate = std::ranges::find_if(changes, [](const auto& change) { return change.starts_with("guaranteed "); });
  ASSERT_NE(rate, changes.end());
  EXPECT_NE(rate->find("33.25 Gb/s"), std::string::npos)
      << *rate;  // 4 ports of a leaf on the spine that is left: 133 / 4
  auto less = Cluster::job("t", 8);
  less.spec.bandwidth = scheduler::BandwidthTerms{.guaranteed = RateMbps(33'250)};
  cluster.must(less);
}

TEST(Guarantee, PlacementAvoidsHostsBehindFullLinks) {
  // 4 leaves of 4 hosts; a job on 8 hosts at 60 fills the links of two leaves.
  Cluster cluster(leaves_and_spines(4, 4, 2, 2));
  cluster.contract(terms(60));
  auto first = Cluster::job("t", 8);
  first.spec.only_nodes = {"node-0", "node-1", "node-2", "node-3", "node-4", "node-5", "node-6", "node-7"};
  cluster.must(first);
  cluster.must(Cluster::job("t", 8));
  const auto job = cluster.state.jobs.find(cluster.last_job);
  ASSERT_FALSE(job->nodes.empty());
  for (const auto& node : job->nodes) EXPECT_GE(std::stoi(node.substr(5)), 8) << node;
}

TEST(Guarantee, RequestsAreLimitedByTheContract) {
  auto cluster = small(60);
  auto job = Cluster::job("t", 2);
  job.spec.bandwidth = scheduler::BandwidthTerms{.guaranteed = RateMbps(61'000)};
  EXPECT_EQ(cluster.ask(job).error().error.code, "admission.overContract");
  job.spec.bandwidth = scheduler::BandwidthTerms{.survive_link_failure = true};
  EXPECT_EQ(cluster.ask(job).error().error.code, "admission.overContract");
  job.spec.bandwidth = scheduler::BandwidthTerms{.qos_class = "storage"};
  EXPECT_EQ(cluster.ask(job).error().error.code, "admission.classNotAllowed");
  cluster.must(PutTenant{{.name = "free", .description = {}, .max_gpus = {}, .max_priority = "high"}, {}});
  job.spec.tenant = "free";
  job.spec.bandwidth = scheduler::BandwidthTerms{.guaranteed = RateMbps(1'000)};
  EXPECT_EQ(cluster.ask(job).error().error.code, "admission.noContract");
  job.spec.bandwidth.reset();
  cluster.must(job);
  EXPECT_FALSE(cluster.state.jobs.find(cluster.last_job)->guarantee);
}

TEST(Guarantee, IsAtRiskInTheSameBatchAsTheLinkAndRestoredWithIt) {
  auto cluster = small(60);
  cluster.must(Cluster::job("t", 8));
  const JobId job = cluster.last_job;
  const std::string cable = cluster.cable("leaf-0", "spine-0");
  const auto failed = cluster.ask(Cluster::report(cable, LinkState::down));
  ASSERT_TRUE(failed);
  ASSERT_EQ(failed->size(), 3U);
  EXPECT_TRUE(std::holds_alternative<LinksChanged>((*failed)[0]));
  EXPECT_EQ(heading((*failed)[2]).type, "alarm.raised");
  const auto& lost = std::get<GuaranteeChanged>((*failed)[1]);
  EXPECT_EQ(heading((*failed)[1]).type, "guarantee.atRisk");
  EXPECT_EQ(lost.job, job);
  EXPECT_FALSE(lost.guarantee->links.empty());
  EXPECT_TRUE(cluster.guarantee(job).at_risk());
  const auto since = cluster.now_us;

  // Nothing is reserved for it meanwhile, and no other job is promised what it lacks.
  ASSERT_TRUE(cluster.placers.guarantees().bring_to(cluster.state));
  EXPECT_TRUE(cluster.placers.guarantees().ledger().reservations().empty());

  const auto back = cluster.ask(Cluster::report(cable, LinkState::up));
  ASSERT_TRUE(back);
  ASSERT_EQ(back->size(), 3U);
  EXPECT_EQ(heading((*back)[1]).type, "guarantee.restored");
  EXPECT_EQ(heading((*back)[2]).type, "alarm.cleared");
  EXPECT_EQ(std::get<GuaranteeChanged>((*back)[1]).for_us, cluster.now_us - since);
  EXPECT_FALSE(cluster.guarantee(job).at_risk());
  EXPECT_EQ(cluster.guarantee(job).at_risk_total_us, cluster.now_us - since);
}

// The time of day may be set back while it is at risk: what the journal says of it stays readable.
TEST(Guarantee, ATimeAtRiskIsNeverNegative) {
  auto cluster = small(60);
  cluster.must(Cluster::job("t", 8));
  const std::string cable = cluster.cable("leaf-0", "spine-0");
  cluster.must(Cluster::report(cable, LinkState::down));
  ASSERT_TRUE(cluster.guarantee(cluster.last_job).at_risk());
  cluster.now_us -= 3'600'000'000;
  EXPECT_EQ(cluster.guarantee(cluster.last_job).at_risk_us(cluster.now_us), 0);
  const auto back = cluster.ask(Cluster::report(cable, LinkState::up));
  ASSERT_TRUE(back);
  EXPECT_EQ(heading((*back)[1]).type, "guarantee.restored");
  EXPECT_EQ(std::get<GuaranteeChanged>((*back)[1]).for_us, 0);
  EXPECT_EQ(cluster.guarantee(cluster.last_job).at_risk_total_us, 0);
}

TEST(Guarantee, TheLastAdmittedOfTheLowestPriorityLosesIt) {
  for (const bool high : {false, true}) {
    auto cluster = small(30);
    cluster.must(Cluster::job("t", 8));
    const JobId first = cluster.last_job;
    cluster.must(Cluster::job("t", 8, high ? "high" : "normal"));
    const JobId second = cluster.last_job;
    cluster.must(Cluster::report(cluster.cable("leaf-1", "spine-1"), LinkState::down));
    EXPECT_EQ(cluster.guarantee(first).at_risk(), high);
    EXPECT_EQ(cluster.guarantee(second).at_risk(), !high);
    // The job at risk gets its guarantee back when the other ends.
    cluster.must(EndJob{high ? second : first, JobState::completed, {}, {}});
    EXPECT_FALSE(cluster.guarantee(high ? first : second).at_risk());
  }
}

TEST(Guarantee, ADrainThatTakesBandwidthPutsItAtRisk) {
  auto cluster = small(60);
  cluster.must(Cluster::job("t", 8));
  cluster.must(RequestDrain{{DrainKind::network_switch, "spine-1"}, {}, true, {}, cluster.state.view_version});
  EXPECT_TRUE(cluster.guarantee(cluster.last_job).at_risk());
  cluster.must(ClearDrain{{DrainKind::network_switch, "spine-1"}, {}});
  EXPECT_FALSE(cluster.guarantee(cluster.last_job).at_risk());
}

TEST(Guarantee, WithFailureCoverHoldsThroughALinkFailure) {
  auto cluster = small(30, true);
  cluster.must(Cluster::job("t", 8));
  const JobId job = cluster.last_job;
  EXPECT_TRUE(cluster.guarantee(job).covered);
  const std::string cable = cluster.cable("leaf-0", "spine-0");
  // 120,000 of 133,000 are kept for the failure: a second one does not fit.
  EXPECT_EQ(cluster.ask(Cluster::job("t", 8)).error().error.code, "admission.linksFull");
  const auto failed = cluster.ask(Cluster::report(cable, LinkState::down));
  ASSERT_TRUE(failed);
  ASSERT_EQ(failed->size(), 2U);
  EXPECT_EQ(heading((*failed)[1]).type, "guarantee.coverage");
  EXPECT_FALSE(cluster.guarantee(job).at_risk());
  EXPECT_FALSE(cluster.guarantee(job).covered);
  cluster.must(Cluster::report(cable, LinkState::up));
  EXPECT_TRUE(cluster.guarantee(job).covered);
  auto small_job = small(60, true);
  EXPECT_EQ(small_job.ask(Cluster::job("t", 8)).error().error.code, "admission.linksFull");
}

TEST(Guarantee, PatternReservesNoMoreThanTheHose) {
  auto cluster = small(60);
  cluster.must(Cluster::job("t", 8));
  auto& book = cluster.placers.guarantees();
  ASSERT_TRUE(book.bring_to(cluster.state));
  const auto hose = book.ledger().reservations().front()->loads;
  cluster.must(EndJob{cluster.last_job, JobState::completed, {}, {}});
  auto job = Cluster::job("t", 8);
  job.spec.bandwidth = scheduler::BandwidthTerms{.model = scheduler::BandwidthModel::pattern};
  cluster.must(job);
  ASSERT_TRUE(book.bring_to(cluster.state));
  const auto& pattern = *book.ledger().reservations().front();
  ASSERT_FALSE(pattern.flows.empty());
  std::map<fabric::PortId, std::int64_t> sent;
  for (const auto& flow : pattern.flows) sent[flow.ports.from] += flow.mbps;
  ASSERT_EQ(sent.size(), 8U);
  for (const auto& [port, mbps] : sent) EXPECT_EQ(mbps, 60'000);
  std::int64_t crossing = 0;
  ASSERT_FALSE(pattern.loads.empty());
  for (const auto& load : pattern.loads) {
    EXPECT_LE(load.mbps, fabric::load_on(hose, load.link));
    if (cluster.state.topology().joins_switches(fabric::link_of(load.link))) crossing += load.mbps;
  }
  EXPECT_EQ(crossing, 4 * 60'000) << "a ring over two leaves crosses twice, two cables each time";
}

TEST(Guarantee, StartsOfOneCycleCountWhatWasGrantedBefore) {
  auto cluster = small(30);
  cluster.must(Cluster::job("t", 8));
  const JobId present = cluster.last_job;
  const auto job = cluster.state.jobs.find(present);
  SearchedJobs searched;
  GuaranteeGate gate(cluster.state, cluster.placers.guarantees(), cluster.placers.reach(cluster.state), searched);
  auto& placer = cluster.placers.at(cluster.state);
  const scheduler::QueueJobId gone = present.number();
  const auto waiting = [&](scheduler::QueueJobId id) { return scheduler::QueuedJob{id, &job->spec}; };
  auto place = job->placement;
  EXPECT_EQ(gate.start(waiting(2), place, {}, placer), "");
  EXPECT_EQ(gate.granted(2)->guarantee->rate, RateMbps(30'000));
  const std::string full = gate.start(waiting(3), place, {}, placer).whole_text();
  EXPECT_NE(full.find("job-000002"), std::string::npos) << full;
  EXPECT_FALSE(gate.granted(3));
  EXPECT_EQ(gate.start(waiting(3), place, std::span(&gone, 1), placer), "") << "in place of the present one";
  EXPECT_EQ(cluster.placers.guarantees().ledger().reservations().size(), 1U) << "the book itself knows of none";
}

TEST(Contracts, AmendRunningJobsOrAreRefusedBecauseOfThem) {
  auto cluster = small(30);
  cluster.must(Cluster::job("t", 8));
  const JobId first = cluster.last_job;
  cluster.must(Cluster::job("t", 8));
  const JobId second = cluster.last_job;
  const auto admitted = cluster.guarantee(second).admitted_seq;
  const auto refused = cluster.ask(PutContract{terms(60), {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "contracts.jobsDoNotFit");
  EXPECT_EQ(refused.error().error.kind, ErrorKind::conflict);
  ASSERT_FALSE(refused.error().links.empty());
  EXPECT_EQ(refused.error().links.front().wanted_by, to_string(second));
  EXPECT_EQ(cluster.guarantee(first).rate, RateMbps(30'000));

  const auto unsaid = cluster.ask(PutContract{terms(20), {}});
  ASSERT_FALSE(unsaid);
  EXPECT_EQ(unsaid.error().error.code, "contracts.weakensGuarantees");
  EXPECT_NE(unsaid.error().error.message.find(to_string(first) + " (30 Gb/s -> 20 Gb/s)"), std::string::npos)
      << unsaid.error().error.message;
  EXPECT_EQ(cluster.guarantee(first).rate, RateMbps(30'000));
  const auto lower = cluster.ask(PutContract{terms(20), {}, true});
  ASSERT_TRUE(lower);
  ASSERT_EQ(lower->size(), 3U);
  EXPECT_EQ(heading((*lower)[1]).type, "guarantee.amended");
  EXPECT_EQ(cluster.guarantee(second).rate, RateMbps(20'000));
  EXPECT_EQ(cluster.guarantee(second).admitted_seq, admitted) << "who came first stays first";

  EXPECT_EQ(cluster.ask(RemoveContract{"t", {}}).error().error.code, "contracts.inUse");
  EXPECT_EQ(cluster.ask(RemoveTenant{"t", {}}).error().error.code, "tenants.holdsGpus");
  const auto dropped = cluster.ask(PutContract{terms(0), {}});
  ASSERT_FALSE(dropped);
  EXPECT_EQ(dropped.error().error.code, "contracts.weakensGuarantees");
  EXPECT_NE(dropped.error().error.message.find(to_string(second) + " (20 Gb/s -> none)"), std::string::npos)
      << dropped.error().error.message;
  cluster.must(PutContract{terms(0), {}, true});
  EXPECT_FALSE(cluster.state.jobs.find(first)->guarantee);
  EXPECT_TRUE(cluster.state.guaranteed->empty());
  // Without a guarantee they still are in the tenant's partition.
  EXPECT_EQ(cluster.ask(RemoveContract{"t", {}}).error().error.code, "contracts.inUse");
  for (const JobId job : {first, second}) cluster.must(EndJob{job, JobState::completed, {}, {}});
  cluster.must(RemoveContract{"t", {}});
}

TEST(Contracts, HaveTheirOwnPartitionKey) {
  auto cluster = small(10);
  auto other = terms(10);
  other.tenant = "u";
  cluster.contract(other);
  EXPECT_EQ(cluster.state.contracts->at("t").pkey, 1);
  EXPECT_EQ(cluster.state.contracts->at("u").pkey, 2);
  cluster.must(RemoveContract{"t", {}});
  other.guaranteed = RateMbps(5'000);
  cluster.contract(other);
  EXPECT_EQ(cluster.state.contracts->at("u").pkey, 2) << "as long as it lasts";
}

TEST(Contracts, ClassesChangeUnlessRunningJobsDoNotFit) {
  auto cluster = small(60);
  cluster.must(Cluster::job("t", 8));
  auto classes = *cluster.state.qos_classes;
  classes[2].share_permille = 300;
  const auto refused = cluster.ask(PutQosClasses{classes, {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "qosClasses.jobsDoNotFit");
  EXPECT_FALSE(refused.error().links.empty());
  classes[2].share_permille = 340;
  cluster.must(PutQosClasses{classes, {}});
  EXPECT_FALSE(cluster.guarantee(cluster.last_job).at_risk());
  classes.erase(classes.begin() + 2);
  EXPECT_EQ(cluster.ask(PutQosClasses{classes, {}}).error().error.code, "qosClasses.inUse");
}

// Through the loop and the store.
class StoredGuaranteeTest : public ControlTest {};

TEST_F(StoredGuaranteeTest, IsTheSameAfterARestartFromJournalOrSnapshot) {
  for (const std::uint64_t snapshot_every : {std::uint64_t{1'000'000}, std::uint64_t{1}}) {
    start({.snapshot_every = snapshot_every});
    if (loop_->state()->accepted.digest.empty()) {
      must(accept(leaves_and_spines(2, 4, 2, 2)));
      must(PutTenant{{.name = "t", .description = {}, .max_gpus = {}, .max_priority = "high"}, {}});
      auto contract = terms(30, true);
      contract.most = RateMbps(50'000);
      contract.max_nvlink_domains = 7;
      must(PutContract{contract, {}});
      auto classes = *loop_->state()->qos_classes;
      classes[0].share_permille = 170;
      must(PutQosClasses{classes, {}});
    }
    must(Cluster::job("t", 4));
    must(Cluster::job("t", 8));
    const auto& t = loop_->state()->topology();
    std::string cable;
    for (const auto link : t.links()) {
      if (t.joins_switches(link)) cable = t.link_text(link);
    }
    must(Cluster::report(cable, LinkState::down));
    const std::string down = state_text();
    EXPECT_NE(down.find("\"class\":\"all-reduce\""), std::string::npos);
    stop();
    start({.snapshot_every = snapshot_every});
    EXPECT_EQ(state_text(), down);
    must(Cluster::report(cable, LinkState::up));
    const std::string up = state_text();
    stop();
    start({.snapshot_every = snapshot_every});
    EXPECT_EQ(state_text(), up);
    for (const JobId id : std::set<JobId>(*loop_->state()->guaranteed)) must(EndJob{id, JobState::completed, {}, {}});
    stop();
  }
}

}  // namespace
}  // namespace railweave::control::guarantee_test
