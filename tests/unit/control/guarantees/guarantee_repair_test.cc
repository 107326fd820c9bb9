// Repair of guarantees at risk: alarms while they are at risk, moves to other nodes by the tenant's policy, order by
// the queue's classes, other routes, and the announcements of drains and refusals.
#include <algorithm>
#include <optional>
#include <random>

#include "fabric/capacity/route_changes.h"
#include "services/control/decide/drain_preview.h"
#include "services/control/decide/follow_up.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/guarantees/alarms.h"
#include "services/control/guarantees/coverage.h"
#include "services/control/guarantees/recheck.h"
#include "services/control/guarantees/routes.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::guarantee_repair_test {
namespace {

using fabric::LinkState;
using testing::Cluster;
using testing::leaves_and_spines;

scheduler::Contract terms(std::int64_t gbps, const std::string& tenant = "t") {
  scheduler::Contract contract{.tenant = tenant, .guaranteed = RateMbps(gbps * 1000)};
  contract.classes = {"all-reduce"};
  return contract;
}

// Applies follow-up steps until there are none.
void settle(Cluster& cluster, bool reroute = false) {
  QueueRunner queue(cluster.placers, 0);
  FollowUp follow(cluster.placers, queue, reroute);
  follow.begin();
  for (int step = 0; step < 100; ++step) {
    const auto events = follow.next(cluster.state, cluster.now_us);
    if (events.empty()) return;
    for (const auto& event : events) {
      apply(cluster.state, Event{cluster.state.seq + 1, 1, cluster.now_us, "railweave", event});
    }
  }
  FAIL() << "it never settles";
}

const Alarm* alarm_of(const Cluster& cluster, JobId job) {
  const auto at = cluster.state.alarms->find(std::string(kGuaranteeAlarm) + ":" + to_string(job));
  return at == cluster.state.alarms->end() ? nullptr : &at->second;
}

bool same_tables(const fabric::ForwardingTables& a, const fabric::ForwardingTables& b,
                 const fabric::RoutingScope& scope) {
  return std::ranges::all_of(scope.planes(),
                             [&](fabric::PlaneId plane) { return fabric::route_changes(a, b, plane).entries.empty(); });
}

bool runs_on(const Cluster& cluster, JobId job, const std::string& node) {
  const auto nodes = cluster.state.jobs.find(job)->nodes;
  return std::ranges::find(nodes, node) != nodes.end();
}

// 4 leaves of 4 hosts, 2 spines; a job on two leaves at 60 Gb/s holds with both uplinks of a leaf, not with one.
struct Apart {
  explicit Apart(RepairPolicy repair) {
    cluster.must(PutTenant{{.name = "t", .description = {}, .max_gpus = {}, .repair = repair}, {}});
    cluster.contract(terms(60));
    cluster.must(Cluster::job("t", 8));
    job = cluster.last_job;
    leaf = runs_on(cluster, job, "node-0") ? 0 : 1;
    while (!runs_on(cluster, job, "node-" + std::to_string(leaf * 4))) ++leaf;
    cable = cluster.cable("leaf-" + std::to_string(leaf), "spine-0");
  }
  Cluster cluster{leaves_and_spines(4, 4, 2, 2)};
  JobId job;
  int leaf = 0;
  std::string cable;
};

TEST(GuaranteeRepair, RaisesAnAlarmUntilItHoldsAgain) {
  Apart apart(RepairPolicy::propose);
  auto& cluster = apart.cluster;
  EXPECT_EQ(alarm_of(cluster, apart.job), nullptr);
  cluster.must(Cluster::report(apart.cable, LinkState::down));
  ASSERT_TRUE(cluster.guarantee(apart.job).at_risk());
  ASSERT_NE(alarm_of(cluster, apart.job), nullptr);
  EXPECT_EQ(alarm_of(cluster, apart.job)->jobs, std::vector<std::string>{to_string(apart.job)});
  const std::int64_t raised = alarm_of(cluster, apart.job)->raised_us;
  cluster.now_us += 5'000'000;
  cluster.must(Cluster::report(apart.cable, LinkState::up));
  EXPECT_EQ(alarm_of(cluster, apart.job), nullptr);
  EXPECT_GT(cluster.guarantee(apart.job).at_risk_total_us, 5'000'000);
  EXPECT_GT(raised, 0);
  std::string told;
  for (const auto& line : cluster.state.jobs.find(apart.job)->history) told += line.reason.whole_text() + "\n";
  EXPECT_NE(told.find("guarantee at risk: "), std::string::npos) << told;
  EXPECT_NE(told.find("guarantee holds again, after 5 s"), std::string::npos) << told;

  cluster.must(Cluster::report(apart.cable, LinkState::down));
  ASSERT_NE(alarm_of(cluster, apart.job), nullptr);
  cluster.must(EndJob{apart.job, JobState::completed, {}, {}});
  EXPECT_EQ(alarm_of(cluster, apart.job), nullptr) << "the guarantee is withdrawn";
}

TEST(GuaranteeRepair, MovesToNodesWhereItHoldsIfTheTenantsPolicyIsApply) {
  Apart apart(RepairPolicy::apply);
  auto& cluster = apart.cluster;
  cluster.must(Cluster::report(apart.cable, LinkState::down));
  ASSERT_TRUE(cluster.guarantee(apart.job).at_risk());
  settle(cluster);
  EXPECT_FALSE(cluster.guarantee(apart.job).at_risk());
  EXPECT_EQ(alarm_of(cluster, apart.job), nullptr);
  for (int host = 0; host < 4; ++host) {
    EXPECT_FALSE(runs_on(cluster, apart.job, "node-" + std::to_string(apart.leaf * 4 + host)));
  }
  EXPECT_NE(cluster.state.jobs.find(apart.job)->history.back().reason.whole_text().find("holds again"),
            std::string::npos);
}

TEST(GuaranteeRepair, ProposesOtherwiseAndMovesOnRequest) {
  Apart apart(RepairPolicy::propose);
  auto& cluster = apart.cluster;
  RepairJob wanted;
  wanted.id = apart.job;
  wanted.for_guarantee = true;
  EXPECT_EQ(cluster.ask(wanted).error().error.code, "jobs.guaranteeHolds");
  cluster.must(Cluster::report(apart.cable, LinkState::down));
  settle(cluster);
  ASSERT_TRUE(cluster.guarantee(apart.job).at_risk());
  ASSERT_NE(alarm_of(cluster, apart.job), nullptr);
  EXPECT_NE(alarm_of(cluster, apart.job)->text.whole_text().find("--guarantee moves"), std::string::npos)
      << alarm_of(cluster, apart.job)->text.whole_text();
  settle(cluster);  // reported once
  const auto drains = cluster.state.drains->size();
  cluster.must(wanted);
  EXPECT_FALSE(cluster.guarantee(apart.job).at_risk());
  EXPECT_EQ(cluster.state.drains->size(), drains) << "no node is lost";
}

TEST(GuaranteeRepair, ReportsWhenNoNodesWouldHoldIt) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  cluster.must(PutTenant{
      {.name = "t", .description = {}, .max_gpus = {}, .repair = RepairPolicy::apply, .repair_after_s = 0}, {}});
  cluster.contract(terms(60));
  cluster.must(Cluster::job("t", 8));
  cluster.must(Cluster::report(cluster.cable("leaf-0", "spine-0"), LinkState::down));
  settle(cluster);
  ASSERT_NE(alarm_of(cluster, cluster.last_job), nullptr);
  EXPECT_NE(alarm_of(cluster, cluster.last_job)->text.whole_text().find("no other nodes"), std::string::npos);
}

