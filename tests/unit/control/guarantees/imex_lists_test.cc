// IMEX lists are of whole nodes: two tenants on one node would open each other's memory.
#include "fabric/generate/generate.h"
#include "services/json/strict_json.h"
#include "services/rest/json/guarantees/guarantee.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::imex_lists_test {
namespace {

using testing::Cluster;

TEST(ImexLists, AreWithheldWhereTenantsShareANode) {
  auto made = fabric::generate("rail-optimized", {{"hosts", "4"}, {"nvlink-domain", "16"}, {"gpus-per-host", "4"}});
  ASSERT_TRUE(made) << made.error().text();
  Cluster cluster(std::make_shared<const fabric::Topology>(std::move(*made)));
  for (const char* tenant : {"red", "blue"}) cluster.must(PutTenant{{.name = tenant}, {}});
  cluster.must(Cluster::job("red", 4));
  const JobId red = cluster.last_job;
  const auto partition = [&](JobId job, bool allow_shared) {
    return api::parse_json(api::write_job_partition(cluster.state, *cluster.state.jobs.find(job), allow_shared))
        .value();
  };
  const auto alone = partition(red, false);
  ASSERT_EQ(alone["items"].size(), 1U);
  EXPECT_EQ(alone["items"][0]["imexNodes"].size(), 4U);
  EXPECT_TRUE(alone["items"][0]["sharedWith"].empty());
  // The same tenant's other job shares with itself.
  cluster.must(Cluster::job("red", 4));
  EXPECT_EQ(partition(red, false)["items"][0]["imexNodes"].size(), 4U);
  cluster.must(Cluster::job("blue", 4));
  const JobId blue = cluster.last_job;
  for (const JobId job : {red, blue}) {
    const auto shared = partition(job, false)["items"][0];
    EXPECT_TRUE(shared["imexNodes"].empty()) << shared.dump();
    EXPECT_EQ(shared["sharedWith"].size(), 1U);
    EXPECT_EQ(shared["sharedWith"][0], job == red ? "blue" : "red");
    EXPECT_EQ(partition(job, true)["items"][0]["imexNodes"].size(), 4U) << "the operator says so";
  }
  cluster.must(EndJob{blue, JobState::completed, "", {}});
  EXPECT_EQ(partition(red, false)["items"][0]["imexNodes"].size(), 4U);
  // A partition within one node needs no list beyond it.
  auto one = Cluster::job("blue", 1);
  cluster.must(one);
  EXPECT_EQ(partition(cluster.last_job, false)["items"][0]["imexNodes"].size(), 1U);
}

}  // namespace
}  // namespace railweave::control::imex_lists_test
