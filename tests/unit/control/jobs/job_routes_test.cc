// Routes of Ethernet subnets that follow jobs, on random leaves and spines with jobs that come and go and cables that are drained.
// The tables are walked here from switch to switch, and what flows ask of links is summed up here.
#include "services/control/views/job_routes.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "services/control/views/job_demands.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::job_routes_test {
namespace {

using fabric::LinkId;
using fabric::PortId;
using fabric::SwitchId;
using testing::Cluster;

constexpr const char* kSubnet = "default";

fabric::TopologyPtr roce(unsigned leaves, unsigned hosts, unsigned spines) {
  return testing::leaves_and_spines(leaves, hosts, spines, 1, {}, fabric::ethernet_link(from_gbps(100)));
}

SubmitJob on_nodes(const std::vector<unsigned>& nodes, const std::string& tenant = "t") {
  auto job = Cluster::job(tenant, static_cast<std::uint32_t>(nodes.size()));
  for (const unsigned node : nodes) job.spec.only_nodes.push_back("node-" + std::to_string(node));
  return job;
}

// The service's part: what is proposed is set, as the handler does.
struct Followed {
  JobRoutes routes;
  fabric::Routing before, after;
};

Followed follow(Cluster& cluster) {
  RoutingCache cache;
  const auto& t = cluster.state.topology();
  const auto now = cache.at(cluster.state);
  EXPECT_TRUE(now);
  auto made = routes_for_jobs(cluster.state, **now, t.subnet(t.find_switch("leaf-0")));
  EXPECT_TRUE(made);
  Followed followed{.routes = std::move(*made), .before = (*now)->routing, .after = {}};
  if (followed.routes.is_change()) {
    RoutesRebalanced report{.subnet = kSubnet, .links = {}, .switches = {}, .hops = followed.routes.hops};
    report.jobs = followed.routes.jobs;
    cluster.must(TakeJobRoutes{std::move(report), cluster.state.view_version});
  }
  RoutingCache another;  // of a process that knows the state alone
  followed.after = (*another.at(cluster.state))->routing;
  return followed;
}

using NextPort = std::function<std::uint16_t(SwitchId, PortId)>;
NextPort next_port(const fabric::Routing& routing) {
  return [&routing](SwitchId sw, PortId to) { return routing.tables.out_port(sw, routing.tables.scope().find(to)); };
}

// The ports that packets leave switches by; empty: they come back to a switch, or do not arrive.
std::vector<PortId> walk(const fabric::Topology& t, const NextPort& next, PortId from, PortId to) {
  std::vector<PortId> ports;
  std::set<SwitchId> seen;
  for (SwitchId at = t.switch_of(t.peer(from)); seen.insert(at).second;) {
    const std::uint16_t number = next(at, to);
    if (number == fabric::kNoPort || number == fabric::kPortZero) return {};
    const PortId out = t.ports(at)[number - 1U];
    ports.push_back(out);
    if (t.peer(out) == to) return ports;
    at = t.switch_of(t.peer(out));
    if (!at) return {};
  }
  return {};
}

std::vector<PortId> end_ports(const fabric::Topology& t) { return {t.hca_ports().begin(), t.hca_ports().end()}; }

bool is_trunk(const fabric::Topology& t, PortId out) { return t.is_switch_port(out) && t.is_switch_port(t.peer(out)); }

double fullest(const ClusterState& state, const fabric::Routing& routing, const std::vector<fabric::Demand>& demands) {
  const auto& t = state.topology();
  std::map<PortId, double> mbps;
  double most = 0;
  for (const auto& demand : demands) {
    for (const PortId out : walk(t, next_port(routing), demand.from, demand.to)) {
      if (!is_trunk(t, out)) continue;
      const double sum = mbps[out] += static_cast<double>(demand.kbps) / 1000;
      most = std::max(most, sum / 100'000);
    }
  }
  return most;
}

// All pairs arrive, none over a cable between switches that is drained or down, whatever part of the switches has its new entries already.
void expect_whole(const ClusterState& state, const Followed& followed, std::mt19937_64& random, std::uint64_t seed) {
  const auto& t = state.topology();
  const auto before = next_port(followed.before), after = next_port(followed.after);
  std::set<std::pair<SwitchId, PortId>> done;
  for (const SwitchId sw : t.switches()) {
    for (const PortId to : end_ports(t)) {
      if (random() % 2 == 0) done.insert({sw, to});
    }
  }
  const NextPort mixed = [&](SwitchId sw, PortId to) {
    return done.contains({sw, to}) ? after(sw, to) : before(sw, to);
  };
  for (const PortId from : end_ports(t)) {
    for (const PortId to : end_ports(t)) {
      if (from == to) continue;
      ASSERT_FALSE(walk(t, mixed, from, to).empty()) << "seed " << seed << ": on their way";
      const auto path = walk(t, after, from, to);
      ASSERT_FALSE(path.empty()) << "seed " << seed;
      for (const PortId out : path) {
        const bool is_out = !state.view.alive(t.link(out)) || state.view.drained(t.link(out));
        ASSERT_FALSE(is_trunk(t, out) && is_out) << "seed " << seed;
      }
    }
  }
}

// Routes that know of no job.
fabric::Routing even_routes(const ClusterState& state) {
  ClusterState without = state;
  without.put_route_basis(kSubnet, {});
  RoutingCache cache;
  return (*cache.at(without))->routing;
}

std::vector<unsigned> random_nodes(std::mt19937_64& random, std::vector<unsigned>& free) {
  std::ranges::shuffle(free, random);
  const std::size_t count = std::min<std::size_t>(free.size(), 2 + random() % 4);
  std::vector<unsigned> nodes(free.end() - static_cast<std::ptrdiff_t>(count), free.end());
  free.resize(free.size() - count);
  return nodes;
}

TEST(JobRoutes, ReachEveryHostAndAreNeverFullerThanEvenOnesAtRandom) {
  std::size_t changes = 0, gains = 0, kept = 0, drained = 0, cut = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    const unsigned leaves = 2 + random() % 3, hosts = 2 + random() % 4, spines = 2 + random() % 3;
    Cluster cluster(roce(leaves, hosts, spines));
    cluster.must(PutTenant{{.name = "t"}, {}});
    std::vector<unsigned> free;
    for (unsigned node = 0; node < leaves * hosts; ++node) free.push_back(node);
    std::vector<std::pair<JobId, std::vector<unsigned>>> running;
    for (unsigned step = 0; step < 8; ++step) {
      if (random() % 3 == 0 && !running.empty()) {
        const auto [id, nodes] = running[random() % running.size()];
        cluster.must(EndJob{id, JobState::completed, {}, {}});
        free.insert(free.end(), nodes.begin(), nodes.end());
        std::erase_if(running, [ended = id](const auto& one) { return one.first == ended; });
      } else if (free.size() >= 2) {
        auto nodes = random_nodes(random, free);
        cluster.must(on_nodes(nodes));
        running.emplace_back(cluster.last_job, std::move(nodes));
      }
      if (step == 4) {  // another spine is there for every leaf
        const auto cable = cluster.cable("leaf-" + std::to_string(random() % leaves), "spine-0");
        cluster.must(RequestDrain{{DrainKind::link, cable}, "cut", true, {}, cluster.state.view_version});
        ++drained;
      }
      if (step == 6 && spines > 2) {  // and a third one yet
        const auto cable = cluster.cable("leaf-" + std::to_string(random() % leaves), "spine-1");
        cluster.must(Cluster::report(cable, fabric::LinkState::down));
        ++cut;
      }
      const auto& t = cluster.state.topology();
      const Followed followed = follow(cluster);
      expect_whole(cluster.state, followed, random, seed);
      const auto asked = job_demands(cluster.state, followed.before.tables, t.subnet(t.find_switch("leaf-0"))).demands;
      const double even = fullest(cluster.state, even_routes(cluster.state), asked);
      const double was = fullest(cluster.state, followed.before, asked);
      const double is = fullest(cluster.state, followed.after, asked);
      ASSERT_LE(is, even * (1 + 1e-6)) << "seed " << seed << " step " << step;
      ASSERT_NEAR(followed.routes.fullest_even, even, 1e-6) << "seed " << seed << " step " << step;
      ASSERT_NEAR(followed.routes.fullest_before, was, 1e-6) << "seed " << seed << " step " << step;
      ASSERT_NEAR(followed.routes.fullest, is, 1e-6) << "seed " << seed << " step " << step;
      changes += followed.routes.is_change() ? 1 : 0;
      gains += is < even * 0.99 ? 1 : 0;
      // The same again is no change.
      const Followed again = follow(cluster);
      ASSERT_FALSE(again.routes.is_change()) << "seed " << seed << " step " << step;
      ASSERT_EQ(again.routes.hops, cluster.state.route_bases->contains(kSubnet)
                                       ? cluster.state.route_bases->at(kSubnet).hops
                                       : std::vector<RouteHop>());
      kept += again.after.tables == followed.after.tables ? 1 : 0;
    }
  }
  EXPECT_GT(changes, 60U);
  EXPECT_GT(gains, 60U);
  EXPECT_EQ(kept, 480U);
  EXPECT_EQ(drained, 60U);
  EXPECT_GT(cut, 20U);
}

// Pairs of hosts behind two leaves can be spread over the spines as evenly as their number allows.
TEST(JobRoutes, AreAsGoodAsAnyForPairsOfHosts) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    std::mt19937_64 random(seed);
    const unsigned spines = 2 + random() % 3, hosts = 2 + random() % 3;
    Cluster cluster(roce(2, hosts, spines));
    cluster.must(PutTenant{{.name = "t"}, {}});
    for (unsigned host = 0; host < hosts; ++host) cluster.must(on_nodes({host, hosts + (host + 1) % hosts}));
    const Followed followed = follow(cluster);
    const auto& t = cluster.state.topology();
    const auto asked = job_demands(cluster.state, followed.before.tables, t.subnet(t.find_switch("leaf-0"))).demands;
    ASSERT_EQ(asked.size(), 2 * hosts);
    // Jobs send the same: one of the links of a leaf carries at least this share of them.
    const double least = static_cast<double>((hosts + spines - 1) / spines) * static_cast<double>(asked[0].kbps) / 1e8;
    EXPECT_NEAR(fullest(cluster.state, followed.after, asked), least, least * 1e-6) << "seed " << seed;
  }
}