TEST(GuaranteeRepair, LapsesByTheClassesOfTheQueue) {
  for (const bool gold_first : {true, false}) {
    Cluster cluster(leaves_and_spines(2, 4, 2, 2));
    auto policy = cluster.state.queue_rules->policy;
    policy.classes = {{"lead", 5, false, false}, {"gold", gold_first ? 50 : -50, false, false}};
    cluster.must(PutQueueRules{policy, {}});
    cluster.contract(terms(30));
    cluster.must(Cluster::job("t", 8, "lead"));
    const JobId lead = cluster.last_job;
    cluster.must(Cluster::job("t", 8, "gold"));
    const JobId gold = cluster.last_job;
    cluster.must(Cluster::report(cluster.cable("leaf-0", "spine-0"), LinkState::down));
    EXPECT_EQ(cluster.guarantee(lead).at_risk(), gold_first);
    EXPECT_EQ(cluster.guarantee(gold).at_risk(), !gold_first);
  }
}

TEST(GuaranteeRepair, DrainPreviewsListTheGuaranteesThatWouldBeAtRisk) {
  Apart apart(RepairPolicy::propose);
  auto& cluster = apart.cluster;
  GuaranteeBook book;
  DrainPreview preview{.target = {DrainKind::network_switch, "spine-0"}};
  preview_guarantees(cluster.state, book, preview);
  ASSERT_EQ(preview.guarantees_at_risk.size(), 1U);
  const auto told = preview.guarantees_at_risk.front();
  EXPECT_EQ(told.job, apart.job);
  cluster.must(RequestDrain{{DrainKind::network_switch, "spine-0"}, {}, true, {}, cluster.state.view_version});
  EXPECT_TRUE(cluster.guarantee(apart.job).at_risk());
  EXPECT_EQ(cluster.guarantee(apart.job).reason, told.reason);
  EXPECT_EQ(cluster.guarantee(apart.job).links, told.links);
  DrainPreview node{.target = {DrainKind::node, "node-0"}};
  preview_guarantees(cluster.state, book, node);
  EXPECT_TRUE(node.guarantees_at_risk.empty());
}

