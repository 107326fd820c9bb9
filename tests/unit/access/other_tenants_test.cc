// What a member is answered names no job of another tenant.
#include "services/rest/access/other_tenants.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace railweave::api {
namespace {

control::ClusterState two_jobs() {
  control::ClusterState state;
  for (const char* tenant : {"ours", "theirs"}) {
    control::Job job;
    job.id = state.jobs.next_id();
    job.spec.tenant = tenant;
    job.state = control::JobState::queued;
    state.restore(std::make_shared<const control::Job>(std::move(job)));
    state.jobs.set_next_id(control::JobId(state.jobs.next_id().number() + 1));
  }
  return state;
}

std::string hidden(std::string text, std::string_view known = {}) {
  static const control::ClusterState state = two_jobs();
  hide_other_jobs(state, "ours", known, text);
  return text;
}

TEST(OtherTenants, JobsAreReplacedWhereverTheyAreNamed) {
  EXPECT_EQ(hidden("job-000001 waits behind job-000002"), "job-000001 waits behind job-000000");
  EXPECT_EQ(hidden(R"({"job":"job-000002","text":"job-000002, job-000001"})"),
            R"({"job":"job-000000","text":"job-000000, job-000001"})");
  EXPECT_EQ(hidden("job-000777"), "job-000000") << "one that is forgotten may have been of anyone";
  EXPECT_EQ(hidden("/v1/jobs/job-000002/ranks"), "/v1/jobs/job-000000/ranks");
}

TEST(OtherTenants, WhatIsNoJobOrWasAskedForStays) {
  for (const char* text :
       {"", "job-", "job-12345", "job-x", "my-job-000002", "job-000002-eval", "job-000002a", "prejob-000002"}) {
    EXPECT_EQ(hidden(text), text);
  }
  EXPECT_EQ(hidden("there is no job 'job-000002'", "/v1/jobs/job-000002"), "there is no job 'job-000002'");
}

}  // namespace
}  // namespace railweave::api
