// What each role is shown of events.
#include "services/rest/access/shown_event.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "services/control/events/event_kind.h"
#include "services/rest/access/shown_events.h"
#include "tests/unit/access/two_tenants.h"

namespace railweave::api {
namespace {

control::ClusterState one_job_each() {
  control::ClusterState state = two_tenants();
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
  return state;
}

std::optional<std::string> shown(const std::string& kind, const std::string& subject_kind, const std::string& subject,
                                 const std::string& data = "{}", const std::string& actor = "railweave") {
  static const control::ClusterState state = one_job_each();
  return shown_event(state, {control::Role::member, "ours", "me"},
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
    EXPECT_FALSE(shown("job.ended", kind, "ours")) << kind;
  }
  EXPECT_FALSE(has(shown("job.ended", "job", "job-000001"), "job-000002")) << "a finished text of an older version";
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

// Everything that a kind could hold of the tenant `ours`, and secrets of every kind.
db::Record record_of(std::string_view kind) {
  const std::string name(kind);
  std::string subject_kind = name.substr(0, name.find('.')), subject = "job-000001";
  if (subject_kind == "guarantee" || subject_kind == "alarm" || subject_kind == "topology") subject_kind = "job";
  if (subject_kind == "tenant" || subject_kind == "contract") subject = "ours";
  if (subject_kind == "webhook") subject = "our-hook";
  if (name == "alarm.cleared") subject = "job.damaged:job-000001";
  return {7,
          1,
          0,
          "railweave",
          name,
          1,
          subject_kind,
          subject,
          R"({"summary":"s","severity":"info","data":{"jobs":["job-000001"],"sha256":"HASH","secret":"SECRET"}})"};
}

// The audience by the beginnings of names, so that it is not the table that the service reads.
std::set<control::Role> expected_roles(std::string_view kind) {
  using control::Role;
  std::set<Role> roles{Role::administrator};
  if (kind.starts_with("token.")) return roles;
  roles.insert(Role::fabric_operator);
  if (!kind.starts_with("webhook.")) roles.insert(Role::viewer);
  for (const auto* own : {"job.", "tenant.", "contract.", "guarantee.", "webhook.", "alarm.raised", "alarm.cleared",
                          "topology.differs"}) {
    if (kind.starts_with(own)) roles.insert(Role::member);
  }
  return roles;
}

TEST(ShownEvent, EveryKindToEveryRole) {
  control::ClusterState state = one_job_each();
  auto webhooks = std::make_shared<control::WebhookTable>();
  (*webhooks)["our-hook"].tenant = "ours";
  state.webhooks = webhooks;
  std::set<std::string_view> names;
  for (const auto& kind : control::kEventKinds) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name << " is in the table twice";
    std::set<control::Role> seen;
    for (const auto role : {control::Role::viewer, control::Role::member, control::Role::fabric_operator,
                            control::Role::administrator, control::Role::agent}) {
      const auto text =
          shown_event(state, {role, role == control::Role::member ? "ours" : "", "me"}, record_of(kind.name));
      if (!text) continue;
      seen.insert(role);
      for (const auto& [of, secret] : {std::pair("token.issued", "HASH"), std::pair("webhook.put", "SECRET")}) {
        EXPECT_TRUE(kind.name != of || text->find(secret) == std::string::npos) << *text;
      }
    }
    EXPECT_EQ(seen, expected_roles(kind.name)) << kind.name;
  }
  EXPECT_GT(names.size(), 60U);
}

// A record of the tenant `ours` in which everything that can name another does so.
db::Record record_with_others(std::string_view kind) {
  const std::string said =
      R"({"code":"c","parts":["before ",{"job":"job-000002","note":"THEIRS 49.5 Gb/s"},{"tenant":"theirs"},)"
      R"({"reservation":"window-of-theirs"},{"opaque":"job-000002 of theirs"}]})";
  db::Record record = record_of(kind);
  record.actor = "their-bot";
  record.payload = R"({"summary":"job-000002 of theirs","severity":"info","message":)" + said + R"(,"data":{)" +
                   (kind == "alarm.raised" ? R"("jobs":["job-000001","job-000002"],)" : "") +
                   R"("inFavourOf":2,"reason":)" + said + R"(,"text":)" + said + R"(,"damage":)" + said +
                   R"(,"history":[{"at":1,"reason":)" + said + "}]}}";
  return record;
}

// Every kind, as lists, webhooks (shown_event) and streams (ShownEvents) tell it.
TEST(ShownEvent, NoKindNamesAnotherTenantToAMember) {
  control::ClusterState state = one_job_each();
  auto webhooks = std::make_shared<control::WebhookTable>();
  (*webhooks)["our-hook"].tenant = "ours";
  state.webhooks = webhooks;
  ShownEvents stream;
  std::size_t told = 0, number = 0;
  for (const auto& kind : control::kEventKinds) {
    db::Record record = record_with_others(kind.name);
    record.seq += ++number;  // what is told of a number is kept
    const EventReader member{control::Role::member, "ours", "me"};
    std::vector<std::string> texts;
    if (const auto text = shown_event(state, member, record)) texts.push_back(*text);
    if (const auto text = stream.of(state, member, record)) texts.push_back(*text);
    EXPECT_TRUE(texts.empty() || texts.size() == 2) << kind.name;
    told += texts.size();
    for (const std::string& text : texts) {
      for (const char* foreign : {"job-000002", "theirs", "THEIRS", "their-bot", "49.5", R"("inFavourOf")"}) {
        EXPECT_EQ(text.find(foreign), std::string::npos) << kind.name << ": " << foreign << " in " << text;
      }
    }
    const auto whole = shown_event(state, {control::Role::administrator, "", "me"}, record);
    ASSERT_TRUE(whole) << kind.name;
    for (const char* there : {"job-000002", "theirs", "their-bot"}) {
      EXPECT_NE(whole->find(there), std::string::npos) << kind.name << ": the search above would show nothing";
    }
  }
  EXPECT_GT(told, 50U);
}

TEST(ShownEvent, AnUnknownKindIsForAdministrators) {
  const control::ClusterState state = one_job_each();
  for (const auto role : {control::Role::viewer, control::Role::member, control::Role::fabric_operator}) {
    EXPECT_FALSE(shown_event(state, {role, "ours", "me"}, record_of("job.ofANewerVersion")));
  }
  EXPECT_TRUE(shown_event(state, {control::Role::administrator, "", "me"}, record_of("job.ofANewerVersion")));
}

TEST(ShownEvent, WebhooksAreShownToMembersAsTheyWereSetLast) {
  control::ClusterState state = one_job_each();
  auto webhooks = std::make_shared<control::WebhookTable>();
  (*webhooks)["our-hook"].tenant = "ours";
  (*webhooks)["our-hook"].version = 8;
  state.webhooks = webhooks;
  const EventReader member{control::Role::member, "ours", "me"};
  db::Record put = record_of("webhook.put");
  EXPECT_FALSE(shown_event(state, member, put)) << "it may have been another tenant's before";
  put.seq = 8;
  EXPECT_TRUE(shown_event(state, member, put));
  EXPECT_FALSE(shown_event(state, {control::Role::member, "theirs", "me"}, put));
}

TEST(ShownEvent, NothingOfAnEarlierTenantOfTheSameName) {
  control::ClusterState state = one_job_each();
  auto tenants = std::make_shared<control::TenantTable>(*state.tenants);
  tenants->at("ours").created = 8;
  tenants->at("ours").first_job = 3;
  state.tenants = tenants;
  for (const auto& kind : control::kEventKinds) {
    db::Record record = record_of(kind.name);
    EXPECT_FALSE(shown_event(state, {control::Role::member, "ours", "me"}, record)) << kind.name;
    record.seq = 9;
    if (record.subject_kind == "job") {
      EXPECT_FALSE(shown_event(state, {control::Role::member, "ours", "me"}, record)) << kind.name;
    }
  }
}

}  // namespace
}  // namespace railweave::api
