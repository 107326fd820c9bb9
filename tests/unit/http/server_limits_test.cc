// Every bound: sizes, times, connections, memory.
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "api/http/dispatch/compute_pool.h"
#include "api/http/dispatch/connection_slots.h"
#include "api/http/dispatch/fair_slots.h"
#include "tests/unit/http/raw_socket.h"
#include "tests/unit/http/test_server.h"

namespace railweave::api {
namespace {

using std::chrono::milliseconds;

// By zlib directly.
std::string gzipped(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 128, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

TEST(ServerLimits, HeadersAreBoundedInSizeAndNumber) {
  ServerOptions options;
  options.max_header_bytes = 4096;
  options.max_header_count = 20;
  options.max_target_bytes = 1000;
  const TestServer server(options);
  const auto answer_to = [&](const std::string& request) {
    RawSocket socket(server.port());
    socket.send(request);
    return socket.read_answer();
  };
  EXPECT_EQ(answer_to(get_request("/hello", "X: " + std::string(3000, 'x') + "\r\n")).status, 200);
  EXPECT_EQ(code_of(answer_to(get_request("/hello", "X: " + std::string(5000, 'x') + "\r\n"))), "http.headersTooLarge");
  EXPECT_EQ(answer_to(get_request("/hello", "X: " + std::string(3'000'000, 'x') + "\r\n")).status, 431);
  std::string many;
  for (int i = 0; i < 30; ++i) many += "X: 1\r\n";
  EXPECT_EQ(code_of(answer_to(get_request("/hello", many))), "http.tooManyHeaders");
  EXPECT_EQ(answer_to(get_request("/things/" + std::string(900, 'x'))).status, 200);
  EXPECT_EQ(answer_to(get_request("/things/" + std::string(1100, 'x'))).status, 414);
  EXPECT_EQ(answer_to(get_request("/things/" + std::string(50'000, 'x'))).status, 414);
  EXPECT_EQ(answer_to(std::string(50'000, 'x')).status, 414);
}

TEST(ServerLimits, BodiesAreBoundedByRoute) {
  ServerOptions options;
  options.body_limit_bytes = 1000;
  const TestServer server(options, [](Router& router) {
    router.put("/large",
               [](const Request& request, const Responder& answer) {
                 answer(Response::text(std::to_string(request.body.size())));
               },
               {.body_limit_bytes = 3'000'000});
  });
  RawSocket socket(server.port());
  socket.send(post_request("/echo", std::string(1000, 'x')));
  EXPECT_EQ(socket.read_answer().status, 200);
  socket.send("PUT /large HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n" +
              std::string(3'000'000, 'x'));
  EXPECT_EQ(socket.read_answer().body, "3000000");
  socket.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_EQ(code_of(socket.read_answer()), "http.bodyTooLarge");
  RawSocket chunked(server.port());
  chunked.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 3; ++i) chunked.send("190\r\n" + std::string(400, 'x') + "\r\n");
  EXPECT_EQ(chunked.read_answer().status, 413);
}

// The answer arrives although the client is still sending what is not read.
TEST(ServerLimits, ARefusedUploadLearnsWhy) {
  const TestServer server;
  RawSocket socket(server.port());
  std::thread sender([&] {
    socket.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30000000\r\n\r\n");
    socket.send(std::string(30'000'000, 'x'));
  });
  const RawAnswer answer = socket.read_answer();
  EXPECT_EQ(answer.status, 413);
  sender.join();
}

TEST(ServerLimits, CompressedBodiesAreInflatedWithinTheLimit) {
  ServerOptions options;
  options.body_limit_bytes = 100'000;
  const TestServer server(options);
  RawSocket socket(server.port());
  socket.send(post_request("/echo", gzipped("some text"), "Content-Encoding: gzip\r\n"));
  EXPECT_EQ(socket.read_answer().body, "some text");
  socket.send(post_request("/echo", gzipped("two ") + gzipped("members"), "Content-Encoding: gzip\r\n"));
  EXPECT_EQ(socket.read_answer().body, "two members");
  socket.send(post_request("/echo", gzipped(std::string(100'000, 'x')), "Content-Encoding: gzip\r\n"));
  EXPECT_EQ(socket.read_answer().body.size(), 100'000U);
  socket.send(post_request("/echo", "plain", "Content-Encoding: br\r\n"));
  const RawAnswer other = socket.read_answer();
  EXPECT_EQ(other.status, 415);
  EXPECT_EQ(other.headers.at("accept-encoding"), "gzip");
  const std::string bomb = gzipped(std::string(50'000'000, '\0'));
  ASSERT_LT(bomb.size(), 100'000U);
  for (const std::string& body : {bomb, gzipped(std::string(100'001, 'x'))}) {
    RawSocket bombed(server.port());
    bombed.send(post_request("/echo", body, "Content-Encoding: gzip\r\n"));
    EXPECT_EQ(bombed.read_answer().status, 413);
  }
  std::string truncated = gzipped("some text");
  truncated.pop_back();
  std::string wrong_sum = gzipped("some text");
  wrong_sum[wrong_sum.size() - 6] ^= 1;
  for (const std::string& body : {truncated, wrong_sum, std::string("not gzip"), gzipped("a") + "trailing"}) {
    RawSocket broken(server.port());
    broken.send(post_request("/echo", body, "Content-Encoding: gzip\r\n"));
    EXPECT_EQ(code_of(broken.read_answer()), "http.badGzip");
  }
}

TEST(ServerLimits, AllBodiesTogetherAreBounded) {
  ServerOptions options;
  options.bodies_in_flight_bytes = 100'000;
  Gate gate;
  std::vector<Responder> held;
  std::mutex mutex;
  const TestServer server(options, [&](Router& router) {
    router.post("/hold", [&](const Request&, const Responder& answer) {
      const std::lock_guard lock(mutex);
      held.push_back(answer);
    });
  });
  RawSocket first(server.port());
  first.send(post_request("/hold", std::string(80'000, 'x')));
  ASSERT_TRUE(eventually([&] {
    const std::lock_guard lock(mutex);
    return !held.empty();
  }));
  RawSocket second(server.port());
  second.send(post_request("/echo", std::string(80'000, 'x')));
  const RawAnswer refused = second.read_answer();
  EXPECT_EQ(refused.status, 503);
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  held.front()(Response::empty());
  EXPECT_EQ(first.read_answer().status, 204);
  held.clear();
  RawSocket third(server.port());
  third.send(post_request("/echo", std::string(80'000, 'x')));
  EXPECT_EQ(third.read_answer().status, 200);
}

TEST(ServerLimits, SlowClientsAreDisconnected) {
  ServerOptions impatient;
  impatient.idle_timeout = milliseconds(50);
  const TestServer other(impatient);
  RawSocket idle(other.port());
  EXPECT_TRUE(idle.ends());
  ServerOptions options;
  options.header_timeout = milliseconds(100);
  options.body_timeout = milliseconds(100);
  const TestServer server(options);
  RawSocket slow_head(server.port());
  slow_head.send("GET /hello HTTP/1.1\r\n");
  // Slowloris: a header now and then never completes the head, and buys no time.
  std::atomic<bool> answered{false};
  std::thread dripping([&] {
    for (int i = 0; i < 200 && slow_head.send("X: 1\r\n"); ++i) {
      if (eventually([&] { return answered.load(); }, milliseconds(10))) return;
    }
  });
  const RawAnswer head_answer = slow_head.read_answer();
  answered = true;
  EXPECT_EQ(head_answer.status, 408);
  dripping.join();
  RawSocket slow_body(server.port());
  slow_body.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\nabc");
  EXPECT_EQ(slow_body.read_answer().status, 408);
  EXPECT_TRUE(slow_body.ends());
  const HttpMetrics metrics = server->metrics();
  EXPECT_EQ(metrics.timeouts.at("head"), 1U);
  EXPECT_EQ(metrics.timeouts.at("body"), 1U);
}

TEST(ServerLimits, AClientThatDoesNotReadIsDisconnected) {
  ServerOptions options;
  options.write_timeout = milliseconds(150);
  const auto large = std::make_shared<const std::string>(std::string(64 << 20, 'x'));
  const auto add_large = [&](Router& router) {
    router.get("/large", [&](const Request&, const Responder& answer) {
      Response response;
      response.content_type = "application/octet-stream";
      response.shared_body = large;
      answer(std::move(response));
    });
  };
  const TestServer server(options, add_large);
  RawSocket socket(server.port(), 4096);
  socket.send(get_request("/large"));
  ASSERT_TRUE(eventually([&] { return !server->metrics().timeouts.empty(); }));
  EXPECT_EQ(server->metrics().timeouts["write"], 1U);
  const TestServer patient({}, add_large);
  RawSocket reader(patient.port());
  reader.send(get_request("/large"));
  EXPECT_EQ(reader.read_answer().body.size(), large->size());
}

TEST(ServerLimits, AHandlerThatNeverAnswersTimesOut) {
  ServerOptions options;
  options.answer_timeout = milliseconds(50);
  std::vector<Responder> kept;
  const TestServer server(options, [&](Router& router) {
    router.get("/never", [&](const Request&, const Responder& answer) { kept.push_back(answer); });
  });
  RawSocket socket(server.port());
  socket.send(get_request("/never"));
  EXPECT_EQ(code_of(socket.read_answer()), "http.noAnswerInTime");
  socket.send(get_request("/hello"));
  EXPECT_EQ(socket.read_answer().body, "hello\n");
  EXPECT_TRUE(kept.front()(Response::text("late: goes nowhere")));
  socket.send(get_request("/hello"));
  EXPECT_EQ(socket.read_answer().body, "hello\n");
}

// A server with a route that waits for the gate.
struct Busy {
  explicit Busy(ServerOptions options)
      : server(std::move(options), [this](Router& router) {
          router.get("/wait", [this](const Request&, const Responder& answer) {
            const std::lock_guard lock(mutex);
            waiting.push_back(answer);
          });
        }) {}
  // Sends a request that is not answered.
  void hold(RawSocket& socket, std::size_t so_many) {
    socket.send(get_request("/wait"));
    EXPECT_TRUE(eventually([&] {
      const std::lock_guard lock(mutex);
      return waiting.size() == so_many;
    }));
  }

  std::mutex mutex;
  std::vector<Responder> waiting;  // guarded by mutex
  TestServer server;
};

TEST(ServerLimits, ConnectionsBeyondTheLimitAreToldSo) {
  ServerOptions options;
  options.max_connections = 2;
  Busy busy(options);
  RawSocket first(busy.server.port());
  busy.hold(first, 1);
  {
    RawSocket second(busy.server.port());
    busy.hold(second, 2);
    RawSocket third(busy.server.port());
    third.send(get_request("/hello"));
    const RawAnswer refused = third.read_answer();
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.headers.at("connection"), "close");
    EXPECT_TRUE(refused.headers.contains("retry-after"));
    EXPECT_EQ(busy.server->metrics().refused_connections.at("limit"), 1U);
  }
  const std::lock_guard lock(busy.mutex);
  for (const Responder& answer : busy.waiting) answer(Response::text("done\n"));
  EXPECT_EQ(first.read_answer().body, "done\n");
}

TEST(ServerLimits, ConnectionsOfOneAddressCanBeBounded) {
  ServerOptions options;
  options.max_connections_per_address = 1;
  Busy busy(options);
  RawSocket first(busy.server.port());
  busy.hold(first, 1);
  RawSocket second(busy.server.port());
  EXPECT_EQ(second.read_answer().status, 503);
  EXPECT_EQ(busy.server->metrics().refused_connections.at("address"), 1U);
}

// Connections that say nothing, that break off in a head, and that had an answer: whoever comes is served all the same, and who is
// being answered stays.
TEST(ServerLimits, WhoWaitsMakesRoomForWhoComes) {
  ServerOptions options;
  options.max_connections = 4;
  Busy busy(options);
  RawSocket held(busy.server.port());
  busy.hold(held, 1);
  RawSocket kept(busy.server.port());
  kept.send(get_request("/hello"));
  EXPECT_EQ(kept.read_answer().status, 200);
  RawSocket silent(busy.server.port()), half(busy.server.port());
  half.send("GET /hello HTTP/1.1\r\nHost: lo");
  for (int i = 0; i < 20; ++i) {
    RawSocket next(busy.server.port());
    next.send(get_request("/hello"));
    EXPECT_EQ(next.read_answer().status, 200);
  }
  EXPECT_EQ(silent.read_all(), "") << "closed first";
  EXPECT_LE(busy.server->metrics().open_connections, 4U);
  const std::lock_guard lock(busy.mutex);
  busy.waiting.front()(Response::text("done\n"));
  EXPECT_EQ(held.read_answer().body, "done\n");
}

TEST(ConnectionSlots, NoAddressIsPushedOutByOneThatHasMore) {
  ConnectionSlots slots(4, 0);
  std::vector<std::string> closed;
  const auto wait = [&](const std::string& address, bool answered, const std::string& name) {
    const auto taken = slots.take(address);
    EXPECT_EQ(taken.limit, nullptr) << name;
    slots.close_by(taken.id, [&closed, name] { closed.push_back(name); });
    slots.waits(taken.id, answered);
    return taken.id;
  };
  wait("small", true, "kept");
  wait("small", false, "new");
  const auto busy = wait("large", false, "busy");
  EXPECT_TRUE(slots.busy(busy));
  const auto second = wait("large", true, "answered");
  wait("other", false, "other");  // who had no answer yet goes first
  EXPECT_EQ(closed, std::vector<std::string>{"new"});
  EXPECT_EQ(slots.open(), 4U);
  EXPECT_TRUE(slots.busy(second));
  EXPECT_STREQ(slots.take("large").limit, "limit") << "it has two, and the others one each";
  wait("third", false, "third");
  EXPECT_EQ(closed, (std::vector<std::string>{"new", "other"}));
  slots.release(busy);
  EXPECT_EQ(slots.open(), 3U);
}

TEST(ComputePool, AClientsTasksLeaveRoomForOthers) {
  ComputePool pool(8);  // not started: all wait
  const auto wait = [&](const std::string& client) { return pool.try_run(client, Work::quick, [] {}); };
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(wait("greedy")) << i;
  EXPECT_FALSE(wait("greedy"));
  EXPECT_TRUE(pool.go_on("greedy", Work::quick, [] {})) << "what was let in goes on";
  EXPECT_TRUE(wait("other"));
  EXPECT_TRUE(wait("third"));
  EXPECT_EQ(pool.load().queued, 7U);
  EXPECT_TRUE(pool.try_run("greedy", Work::quick, [] {}, ComputePool::Room::whole)) << "an administrator";
  EXPECT_FALSE(pool.try_run("greedy", Work::quick, [] {}, ComputePool::Room::whole)) << "the queue is full";
}

TEST(FairSlots, ATenantHasNoMoreThanItLeavesAndAnEighthIsForAdministrators) {
  FairSlots slots(32);
  const SlotOwner unknown{};
  const auto member = [](const std::string& tenant, const std::string& name) {
    return SlotOwner{name + " of " + tenant, tenant, false, tenant};
  };
  const auto fill = [&](const SlotOwner& owner) {
    std::size_t taken = 0;
    while (slots.take(owner) == FairSlots::Taken::yes) ++taken;
    return taken;
  };
  EXPECT_EQ(fill(member("greedy", "a")), 10U) << "a third: as many as are left to its tenant";
  EXPECT_EQ(fill(member("greedy", "b")), 3U);
  EXPECT_EQ(slots.take(member("greedy", "a")), FairSlots::Taken::share_used);
  for (int tenant = 0; tenant < 6; ++tenant) {
    EXPECT_GE(fill(member("other-" + std::to_string(tenant), "c")), 1U) << tenant;
  }
  EXPECT_GE(fill({"operator", "", false, ""}), 0U);
  while (slots.take(member("more-" + std::to_string(slots.open()), "d")) == FairSlots::Taken::yes) continue;
  const SlotOwner administrator{"admin", "", true, ""};
  EXPECT_EQ(slots.take(administrator), FairSlots::Taken::yes);
  slots.release(administrator);
  while (slots.take(unknown) == FairSlots::Taken::yes) continue;
  EXPECT_EQ(slots.take(administrator), FairSlots::Taken::full);
}

}  // namespace
}  // namespace railweave::api
