// The two ends of server-sent events without a network between them.
#include "api/http/message/event_stream.h"

#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/client/event_parser.h"
#include "tests/unit/http/test_server.h"

namespace railweave::api {
namespace {

std::vector<ServerEvent> read(const std::string& stream, std::size_t piece, std::size_t limit = 1 << 20) {
  std::vector<ServerEvent> events;
  EventParser parser(limit);
  for (std::size_t at = 0; at < stream.size(); at += piece) {
    const auto outcome = parser.feed(std::string_view(stream).substr(at, piece), [&](const ServerEvent& event) {
      events.push_back(event);
      return true;
    });
    EXPECT_EQ(outcome, EventParser::Outcome::ok);
  }
  return events;
}

TEST(EventFormat, ComesBackAsItWasSent) {
  std::mt19937 random(4);
  const std::string alphabet = "ab: \n{}";
  const auto text = [&](std::size_t max) {
    std::string out(random() % max, ' ');
    for (char& c : out) c = alphabet[random() % alphabet.size()];
    return out;
  };
  for (int round = 0; round < 300; ++round) {
    std::string stream = "\xef\xbb\xbf";
    std::vector<std::string> sent;
    for (int i = 0; i < 5; ++i) {
      sent.push_back(text(20));
      stream += format_event(std::to_string(i), i % 2 == 0 ? "" : "kind", sent.back());
      stream += ":heartbeat\n\n";
    }
    for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{7}, stream.size()}) {
      const std::vector<ServerEvent> events = read(stream, piece);
      ASSERT_EQ(events.size(), sent.size());
      for (std::size_t i = 0; i < sent.size(); ++i) {
        EXPECT_EQ(events[i].data, sent[i]);
        EXPECT_EQ(events[i].id, std::to_string(i));
        EXPECT_EQ(events[i].type, i % 2 == 0 ? "message" : "kind");
      }
    }
  }
}

TEST(EventFormat, CannotBeBrokenOutOf) {
  EXPECT_EQ(format_event("1\ndata: x", "a\r\n\r\nb", "one\r\ntwo\rthree\n"),
            "id: 1data: x\nevent: ab\ndata: one\ndata: two\ndata: three\ndata: \n\n");
}

TEST(EventParser, ReadsWhatTheStandardShows) {
  for (const std::string end : {"\n", "\r", "\r\n"}) {
    std::string stream;
    for (const char* line :
         {": test stream", "", "data: first event", "id: 1", "", "data:second event", "id", "", "data:  third event",
          "", "data", "", "data", "data", "", "retry: 1500", "", "data: incomplete"}) {
      stream += line + end;
    }
    for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, stream.size()}) {
      const std::vector<ServerEvent> events = read(stream, piece);
      ASSERT_EQ(events.size(), 5U);
      EXPECT_EQ(events[0].data, "first event");
      EXPECT_EQ(events[0].id, "1");
      EXPECT_EQ(events[1].data, "second event");
      EXPECT_EQ(events[1].id, "");
      EXPECT_EQ(events[2].data, " third event");
      EXPECT_EQ(events[3].data, "");
      EXPECT_EQ(events[4].data, "\n");
    }
  }
}

TEST(EventParser, BoundsWhatItKeeps) {
  const auto ignore = [](const ServerEvent&) { return true; };
  EventParser endless_line(1000);
  EXPECT_EQ(endless_line.feed("data: " + std::string(2000, 'x'), ignore), EventParser::Outcome::too_large);
  EventParser endless_event(1000);
  std::string lines;
  for (int i = 0; i < 200; ++i) lines += "data: 123456\n";
  EXPECT_EQ(endless_event.feed(lines, ignore), EventParser::Outcome::too_large);
}

TEST(StreamSink, DropsNothingWithinTheBacklogAndEverythingBeyond) {
  StreamSink sink(10);
  EXPECT_TRUE(sink.send("12345"));
  EXPECT_TRUE(sink.send("67890"));
  EXPECT_EQ(sink.take(7).bytes, "12345");
  EXPECT_EQ(sink.backlog_bytes(), 5U);
  EXPECT_TRUE(sink.send("abcde"));
  EXPECT_FALSE(sink.send("!"));
  EXPECT_TRUE(sink.closed());
  const StreamSink::Batch batch = sink.take(1000);
  EXPECT_THAT(batch.bytes, testing::StartsWith(": closed: the client was more than 10 bytes behind"));
  EXPECT_TRUE(batch.last);
  EXPECT_TRUE(batch.cut);
}

TEST(Responder, AnswersExactlyOnce) {
  std::vector<int> statuses;
  const auto deliver = [&](const Response& response) { statuses.push_back(response.status); };
  const auto request = std::make_shared<const Request>();
  {
    const Responder first(request, deliver);
    const Responder copy = first;
    EXPECT_TRUE(copy(Response::empty(204)));
    EXPECT_FALSE(first(Response::empty(205)));
  }
  {
    const Responder dropped(request, deliver);
    const Responder copy = dropped;
  }
  EXPECT_THAT(statuses, testing::ElementsAre(204, 500));
}

}  // namespace
}  // namespace railweave::api
