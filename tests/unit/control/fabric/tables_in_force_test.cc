// Routes, guarantees and damage by the tables that switches were seen to hold.
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fabric/routing/plane/route_trace.h"
#include "services/control/guarantees/job_repair.h"
#include "services/control/views/tables_used.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::tables_in_force_test {
namespace {

using testing::Cluster;
using ::testing::HasSubstr;

fabric::DestinationId destination_of(const FabricRoutes& routes, const std::string& node) {
  const auto& t = routes.scope().topology();
  return routes.scope().find(t.ports(t.hcas(t.find_host(node)).front()).front());
}

// Tables as another subnet manager may have them: random spines, the same for all destinations of a leaf where `seed` is 0.
fabric::ForwardingTables other_tables(const FabricRoutes& wanted, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto& scope = wanted.scope();
  const auto& t = scope.topology();
  fabric::ForwardingTables tables = wanted.routing.tables;
  for (const auto id : scope.planes()) {
    const auto& plane = scope.plane(id);
    fabric::PlaneTables changed = tables.plane(id);
    {
      fabric::PlaneTables::Editor editor(changed);
      for (std::size_t s = 0; s < plane.switches.size(); ++s) {
        std::vector<std::uint16_t> up;
        for (const auto port : t.ports(plane.switches[s])) {
          if (t.link(port) && t.joins_switches(t.link(port))) up.push_back(static_cast<std::uint16_t>(t.number(port)));
        }
        if (t.name(plane.switches[s]).starts_with("spine")) continue;
        for (std::size_t d = 0; d < plane.destination_count(); ++d) {
          const auto& to = scope.destination(plane.destination(d));
          if (!to.port || to.home == plane.switches[s]) continue;
          editor.set(s, d, up[seed == 0 ? 0 : random() % up.size()]);
        }
      }
    }
    tables.set_plane(id, std::move(changed));
  }
  return tables;
}

class TablesInForceTest : public ::testing::Test {
 protected:
  // Publishes the tables and reports them, as a live subnet does.
  void see(Cluster& cluster, const fabric::ForwardingTables& tables, std::uint64_t lost_pairs = 0) {
    auto& cache = *cluster.placers.guarantees().routing();
    SeenTables seen{"default", "digest-" + std::to_string(++seen_), "reader", tables, {}};
    for (const auto id : tables.scope().planes()) seen.planes.push_back(id);
    const std::string digest = seen.digest;
    cache.seen().publish(std::make_shared<const SeenTables>(std::move(seen)));
    cluster.must(ReportTables{{"default",
                               {.source = TablesSource::seen,
                                .digest = digest,
                                .reader = "reader",
                                .reason = "another subnet manager computes them",
                                .lost_pairs = lost_pairs}}});
  }
  static FabricRoutesPtr routes(Cluster& cluster) {
    return cluster.placers.guarantees().routing()->at(cluster.state).value();
  }

 private:
  int seen_ = 0;
};

TEST_F(TablesInForceTest, AreThoseSeenWhereTheyWereReported) {
  Cluster cluster(testing::leaves_and_spines(4, 4, 4, 1));
  const auto wanted = routes(cluster);
  EXPECT_TRUE(wanted->seen().empty());
  const auto others = other_tables(*wanted, 3);
  see(cluster, others);
  const auto now = routes(cluster);
  EXPECT_TRUE(now->routing.tables == others);
  EXPECT_EQ(&now->wanted(), wanted.get());
  EXPECT_EQ(routes(cluster), now) << "made once";
  EXPECT_EQ(tables_used(cluster.state, *now).front().source, TablesSource::seen);
  // What-ifs start from what Railweave computes.
  EXPECT_TRUE((*reroute(*now, cluster.state.view))->routing.tables == wanted->routing.tables);
  // Another process has not read them.
  RoutingCache elsewhere;
  const auto there = elsewhere.at(cluster.state).value();
  EXPECT_TRUE(there->seen().empty());
  EXPECT_EQ(tables_used(cluster.state, *there).front().source, TablesSource::unknown);
  // A new fabric has not been read.
  cluster.must(AcceptTopology{testing::leaves_and_spines(4, 4, 4, 1), nullptr, "other", "test", true, {}});
  EXPECT_EQ(cluster.state.tables("default")->source, TablesSource::unknown);
  EXPECT_TRUE(routes(cluster)->seen().empty());
}

TEST_F(TablesInForceTest, AreReportedOnce) {
  Cluster cluster(testing::leaves_and_spines(2, 2, 2, 1));
  see(cluster, other_tables(*routes(cluster), 1));
  const auto again = cluster.ask(ReportTables{{"default", *cluster.state.tables("default")}});
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->empty());
}