TEST(GuaranteeRepair, RefusalsNameTheLinksAndLimitsAreCheckedBeforePlacement) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  cluster.contract(terms(60));
  cluster.must(Cluster::job("t", 8));
  const auto full = admitted_placement(cluster.state, Cluster::job("t", 8).spec, cluster.placers, 0, true);
  ASSERT_FALSE(full);
  ASSERT_FALSE(full.error().links.empty());
  EXPECT_EQ(full.error().links[0].holders[0].job, to_string(cluster.last_job));
  auto limited = terms(60);
  limited.max_gpus = 10;
  cluster.contract(limited);
  // More GPUs than the fabric has: the limit is the reason given, as waiting would not help.
  const auto over = admitted_placement(cluster.state, Cluster::job("t", 64).spec, cluster.placers, 0, true);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().error.code, "contracts.gpuLimit");
  EXPECT_EQ(over.error().error.kind, ErrorKind::impossible);
  EXPECT_EQ(admitted_placement(cluster.state, Cluster::job("t", 4).spec, cluster.placers, 0, true).error().error.kind,
            ErrorKind::conflict);
}

// Tables of a proposal, computed from scratch: the guarantees that it predicts to hold do hold.
TEST(GuaranteeRoutes, ProposesOnlyWhatHolds) {
  std::size_t proposed = 0, tried = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Cluster cluster(leaves_and_spines(4, 4, 4, 2));
    cluster.contract(terms(20 + static_cast<std::int64_t>(random() % 60)));
    for (int i = 0; i < 3; ++i) (void)cluster.ask(Cluster::job("t", 4 + static_cast<std::uint32_t>(random() % 9)));
    const auto& t = cluster.state.topology();
    for (int i = 0; i < 4; ++i) {
      const auto link = fabric::LinkId(random() % t.links().size());
      if (t.joins_switches(link)) cluster.must(Cluster::report(t.link_text(link), LinkState::down));
    }
    GuaranteeBook book;
    const auto proposal = plan_guarantee_routes(cluster.state, book);
    ASSERT_TRUE(proposal);
    tried += proposal->tried;
    ASSERT_EQ(proposal->costs.empty(), proposal->hold_again.empty());
    if (proposal->costs.empty()) continue;
    ++proposed;
    auto costs = std::make_shared<std::vector<float>>(t.links().size(), 1.0F);
    for (const auto& [link, cost] : proposal->costs) {
      (*costs)[t.find_link(link).index()] = static_cast<float>(cost);
    }
    const auto before = RoutingCache().at(cluster.state).value();
    fabric::RoutingInput input = before->input;
    input.link_cost = costs;
    const auto routing = before->choice.engine->route(input).value();
    EXPECT_TRUE(fabric::audit(input.view, routing.tables, routing.lanes).verified());
    fabric::Ledger ledger(fabric::whole_capacities_mbps(input.view),
                          fabric::capacity_rules(*cluster.state.qos_classes));
    fabric::HoseLoads loads(input.view, routing.tables);
    const std::set<JobId> again(proposal->hold_again.begin(), proposal->hold_again.end());
    ASSERT_FALSE(cluster.state.guaranteed->empty());
    for (const JobId id : *cluster.state.guaranteed) {
      const auto job = cluster.state.jobs.find(id);
      if (job->guarantee->at_risk() && !again.contains(id)) continue;
      auto one = std::make_shared<fabric::Reservation>(*book.plain(*job).reservation);
      one->loads = loads.load(one->ports).loads;
      EXPECT_TRUE(ledger.full_links(one->loads, one->qos_class).empty()) << to_string(id);
      ledger.reserve(one);
    }
    // Once set, the costs lead to exactly these tables and guarantees.
    cluster.must(SetLinkCosts{proposal->costs, "test", cluster.state.view_version});
    const auto after = RoutingCache().at(cluster.state).value();
    EXPECT_TRUE(same_tables(after->routing.tables, routing.tables, before->scope()));
    ASSERT_FALSE(cluster.state.guaranteed->empty());
    for (const JobId id : *cluster.state.guaranteed) {
      const bool still = std::ranges::find(proposal->still_at_risk, id) != proposal->still_at_risk.end();
      EXPECT_EQ(cluster.guarantee(id).at_risk(), still) << to_string(id);
    }
  }
  EXPECT_GT(tried, 0U);
  EXPECT_GT(proposed, 0U);
}

