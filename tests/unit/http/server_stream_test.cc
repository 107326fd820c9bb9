// Server-sent events, and stopping the server while requests and streams are open.
#include <atomic>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/http/message/event_stream.h"
#include "tests/unit/http/raw_socket.h"
#include "tests/unit/http/test_server.h"

namespace railweave::api {
namespace {

using std::chrono::milliseconds;

// Hands the sinks of /events to the test.
class ServerStream : public testing::Test {
 protected:
  explicit ServerStream(ServerOptions options = {})
      : server(std::move(options), [this](Router& router) {
          router.get("/events", [this](const Request& request, const Responder& answer) {
            const std::string* resumed = request.headers.find("Last-Event-ID");
            answer(
                Response::events([this, from = resumed == nullptr ? "" : *resumed](std::shared_ptr<StreamSink> sink) {
                  const std::lock_guard lock(mutex);
                  if (!from.empty()) sink->send(format_event("", "", "after " + from));
                  sinks.push_back(std::move(sink));
                }));
          });
        }) {}

  std::shared_ptr<StreamSink> sink(std::size_t index) {
    std::shared_ptr<StreamSink> found;
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex);
      if (sinks.size() > index) found = sinks[index];
      return found != nullptr;
    }));
    return found;
  }

  std::mutex mutex;
  std::vector<std::shared_ptr<StreamSink>> sinks;
  TestServer server;  // goes first: its threads use the rest
};

