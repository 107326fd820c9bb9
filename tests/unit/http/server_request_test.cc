// Ordinary requests over one connection: routing, methods, keep-alive, order.
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/http/raw_socket.h"
#include "tests/unit/http/test_server.h"

namespace railweave::api {
namespace {

TEST(ServerRequest, AnswersSeveralRequestsOnOneConnection) {
  const TestServer server;
  RawSocket socket(server.port());
  for (int i = 0; i < 3; ++i) {
    socket.send(get_request("/hello"));
    const RawAnswer answer = socket.read_answer();
    ASSERT_TRUE(answer.complete);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "hello\n");
    EXPECT_EQ(answer.headers.at("connection"), "keep-alive");
    EXPECT_TRUE(answer.headers.contains("date"));
    EXPECT_TRUE(answer.headers.contains("x-request-id"));
  }
}

TEST(ServerRequest, DecodesPathParametersAndKeepsEncodedSlashesInThem) {
  const TestServer server;
  RawSocket socket(server.port());
  socket.send(get_request("/things/0c42a10300280050%2F1"));
  EXPECT_EQ(socket.read_answer().body, "thing 0c42a10300280050/1");
  socket.send(get_request("/things/0c42a10300280050/1"));
  EXPECT_EQ(socket.read_answer().status, 404);
}

TEST(ServerRequest, AnswersPipelinedRequestsInOrderFromOtherThreads) {
  std::vector<std::thread> workers;
  Gate gate;
  {
    const TestServer server({}, [&](Router& router) {
      router.get("/slow/{name}", [&](const Request& request, const Responder& answer) {
        workers.emplace_back([answer, &gate, name = request.param("name")] {
          gate.pass();
          answer(Response::text(name));
        });
      });
    });
    RawSocket socket(server.port());
    socket.send(get_request("/slow/first") + post_request("/echo", "second") + get_request("/slow/third") +
                get_request("/hello"));
    gate.await_arrivals(1);
    gate.open();
    EXPECT_EQ(socket.read_answer().body, "first");
    EXPECT_EQ(socket.read_answer().body, "second");
    EXPECT_EQ(socket.read_answer().body, "third");
    EXPECT_EQ(socket.read_answer().body, "hello\n");
  }
  for (std::thread& worker : workers) worker.join();
}

TEST(ServerRequest, TakesRequestsThatComeByteByByte) {
  const TestServer server;
  RawSocket socket(server.port());
  for (const char c : post_request("/echo", "body") + get_request("/hello")) socket.send(std::string(1, c));
  EXPECT_EQ(socket.read_answer().body, "body");
  EXPECT_EQ(socket.read_answer().body, "hello\n");
}

TEST(ServerRequest, PutsChunksTogetherAndIgnoresTrailers) {
  const TestServer server;
  RawSocket socket(server.port());
  socket.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;name=value\r\nabc\r\nA\r\n0123456789\r\n0\r\nX-Trailer: 1\r\n\r\n" +
      get_request("/hello"));
  EXPECT_EQ(socket.read_answer().body, "abc0123456789");
  EXPECT_EQ(socket.read_answer().body, "hello\n");
}

TEST(ServerRequest, AnswersHeadLikeGetWithoutTheBody) {
  const TestServer server;
  RawSocket socket(server.port());
  socket.send("HEAD /hello HTTP/1.1\r\nHost: localhost\r\n\r\n" + get_request("/hello"));
  const RawAnswer head = socket.read_answer(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.headers.at("content-length"), "6");
  EXPECT_EQ(socket.read_answer().body, "hello\n");
}

