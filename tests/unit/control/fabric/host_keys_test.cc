// Indices of partition keys against a record that is kept here by job and node: what a job had when it came to a node it
// has there until it leaves, whatever else starts, ends, moves, is restarted from a snapshot or gets another contract.
#include <map>
#include <random>

#include "services/control/codec/guarantee_json.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::host_keys_test {
namespace {

using testing::Cluster;
using testing::leaves_and_spines;

// By tenant, so that the first is not always the first in a list of names.
const std::vector<std::string> kTenants = {"zebra", "ant", "mole", "cat"};

class KeyRecord {
 public:
  explicit KeyRecord(Cluster& cluster) : cluster_(cluster) {}

  void check(const std::string& when) {
    const ClusterState& state = cluster_.state;
    std::map<std::pair<std::uint64_t, std::string>, unsigned> now;
    std::map<std::string, std::set<std::string>> tenants_on;
    std::map<std::string, bool> limited;
    state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
      if (!job->holds_gpus()) return true;
      for (const auto& node : job->nodes) {
        const HostKeys& keys = state.host_keys[state.topology().find_host(node).index()];
        const auto contract = state.contracts->find(job->spec.tenant);
        if (contract != state.contracts->end()) {
          now[{job->id.number(), node}] = keys.index_of(contract->second.pkey);
          tenants_on[node].insert(job->spec.tenant);
        }
        limited[node] = keys.limited;
      }
      return true;
    });
    for (const auto& [at, index] : now) {
      EXPECT_GT(index, 0U) << when << ": no key on " << at.second;
      const auto before = index_.find(at);
      if (before != index_.end() && before->second != 0) {
        EXPECT_EQ(index, before->second) << when << ": job " << at.first << " on " << at.second;
        ++compared_;
      }
    }
    for (const auto& [node, is_limited] : limited) {
      const auto before = limited_.find(node);
      if (before != limited_.end()) {
        EXPECT_EQ(is_limited, before->second) << when << ": index 0 of " << node;
      }
    }
    for (const auto host : state.topology().hosts()) {
      const std::string node(state.topology().name(host));
      const HostKeys& keys = state.host_keys[host.index()];
      std::set<std::uint16_t> used;
      for (const auto& slot : keys.slots) {
        if (slot.pkey == 0) continue;
        EXPECT_TRUE(used.insert(slot.pkey).second) << when << ": a key twice on " << node;
      }
      EXPECT_EQ(used.size(), tenants_on[node].size()) << when << ": " << node;
      if (!limited.contains(node)) {
        EXPECT_TRUE(keys.empty()) << when << ": " << node << " has no job";
      }
    }
    index_ = std::move(now);
    limited_ = std::move(limited);
  }
  [[nodiscard]] std::size_t compared() const { return compared_; }

 private:
  Cluster& cluster_;
  std::map<std::pair<std::uint64_t, std::string>, unsigned> index_;
  std::map<std::string, bool> limited_;
  std::size_t compared_ = 0;
};

TEST(HostKeys, StayAtTheirIndexWhateverElseHappens) {
  std::size_t compared = 0, isolated = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Cluster cluster(leaves_and_spines(2, 3, 2, 4));
    KeyRecord record(cluster);
    for (const auto& tenant : kTenants) {
      cluster.must(PutTenant{{.name = tenant}, {}});
      if (random() % 3 != 0) cluster.contract({.tenant = tenant, .isolated = random() % 2 == 0});
    }
    std::vector<JobId> running;
    for (int step = 0; step < 60; ++step) {
      const std::string& tenant = kTenants[random() % kTenants.size()];
      std::string when = "step " + std::to_string(step);
      switch (random() % 8) {
        case 0:
        case 1:
        case 2: {
          when += ": start of " + tenant;
          auto job = Cluster::job(tenant, 1 + random() % 5);
          if (cluster.ask(job)) running.push_back(cluster.last_job);
          break;
        }
        case 3:
        case 4: {
          if (running.empty()) break;
          when += ": end";
          const auto at = running.begin() + static_cast<std::ptrdiff_t>(random() % running.size());
          cluster.must(EndJob{*at, JobState::completed, "", {}});
          running.erase(at);
          break;
        }
        case 5:
          when += ": contract of " + tenant;
          (void)cluster.ask(PutContract{{.tenant = tenant, .isolated = random() % 2 == 0}, {}});
          break;
        case 6:
          when += ": contract of " + tenant + " removed";
          (void)cluster.ask(RemoveContract{tenant, {}});
          break;
        default: {  // the same fabric again: hosts are found by name
          when += ": import";
          AcceptTopology again{
              leaves_and_spines(2, 3, 2, 4), nullptr, "digest-" + std::to_string(step), "test", false, {}};
          cluster.must(again);
        }
      }
      record.check(when);
      for (std::size_t i = 0; i < cluster.state.host_keys.size(); ++i) isolated += cluster.state.host_keys[i].limited;
    }
    compared += record.compared();
  }
  EXPECT_GT(compared, 5'000U);
  EXPECT_GT(isolated, 200U);
}

TEST(HostKeys, AreInTheSnapshot) {
  Cluster cluster(leaves_and_spines(1, 2, 1, 4));
  cluster.contract({.tenant = "a"});
  cluster.contract({.tenant = "b", .isolated = true});
  cluster.must(Cluster::job("b", 2));
  const JobId first = cluster.last_job;
  cluster.must(Cluster::job("a", 2));
  cluster.must(EndJob{first, JobState::completed, "", {}});
  const auto host = cluster.state.topology().find_host("node-0").index();
  ASSERT_EQ(cluster.state.host_keys[host].index_of(1), 2) << "behind b's, which is gone";
  ASSERT_TRUE(cluster.state.host_keys[host].limited) << "until no job runs";
  // As text and back, into a state where only the jobs are.
  const auto keys = api::parse_json(api::dump(api::host_keys_to_json(cluster.state))).value();
  ClusterState read = cluster.state;
  for (std::size_t i = 0; i < read.host_keys.size(); ++i) read.host_keys.write(i) = HostKeys{{{1, 1}}, false};
  ASSERT_TRUE(api::read_host_keys(keys, read));
  for (std::size_t i = 0; i < read.host_keys.size(); ++i) EXPECT_EQ(read.host_keys[i], cluster.state.host_keys[i]);
}

TEST(HostKeys, IsolationIsAskedForAndWaitsForAnEmptyNode) {
  Cluster cluster(leaves_and_spines(1, 2, 1, 4));
  cluster.contract({.tenant = "t"});
  cluster.must(Cluster::job("t", 2));
  const JobId first = cluster.last_job;
  const auto keys = [&] { return cluster.state.host_keys[cluster.state.topology().find_host("node-1").index()]; };
  EXPECT_FALSE(keys().limited) << "a contract alone isolates nothing";
  EXPECT_EQ(keys().index_of(1), 1);
  cluster.must(PutContract{{.tenant = "t", .isolated = true}, {}});
  EXPECT_FALSE(keys().limited) << "not while a job runs";
  cluster.must(Cluster::job("t", 2));
  const JobId second = cluster.last_job;
  EXPECT_FALSE(keys().limited);
  for (const JobId job : {first, second}) cluster.must(EndJob{job, JobState::completed, "", {}});
  EXPECT_TRUE(keys().empty());
  cluster.must(Cluster::job("t", 2));
  EXPECT_TRUE(keys().limited);
  // The key goes with the last job, not with the contract.
  const auto refused = cluster.ask(RemoveContract{"t", {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "contracts.inUse");
}

}  // namespace
}  // namespace railweave::control::host_keys_test
