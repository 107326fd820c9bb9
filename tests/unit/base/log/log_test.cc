#include "fabric/base/log/log.h"

#include <gtest/gtest.h>

#include "tests/support/kept_log.h"

namespace railweave::log {
namespace {

using testing::KeptLines;

TEST(Log, WritesNothingWithoutASink) {
  const Log log;
  EXPECT_FALSE(log.is_on(Level::error));
  log.error("{}", 1);
}

TEST(Log, EverySubjectHasALevelOfItsOwn) {
  const auto kept = std::make_shared<KeptLines>();
  const Log log(kept, Levels::parse("warn,live=debug").value());
  log.of(Subject::live).debug("2 links down");
  log.of(Subject::live).trace("a datagram");
  log.of(Subject::rest).info("GET /v1/jobs");
  log.of(Subject::rest).warn("slow");
  EXPECT_EQ(kept->lines(), (std::vector<std::string>{"debug live 2 links down", "warn rest slow"}));
}

TEST(Log, EveryLineOfASpanHasItsId) {
  const auto kept = std::make_shared<KeptLines>();
  const Log log = Log(kept, Levels()).of(Subject::control).span("request", "ab-1");
  log.info("event {} {}", 12, "job.placed");
  log.span("subnet", "plane-0").info("again");
  EXPECT_EQ(kept->lines(), (std::vector<std::string>{"info control request=ab-1 event 12 job.placed",
                                                     "info control request=ab-1 subnet=plane-0 again"}));
}

TEST(LogLevels, AreParsedOrRefusedByName) {
  EXPECT_EQ(Levels::parse("debug").value().of(Subject::store), Level::debug);
  const auto some = Levels::parse("control=trace,webhooks=off").value();
  EXPECT_EQ(some.of(Subject::control), Level::trace);
  EXPECT_EQ(some.of(Subject::webhooks), Level::off);
  EXPECT_EQ(some.of(Subject::rest), Level::info);
  for (const char* wrong : {"", "loud", "live=", "live=loud", "nothing=info", "=info", "info,"}) {
    const auto refused = Levels::parse(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_EQ(refused.error().code, "config.badLogLevel");
  }
  EXPECT_NE(Levels::parse("nothing=info").error().hint.find("webhooks"), std::string::npos);
}

TEST(LogLines, CarryNoSecret) {
  EXPECT_EQ(plain("refused rw_0123456789ab_cdefghijklmnopqrstuvwxyz0123456789ABCDEFGH."),
            "refused rw_0123456789ab_***.");
  EXPECT_EQ(plain("Bearer eyJhbGciOi.eyJzdWIi.c2ln, next"), "Bearer eyJ***, next");
  EXPECT_EQ(plain("cannot reach https://hooks.example:8443/T0/B1/SECRET?key=also, again"),
            "cannot reach https://hooks.example:8443/***, again");
  EXPECT_EQ(plain("http://user:word@host/x"), "http://***@host/***");
  EXPECT_EQ(plain("store postgresql://who:word@db:5432/railweave?password=word: down"),
            "store postgresql://***@db:5432/railweave down");
}

TEST(LogLines, KeepWhatIsNoSecret) {
  for (const char* text : {"listening at http://127.0.0.1:7470", "rw_short", "a/b -- c/d", "eyJ is a word",
                           "store var/railweave.db", "käse"}) {
    EXPECT_EQ(plain(text), text);
  }
}

TEST(LogLines, AreOneLineOfBoundedLength) {
  EXPECT_EQ(plain("a\nb\x1b[1mc\x7f"), "a?b?[1mc?");
  EXPECT_EQ(plain(std::string(100'000, 'x')).size(), 4096U);
}

}  // namespace
}  // namespace railweave::log