TEST(ServerRequest, NamesTheMethodsOfAPath) {
  const TestServer server;
  RawSocket socket(server.port());
  socket.send("OPTIONS /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const RawAnswer options = socket.read_answer();
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.headers.at("allow"), "GET, HEAD, OPTIONS");
  EXPECT_FALSE(options.headers.contains("content-length"));
  socket.send("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(socket.read_answer().status, 204);
  socket.send("DELETE /echo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const RawAnswer refused = socket.read_answer();
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.headers.at("allow"), "POST, OPTIONS");
  EXPECT_EQ(refused.headers.at("content-type"), "application/problem+json");
  EXPECT_EQ(nlohmann::json::parse(refused.body)["code"], "http.methodNotAllowed");
}

TEST(ServerRequest, SaysWhatIsNotFoundWithoutEndingTheConnection) {
  const TestServer server;
  RawSocket socket(server.port());
  socket.send(post_request("/nothing", "with a body") + get_request("/hello"));
  const RawAnswer answer = socket.read_answer();
  EXPECT_EQ(answer.status, 404);
  const nlohmann::json problem = nlohmann::json::parse(answer.body);
  EXPECT_EQ(problem["status"], 404);
  EXPECT_EQ(problem["instance"], "/nothing");
  EXPECT_EQ(socket.read_answer().body, "hello\n");
}

TEST(ServerRequest, MethodsThatNoResourceHasAreNotAllowed) {
  const TestServer server;
  RawSocket socket(server.port());
  socket.send("TRACE /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const RawAnswer answer = socket.read_answer();
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.headers.at("allow"), "GET, HEAD, OPTIONS");
}

TEST(ServerRequest, UnknownMethodsAreNotImplemented) {
  const TestServer server;
  RawSocket socket(server.port());
  socket.send("BREW /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(socket.read_answer().status, 501);
  socket.send("get /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(socket.read_answer().status, 501);
  socket.send("CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(socket.read_answer().status, 400);
}

TEST(ServerRequest, ClosesWhenAskedTo) {
  const TestServer server;
  RawSocket socket(server.port());
  socket.send(get_request("/hello", "Connection: close\r\n"));
  EXPECT_EQ(socket.read_answer().headers.at("connection"), "close");
  EXPECT_TRUE(socket.ends());
}

TEST(ServerRequest, SpeaksHttp10) {
  const TestServer server;
  RawSocket plain(server.port());
  plain.send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(plain.read_answer().body, "hello\n");
  EXPECT_TRUE(plain.ends());
  RawSocket kept(server.port());
  kept.send("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(kept.read_answer().headers.at("connection"), "keep-alive");
  kept.send("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(kept.read_answer().body, "hello\n");
}

TEST(ServerRequest, AnswersAClientThatHasEndedItsSide) {
  const TestServer server;
  RawSocket socket(server.port());
  socket.send(get_request("/hello"));
  socket.end_sending();
  EXPECT_EQ(socket.read_answer().body, "hello\n");
  EXPECT_TRUE(socket.ends());
}

TEST(ServerRequest, EchoesAPlainRequestIdAndReplacesAnyOther) {
  const TestServer server;
  RawSocket socket(server.port());
  socket.send(get_request("/hello", "X-Request-Id: trace-1.2\r\n"));
  EXPECT_EQ(socket.read_answer().headers.at("x-request-id"), "trace-1.2");
  socket.send(get_request("/hello", "X-Request-Id: <script>\r\n"));
  EXPECT_THAT(socket.read_answer().headers.at("x-request-id"), testing::MatchesRegex("[0-9a-f]+-[0-9a-f]+"));
}

TEST(ServerRequest, AsksForTheBodyWhenTheClientWaitsToBeAsked) {
  const TestServer server;
  RawSocket socket(server.port());
  socket.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(socket.read_answer().status, 100);
  socket.send("body");
  EXPECT_EQ(socket.read_answer().body, "body");
  RawSocket unwanted(server.port());
  unwanted.send("POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(unwanted.read_answer().status, 404);
  EXPECT_TRUE(unwanted.ends());
  RawSocket other(server.port());
  other.send(get_request("/hello", "Expect: miracles\r\n"));
  EXPECT_EQ(other.read_answer().status, 417);
}

TEST(ServerRequest, TakesAbsoluteTargets) {
  const TestServer server;
  RawSocket socket(server.port());
  socket.send(get_request("http://localhost/hello"));
  EXPECT_EQ(socket.read_answer().body, "hello\n");
}

TEST(ServerRequest, DroppedAndThrowingHandlersAnswerWithAProblem) {
  std::string logged;
  ServerOptions options;
  options.error_log = [&](std::string_view text) { logged = std::string(text); };
  TestServer server(options, [](Router& router) {
    router.get("/dropped", [](const Request&, const Responder&) {});
    router.get("/throws", [](const Request&, const Responder&) { throw std::runtime_error("secret detail"); });
    router.get("/late", [](const Request&, const Responder& answer) {
      answer(Response::text("first"));
      EXPECT_FALSE(answer(Response::text("second")));
      throw std::runtime_error("after the answer");
    });
  });
  RawSocket socket(server.port());
  socket.send(get_request("/dropped"));
  const RawAnswer dropped = socket.read_answer();
  EXPECT_EQ(dropped.status, 500);
  EXPECT_EQ(nlohmann::json::parse(dropped.body)["code"], "internal.noAnswer");
  socket.send(get_request("/throws"));
  const RawAnswer thrown = socket.read_answer();
  EXPECT_EQ(thrown.status, 500);
  EXPECT_EQ(thrown.body.find("secret"), std::string::npos);
  socket.send(get_request("/late"));
  EXPECT_EQ(socket.read_answer().body, "first");
  server->stop(std::chrono::milliseconds(1000));
  EXPECT_NE(logged.find("after the answer"), std::string::npos);
}

TEST(ServerRequest, NeverSendsAHeaderThatSplitsTheAnswer) {
  const TestServer server({}, [](Router& router) {
    router.get("/split", [](const Request& request, const Responder& answer) {
      answer(Response::empty().with("Location", "/x\r\nSet-Cookie: a=b"));
      (void)request;
    });
  });
  RawSocket socket(server.port());
  socket.send(get_request("/split"));
  const RawAnswer answer = socket.read_answer();
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.head.find("Set-Cookie"), std::string::npos);
}

TEST(ServerRequest, RefusesNamesAndPagesThatAreNotItsOwn) {
  ServerOptions options;
  options.allowed_hosts = {"fabric.internal"};
  const TestServer server(options);
  const auto status = [&](const std::string& request) {
    RawSocket socket(server.port());
    socket.send(request);
    return socket.read_answer().status;
  };
  EXPECT_EQ(status("GET /hello HTTP/1.1\r\nHost: attacker.example\r\n\r\n"), 421);
  EXPECT_EQ(status("GET /hello HTTP/1.1\r\nHost: 127.0.0.1.attacker.example\r\n\r\n"), 421);
  EXPECT_EQ(status("GET /hello HTTP/1.1\r\nHost: Fabric.Internal:7470\r\n\r\n"), 200);
  EXPECT_EQ(status("GET /hello HTTP/1.1\r\nHost: 127.3.2.1:99\r\n\r\n"), 200);
  EXPECT_EQ(status("GET /hello HTTP/1.1\r\nHost: [::1]:99\r\n\r\n"), 200);
  EXPECT_EQ(status(post_request("/echo", "x", "Origin: http://attacker.example\r\n")), 403);
  EXPECT_EQ(status(post_request("/echo", "x", "Origin: null\r\n")), 403);
  EXPECT_EQ(status(post_request("/echo", "x", "Origin: http://localhost\r\n")), 200);
  EXPECT_EQ(status(post_request("/echo", "x", "Origin: HTTP://LOCALHOST\r\n")), 403)
      << "browsers send it in lower case";
  EXPECT_EQ(status(post_request("/echo", "x", "Origin: https://localhost\r\n")), 403);
  EXPECT_EQ(status(post_request("/echo", "x", "Origin: http://localhost:5173\r\n")), 403);
  EXPECT_EQ(status(post_request("/echo", "x", "Origin: http://127.0.0.1\r\n")), 403);
  const std::string own =
      "POST /echo HTTP/1.1\r\nHost: 127.0.0.1:7470\r\nContent-Length: 1\r\nOrigin: http://127.0.0.1:";
  EXPECT_EQ(status(own + "7470\r\n\r\nx"), 200);
  EXPECT_EQ(status(own + "3000\r\n\r\nx"), 403);
  EXPECT_EQ(status(get_request("/hello", "Origin: http://attacker.example\r\n")), 200);
}

TEST(ServerRequest, ChecksTheMediaTypeWhereARouteHasOne) {
  const TestServer server({}, [](Router& router) {
    router.post("/json", [](const Request& request, const Responder& answer) { answer(Response::json(request.body)); },
                {.consumes = {"application/json"}});
  });
  RawSocket socket(server.port());
  socket.send(post_request("/json", "{}", "Content-Type: Application/JSON; charset=utf-8\r\n"));
  EXPECT_EQ(socket.read_answer().status, 200);
  socket.send(post_request("/json", "{}", "Content-Type: text/plain\r\n"));
  EXPECT_EQ(socket.read_answer().status, 415);
  socket.send(post_request("/json", "{}"));
  EXPECT_EQ(socket.read_answer().status, 415);
  socket.send(post_request("/json", ""));
  EXPECT_EQ(socket.read_answer().status, 200);
}

TEST(ServerRequest, ListensOnLoopbackOnly) {
  for (const char* address : {"0.0.0.0", "::", "192.168.1.1", "::ffff:10.0.0.1", "fe80::1"}) {
    ServerOptions options;
    options.address = address;
    Server server(options);
    const Result<void> started = server.start();
    ASSERT_FALSE(started.has_value()) << address;
    EXPECT_EQ(started.error().code, "http.notLoopback") << address;
  }
  ServerOptions nonsense;
  nonsense.address = "example.com";
  Server server(nonsense);
  EXPECT_EQ(server.start().error().code, "http.badAddress");
}

TEST(ServerRequest, SaysWhenThePortIsTaken) {
  const TestServer first;
  ServerOptions options;
  options.port = first.port();
  Server second(options);
  const Result<void> started = second.start();
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().code, "http.cannotListen");
}

}  // namespace
}  // namespace railweave::api
