// What is promised of traffic between roles of a gang, against an oracle that walks every pair of ports and tries every set of
// senders (the smallest cut is the largest flow).
#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "services/control/views/role_receivers.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::role_guarantee_test {
namespace {

using namespace fabric;  // NOLINT: this file is about its types
using scheduler::RolePeer;
using testing::Cluster;
using testing::leaves_and_spines;

struct Rates {
  std::int64_t send = 0, receive = 0;
};
using PortRates = std::map<PortId, Rates>;

// Each host of these fabrics has one adapter of one port.
std::set<PortId> ports_of(const ClusterState& state, const Job& job) {
  std::set<PortId> ports;
  for (const GpuId gpu : job.placement.gpu_of_rank)
    ports.insert(*state.topology().ports(state.topology().nics(gpu).front()).begin());
  return ports;
}

PortRates promised(const ClusterState& state, const Job& job) {
  PortRates rates;
  const std::int64_t own = job.guarantee->rate.value();
  for (const PortId port : ports_of(state, job)) rates[port] = {own, own};
  if (!job.spec.bandwidth || !job.spec.bandwidth->between_roles) return rates;
  std::set<std::uint64_t> receivers;
  for (const RolePeer& peer : job.spec.peers) {
    if (peer.sends) receivers.insert(peer.job);
  }
  for (const std::uint64_t number : receivers) {
    const JobPtr receiver = state.jobs.find(JobId(number));
    if (receiver == nullptr || receiver->state != JobState::placed) continue;
    for (const PortId port : ports_of(state, *receiver))
      rates[port].receive += job.spec.bandwidth->between_roles->value();
  }
  return rates;
}

std::vector<DirectedLink> walk(const FabricRoutes& routes, PortId from, PortId to) {
  const Topology& t = routes.scope().topology();
  std::vector<DirectedLink> links{directed_link(t, from)};
  const DestinationId destination = routes.scope().find(to);
  for (PortId at = t.peer(from); at != to;) {
    const auto out = routes.routing.tables.out_port(t.switch_of(at), destination);
    if (out == 0 || out == kNoPort || links.size() > 9) return {};
    const PortId port = t.ports(t.switch_of(at))[out - 1];
    if (!routes.input.view.alive(t.link(port))) return {};
    links.push_back(directed_link(t, port));
    at = t.peer(port);
  }
  return links;
}

// Of all sets of senders the one behind which the least gets through: the others send all, these fill what they reach.
std::int64_t most(const PortRates& rates, const std::map<PortId, std::set<PortId>>& reached) {
  std::vector<PortId> senders;
  for (const auto& [from, to] : reached) senders.push_back(from);
  std::int64_t least = INT64_MAX;
  for (std::uint32_t set = 0; set < 1U << senders.size(); ++set) {
    std::int64_t through = 0;
    std::set<PortId> filled;
    for (std::size_t i = 0; i < senders.size(); ++i) {
      if ((set >> i & 1U) == 0) {
        through += rates.at(senders[i]).send;
      } else {
        filled.insert(reached.at(senders[i]).begin(), reached.at(senders[i]).end());
      }
    }
    for (const PortId to : filled) through += rates.at(to).receive;
    least = std::min(least, through);
  }
  return least;
}

struct Expected {
  std::map<std::pair<DirectedLink, std::size_t>, std::int64_t> mbps;
  bool at_least = false;  // some jobs have more reserved, for failures
};

Expected expected(const ClusterState& state, const FabricRoutes& routes) {
  Expected all;
  for (const JobId id : *state.guaranteed) {
    const JobPtr job = state.jobs.find(id);
    if (job->guarantee->at_risk()) continue;
    all.at_least = all.at_least || job->guarantee->covered;
    const PortRates rates = promised(state, *job);
    std::map<DirectedLink, std::map<PortId, std::set<PortId>>> across;
    for (const auto& [from, out] : rates) {
      for (const auto& [to, in] : rates) {
        if (from == to || out.send == 0) continue;
        for (const DirectedLink link : walk(routes, from, to)) across[link][from].insert(to);
      }
    }
    const auto at = std::ranges::find(*state.qos_classes, job->guarantee->qos_class, &QosClass::name);
    for (const auto& [link, reached] : across) {
      all.mbps[{link, static_cast<std::size_t>(at - state.qos_classes->begin())}] += most(rates, reached);
    }
  }
  return all;
}

::testing::AssertionResult as_expected(Cluster& cluster) {
  auto& book = cluster.placers.guarantees();
  if (!book.bring_to(cluster.state)) return ::testing::AssertionFailure() << "no routes";
  GuaranteeBook fresh;
  if (!fresh.bring_to(cluster.state)) return ::testing::AssertionFailure() << "no routes";
  const Expected all = expected(cluster.state, *book.routes());
  const auto& ledger = book.ledger();
  for (DirectedLink link = 0; link < ledger.links(); ++link) {
    for (std::uint8_t c = 0; c < ledger.classes(); ++c) {
      const auto at = all.mbps.find({link, c});
      const std::int64_t wanted = at == all.mbps.end() ? 0 : at->second, has = ledger.reserved_mbps(link, c);
      const std::string where = "link " + std::to_string(link) + " class " + std::to_string(c) + ": ";
      if (has < wanted || (has > wanted && !all.at_least)) {
        return ::testing::AssertionFailure() << where << has << " reserved, " << wanted << " wanted";
      }
      if (has != fresh.ledger().reserved_mbps(link, c)) {
        return ::testing::AssertionFailure()
               << where << has << " reserved, " << fresh.ledger().reserved_mbps(link, c) << " from a fresh start";
      }
      if (has > ledger.limit_mbps(link, c)) return ::testing::AssertionFailure() << where << "too much";
    }
  }
  return ::testing::AssertionSuccess();
}

SubmitJob role(const char* name, std::uint32_t hosts, std::int64_t between_gbps, RolePeer peer) {
  SubmitJob job = Cluster::job("t", hosts);
  job.spec.name = name;
  job.spec.peers = {std::move(peer)};
  job.spec.bandwidth.emplace();
  if (between_gbps > 0) job.spec.bandwidth->between_roles = RateMbps(between_gbps * 1000);
  return job;
}

struct Pair {
  SubmitJob sender, receiver;
};
Pair pair(const ClusterState& state, std::uint32_t senders, std::uint32_t receivers, std::int64_t between_gbps) {
  const std::uint64_t next = state.jobs.next_id().number();
  return {role("prefill", senders, between_gbps, {next + 1, "decode", true, 1e9, {}, false}),
          role("decode", receivers, 0, {next, "prefill", false, 1e9, {}, true})};
}

std::vector<std::string> nodes(unsigned first, unsigned count) {
  std::vector<std::string> names;
  for (unsigned i = first; i < first + count; ++i) names.push_back("node-" + std::to_string(i));
  return names;
}

std::int64_t reserved(Cluster& cluster, const std::string& from, bool up) {
  const auto& t = cluster.state.topology();
  auto& book = cluster.placers.guarantees();
  EXPECT_TRUE(book.bring_to(cluster.state));
  const std::size_t at = 2;  // all-reduce
  for (const LinkId link : t.links()) {
    for (const PortId port : {t.a(link), t.b(link)}) {
      const PortId peer = t.peer(port);
      const bool is_host = t.is_hca_port(port) && t.name(t.host(t.hca_of(port))) == from;
      const bool is_leaf = t.joins_switches(link) && t.name(t.switch_of(port)) == from;
      if (is_host || is_leaf) return book.ledger().reserved_mbps(directed_link(t, up ? port : peer), at);
    }
  }
  return -1;
}

// By hand: two leaves under one spine, prefill on two nodes of the first, decode on three of the second.
TEST(RoleGuarantee, ReachesToTheReceiversAndFollowsThem) {
  Cluster cluster(leaves_and_spines(2, 4, 1, 1));
  cluster.contract(testing::terms(20));
  Pair gang = pair(cluster.state, 2, 3, 8);
  gang.sender.spec.only_nodes = nodes(0, 2);
  gang.receiver.spec.only_nodes = nodes(4, 3);
  cluster.must(gang.sender);
  const JobId sender = cluster.last_job;
  EXPECT_EQ(reserved(cluster, "leaf-0", true), 0) << "decode is nowhere yet";
  cluster.must(gang.receiver);
  const JobId receiver = cluster.last_job;
  EXPECT_EQ(reserved(cluster, "leaf-0", true), 24'000) << "three ports may receive 8 each, two could send 20 each";
  EXPECT_EQ(reserved(cluster, "leaf-1", true), 0) << "decode sends nothing to prefill";
  EXPECT_EQ(reserved(cluster, "leaf-1", false), 24'000);
  EXPECT_EQ(reserved(cluster, "node-0", true), 20'000) << "no more than its rate in sum";
  EXPECT_EQ(reserved(cluster, "node-0", false), 20'000);
  EXPECT_EQ(reserved(cluster, "node-4", false), 28'000) << "its own, and what comes from prefill";
  EXPECT_EQ(reserved(cluster, "node-4", true), 20'000);
  EXPECT_TRUE(as_expected(cluster));
  // A node of decode is lost, and its rank moves to the first leaf.
  RepairJob move{.id = receiver, .nodes = {"node-4"}};
  cluster.must(RequestDrain{{DrainKind::node, "node-7"}, {}, true, {}, cluster.state.view_version});
  ASSERT_TRUE(cluster.ask(move));
  EXPECT_TRUE(as_expected(cluster));
  cluster.must(EndJob{receiver, JobState::completed, {}, {}});
  EXPECT_EQ(reserved(cluster, "leaf-0", true), 0);
  EXPECT_EQ(reserved(cluster, "node-0", true), 20'000) << "the sender keeps its own";
  EXPECT_FALSE(cluster.guarantee(sender).at_risk());
  EXPECT_TRUE(as_expected(cluster));
}

// One cable between the leaves has 133 Gb/s for the class.
TEST(RoleGuarantee, APlaceIsRefusedWhereOnlyWhatPassesBetweenRolesDoesNotFit) {
  for (const bool guaranteed : {true, false}) {
    for (const auto& [between, fits] : {std::pair(0, true), std::pair(33, true), std::pair(34, false)}) {
      Cluster cluster(leaves_and_spines(2, 4, 1, 1));
      cluster.contract(testing::terms(60));
      Pair gang = pair(cluster.state, 4, 4, between);
      if (!guaranteed) gang.receiver.spec.bandwidth->guaranteed = RateMbps(0);
      gang.sender.spec.only_nodes = nodes(0, 4);
      gang.receiver.spec.only_nodes = nodes(4, 4);
      cluster.must(gang.sender);
      const auto placed = cluster.ask(gang.receiver);
      ASSERT_EQ(placed.has_value(), fits) << between << (placed ? "" : placed.error().error.text());
      EXPECT_TRUE(as_expected(cluster));
      if (fits) continue;
      EXPECT_EQ(placed.error().error.code, "admission.linksFull");
      const std::string why = placed.error().error.whole().whole_text();
      EXPECT_NE(why.find("job-000001, which sends to it"), std::string::npos) << why;
      ASSERT_FALSE(placed.error().links.empty());
      EXPECT_EQ(placed.error().links.front().wanted_mbps, 4 * between * 1000);
      EXPECT_FALSE(cluster.guarantee(JobId(1)).at_risk()) << "what runs keeps what it has";
    }
  }
}

TEST(RoleGuarantee, IsRefusedWhereItCannotBeKept) {
  Cluster cluster(leaves_and_spines(2, 4, 1, 1));
  auto terms = testing::terms(20);
  cluster.contract(terms);
  const auto code = [&](auto change) {
    Pair gang = pair(cluster.state, 2, 2, 10);
    change(gang.sender.spec);
    const auto asked = cluster.ask(gang.sender);
    return asked ? std::string() : asked.error().error.code;
  };
  using scheduler::JobSpec;
  EXPECT_EQ(code([](JobSpec& spec) { spec.bandwidth->model = scheduler::BandwidthModel::pattern; }),
            "admission.betweenRoles");
  EXPECT_EQ(code([](JobSpec& spec) { spec.bandwidth->guaranteed = RateMbps(0); }), "admission.betweenRoles");
  EXPECT_EQ(code([](JobSpec& spec) { spec.bandwidth->between_roles = RateMbps(20'001); }), "admission.betweenRoles");
  EXPECT_EQ(code([](JobSpec& spec) { spec.tenant = "none"; }), "tenants.unknown");
  EXPECT_EQ(code([](JobSpec& spec) { spec.bandwidth->between_roles = RateMbps(20'000); }), "");
  terms.isolation = scheduler::Isolation::within_class;
  EXPECT_FALSE(cluster.ask(PutContract{terms, {}})) << "a job has a promise that such a contract does not give";
  cluster.must(EndJob{cluster.last_job, JobState::completed, {}, {}});
  cluster.must(PutContract{terms, {}});
  EXPECT_EQ(code([](JobSpec&) {}), "admission.betweenRoles");
}

// A sender with a lane of its own has it on the links to its receivers, too, and no other job has it there.
TEST(RoleGuarantee, ASendersLaneGoesToTheReceivers) {
  Cluster cluster(leaves_and_spines(2, 4, 1, 1));
  auto terms = testing::terms(20);
  terms.isolation = scheduler::Isolation::lane;
  cluster.contract(terms);
  Pair gang = pair(cluster.state, 2, 2, 10);
  gang.sender.spec.only_nodes = nodes(0, 2);
  gang.receiver.spec.only_nodes = nodes(4, 2);
  cluster.must(gang.sender);
  cluster.must(gang.receiver);
  ASSERT_TRUE(as_expected(cluster));
  const auto& ledger = cluster.placers.guarantees().ledger();
  const auto sender = ledger.reservations_of("job-000001"), receiver = ledger.reservations_of("job-000002");
  ASSERT_EQ(sender.size() + receiver.size(), 2U);
  EXPECT_EQ(sender.front()->lane, cluster.guarantee(JobId(1)).lane);
  EXPECT_EQ(receiver.front()->lane, cluster.guarantee(JobId(2)).lane);
  EXPECT_NE(sender.front()->lane, receiver.front()->lane) << "they meet at the receiver's cables";
}

class RoleGuaranteeRandom : public ::testing::TestWithParam<unsigned> {
 protected:
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random() % n); }
  JobPtr some_job() {
    std::vector<JobPtr> running;
    cluster.state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
      if (job->state == JobState::placed) running.push_back(job);
      return true;
    });
    return running.empty() ? nullptr : running[pick(running.size())];
  }
  void submit() {
    Pair gang = pair(cluster.state, static_cast<std::uint32_t>(1 + pick(4)), static_cast<std::uint32_t>(1 + pick(5)),
                     static_cast<std::int64_t>(pick(4) * 10));
    if (pick(3) == 0) gang.receiver.spec.bandwidth->guaranteed = RateMbps(0);
    if (pick(3) == 0) {  // and back
      gang.receiver.spec.peers.push_back({gang.receiver.spec.peers.front().job, "prefill", true, 1e9, {}, true});
      gang.sender.spec.peers.push_back({gang.sender.spec.peers.front().job, "decode", false, 1e9, {}, false});
      if (!gang.receiver.spec.bandwidth->guaranteed) gang.receiver.spec.bandwidth->between_roles = RateMbps(5'000);
    }
    if (!cluster.ask(gang.sender)) return;
    const JobId sender = cluster.last_job;
    if (cluster.ask(gang.receiver)) {
      ++gangs;
    } else {
      ++refused;
      cluster.must(EndJob{sender, JobState::cancelled, {}, {}});
    }
  }
  void move() {
    const JobPtr job = some_job();
    if (job == nullptr) return;
    const std::string node = job->nodes[pick(job->nodes.size())];
    moved += cluster.ask(RepairJob{.id = job->id, .nodes = {node}}) ? 1 : 0;
    if (cluster.state.drains->contains({DrainKind::node, node})) cluster.must(ClearDrain{{DrainKind::node, node}, {}});
  }
  void raise_links() {
    ReportLinks up{"default", {}};
    for (const auto link : cluster.state.topology().links()) {
      up.links.push_back({cluster.state.topology().link_text(link), LinkState::up, false});
    }
    cluster.must(up);
  }
  void step() {
    const auto& t = cluster.state.topology();
    switch (pick(8)) {
      case 0:
      case 1:
      case 2:
        return submit();
      case 3:
        if (const JobPtr job = some_job()) cluster.must(EndJob{job->id, JobState::completed, {}, {}});
        return;
      case 4: {
        const LinkId link(static_cast<std::uint32_t>(pick(t.links().size())));
        return cluster.must(Cluster::report(t.link_text(link), LinkState::down));
      }
      case 5:
        return raise_links();
      case 6:
        return move();
      default: {
        auto terms = cluster.state.contracts->at("t").terms;
        terms.guaranteed = RateMbps(static_cast<std::int64_t>(30'000 + pick(4) * 5'000));
        (void)cluster.ask(PutContract{terms, {}, true});
      }
    }
  }
  // Ports of receivers that guarantees which hold reach to.
  [[nodiscard]] std::size_t reached() {
    std::size_t ports = 0;
    for (const JobId id : *cluster.state.guaranteed) {
      const JobPtr job = cluster.state.jobs.find(id);
      if (job->guarantee->at_risk()) continue;
      for (const auto& one :
           role_receivers(*cluster.state.placement_fabric, cluster.placers.guarantees().routes()->scope(),
                          cluster.state.jobs, job->spec, job->placement.gpu_of_rank)) {
        ports += one.ports;
      }
    }
    return ports;
  }

  std::mt19937 random{GetParam()};
  Cluster cluster{leaves_and_spines(4, 4, 2, 2)};
  std::size_t gangs = 0, refused = 0, moved = 0;
};

TEST_P(RoleGuaranteeRandom, WhatIsReservedIsWhatRolesMaySend) {
  cluster.contract(testing::terms(30, GetParam() % 3 == 0));
  std::size_t ports = 0, at_risk = 0;
  for (int turn = 0; turn < 60; ++turn) {
    step();
    ASSERT_TRUE(as_expected(cluster)) << "turn " << turn;
    for (const JobId id : *cluster.state.guaranteed) at_risk += cluster.guarantee(id).at_risk() ? 1 : 0;
    ports += reached();
  }
  EXPECT_GT(gangs, 2U);
  EXPECT_GT(ports, 0U);
  RecordProperty("refused", static_cast<int>(refused));
  RecordProperty("moved", static_cast<int>(moved));
  RecordProperty("at_risk", static_cast<int>(at_risk));
}

INSTANTIATE_TEST_SUITE_P(Seeds, RoleGuaranteeRandom, ::testing::Range(1U, 25U));

}  // namespace
}  // namespace railweave::control::role_guarantee_test