PortId port_of(const fabric::Topology& t, unsigned node) {
  return t.ports(t.hcas(t.find_host("node-" + std::to_string(node)))[0])[0];
}

// Two pairs of nodes, the first of each behind leaf-0 and the second behind leaf-1, whose packets meet in both directions.
std::pair<std::vector<unsigned>, std::vector<unsigned>> meeting(const ClusterState& state, unsigned hosts) {
  RoutingCache cache;
  const auto routes = *cache.at(state);
  const auto& t = state.topology();
  const auto met = [&](const char* leaf, unsigned first) {
    const auto next = next_port(routes->routing);
    for (unsigned other = first + 1;; ++other) {
      const SwitchId sw = t.find_switch(leaf);
      if (next(sw, port_of(t, first)) == next(sw, port_of(t, other))) return other;
    }
  };
  return {{0, hosts}, {met("leaf-1", 0), met("leaf-0", hosts)}};
}

TEST(JobRoutes, OfJobsWithGuaranteesStayAndOthersGiveWay) {
  Cluster cluster(roce(2, 4, 2));
  cluster.must(PutTenant{{.name = "others"}, {}});
  auto terms = testing::terms(10);
  terms.isolation = scheduler::Isolation::lane;  // else flows are hashed
  cluster.contract(terms);
  const auto [first, second] = meeting(cluster.state, 4);
  cluster.must(on_nodes(first));
  ASSERT_TRUE(cluster.state.jobs.find(cluster.last_job)->guarantee);
  cluster.must(on_nodes(second, "others"));
  const Followed followed = follow(cluster);
  ASSERT_TRUE(followed.routes.is_change()) << followed.routes.kept_because;
  const auto& t = cluster.state.topology();
  for (const auto* nodes : {&first, &second}) {
    for (const auto& [from, to] :
         {std::pair(nodes->front(), nodes->back()), std::pair(nodes->back(), nodes->front())}) {
      const bool is_same = walk(t, next_port(followed.after), port_of(t, from), port_of(t, to)) ==
                           walk(t, next_port(followed.before), port_of(t, from), port_of(t, to));
      EXPECT_EQ(is_same, nodes == &first);
    }
  }
}