// A fabric on which other routes restore what a cut put at risk; none: not with this seed.
std::optional<Cluster> rerouted_cluster(unsigned seed) {
  std::mt19937 random(seed);
  std::optional<Cluster> cluster(std::in_place, leaves_and_spines(4, 4, 4, 2));
  cluster->contract(terms(20 + static_cast<std::int64_t>(random() % 60)));
  for (int i = 0; i < 3; ++i) (void)cluster->ask(Cluster::job("t", 4 + static_cast<std::uint32_t>(random() % 9)));
  const auto& t = cluster->state.topology();
  for (int i = 0; i < 4; ++i) {
    const auto link = fabric::LinkId(random() % t.links().size());
    if (t.joins_switches(link)) cluster->must(Cluster::report(t.link_text(link), LinkState::down));
  }
  GuaranteeBook book;
  const auto proposal = plan_guarantee_routes(cluster->state, book);
  if (!proposal || proposal->costs.empty() || !proposal->still_at_risk.empty()) return std::nullopt;
  return cluster;
}

TEST(GuaranteeRoutes, AreTriedAtOnceInDirectMode) {
  unsigned restored = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto cluster = rerouted_cluster(seed);
    if (!cluster) continue;
    const std::uint64_t entries = cluster->state.jobs.size();
    settle(*cluster, true);
    EXPECT_TRUE(cluster->state.link_costs->by_link.empty()) << "only proposed where others program the routes";
    cluster->must(SetSubnetMode{"default", SubnetMode::direct, "", {}});
    settle(*cluster, false);
    EXPECT_TRUE(cluster->state.link_costs->by_link.empty()) << "only proposed where that is configured";
    {
      // Events that could not be stored are decided again.
      QueueRunner queue(cluster->placers, 0);
      FollowUp follow(cluster->placers, queue, true);
      const auto sets_costs = [&] {
        follow.begin();
        const auto events = follow.next(cluster->state, cluster->now_us);
        return !events.empty() && std::holds_alternative<LinkCostsSet>(events.front());
      };
      EXPECT_TRUE(sets_costs());
      follow.reset();
      EXPECT_TRUE(sets_costs());
    }
    settle(*cluster, true);
    ASSERT_FALSE(cluster->state.link_costs->by_link.empty());
    ASSERT_FALSE(cluster->state.guaranteed->empty());
    for (const JobId id : *cluster->state.guaranteed) EXPECT_FALSE(cluster->guarantee(id).at_risk()) << to_string(id);
    EXPECT_TRUE(cluster->state.alarms->contains("routes.linkCosts:costs"));
    EXPECT_EQ(cluster->state.jobs.size(), entries);
    const std::uint64_t seq = cluster->state.seq;
    settle(*cluster, true);
    EXPECT_EQ(cluster->state.seq, seq) << "nothing more to do";

    // OpenSM cannot apply costs.
    const auto refused = cluster->ask(SetSubnetMode{"default", SubnetMode::opensm, "", {}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().error.code, "subnets.linkCosts");

    // Costs are needed until the links are back; without them the routes are as before.
    GuaranteeBook book;
    EXPECT_FALSE(lapse_without_costs(cluster->state, book).value().empty());
    const auto& t = cluster->state.topology();
    for (const auto link : t.links()) {
      if (!cluster->state.view.alive(link)) cluster->must(Cluster::report(t.link_text(link), LinkState::up));
    }
    EXPECT_TRUE(lapse_without_costs(cluster->state, book).value().empty());
    cluster->must(SetLinkCosts{{}, "", cluster->state.view_version});
    EXPECT_FALSE(cluster->state.alarms->contains("routes.linkCosts:costs"));
    ASSERT_FALSE(cluster->state.guaranteed->empty());
    for (const JobId id : *cluster->state.guaranteed) EXPECT_FALSE(cluster->guarantee(id).at_risk()) << to_string(id);
    const auto healthy = RoutingCache().on(fabric::FabricView(cluster->state.accepted.topology)).value();
    const auto now = RoutingCache().at(cluster->state).value();
    EXPECT_TRUE(same_tables(now->routing.tables, healthy->routing.tables, now->scope()));
    ++restored;
  }
  EXPECT_GT(restored, 0U);
}