// Reservations are what a walk over the seen tables puts on each link, whatever those are.
TEST_F(TablesInForceTest, CarryGuarantees) {
  std::size_t at_risk = 0, held = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Cluster cluster(testing::leaves_and_spines(4, 4, 4, 1));
    cluster.contract(testing::terms(70));           // one job's fits on a link, two do not
    for (unsigned first = 0; first < 4; ++first) {  // each has one node on every leaf
      auto job = Cluster::job("t", 4);
      for (unsigned leaf = 0; leaf < 4; ++leaf)
        job.spec.only_nodes.push_back("node-" + std::to_string(leaf * 4 + first));
      (void)cluster.ask(std::move(job));
    }
    see(cluster, other_tables(*routes(cluster), seed));
    auto& book = cluster.placers.guarantees();
    ASSERT_TRUE(book.bring_to(cluster.state));
    const auto& now = *book.routes();
    const auto& t = cluster.state.topology();
    // By hand: of each job, the pairs over each uplink of a leaf and over each downlink; a hose sends what its fewer side can.
    std::map<fabric::DirectedLink, std::int64_t> wanted_mbps;
    for (const JobId id : *cluster.state.guaranteed) {
      const JobPtr job = cluster.state.jobs.find(id);
      std::map<fabric::DirectedLink, std::pair<std::set<std::string>, std::set<std::string>>> ends;
      for (const auto& from : job->nodes) {
        for (const auto& to : job->nodes) {
          if (from == to) continue;
          const auto hca = t.hcas(t.find_host(from)).front();
          const auto trace = fabric::trace_route(now.input.view, now.routing.tables, now.routing.lanes,
                                                 t.ports(hca).front(), destination_of(now, to));
          for (const auto& hop : trace.hops) {
            if (!t.joins_switches(t.link(hop.out))) continue;
            auto& link = ends[fabric::directed_link(t, hop.out)];
            link.first.insert(from);
            link.second.insert(to);
          }
        }
      }
      if (job->guarantee->at_risk()) {
        ++at_risk;
        continue;
      }
      ++held;
      for (const auto& [link, sides] : ends) {
        const auto reserved = book.ledger().reservations_of(to_string(id)).front()->loads;
        const auto on = std::ranges::find(reserved, link, &fabric::LinkLoad::link);
        ASSERT_NE(on, reserved.end()) << "seed " << seed;
        EXPECT_LE(on->mbps, 70'000 * static_cast<std::int64_t>(std::min(sides.first.size(), sides.second.size())));
        EXPECT_GE(on->mbps, 70'000);
        wanted_mbps[link] += on->mbps;
      }
    }
    for (const auto& [link, mbps] : wanted_mbps) EXPECT_LE(mbps, book.ledger().capacity_mbps(link)) << "seed " << seed;
  }
  EXPECT_GT(at_risk, 10U) << "some tables are worse than Railweave's";
  EXPECT_GT(held, 10U);
}

TEST_F(TablesInForceTest, OfOthersPromiseNothingAfterFailures) {
  Cluster cluster(testing::leaves_and_spines(4, 4, 4, 1));
  cluster.contract(testing::terms(10, true));
  cluster.must(Cluster::job("t", 8));
  const JobId job = cluster.last_job;
  ASSERT_TRUE(cluster.guarantee(job).covered);
  see(cluster, other_tables(*routes(cluster), 1));
  EXPECT_FALSE(cluster.guarantee(job).at_risk());
  EXPECT_FALSE(cluster.guarantee(job).covered);
  const auto refused = cluster.ask(Cluster::job("t", 4));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "admission.failuresUnknown");
  // The switches have Railweave's again.
  cluster.must(ReportTables{{"default", {.source = TablesSource::wanted, .reader = "reader"}}});
  EXPECT_TRUE(cluster.guarantee(job).covered);
}

