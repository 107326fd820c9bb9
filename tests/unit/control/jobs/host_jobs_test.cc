#include "services/control/views/host_jobs.h"

#include "tests/unit/control/control_fixture.h"

namespace railweave::control::host_jobs_test {
namespace {

// Every host against a search through all jobs, as jobs start and end.
TEST_F(ControlTest, HostJobsAreThoseThatHoldGpusThere) {
  start();
  must(accept(star_of_hosts(6, 8)));
  must(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
  for (const std::uint32_t gpus : {4U, 2U, 16U, 8U, 2U}) must(submit_job("t", 2, gpus / 2));
  must(EndJob{JobId(2), JobState::cancelled, "", {}});
  const auto state = loop_->state();
  const HostJobs found(*state);
  std::size_t shared = 0;
  for (const auto host : state->topology().hosts()) {
    std::vector<JobId> expected;
    state->jobs.visit_after(JobId(0), [&](const JobPtr& job) {
      for (const auto gpu : job->placement.gpu_of_rank) {
        if (!job->holds_gpus() || state->topology().host(gpu) != host) continue;
        expected.push_back(job->id);
        break;
      }
      return true;
    });
    std::vector<JobId> jobs;
    for (const auto& job : found.on(host)) jobs.push_back(job->id);
    EXPECT_EQ(jobs, expected) << state->topology().name(host);
    shared += jobs.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(shared, 0U);
}

}  // namespace
}  // namespace railweave::control::host_jobs_test