TEST_F(ServerStream, DeliversEventsAsTheyAreSentAndEndsWhenClosed) {
  RawSocket socket(server.port());
  socket.send(get_request("/events", "Last-Event-ID: 41\r\nAccept-Encoding: gzip\r\n"));
  const std::string head = socket.read_until("\r\n\r\n");
  EXPECT_THAT(head, testing::HasSubstr("200 OK"));
  EXPECT_THAT(head, testing::HasSubstr("Content-Type: text/event-stream\r\n"));
  EXPECT_THAT(head, testing::HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(socket.read_until("\n\n"), testing::HasSubstr("data: after 41"));
  EXPECT_TRUE(sink(0)->send(format_event("42", "job.placed", "{}")));
  EXPECT_THAT(socket.read_until("\n\n"), testing::HasSubstr("id: 42\nevent: job.placed\ndata: {}"));
  std::thread sender([&] {
    for (int i = 0; i < 500; ++i) sink(0)->send(format_event(std::to_string(i), "", std::to_string(i)));
    sink(0)->close("enough");
  });
  for (int i = 0; i < 500; ++i) {
    ASSERT_THAT(socket.read_until("\n\n"), testing::HasSubstr("id: " + std::to_string(i) + "\n"));
  }
  EXPECT_THAT(socket.read_until("\n\n"), testing::HasSubstr(": closed: enough"));
  EXPECT_THAT(socket.read_all(), testing::EndsWith("0\r\n\r\n"));
  sender.join();
  EXPECT_TRUE(sink(0)->closed());
  EXPECT_FALSE(sink(0)->send("late"));
}

TEST_F(ServerStream, GoesWithoutChunksToHttp10AndWithoutABodyToHead) {
  RawSocket old(server.port());
  old.send("GET /events HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.read_until("\r\n\r\n").find("chunked"), std::string::npos);
  sink(0)->send(format_event("", "", "x"));
  sink(0)->close();
  EXPECT_EQ(old.read_all(), "data: x\n\n");
  RawSocket head(server.port());
  head.send("HEAD /events HTTP/1.1\r\nHost: localhost\r\n\r\n" + get_request("/hello"));
  EXPECT_EQ(head.read_answer(true).headers.at("content-type"), "text/event-stream");
  EXPECT_EQ(head.read_answer().body, "hello\n");
}

TEST_F(ServerStream, EndsForTheProducerWhenTheClientGoes) {
  RawSocket socket(server.port());
  socket.send(get_request("/events"));
  socket.read_until("\r\n\r\n");
  const std::shared_ptr<StreamSink> kept = sink(0);
  EXPECT_EQ(server->metrics().open_streams, 1U);
  socket.close();
  EXPECT_TRUE(eventually([&] { return kept->closed(); }));
  EXPECT_TRUE(eventually([&] { return server->metrics().open_streams == 0; }));
}

TEST_F(ServerStream, StopEndsStreamsCleanly) {
  RawSocket socket(server.port());
  socket.send(get_request("/events"));
  socket.read_until("\r\n\r\n");
  sink(0)->send(format_event("1", "", "last"));
  server->stop(milliseconds(5000));
  const std::string rest = socket.read_all();
  EXPECT_THAT(rest, testing::HasSubstr("data: last"));
  EXPECT_THAT(rest, testing::HasSubstr(": closed: the server is stopping"));
  EXPECT_THAT(rest, testing::EndsWith("0\r\n\r\n"));
  EXPECT_FALSE(sink(0)->send("after the server"));
}

class ServerStreamBounds : public ServerStream {
 protected:
  static ServerOptions bounded() {
    ServerOptions options;
    options.stream_backlog_bytes = 100'000;
    options.stream_heartbeat = milliseconds(30);
    options.max_streams = 2;
    return options;
  }
  ServerStreamBounds() : ServerStream(bounded()) {}
};

TEST_F(ServerStreamBounds, BeatsWhileThereIsNothingToSay) {
  RawSocket socket(server.port());
  socket.send(get_request("/events"));
  socket.read_until("\r\n\r\n");
  EXPECT_EQ(socket.read_until("3\r\n:\n\n\r\n"), "3\r\n:\n\n\r\n");
  EXPECT_EQ(socket.read_until("3\r\n:\n\n\r\n"), "3\r\n:\n\n\r\n");
}

TEST_F(ServerStreamBounds, CutsOffAClientThatIsTooSlowAndSaysWhy) {
  RawSocket socket(server.port(), 4096);
  socket.send(get_request("/events"));
  socket.read_until("\r\n\r\n");
  const std::string event = format_event("", "", std::string(10'000, 'x'));
  // Not cut off before the sockets' own buffers are full, and never beyond the backlog after that.
  int sent = 0;
  while (sink(0)->send(event)) ASSERT_LT(++sent, 100'000);
  EXPECT_TRUE(sink(0)->closed());
  const std::string rest = socket.read_all();
  EXPECT_THAT(rest, testing::HasSubstr(": closed: the client was more than 100000 bytes behind"));
  EXPECT_THAT(rest, testing::EndsWith("0\r\n\r\n"));
  EXPECT_TRUE(eventually([&] { return server->metrics().streams_cut == 1; }));
}

TEST_F(ServerStreamBounds, RefusesMoreStreamsThanItMayHave) {
  RawSocket first(server.port());
  RawSocket second(server.port());
  RawSocket third(server.port());
  for (RawSocket* socket : {&first, &second}) {
    socket->send(get_request("/events"));
    socket->read_until("\r\n\r\n");
  }
  third.send(get_request("/events"));
  EXPECT_EQ(third.read_answer().status, 503);
  first.close();
  EXPECT_TRUE(eventually([&] { return server->metrics().open_streams == 1; }));
  RawSocket fourth(server.port());
  fourth.send(get_request("/events"));
  EXPECT_THAT(fourth.read_until("\r\n\r\n"), testing::HasSubstr("200 OK"));
}

TEST(ServerStop, LetsRequestsFinishAndRefusesNewConnections) {
  Gate gate;
  TestServer server({}, [&](Router& router) {
    router.get("/compute",
               [&](const Request&, const Responder& answer) {
                 gate.pass();
                 answer(Response::text("finished"));
               },
               {.compute = true});
  });
  RawSocket idle(server.port());
  idle.send(get_request("/hello"));
  idle.read_answer();
  RawSocket busy(server.port());
  busy.send(get_request("/compute") + get_request("/hello"));
  gate.await_arrivals(1);
  std::thread stopping([&] { server->stop(milliseconds(10'000)); });
  EXPECT_TRUE(idle.ends());
  gate.open();
  const RawAnswer answer = busy.read_answer();
  EXPECT_EQ(answer.body, "finished");
  EXPECT_EQ(answer.headers.at("connection"), "close");
  EXPECT_TRUE(busy.ends());  // what came after it is not begun
  stopping.join();
}

TEST(ServerStop, EndsWhatDoesNotFinishInTime) {
  std::vector<Responder> kept;
  std::shared_ptr<StreamSink> sink;
  {
    TestServer server({}, [&](Router& router) {
      router.get("/never", [&](const Request&, const Responder& answer) { kept.push_back(answer); });
      router.get("/events", [&](const Request&, const Responder& answer) {
        answer(Response::events([&](std::shared_ptr<StreamSink> given) { sink = std::move(given); }));
      });
    });
    RawSocket never(server.port());
    never.send(get_request("/never"));
    RawSocket half(server.port());
    half.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc");
    RawSocket stream(server.port());
    stream.send(get_request("/events"));
    stream.read_until("\r\n\r\n");
    ASSERT_TRUE(eventually([&] { return server->metrics().requests_in_flight == 3; }));
    server->stop(milliseconds(50));
    EXPECT_TRUE(never.ends());
  }
  // Both outlive the server.
  EXPECT_TRUE(kept.front()(Response::text("too late")));
  EXPECT_FALSE(sink->send("too late"));
}

TEST(ServerStop, IsBoundedAlthoughAComputationGoesOn) {
  Gate gate;
  TestServer server({}, [&](Router& router) {
    router.get("/long", [&](const Request&, const Responder&) { gate.pass(); }, {.compute = true});
  });
  RawSocket socket(server.port());
  socket.send(get_request("/long"));
  gate.await_arrivals(1);
  EXPECT_FALSE(server->stop_within(std::chrono::milliseconds(10), std::chrono::milliseconds(10)));
  EXPECT_TRUE(socket.ends());
  gate.open();
  EXPECT_TRUE(server->stop_within(std::chrono::milliseconds(0), std::chrono::seconds(20)));
}

TEST(ServerStop, MayComeAtAnyMoment) {
  for (int round = 0; round < 30; ++round) {
    std::vector<std::thread> workers;
    std::mutex mutex;
    {
      TestServer server({}, [&](Router& router) {
        router.get("/later", [&](const Request&, const Responder& answer) {
          const std::lock_guard lock(mutex);
          workers.emplace_back([answer] { answer(Response::text("x")); });
        });
        router.get("/events", [&](const Request&, const Responder& answer) {
          answer(Response::events([&](const std::shared_ptr<StreamSink>& sink) {
            const std::lock_guard lock(mutex);
            workers.emplace_back([sink] {
              while (sink->send(format_event("", "", "x"))) std::this_thread::yield();
            });
          }));
        });
      });
      std::atomic<int> answers{0};
      std::vector<std::thread> clients;
      for (int client = 0; client < 4; ++client) {
        clients.emplace_back([port = server.port(), client, &answers] {
          RawSocket socket(port);
          for (int i = 0; i < 20 && socket.send(get_request(client == 0 ? "/events" : "/later")); ++i) {
            socket.read_answer();
            if (client > 0) ++answers;
          }
        });
      }
      EXPECT_TRUE(eventually([&] { return answers >= 2 * round; }));  // of 60
      server->stop(milliseconds(20));
      for (std::thread& client : clients) client.join();
    }
    for (std::thread& worker : workers) worker.join();
  }
}

}  // namespace
}  // namespace railweave::api
