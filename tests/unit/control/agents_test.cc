// Budgets of hosts, their versions, what agents report of them, and the grade "class" that follows.
#include <map>
#include <random>

#include "fabric/flow/flow_paths.h"
#include "fabric/qos/guarantee_partition.h"
#include "services/control/agents/class_grade.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::agents_test {
namespace {

using scheduler::Isolation;
using testing::Cluster;
using testing::leaves_and_spines;

scheduler::Contract by_agents(const std::string& tenant, std::int64_t gbps,
                              Isolation isolation = Isolation::within_class) {
  auto contract = testing::terms(gbps);
  contract.tenant = tenant;
  contract.isolation = isolation;
  return contract;
}

SubmitJob job_on(const std::string& tenant, const std::vector<unsigned>& nodes) {
  auto job = Cluster::job(tenant, static_cast<std::uint32_t>(nodes.size()));
  for (const unsigned node : nodes) job.spec.only_nodes.push_back("node-" + std::to_string(node));
  return job;
}

fabric::HostId host_named(const Cluster& cluster, unsigned node) {
  return cluster.state.topology().find_host("node-" + std::to_string(node));
}

// An agent that applies all that it is told.
class Reporter {
 public:
  explicit Reporter(const Cluster& cluster) : cluster_(cluster) {}

  std::vector<PortBudget> budgets(unsigned node) {
    EXPECT_TRUE(book_.bring_to(cluster_.state));
    agents.versions.bring_to(cluster_.state);
    const auto host = host_named(cluster_, node);
    return host_budgets(cluster_.state, book_, host, agents.versions.jobs_on(host));
  }
  BudgetReport read_back(unsigned node) {
    BudgetReport report;
    for (const PortBudget& one : budgets(node)) {
      BudgetReading reading{
          to_string(one.job->id), cluster_.state.topology().port_text(one.port), one.send_mbps, one.receive_mbps, {}};
      for (const auto& flow : one.flows) reading.flows[cluster_.state.topology().port_text(flow.peer)] = flow.send_mbps;
      report.readings.push_back(std::move(reading));
    }
    report.term = cluster_.state.leader.term;
    report.version = agents.versions.version_of(host_named(cluster_, node));
    return report;
  }
  Result<NodeAgents::Kept> send(unsigned node, const BudgetReport& report) {
    const auto wanted = budgets(node);
    return agents.report(cluster_.state, host_named(cluster_, node), report, wanted, now_ms);
  }
  void apply(unsigned node) { EXPECT_TRUE(send(node, read_back(node))) << node; }
  ClassGrade grade(JobId job, bool is_filtered = true) {
    EXPECT_TRUE(book_.bring_to(cluster_.state));
    agents.versions.bring_to(cluster_.state);
    return ClassGrades(cluster_.state, book_, agents, now_ms).of(*cluster_.state.jobs.find(job), is_filtered);
  }

  NodeAgents agents;
  std::int64_t now_ms = 1'000;