TEST(GuaranteeRoutes, CostsAreRefusedWhereTheyCannotBe) {
  Apart apart(RepairPolicy::propose);
  auto& cluster = apart.cluster;
  const auto stale = cluster.ask(SetLinkCosts{{{apart.cable, 2}}, "", cluster.state.view_version - 1});
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().error.code, "routes.viewChanged");
  const auto unknown = cluster.ask(SetLinkCosts{{{"no such link", 2}}, "", cluster.state.view_version});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().error.code, "routes.viewChanged");
  cluster.must(SetSubnetMode{"default", SubnetMode::opensm, "", {}});
  const auto foreign = cluster.ask(SetLinkCosts{{{apart.cable, 2}}, "", cluster.state.view_version});
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().error.code, "routes.openSmRoutes");
  EXPECT_TRUE(cluster.state.link_costs->by_link.empty());
}

// Costs are kept by the links' names: a topology with these links again has their costs again.
TEST(GuaranteeRoutes, CostsOutliveTheTopology) {
  Apart apart(RepairPolicy::propose);
  auto& cluster = apart.cluster;
  cluster.must(SetLinkCosts{{{apart.cable, 2.5}}, "", cluster.state.view_version});
  cluster.must(AcceptTopology{leaves_and_spines(4, 4, 3, 2), nullptr, "wider", "test", true, {}});
  cluster.must(AcceptTopology{leaves_and_spines(4, 4, 2, 2), nullptr, "digest", "test", true, {}});
  const auto link = cluster.state.topology().find_link(apart.cable);
  ASSERT_TRUE(link);
  EXPECT_EQ(cluster.state.view.cost(link), 2.5F);
}

