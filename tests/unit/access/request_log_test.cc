// Answered requests in the log: all of them at debug, slow and failed ones as warnings, none of them with what it must not have.
#include "services/rest/access/request_log.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "services/rest/access/caller.h"
#include "tests/support/kept_log.h"

namespace railweave::api {
namespace {

using Lines = std::vector<std::string>;

class RequestLogTest : public testing::Test {
 protected:
  void open(const std::string& levels, RequestLog::Options options = {}) {
    log_.emplace(log::Log(kept_, log::Levels::parse(levels).value()), options);
  }
  void note(int status, std::int64_t duration_us, bool is_timed = true, std::string_view path = "/v1/jobs") {
    AccessRecord record;
    record.request_id = "r-1";
    record.remote_address = "192.0.2.7";
    record.method = Method::get;
    record.path = path;
    record.status = status;
    record.sent_bytes = 12;
    record.duration_us = duration_us;
    record.is_timed = is_timed;
    log_->note(record, RateLimit::Clock::time_point());
  }

  const std::shared_ptr<log::testing::KeptLines> kept_ = std::make_shared<log::testing::KeptLines>();
  std::optional<RequestLog> log_;
};

TEST_F(RequestLogTest, TellsOfEachAtDebugOrWhereAllAreAskedFor) {
  open("info");
  note(200, 45);
  EXPECT_EQ(kept_->lines(), Lines());
  open("debug");
  note(200, 45);
  open("info", {.all = true});
  note(404, 46);
  EXPECT_EQ(kept_->lines(), (Lines{"debug rest request=r-1 192.0.2.7 GET /v1/jobs 200 12 B 45 us",
                                   "info rest request=r-1 192.0.2.7 GET /v1/jobs 404 12 B 46 us"}));
}

TEST_F(RequestLogTest, WarnsOfSlowAndFailedOnes) {
  open("info", {.slow = std::chrono::milliseconds(10)});
  note(200, 10'000);
  note(200, 10'001, false);
  EXPECT_EQ(kept_->lines(), Lines()) << "not longer than that, and a stream";
  note(200, 10'001);
  note(500, 1);
  EXPECT_EQ(kept_->lines(), (Lines{"warn rest request=r-1 slow: 192.0.2.7 GET /v1/jobs 200 12 B 10001 us",
                                   "warn rest request=r-1 failed: 192.0.2.7 GET /v1/jobs 500 12 B 1 us"}));
}

TEST_F(RequestLogTest, AFloodOfFailuresDoesNotFillTheLog) {
  open("info");
  for (int i = 0; i < 1000; ++i) note(503, 1);
  EXPECT_EQ(kept_->lines().size(), RefusalLog::kLinesAtOnce);
}

TEST_F(RequestLogTest, ATokenInAPathIsNotWritten) {
  open("debug");
  note(404, 1, true, "/v1/rw_abcdefghijkl_mnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234");
  note(401, 1, true, "/v1/rw_abcdefghijkl_mnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234");
  EXPECT_EQ(kept_->with("mnopqrst").size(), 0U);
  EXPECT_EQ(kept_->with("rw_abcdefghijkl_***").size(), 3U) << "the refused one has a line of its own as well";
}

}  // namespace
}  // namespace railweave::api
