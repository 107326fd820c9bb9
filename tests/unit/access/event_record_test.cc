// Records as GET /v1/events shows them, whatever their payload is.
#include <gtest/gtest.h>

#include "services/json/strict_json.h"
#include "services/rest/access/shown_event.h"

namespace railweave::api::event_record_test {
namespace {

db::Record record_with(std::string kind, std::string payload) {
  db::Record record;
  record.seq = 7;
  record.kind = std::move(kind);
  record.subject_kind = "job";
  record.subject_id = "job-000001";
  record.actor = "stranger";
  record.payload = std::move(payload);
  return record;
}

std::string written(const db::Record& record) {
  return shown_event(control::ClusterState(), {control::Role::administrator, "", "me"}, record).value_or("");
}

TEST(EventRecords, HaveTheHeadingAndThePayload) {
  const Json shown =
      Json::parse(written(record_with("job.queued", R"({"summary":"queued","severity":"info","data":{"number":1}})")));
  EXPECT_EQ(shown["seq"], 7);
  EXPECT_EQ(shown["subject"]["id"], "job-000001");
  EXPECT_EQ(shown["summary"], "queued");
  EXPECT_EQ(shown["data"]["number"], 1);
}

TEST(EventRecords, APayloadThatIsNoObjectIsSaidToBeUnreadable) {
  for (const char* kind : {"job.queued", "webhook.put"}) {
    for (const char* payload : {"", "{", "{}", "}", "[1]", "null", "7", "\"\"", "{\"data\"", "{\"data"}) {
      const std::string text = written(record_with(kind, payload));
      const Json shown = Json::parse(text, nullptr, false);
      ASSERT_TRUE(shown.is_object()) << kind << " " << payload << ": " << text;
      EXPECT_EQ(shown["seq"], 7);
      EXPECT_EQ(shown["severity"], "error");
      EXPECT_TRUE(shown["data"].is_object());
      EXPECT_NE(shown["summary"].get<std::string>().find("cannot be read"), std::string::npos) << text;
    }
  }
}

// The record before and who asked are in the payload, first as it is written, by the alphabet where it was read in between.
TEST(EventRecords, NothingOfTheRecordBeforeAndOfWhoAsked) {
  const std::string after = std::string(R"("after":")") + std::string(64, 'a') + "\"";
  const std::string origin = R"("origin":{"requestId":"},\"summary\":","tenant":"t-secret","token":"k-secret"})";
  const std::string rest = R"("summary":"s","severity":"info","data":{"number":1})";
  for (const std::string& payload :
       {"{" + after + "," + rest + "}", "{" + origin + "," + rest + "}", "{" + after + "," + origin + "," + rest + "}",
        "{" + after + R"(,"data":{"number":1},)" + origin + R"(,"severity":"info","summary":"s"})"}) {
    const std::string text = written(record_with("job.queued", payload));
    const Json shown = Json::parse(text, nullptr, false);
    ASSERT_TRUE(shown.is_object()) << payload << ": " << text;
    EXPECT_EQ(shown["data"]["number"], 1) << text;
    EXPECT_EQ(shown["summary"], "s") << text;
    EXPECT_EQ(shown.size(), 8U) << text;
    EXPECT_EQ(text.find("secret"), std::string::npos) << text;
  }
}

TEST(EventRecords, OneThatIsDamagedSaysSo) {
  db::Record record = record_with(db::kDamagedKind, "");
  record.damaged = true;
  const Json shown = Json::parse(written(record));
  EXPECT_EQ(shown["type"], "event.damaged");
  EXPECT_EQ(shown["damaged"], true);
  EXPECT_TRUE(shown["data"].empty());
}

TEST(EventRecords, NoHashOfAToken) {
  const std::string shown = written(
      record_with("token.issued", R"({"summary":"s","severity":"info","data":{"id":"abc","sha256":"9f86d08188"}})"));
  EXPECT_EQ(shown.find("9f86d08188"), std::string::npos);
  EXPECT_EQ(Json::parse(shown)["data"]["id"], "abc");
}

TEST(EventRecords, NoSecretOfAWebhook) {
  const std::string shown = written(
      record_with("webhook.put", R"({"summary":"s","severity":"info","data":{"url":"u","secret":"tell-stranger"}})"));
  EXPECT_EQ(shown.find("tell-stranger"), std::string::npos);
  EXPECT_EQ(Json::parse(shown)["data"]["url"], "u");
  for (const char* payload : {R"({"summary":"s","secret":"tell-stranger"})", R"({"data":["tell-stranger"]})"}) {
    EXPECT_EQ(written(record_with("webhook.put", payload)).find("tell-stranger"), std::string::npos) << payload;
  }
}

}  // namespace
}  // namespace railweave::api::event_record_test
