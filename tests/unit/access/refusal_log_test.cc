// Refused requests in the log: who asked for what, and no more lines than the log can take.
#include "services/rest/access/refusal_log.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "services/rest/access/caller.h"

namespace railweave::api {
namespace {

using namespace std::chrono_literals;

class RefusalLogTest : public testing::Test {
 protected:
  void note(int status, const Caller* caller = nullptr, std::string_view path = "/v1/tenants/a") {
    AccessRecord record;
    record.request_id = "r-1";
    record.remote_address = "192.0.2.7";
    record.method = Method::put;
    record.path = path;
    record.status = status;
    record.caller = caller;
    log_.note(record, now_);
  }

  std::vector<std::string> lines_;
  RefusalLog log_{[this](const std::string& text) { lines_.push_back(text); }};
  RateLimit::Clock::time_point now_ = RateLimit::Clock::now();
};

TEST_F(RefusalLogTest, SaysWhoAskedForWhat) {
  const Caller alice{"alice", control::Role::member, "research", "abcdefghijkl", 0};
  for (const int status : {200, 201, 304, 400, 404, 409, 429, 500}) note(status, &alice);
  EXPECT_TRUE(lines_.empty());
  note(403, &alice);
  note(401);
  EXPECT_EQ(lines_,
            (std::vector<std::string>{
                "refused with 403: PUT /v1/tenants/a from 192.0.2.7 by alice, member of research, token abcdefghijkl, "
                "request r-1",
                "refused with 401: PUT /v1/tenants/a from 192.0.2.7, request r-1"}));
}

TEST_F(RefusalLogTest, AFloodDoesNotFillTheLogNorForgeLines) {
  for (int i = 0; i < 1000; ++i) note(401);
  EXPECT_EQ(lines_.size(), RefusalLog::kLinesAtOnce);
  now_ += 1s;
  note(401, nullptr, "/v1/\nrefused\x1b[2J" + std::string(10'000, 'x'));
  ASSERT_EQ(lines_.size(), RefusalLog::kLinesAtOnce + 1);
  EXPECT_TRUE(lines_.back().ends_with("; 900 before it were not logged")) << lines_.back();
  EXPECT_NE(lines_.back().find("/v1/?refused?[2J"), std::string::npos);
  EXPECT_LT(lines_.back().size(), 400U);
}

}  // namespace
}  // namespace railweave::api
