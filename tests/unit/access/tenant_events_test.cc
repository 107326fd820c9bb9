// What a member is shown of events.
#include "services/rest/access/tenant_events.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace railweave::api {
namespace {

control::ClusterState one_job_each() {
  control::ClusterState state;
  auto tokens = std::make_shared<control::AccessTokenTable>();
  for (const auto& [name, tenant] :
       {std::pair("bot", "ours"), std::pair("their-bot", "theirs"), std::pair("night", "")}) {
    control::AccessToken token;
    token.id = name;
    token.name = name;
    token.tenant = tenant;
    (*tokens)[token.id] = token;
  }
  state.access_tokens = tokens;
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

std::optional<std::string> shown(const std::string& kind, const std::string& subject_kind, const std::string& subject,
                                 const std::string& data = "{}", const std::string& actor = "railweave") {
  static const control::ClusterState state = one_job_each();
  return event_of_tenant(state, "ours", "me",
                         {7, 1, 0, actor, kind, 1, subject_kind, subject,
                          R"({"summary":"of job-000001, job-000002","severity":"info","data":)" + data + "}"});
}

bool has(const std::optional<std::string>& event, std::string_view text) {
  return event && event->find(text) != std::string::npos;
}

TEST(TenantEvents, ItsOwnAreShownAndOthersAreNot) {
  for (const auto* kind : {"job.placed", "job.evicted", "guarantee.atRisk", "topology.differs"}) {
    EXPECT_TRUE(shown(kind, "job", "job-000001")) << kind;
    EXPECT_FALSE(shown(kind, "job", "job-000002")) << kind;
    EXPECT_FALSE(shown(kind, "job", "job-000099")) << "one that is forgotten may have been of anyone";
  }
  for (const auto* kind : {"tenant", "contract"}) {
    EXPECT_TRUE(shown("tenant.put", kind, "ours"));
    EXPECT_FALSE(shown("tenant.put", kind, "theirs"));
  }
  for (const auto* kind :
       {"token", "reservation", "link", "switch", "node", "subnet", "topology", "queue", "routes", "qosClasses"}) {
    EXPECT_FALSE(shown("x.y", kind, "ours")) << kind;
  }
  EXPECT_TRUE(has(shown("job.ended", "job", "job-000001"), "of job-000001, job-000000"));
}

TEST(TenantEvents, AlarmsAreThoseOfItsJobs) {
  const auto link = shown("alarm.raised", "link", "a/1--b/2", R"({"jobs":["job-000002","job-000001"]})");
  EXPECT_TRUE(has(link, R"("jobs":["job-000001"])"));
  EXPECT_FALSE(shown("alarm.raised", "link", "a/1--b/2", R"({"jobs":["job-000002"]})"));
  EXPECT_FALSE(shown("alarm.raised", "link", "a/1--b/2"));
  EXPECT_TRUE(shown("alarm.raised", "job", "job-000001", R"({"jobs":[]})"));
  EXPECT_FALSE(shown("alarm.raised", "job", "job-000002", R"({"jobs":["job-000002"]})"));
  EXPECT_TRUE(shown("alarm.cleared", "alarm", "job.damaged:job-000001"));
  EXPECT_FALSE(shown("alarm.cleared", "alarm", "job.damaged:job-000002"));
  EXPECT_FALSE(shown("alarm.cleared", "alarm", "link.down:a/1--b/2"));
}

TEST(TenantEvents, NumbersOfOtherJobsAndOtherActorsAreLeftOut) {
  EXPECT_FALSE(has(shown("job.evicted", "job", "job-000001", R"({"inFavourOf":2,"number":1})"), "inFavourOf"));
  EXPECT_TRUE(has(shown("job.evicted", "job", "job-000001", R"({"inFavourOf":1,"number":1})"), R"("inFavourOf":1)"));
  for (const auto* actor : {"railweave", "me", "bot", "night"}) {
    EXPECT_TRUE(has(shown("job.ended", "job", "job-000001", "{}", actor), std::string(R"("actor":")") + actor))
        << actor;
  }
  for (const auto* actor : {"their-bot", "who-knows"}) {
    EXPECT_TRUE(has(shown("job.ended", "job", "job-000001", "{}", actor), R"("actor":"another")")) << actor;
  }
  EXPECT_FALSE(shown("job.ended", "job", "job-000001", "[]")) << "what is not as it should be is not shown";
}

}  // namespace
}  // namespace railweave::api