TEST(TableDigests, DifferWhereATableDoesAndNowhereElse) {
  Cluster cluster(roce(2, 4, 2));
  cluster.must(PutTenant{{.name = "t"}, {}});
  const auto digests = [&] {
    RoutingCache cache;
    const auto& t = cluster.state.topology();
    return table_digests(cluster.state, **cache.at(cluster.state), t.subnet(t.find_switch("leaf-0")));
  };
  const auto before = digests();
  ASSERT_EQ(before.size(), 4U);
  const auto [first, second] = meeting(cluster.state, 4);
  cluster.must(on_nodes(first));
  cluster.must(on_nodes(second));
  EXPECT_EQ(digests(), before) << "jobs alone change no table";
  const Followed followed = follow(cluster);
  ASSERT_TRUE(followed.routes.is_change());
  std::set<SwitchId> changed;
  for (const auto& hop : followed.routes.hops) changed.insert(cluster.state.topology().find_switch(hop.sw));
  const auto after = digests();
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i].sw, before[i].sw);
    EXPECT_EQ(after[i].digest != before[i].digest, changed.contains(after[i].sw));
  }
}

TEST(JobRoutes, AreNotLookedForWhereTheyWouldNotHold) {
  Cluster cluster(roce(2, 2, 2));
  cluster.must(PutTenant{{.name = "t"}, {}});
  EXPECT_EQ(follow(cluster).routes.kept_because, "no other next hops are worth the changes") << "there are no jobs";
  cluster.must(on_nodes({0, 2}));
  cluster.must(on_nodes({1, 3}));
  cluster.must(SetSubnetSpread{kSubnet, fabric::PathSpread::adaptive, ""});
  EXPECT_EQ(follow(cluster).routes.kept_because, "its packets are said to go over several paths");
  cluster.must(SetSubnetSpread{kSubnet, fabric::PathSpread::single, ""});
  cluster.must(SetLinkCosts{{{cluster.cable("leaf-0", "spine-0"), 2}}, "", cluster.state.view_version});
  EXPECT_EQ(follow(cluster).routes.kept_because, "costs of links decide its routes: railweave guarantees reroute");
}

TEST(JobRoutes, AreSetOnTheStateTheyWereFoundFor) {
  Cluster cluster(roce(2, 2, 2));
  RoutesRebalanced report{.subnet = kSubnet, .links = {}, .switches = {}, .hops = {{"leaf-0", "x/1", 3}}};
  const auto refused = cluster.ask(TakeJobRoutes{report, cluster.state.view_version + 1});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "routes.viewChanged");
  cluster.must(TakeJobRoutes{report, cluster.state.view_version});
  EXPECT_EQ(cluster.state.route_bases->at(kSubnet).hops, report.hops);
  const auto again = cluster.ask(TakeJobRoutes{report, cluster.state.view_version});
  EXPECT_TRUE(again && again->empty());
  report.hops.clear();
  cluster.must(TakeJobRoutes{report, cluster.state.view_version});
  EXPECT_TRUE(cluster.state.route_bases->empty());
}

}  // namespace
}  // namespace railweave::control::job_routes_test