TEST_F(TablesInForceTest, ThatLosePacketsDamageJobs) {
  Cluster cluster(testing::leaves_and_spines(4, 4, 4, 1));
  cluster.must(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
  cluster.must(Cluster::job("t", 8));
  const JobPtr job = cluster.state.jobs.find(cluster.last_job);
  const auto wanted = routes(cluster);
  // No switch has an entry for the job's first node.
  fabric::ForwardingTables lossy = wanted->routing.tables;
  const auto lost = destination_of(*wanted, job->nodes.front());
  const auto id = wanted->scope().plane_of(lost);
  fabric::PlaneTables tables = lossy.plane(id);
  {
    fabric::PlaneTables::Editor editor(tables);
    const auto& plane = wanted->scope().plane(id);
    for (std::size_t s = 0; s < plane.switches.size(); ++s) {
      if (plane.switches[s] != wanted->scope().destination(lost).home) {
        editor.set(s, wanted->scope().local(lost), fabric::kNoPort);
      }
    }
  }
  lossy.set_plane(id, std::move(tables));
  see(cluster, lossy, 12);
  std::int64_t due_us = 0;
  const auto events = next_damage(cluster.state, cluster.placers, cluster.now_us, due_us);
  ASSERT_FALSE(events.empty());
  EXPECT_THAT(std::get<JobDamaged>(events.front()).damage.whole_text(), HasSubstr("1 GPU on " + job->nodes.front()));
  for (const auto& event : events) {
    apply(cluster.state, Event{cluster.state.seq + 1, 1, cluster.now_us, "local", event});
  }
  cluster.must(ReportTables{{"default", {.source = TablesSource::wanted, .reader = "reader"}}});
  const auto after = next_damage(cluster.state, cluster.placers, cluster.now_us, due_us);
  ASSERT_FALSE(after.empty());
  EXPECT_EQ(std::get<JobDamaged>(after.front()).damage.whole_text(), "");
}

// A hose promises bandwidth between all ports of a job, so also between those whose ranks send nothing to each other.
TEST_F(TablesInForceTest, ThatLosePacketsOfAHoseCarryNoGuarantee) {
  Cluster cluster(testing::leaves_and_spines(4, 4, 4, 1));
  cluster.contract(testing::terms(10));
  auto job = Cluster::job("t", 4);
  job.spec.only_nodes = {"node-0", "node-12", "node-4", "node-8"};  // one on every leaf, in a ring
  const auto wanted = routes(cluster);
  fabric::ForwardingTables lossy = wanted->routing.tables;
  const auto first = destination_of(*wanted, "node-0"), third = destination_of(*wanted, "node-8");
  const auto id = wanted->scope().plane_of(third);
  const auto& switches = wanted->scope().plane(id).switches;
  const auto home = std::ranges::find(switches, wanted->scope().destination(first).home) - switches.begin();
  fabric::PlaneTables tables = lossy.plane(id);
  fabric::PlaneTables::Editor(tables).set(static_cast<std::size_t>(home), wanted->scope().local(third),
                                          fabric::kNoPort);
  lossy.set_plane(id, std::move(tables));
  see(cluster, lossy, 4);
  const auto refused = cluster.ask(job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "admission.notConnected");
  job.spec.bandwidth = scheduler::BandwidthTerms{.guaranteed = RateMbps(0)};
  cluster.must(job);
}

// Rails: two adapters and two GPUs of a domain each, one rail a leaf group; the leaf of one rail loses all of its uplinks.
fabric::TopologyPtr two_rails() {
  fabric::TopologyBuilder builder;
  std::vector<decltype(builder.add_switch({}))> spines;
  for (unsigned s = 0; s < 2; ++s) {
    spines.push_back(builder.add_switch({.guid = Guid(0x200 + s), .name = "spine-" + std::to_string(s), .ports = 4}));
  }
  for (unsigned unit = 0; unit < 2; ++unit) {
    for (unsigned rail = 0; rail < 2; ++rail) {
      const unsigned l = unit * 2 + rail;
      const auto leaf = builder.add_switch({.guid = Guid(0x100 + l), .name = "leaf-" + std::to_string(l), .ports = 6});
      for (unsigned h = 0; h < 4; ++h) {
        const auto host = builder.host("node-" + std::to_string(unit * 4 + h));
        const auto hca = builder.add_hca(
            {.guid = Guid(0x1000 + l * 16 + h), .host = host, .device = "mlx5_" + std::to_string(rail)});
        builder.connect({leaf, h + 1}, {hca, 1}, fabric::infiniband_link(4, fabric::LinkSpeed::ndr));
        const auto gpu = builder.add_gpu(host);
        builder.set_nvlink_domain(gpu,
                                  builder.nvlink_domain("node-" + std::to_string(unit * 4 + h), "", from_gbps(3600)));
        builder.add_nic(gpu, hca);
      }
      for (unsigned s = 0; s < 2; ++s) {
        builder.connect({leaf, 5 + s}, {spines[s], l + 1}, fabric::infiniband_link(4, fabric::LinkSpeed::ndr));
      }
    }
  }
  auto topology = std::move(builder).build();
  RAILWEAVE_CHECK(topology.has_value(), "it is a fabric");
  return std::make_shared<const fabric::Topology>(std::move(*topology));
}

TEST_F(TablesInForceTest, ALeafWithoutUplinksDamagesJobsAcrossIt) {
  Cluster cluster(two_rails());
  cluster.must(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
  SubmitJob across;
  across.spec.name = "across";
  across.spec.tenant = "t";
  across.spec.parallelism = {.tensor = 2, .data = 8};
  cluster.must(across);
  for (const auto* spine : {"spine-0", "spine-1"}) {
    cluster.must(Cluster::report(cluster.cable("leaf-3", spine), fabric::LinkState::down));
  }
  std::int64_t due_us = 0;
  const auto events = next_damage(cluster.state, cluster.placers, cluster.now_us, due_us);
  ASSERT_FALSE(events.empty()) << "the GPUs of that rail are not reached from the other unit";
  EXPECT_THAT(std::get<JobDamaged>(events.front()).damage.whole_text(),
              HasSubstr("4 GPUs on node-4, node-5, node-6, node-7"));
}

}  // namespace
}  // namespace railweave::control::tables_in_force_test
