// Partitions of NVLink domains by job.
#include "services/control/views/nvlink_ownership.h"

#include "tests/unit/control/control_fixture.h"
#include "tests/unit/control/guarantee_fixture.h"

namespace railweave::control::nvlink_ownership_test {
namespace {

using testing::Cluster;

TEST(NvlinkOwnership, NumbersPartitionsByPositionAndKeepsTheNumbers) {
  Cluster cluster(star_of_hosts(2, 8));
  cluster.must(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
  const auto submit = [&](std::uint32_t gpus) {
    auto command = submit_job("t", gpus, 1);
    cluster.must(command);
    return cluster.last_job;
  };
  const JobId first = submit(2);
  const JobId second = submit(4);
  const auto before = nvlink_partitions_of(cluster.state, *cluster.state.jobs.find(second));
  ASSERT_EQ(before.size(), 1U);
  cluster.must(EndJob{first, JobState::completed, {}, {}});
  const auto after = nvlink_partitions_of(cluster.state, *cluster.state.jobs.find(second));
  EXPECT_EQ(after.front().number, before.front().number);
  EXPECT_EQ(after.front().gpus.size(), 4U);
  const JobId third = submit(2);
  EXPECT_NE(nvlink_partitions_of(cluster.state, *cluster.state.jobs.find(third)).front().number, after.front().number);
}

}  // namespace
}  // namespace railweave::control::nvlink_ownership_test
