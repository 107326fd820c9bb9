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
  hide_others(state, "ours", known, text);
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

control::ClusterState with_reservations() {
  control::ClusterState state = two_jobs();
  auto tenants = std::make_shared<control::TenantTable>();
  (*tenants)["ours"].name = "ours";
  (*tenants)["theirs"].name = "theirs";
  state.tenants = tenants;
  auto reservations = std::make_shared<control::ReservationTable>();
  for (const char* tenant : {"ours", "theirs", ""}) {
    control::GpuReservation reservation;
    reservation.window.name = std::string("of-") + tenant;
    reservation.window.tenant = tenant;
    (*reservations)[reservation.window.name] = reservation;
  }
  state.reservations = reservations;
  return state;
}

TEST(OtherTenants, WhatIsSaidOfAJobGoesWithItsName) {
  const control::ClusterState state = with_reservations();
  const auto read = [&](std::string text) {
    hide_others(state, "ours", {}, text);
    return text;
  };
  EXPECT_EQ(read("job-000002 'secret' of theirs placed: 8 GPUs"), "job-000000 placed: 8 GPUs");
  EXPECT_EQ(read("beside 50 Gb/s (job-000002 49.5 Gb/s, job-000001 0.5 Gb/s) of 100 Gb/s"),
            "beside 50 Gb/s (job-000000, job-000001 0.5 Gb/s) of 100 Gb/s");
  EXPECT_EQ(read("job-000002 of theirs is damaged"), "job-000000 is damaged");
  EXPECT_EQ(read("job-000002 of no tenant, job-000002 40 GPUs, job-000002 7"),
            "job-000000 of no tenant, job-000000 40 GPUs, job-000000 7");
  EXPECT_EQ(read("job-000001 'mine' of ours 5 Gb/s"), "job-000001 'mine' of ours 5 Gb/s");
  EXPECT_EQ(read("job-000002 'no end"), "job-000000 'no end");
  EXPECT_EQ(read("would overlap 'of-theirs', which"), "would overlap 'a reservation', which");
  EXPECT_EQ(read("would overlap 'over', which"), "would overlap 'a reservation', which");
  EXPECT_EQ(read("would overlap 'of-ours', would overlap 'of-', "), "would overlap 'of-ours', would overlap 'of-', ");
  EXPECT_EQ(read("would overlap 'broken"), "would overlap 'broken");
  EXPECT_EQ(read("set aside for others meanwhile: 'of-', 'of-theirs', 'over', 'of-ours'; 'over'"),
            "set aside for others meanwhile: 'of-', 'a reservation', 'a reservation', 'of-ours'; 'over'");
  EXPECT_EQ(read("it isn't 'of-theirs' nor 'of-ours'"), "it isn't 'a reservation' nor 'of-ours'");
}

}  // namespace
}  // namespace railweave::api