 private:
  const Cluster& cluster_;
  GuaranteeBook book_;
};

TEST(Agents, BudgetsAreTheGuaranteeAndOfAPatternItsFlows) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  auto contract = by_agents("t", 10);
  contract.most = RateMbps(80'000);
  cluster.contract(contract);
  cluster.must(job_on("t", {0, 1, 4, 5}));
  Reporter agent(cluster);
  const auto hose = agent.budgets(0);
  ASSERT_EQ(hose.size(), 1U);
  EXPECT_EQ(hose[0].send_mbps, 10'000);
  EXPECT_EQ(hose[0].receive_mbps, 10'000);
  EXPECT_TRUE(hose[0].flows.empty());
  EXPECT_TRUE(agent.budgets(2).empty());

  cluster.must(EndJob{cluster.last_job, JobState::completed, {}, {}});
  contract.promise = fabric::TrafficPromise::pattern;
  cluster.contract(contract);
  cluster.must(job_on("t", {0, 1, 4, 5}));
  std::map<std::pair<fabric::PortId, fabric::PortId>, std::int64_t> sent, received;
  for (const unsigned node : {0U, 1U, 4U, 5U}) {
    for (const PortBudget& one : agent.budgets(node)) {
      std::int64_t sum = 0;
      EXPECT_FALSE(one.flows.empty()) << node;
      for (const FlowBudget& flow : one.flows) {
        if (flow.send_mbps != 0) sent[{one.port, flow.peer}] = flow.send_mbps;
        if (flow.receive_mbps != 0) received[{flow.peer, one.port}] = flow.receive_mbps;
        sum += flow.send_mbps;
      }
      EXPECT_EQ(sum, one.send_mbps);
      EXPECT_LE(sum, 10'000 + static_cast<std::int64_t>(one.flows.size())) << "but for rounding up";
    }
  }
  EXPECT_EQ(sent, received) << "both ends of a flow have one budget";
  EXPECT_FALSE(sent.empty());
}

TEST(Agents, VersionsGrowWithWhatChangesAndWithNothingElse) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  cluster.contract(by_agents("t", 10));
  Reporter agent(cluster);
  const auto version = [&](unsigned node) {
    agent.agents.versions.bring_to(cluster.state);
    return agent.agents.versions.version_of(host_named(cluster, node));
  };
  const auto before = version(0), elsewhere = version(2);
  cluster.must(job_on("t", {0, 4}));
  const JobId job = cluster.last_job;
  const auto placed = version(0);
  EXPECT_GT(placed, before);
  EXPECT_EQ(version(2), elsewhere);
  cluster.must(PutTenant{{.name = "other", .description = {}, .max_gpus = {}}, {}});
  EXPECT_EQ(version(0), placed) << "nothing of its own";
  cluster.contract(by_agents("t", 20));
  const auto amended = version(0);
  EXPECT_GT(amended, placed);
  cluster.must(EndJob{job, JobState::completed, {}, {}});
  EXPECT_GT(version(4), amended);
  EXPECT_GT(version(0), amended);
  const auto left = version(0);
  cluster.must(PutQosClasses{fabric::default_qos_classes(), {}});
  EXPECT_GE(version(0), left);
  // A process that begins here has no smaller version than one that has watched all of it.
  BudgetVersions fresh;
  fresh.bring_to(cluster.state);
  for (const unsigned node : {0U, 2U, 4U}) EXPECT_GE(fresh.version_of(host_named(cluster, node)), version(node));
}

TEST(Agents, ReportsAreFencedAndExpire) {
  Cluster cluster(leaves_and_spines(2, 4, 2, 2));
  cluster.contract(by_agents("t", 10));
  cluster.must(job_on("t", {0, 4}));
  const JobId job = cluster.last_job;
  Reporter agent(cluster);
  EXPECT_EQ(agent.grade(job).lacks, (std::vector<std::string>{"node-0", "node-4"}));
  agent.apply(0);
  const BudgetReport early = agent.read_back(4);
  EXPECT_EQ(agent.grade(job).lacks, std::vector<std::string>{"node-4"});
  agent.apply(4);
  EXPECT_TRUE(agent.grade(job).in_force);

  BudgetReport other_term = early;
  ++other_term.term;
  EXPECT_EQ(agent.send(4, other_term).error().code, "agents.oldTerm");
  EXPECT_TRUE(agent.grade(job).in_force) << "what is refused changes nothing";
  cluster.must(PutContract{by_agents("t", 5), {}, true});
  EXPECT_FALSE(agent.grade(job).in_force) << "the present version is another";
  EXPECT_EQ(agent.send(4, early).error().code, "agents.oldVersion");
  BudgetReport stale = agent.read_back(4);
  stale.readings[0].send_mbps = 10'000;  // what its queues still have
  ASSERT_TRUE(agent.send(4, stale));
  EXPECT_FALSE(agent.send(4, stale)->differs.empty());
  agent.apply(0);
  EXPECT_FALSE(agent.grade(job).in_force);
  agent.apply(4);
  EXPECT_TRUE(agent.grade(job).in_force);

  agent.now_ms += NodeAgents::kExpires_ms - 1'000;
  agent.apply(4);
  agent.now_ms += 1'001;
  EXPECT_EQ(agent.grade(job).lacks, std::vector<std::string>{"node-0"}) << "its report was not renewed";
}

TEST(Agents, ANeighbourInItsClassIsLimitedTooOrNothingIsIsolated) {
  Cluster cluster(leaves_and_spines(2, 4, 1, 2));
  cluster.contract(by_agents("t", 10));
  cluster.contract(by_agents("u", 10, Isolation::planned));
  cluster.contract(by_agents("v", 10, Isolation::lane));
  cluster.must(job_on("t", {0, 4}));
  const JobId job = cluster.last_job;
  Reporter agent(cluster);
  agent.apply(0);
  agent.apply(4);
  EXPECT_TRUE(agent.grade(job).in_force);
  cluster.must(job_on("v", {2, 6}));
  EXPECT_TRUE(agent.grade(job).in_force) << "a lane of its own is not in the class";
  cluster.must(job_on("u", {1, 2}));
  EXPECT_TRUE(agent.grade(job).in_force) << "it meets the other on no link";
  cluster.must(job_on("u", {1, 5}));
  const ClassGrade lost = agent.grade(job);
  EXPECT_FALSE(lost.in_force);
  EXPECT_EQ(lost.neighbour, to_string(cluster.last_job));
  EXPECT_EQ(lost.neighbours, 1U);
  agent.apply(1);
  agent.apply(5);
  EXPECT_TRUE(agent.grade(job).in_force);
}

// A host without a job sends in any class where switches do not drop that: nothing is isolated unless its agent keeps it out.
TEST(Agents, HostsWithoutAJobKeepOutOfTheClassOrNothingIsIsolated) {
  Cluster cluster(leaves_and_spines(2, 4, 1, 2));
  cluster.contract(by_agents("t", 10));
  cluster.must(job_on("t", {0, 4}));
  const JobId job = cluster.last_job;
  Reporter agent(cluster);
  agent.apply(0);
  agent.apply(4);
  EXPECT_TRUE(agent.grade(job, true).in_force);
  const ClassGrade open = agent.grade(job, false);
  EXPECT_FALSE(open.in_force);
  EXPECT_EQ(open.strangers, 6U);
  EXPECT_EQ(open.lacking, 6U);
  EXPECT_EQ(open.lacks, (std::vector<std::string>{"node-1", "node-2", "node-3", "node-5", "node-6", "node-7"}));
  for (const unsigned node : {1, 2, 3, 5, 6}) agent.apply(node);
  EXPECT_EQ(agent.grade(job, false).lacks, std::vector<std::string>{"node-7"});
  agent.apply(7);
  EXPECT_TRUE(agent.grade(job, false).in_force);
  agent.now_ms += NodeAgents::kExpires_ms + 1;
  agent.apply(0);
  agent.apply(4);
  EXPECT_FALSE(agent.grade(job, false).in_force) << "their reports were not renewed";
  EXPECT_TRUE(agent.grade(job, true).in_force);
}

// Whoever sends to whom inside the budgets, no link carries more than what admission reserved there, over the tables' own paths.
TEST(Agents, TrafficInsideBudgetsIsInsideWhatLinksReserve) {
  std::mt19937_64 random(3);
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
  std::size_t full = 0;
  for (int round = 0; round < 60; ++round) {
    Cluster cluster(leaves_and_spines(3, 3, 2, 4));
    auto contract = by_agents("t", 1 + static_cast<std::int64_t>(below(9)));
    if (round % 2 != 0) contract.promise = fabric::TrafficPromise::pattern;
    cluster.contract(contract);
    for (int jobs = 0; jobs < 3; ++jobs) {
      std::set<unsigned> nodes;
      while (nodes.size() < 4) nodes.insert(static_cast<unsigned>(below(9)));
      (void)cluster.ask(job_on("t", {nodes.begin(), nodes.end()}));
    }
    Reporter agent(cluster);
    std::map<JobId, std::vector<PortBudget>> by_job;
    for (unsigned node = 0; node < 9; ++node) {
      for (PortBudget& one : agent.budgets(node)) by_job[one.job->id].push_back(std::move(one));
    }
    GuaranteeBook book;
    ASSERT_TRUE(book.bring_to(cluster.state));
    const fabric::PathWalker walker(book.routes()->input.view, book.routes()->routing.tables);
    for (int matrix = 0; matrix < 20; ++matrix) {
      std::map<fabric::DirectedLink, std::int64_t> carried;
      for (const auto& [id, ports] : by_job) {
        std::vector<std::int64_t> send, receive;
        std::vector<fabric::ActivePair> pairs;
        for (const PortBudget& one : ports) {
          send.push_back(one.send_mbps);
          receive.push_back(one.receive_mbps);
        }
        for (std::uint32_t a = 0; a < ports.size(); ++a) {
          for (std::uint32_t b = 0; b < ports.size(); ++b) {
            if (a == b || below(3) == 0) continue;
            std::int64_t most = fabric::kUnlimitedMbps;
            if (round % 2 != 0) {
              const auto flow = std::ranges::find(ports[a].flows, ports[b].port, &FlowBudget::peer);
              most = flow == ports[a].flows.end() ? 0 : flow->send_mbps;
            }
            pairs.push_back({a, b, most});
          }
        }
        const auto rates = fabric::partition_guarantees(send, receive, pairs);
        for (std::size_t i = 0; i < pairs.size(); ++i) {
          std::vector<fabric::DirectedLink> links;
          ASSERT_TRUE(walker.append({ports[pairs[i].sender].port, ports[pairs[i].receiver].port}, links));
          for (const auto link : links) carried[link] += rates[i];
        }
      }
      for (const auto& [link, mbps] : carried) {
        std::int64_t reserved = 0;
        for (std::size_t c = 0; c < book.classes().size(); ++c) {
          reserved += book.ledger().reserved_mbps(link, static_cast<std::uint8_t>(c));
        }
        ASSERT_LE(mbps, reserved) << "link " << link << ", round " << round;
        full += mbps == reserved && mbps > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(full, 500U) << "the matrices come nowhere near what is reserved";
}

}  // namespace
}  // namespace railweave::control::agents_test