// What one report leaves uncovered is covered between commands, and only while something is left.
TEST(GuaranteeCoverage, ContinuesAfterAReport) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  auto surviving = terms(30);
  surviving.survives_link_failure = true;
  cluster.contract(surviving);
  cluster.must(Cluster::job("t", 8));
  const JobId job = cluster.last_job;
  ASSERT_TRUE(cluster.guarantee(job).covered);
  auto uncovered = cluster.guarantee(job);
  uncovered.covered = false;
  uncovered.basis = {};
  apply(cluster.state, Event{cluster.state.seq + 1, 1, cluster.now_us, "test",
                             GuaranteeChanged{job, "t", GuaranteeChange::covered, uncovered, 0}});
  auto& book = cluster.placers.guarantees();
  EXPECT_TRUE(next_coverage(cluster.state, book).events.empty()) << "nothing was left off";
  book.to_cover()[job] = SIZE_MAX;
  settle(cluster);
  EXPECT_TRUE(cluster.guarantee(job).covered);
  EXPECT_TRUE(book.to_cover().empty());
  book.to_cover()[JobId(99)] = SIZE_MAX;
  settle(cluster);
  EXPECT_TRUE(book.to_cover().empty());
}

// The book sees ports by their cables; ranks without any are damage all the same, in the transaction that took the cable.
TEST(GuaranteeRepair, AHostWithoutCablesIsDamageFromAnyCause) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 1));
  cluster.contract(terms(10));
  cluster.must(Cluster::job("t", 8));
  const JobId job = cluster.last_job;
  const auto import = [&](const std::set<unsigned>& uncabled, const std::string& digest) {
    cluster.must(AcceptTopology{leaves_and_spines(2, 4, 2, 1, uncabled), nullptr, digest, "test", false, {}});
    settle(cluster);
  };
  import({3}, "without the cable of node-3");
  EXPECT_TRUE(cluster.guarantee(job).at_risk());
  EXPECT_NE(cluster.guarantee(job).reason.whole_text().find("node-3"), std::string::npos)
      << cluster.guarantee(job).reason.whole_text();
  ASSERT_NE(alarm_of(cluster, job), nullptr);
  EXPECT_NE(cluster.state.jobs.find(job)->damage.whole_text().find("node-3"), std::string::npos);
  const auto host = cluster.state.topology().find_host("node-3");
  EXPECT_TRUE(cluster.state.allocations[host.index()].unavailable);
  EXPECT_TRUE(cluster.state.allocations[host.index()].short_of_link);

  import({}, "with it again");
  EXPECT_FALSE(cluster.guarantee(job).at_risk());
  EXPECT_EQ(alarm_of(cluster, job), nullptr);
  EXPECT_TRUE(cluster.state.jobs.find(job)->damage.empty());

  // Apart for another cause: all cables between the leaves are down, each host has its own.
  for (const char* leaf : {"leaf-0", "leaf-1"}) {
    for (const char* spine : {"spine-0", "spine-1"})
      cluster.must(Cluster::report(cluster.cable(leaf, spine), LinkState::down));
  }
  settle(cluster);
  EXPECT_TRUE(cluster.guarantee(job).at_risk());
  EXPECT_NE(cluster.state.jobs.find(job)->damage.whole_text().find("4 GPUs on "), std::string::npos)
      << cluster.state.jobs.find(job)->damage.whole_text();
}

}  // namespace
}  // namespace railweave::control::guarantee_repair_test
