// Work on compute threads: beside reads, in turns, bounded, and told when no client waits for it.
#include <atomic>
#include <functional>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/http/dispatch/compute_pool.h"
#include "tests/unit/http/raw_socket.h"
#include "tests/unit/http/test_server.h"

namespace railweave::api {
namespace {

using std::chrono::milliseconds;

TEST(ServerCompute, RunsBesideTheIoThreadsAndRefusesWhatIsTooMuch) {
  ServerOptions options;
  options.io_threads = 1;
  options.compute_threads = 1;
  options.compute_queue = 1;
  Gate gate;
  const TestServer server(options, [&](Router& router) {
    router.post("/compute",
                [&](const Request& request, const Responder& answer) {
                  gate.pass();
                  answer(Response::text("computed " + request.body));
                },
                {.compute = true});
  });
  RawSocket running(server.port());
  running.send(post_request("/compute", "a"));
  gate.await_arrivals(1);
  RawSocket queued(server.port());
  queued.send(post_request("/compute", "b"));
  EXPECT_TRUE(eventually([&] { return server->metrics().compute_queued > 0; }));
  RawSocket refused(server.port());
  refused.send(post_request("/compute", "c"));
  const RawAnswer answer = refused.read_answer();
  EXPECT_EQ(answer.status, 429);
  EXPECT_TRUE(answer.headers.contains("retry-after"));
  refused.send(get_request("/hello"));
  EXPECT_EQ(refused.read_answer().body, "hello\n");
  EXPECT_TRUE(eventually([&] { return server->metrics().requests_in_flight == 2; }));
  gate.open();
  EXPECT_EQ(running.read_answer().body, "computed a");
  EXPECT_EQ(queued.read_answer().body, "computed b");
}

TEST(ServerCompute, HeavyWorkNeverHoldsUpCheapReads) {
  ServerOptions options;
  options.compute_threads = 2;
  Gate gate;
  const TestServer server(options, [&](Router& router) {
    router.get("/heavy",
               [&](const Request&, const Responder& answer) {
                 gate.pass();
                 answer(Response::text("heavy"));
               },
               {.compute = true, .heavy = true});
    router.get("/quick", [](const Request&, const Responder& answer) { answer(Response::text("quick")); },
               {.compute = true});
  });
  std::vector<std::unique_ptr<RawSocket>> heavy;
  for (int i = 0; i < 4; ++i) {
    heavy.push_back(std::make_unique<RawSocket>(server.port()));
    heavy.back()->send(get_request("/heavy"));
  }
  gate.await_arrivals(1);
  RawSocket quick(server.port());
  quick.send(get_request("/quick"));
  EXPECT_EQ(quick.read_answer().body, "quick");
  EXPECT_EQ(server->metrics().compute_running, 1U);
  gate.open();
  ASSERT_EQ(heavy.size(), 4U);
  for (const auto& socket : heavy) EXPECT_EQ(socket->read_answer().body, "heavy");
}

// 200 callers leave: what they wanted is not computed, and the one that stays is answered at once.
TEST(ServerCompute, WorkOfClientsThatLeftIsDropped) {
  ServerOptions options;
  options.compute_threads = 1;
  options.compute_queue = 512;
  Gate gate;
  std::atomic<int> computed = 0;
  const TestServer server(options, [&](Router& router) {
    router.get("/first",
               [&](const Request&, const Responder& answer) {
                 gate.pass();
                 answer(Response::text("first"));
               },
               {.compute = true});
    router.get("/list",
               [&](const Request&, const Responder& answer) {
                 ++computed;
                 answer(Response::text("list"));
               },
               {.compute = true});
  });
  RawSocket first(server.port());
  first.send(get_request("/first"));
  gate.await_arrivals(1);
  for (int i = 0; i < 200; ++i) {
    RawSocket leaving(server.port());
    leaving.send(get_request("/list"));
    ASSERT_TRUE(eventually([&] { return server->metrics().compute_queued == static_cast<std::size_t>(i) + 1; }));
  }
  EXPECT_TRUE(eventually([&] { return server->metrics().abandoned == 200; }));
  gate.open();
  RawSocket last(server.port());
  last.send(get_request("/list"));
  EXPECT_EQ(last.read_answer().body, "list");
  EXPECT_EQ(computed, 1);
}

TEST(ServerCompute, RunningWorkIsToldThatItsClientLeftOrItsTimeIsOver) {
  ServerOptions options;
  options.answer_timeout = milliseconds(200);
  Gate gate;
  std::atomic<int> told = 0;
  const auto add = [&](Router& router) {
    router.get("/long",
               [&](const Request& request, const Responder&) {
                 gate.pass();
                 if (eventually([&] { return request.stop.stop_requested(); })) ++told;
               },
               {.compute = true, .heavy = true});
  };
  gate.open();
  const TestServer impatient(options, add);
  RawSocket waiting(impatient.port());
  waiting.send(get_request("/long"));
  EXPECT_EQ(waiting.read_answer().status, 503);
  EXPECT_TRUE(eventually([&] { return told == 1; }));
  const TestServer patient({}, add);
  {
    RawSocket leaving(patient.port());
    leaving.send(get_request("/long"));
    gate.await_arrivals(2);
  }
  EXPECT_TRUE(eventually([&] { return told == 2; }));
}

// One that asks for much waits behind itself: who has used less time is next.
// Who of the clients ran, in order, where one of them has asked for most and before the others.
std::string order_of_turns() {
  ComputePool pool(100);
  Gate gate;
  std::mutex mutex;
  std::string order;
  EXPECT_TRUE(pool.try_run("a", Work::quick, [&] { gate.pass(); }));
  const auto note = [&](const char* who) {
    return [&, who] {
      const std::lock_guard lock(mutex);
      order += who;
    };
  };
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(pool.try_run("a", Work::quick, note("a")));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(pool.try_run("b", Work::quick, note("b")));
  EXPECT_TRUE(pool.try_run("c", Work::heavy, note("C")));
  pool.start(1);
  gate.await_arrivals(1);
  gate.open();
  EXPECT_TRUE(eventually([&] { return pool.load().queued + pool.load().running == 0; }));
  return order;
}

// A thread may take a task in its turn and be suspended before it notes that: not each time.
TEST(ComputePool, ClientsTakeTurns) {
  std::string order;
  for (int attempt = 0; attempt < 10; ++attempt) {
    order = order_of_turns();
    ASSERT_EQ(order.size(), 7U);
    if (order.find_last_of("bC") < 6) return;
  }
  FAIL() << "always behind who asked for most: " << order;
}

// However many others there are, and however much they want: they have had more time.
TEST(ComputePool, WhoAsksForLittleIsNotBehindMany) {
  constexpr int kOthers = 20;
  constexpr int kSteps = 20;
  ComputePool pool(1000);
  std::atomic<int> steps = 0;
  std::function<void(std::string, int)> goes_on = [&](const std::string& who, int left) {
    ++steps;
    std::this_thread::sleep_for(milliseconds(1));
    if (left > 0) {
      ASSERT_TRUE(pool.go_on(who, Work::quick, [&, who, left] { goes_on(who, left - 1); }));
    }
  };
  for (int other = 0; other < kOthers; ++other) {
    const std::string who = "other" + std::to_string(other);
    ASSERT_TRUE(pool.try_run(who, Work::quick, [&, who] { goes_on(who, kSteps - 1); }));
  }
  pool.start(1);
  EXPECT_TRUE(eventually([&] { return steps > 2 * kOthers; }));
  for (int i = 0; i < 5; ++i) {
    std::atomic<int> passed = -1;
    const int before = steps;
    ASSERT_TRUE(pool.try_run("patient", Work::quick, [&] { passed = steps - before; }));
    ASSERT_TRUE(eventually([&] { return passed >= 0; }));
    EXPECT_LE(passed, 4);
  }
  EXPECT_TRUE(eventually([&] { return steps == kOthers * kSteps; }));
}

TEST(FairLane, LightClientsAreThoseThatUseLittle) {
  FairLane lane;
  FairLane::TimePoint now{};
  const auto uses = [&](const char* client, milliseconds used) {
    lane.push(client, [] {});
    (void)lane.take();
    lane.ran(client, {used, now});
  };
  uses("heavy", milliseconds(200));
  for (int i = 0; i < 100; ++i) {
    now += milliseconds(100);
    uses("light", milliseconds(4));
    if (i < 50) uses("heavy", milliseconds(20));
  }
  now += milliseconds(1);
  lane.push("light", [] {});
  ASSERT_TRUE(lane.has_light(now));
  EXPECT_EQ(lane.take_light(now).client, "light");
  lane.push("light", [] {});
  EXPECT_FALSE(lane.has_light(now)) << "one of its own runs";
  lane.push("busy", [] {});
  ASSERT_TRUE(lane.has_light(now));
  EXPECT_EQ(lane.take_light(now).client, "busy");
  lane.ran("busy", {milliseconds(400), now});
  lane.push("busy", [] {});
  EXPECT_FALSE(lane.has_light(now));
  EXPECT_TRUE(lane.has_light(now + milliseconds(10'000))) << "what was used is forgotten";
}

// An answer in steps: between them others have their turns.
TEST(ServerCompute, AnswersInStepsLetOthersIn) {
  ServerOptions options;
  options.compute_threads = 1;
  std::atomic<bool> ends = false;
  std::function<void(const Responder&)> step = [&](const Responder& answer) {
    std::this_thread::sleep_for(milliseconds(1));
    if (ends) return void(answer(Response::text("long")));
    if (!answer.request().go_on(answer, [&step, answer] { step(answer); })) answer(Response::empty());
  };
  const TestServer server(options, [&](Router& router) {
    router.get("/long", [&](const Request&, const Responder& answer) { step(answer); }, {.compute = true});
    router.get("/quick", [](const Request&, const Responder& answer) { answer(Response::text("quick")); },
               {.compute = true});
    router.get(
        "/throws",
        [](const Request& request, const Responder& answer) { request.go_on(answer, [] { throw std::bad_alloc(); }); },
        {.compute = true});
  });
  RawSocket lasting(server.port());
  lasting.send(get_request("/long"));
  RawSocket quick(server.port());
  quick.send(get_request("/quick"));
  EXPECT_EQ(quick.read_answer().body, "quick");
  quick.send(get_request("/throws"));
  EXPECT_EQ(quick.read_answer().status, 503);
  ends = true;
  EXPECT_EQ(lasting.read_answer().body, "long");
}

TEST(ServerCompute, NoMemoryEndsTheRequestAlone) {
  const TestServer server({}, [](Router& router) {
    for (const bool compute : {false, true}) {
      router.get(compute ? "/compute" : "/here", [](const Request&, const Responder&) { throw std::bad_alloc(); },
                 {.compute = compute});
    }
  });
  RawSocket socket(server.port());
  for (const char* path : {"/here", "/compute"}) {
    socket.send(get_request(path));
    const RawAnswer answer = socket.read_answer();
    EXPECT_EQ(answer.status, 503) << path;
    EXPECT_EQ(code_of(answer), "http.outOfMemory");
  }
  socket.send(get_request("/hello"));
  EXPECT_EQ(socket.read_answer().status, 200);
}

}  // namespace
}  // namespace railweave::api
