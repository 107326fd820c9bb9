// The client, against the real server and against servers that answer wrongly, stall and disconnect.
#include "api/client/client.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "api/http/message/event_stream.h"
#include "fabric/base/text/percent.h"
#include "tests/unit/http/scripted_server.h"
#include "tests/unit/http/test_server.h"

namespace railweave::api {
namespace {

using std::chrono::milliseconds;
using namespace std::string_literals;
using Peer = ScriptedServer::Peer;

Client client_of(std::uint16_t port, ClientOptions options = {}) {
  return Client(Url{"127.0.0.1", port}, std::move(options));
}

TEST(ClientUrl, IsRead) {
  const Result<Url> plain = parse_url("http://127.0.0.1:7470");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->text(), "http://127.0.0.1:7470");
  EXPECT_EQ(parse_url("HTTP://localhost/")->authority(), "localhost:80");
  EXPECT_EQ(parse_url("http://[::1]:9")->authority(), "[::1]:9");
  EXPECT_EQ(parse_url("https://localhost")->text(), "https://localhost:443");
  EXPECT_FALSE(plain->tls);
  for (const char* socket : {"unix:/run/a.sock", "unix:///run/a.sock"}) {
    ASSERT_TRUE(parse_url(socket)) << socket;
    EXPECT_EQ(parse_url(socket)->text(), "unix:/run/a.sock");
    EXPECT_EQ(parse_url(socket)->socket, "/run/a.sock");
  }
  for (const char* bad : {"",
                          "localhost",
                          "127.0.0.1:7470",
                          "ftp://localhost",
                          "http://",
                          "http://:80",
                          "http://a:0",
                          "http://a:65536",
                          "http://a:x",
                          "http://a:80/path",
                          "http://user@host",
                          "http://a b",
                          "http://[::1",
                          "http://a\r\nb",
                          "http://[g]",
                          "http://a:80:90",
                          "unix:",
                          "unix:/",
                          "unix:run/a.sock",
                          "unix://host/a.sock"}) {
    EXPECT_EQ(parse_url(bad).error().code, "client.badUrl") << bad;
  }
}

TEST(Client, AsksAndKeepsItsConnection) {
  const TestServer server;
  Client client = client_of(server.port());
  for (int i = 0; i < 5; ++i) {
    const Result<ClientResponse> answer = client.get("/hello");
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "hello\n");
  }
  EXPECT_EQ(client.post("/echo", "{}")->body, "{}");
  EXPECT_EQ(client.get("/things/" + percent_encode("a/b c%ü"))->body, "thing a/b c%ü");
  EXPECT_EQ(client.get("/nothing")->status, 404);
  EXPECT_EQ(client.del("/hello")->status, 405);
  ClientRequest head;
  head.method = Method::head;
  head.target = "/hello";
  EXPECT_EQ(client.request(head)->headers.value("content-length"), "6");
  EXPECT_EQ(client.get("/hello")->body, "hello\n");
  EXPECT_EQ(server->metrics().accepted_connections, 1U);
}

TEST(Client, InflatesWhatComesCompressed) {
  const std::string large(300'000, 'x');
  const TestServer server({}, [&](Router& router) {
    router.get("/large", [&](const Request&, const Responder& answer) { answer(Response::json(large)); });
  });
  Client client = client_of(server.port());
  const Result<ClientResponse> answer = client.get("/large");
  EXPECT_EQ(answer->headers.value("Content-Encoding"), "gzip");
  EXPECT_EQ(answer->body, large);
  ClientOptions tight;
  tight.max_answer_bytes = 100'000;
  EXPECT_EQ(client_of(server.port(), tight).get("/large").error().code, "client.tooLarge");
  tight.accept_gzip = false;
  EXPECT_EQ(client_of(server.port(), tight).get("/large").error().code, "client.tooLarge");
}

TEST(Client, SaysHowToStartAServiceThatIsNotThere) {
  std::uint16_t port = 0;
  {
    const TestServer gone;
    port = gone.port();
  }
  const Result<ClientResponse> answer = client_of(port).get("/hello");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::unavailable);
  EXPECT_EQ(answer.error().text(), "railweaved does not answer at http://127.0.0.1:" + std::to_string(port) +
                                       ": connection refused (is it running? start it with: railweaved)");
}

TEST(Client, SurvivesARestartOfTheServer) {
  ServerOptions options;
  auto first = std::make_unique<TestServer>(options);
  options.port = first->port();
  Client client = client_of(options.port);
  EXPECT_EQ(client.get("/hello")->status, 200);
  first.reset();
  const TestServer second(options);
  EXPECT_EQ(client.post("/echo", "x")->body,
            "x");  // the kept connection is known to have ended, so this is no repetition
  EXPECT_EQ(client.get("/hello")->status, 200);
}

const std::string kHello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

// A server that takes a second request on a kept connection and then closes without a word: only what may be repeated
// is.
TEST(Client, RepeatsOnlyIdempotentRequestsOnANewConnection) {
  const auto answer_once_then_close = [](const Peer& peer) {
    peer.read_head();
    peer.send(kHello);
    peer.read_head();
  };
  int posts = 0;
  const ScriptedServer server({answer_once_then_close,
                               [](const Peer& peer) {
                                 peer.read_head();
                                 peer.send(kHello);
                                 peer.read_head();
                               },
                               [&](const Peer& peer) { posts += static_cast<int>(!peer.read_head().empty()); }});
  Client client = client_of(server.port());
  EXPECT_EQ(client.get("/")->body, "hello");
  EXPECT_EQ(client.get("/")->body, "hello");  // by the second connection
  const Result<ClientResponse> post = client.post("/", "x");
  ASSERT_FALSE(post);
  EXPECT_EQ(post.error().code, "client.broken");
  EXPECT_EQ(posts, 0);
}

TEST(Client, NeverRepeatsAfterPartOfAnAnswer) {
  int connections = 0;
  const auto cut_short = [&](const Peer& peer) {
    ++connections;
    peer.read_head();
    peer.send(kHello);
    peer.read_head();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhel");
  };
  const ScriptedServer server({cut_short, cut_short});
  Client client = client_of(server.port());
  EXPECT_TRUE(client.get("/"));
  EXPECT_EQ(client.get("/").error().code, "client.broken");
  EXPECT_EQ(connections, 1);
}

TEST(Client, EveryOperationHasADeadline) {
  const auto silent = [](const Peer& peer) {
    peer.read_head();
    peer.read_head();  // until the client gives up
  };
  std::atomic<bool> timed_out{false};
  const auto dripping = [&](const Peer& peer) {
    peer.read_head();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
    for (int i = 0; i < 50 && !eventually([&] { return timed_out.load(); }, milliseconds(10)); ++i) peer.send("x");
  };
  const ScriptedServer server({silent, dripping});
  ClientOptions options;
  options.timeout = milliseconds(100);
  Client client = client_of(server.port(), options);
  EXPECT_EQ(client.get("/").error().code, "client.timeout");
  EXPECT_EQ(client.get("/").error().code, "client.timeout");
  timed_out = true;
}

TEST(Client, RefusesWhatIsNoAnswer) {
  const std::vector<std::string> nonsense = {
      "SSH-2.0-OpenSSH_9.2\r\n",
      "HTTP/1.1 abc OK\r\n\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX: " + std::string(200'000, 'x') + "\r\n\r\n",
      "HTTP/1.1 200 OK\r\nX\0: y\r\n\r\n"s};
  std::vector<ScriptedServer::Script> scripts;
  for (const std::string& bytes : nonsense) {
    scripts.emplace_back([bytes](const Peer& peer) {
      peer.read_head();
      peer.send(bytes);
    });
  }
  const ScriptedServer server(std::move(scripts));
  Client client = client_of(server.port());
  for (const std::string& bytes : nonsense) {
    EXPECT_EQ(client.get("/").error().code, "client.badAnswer") << bytes.substr(0, 80);
  }
}

TEST(Client, ReadsAnswersOfEveryFraming) {
  const ScriptedServer server({[](const Peer& peer) {
    peer.read_head();
    peer.send("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + kHello);
    peer.read_head();
    peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    peer.read_head();
    peer.send("HTTP/1.1 204 No Content\r\n\r\n");
    peer.read_head();
    peer.send("HTTP/1.1 200 OK\r\n\r\nuntil the end");
  }});
  Client client = client_of(server.port());
  EXPECT_EQ(client.get("/")->body, "hello");
  EXPECT_EQ(client.get("/")->body, "hello");
  EXPECT_EQ(client.get("/")->status, 204);
  EXPECT_EQ(client.get("/")->body, "until the end");
}

TEST(Client, GetsTheAnswerToAnUploadThatIsRefused) {
  ServerOptions options;
  options.body_limit_bytes = 1000;
  const TestServer server(options);
  Client client = client_of(server.port());
  const Result<ClientResponse> answer = client.post("/echo", std::string(20'000'000, 'x'));
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(answer->status, 413);
  EXPECT_EQ(client.get("/hello")->status, 200);
}

TEST(Client, SendsNothingThatWouldBreakTheFraming) {
  Client client = client_of(1);
  EXPECT_EQ(client.get("no-slash").error().code, "client.badTarget");
  EXPECT_EQ(client.get("/a b").error().code, "client.badTarget");
  EXPECT_EQ(client.get("/a\r\nX: y").error().code, "client.badTarget");
  ClientRequest request;
  request.target = "/";
  request.headers.set("X", "a\r\nY: b");
  EXPECT_EQ(client.request(request).error().code, "client.badHeader");
}

TEST(ClientStream, ReadsEventsUntilToldToStop) {
  const TestServer server({}, [](Router& router) {
    router.get("/events", [](const Request&, const Responder& answer) {
      answer(Response::events([](const std::shared_ptr<StreamSink>& sink) {
        for (int i = 1; i <= 100; ++i)
          sink->send(format_event(std::to_string(i), "tick", "line one\nline " + std::to_string(i)));
      }));
    });
  });
  std::vector<ServerEvent> events;
  const Result<ClientResponse> result = client_of(server.port()).stream("/events", [&](const ServerEvent& event) {
    events.push_back(event);
    return events.size() < 100;
  });
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_EQ(events.size(), 100U);
  EXPECT_EQ(events[41].id, "42");
  EXPECT_EQ(events[41].type, "tick");
  EXPECT_EQ(events[41].data, "line one\nline 42");
}

TEST(ClientStream, ResumesAfterTheLastEventWheneverItBreaks) {
  // Four events per connection, then the stream ends: cleanly, or in the middle of an event.
  const TestServer server({}, [](Router& router) {
    router.get("/events", [](const Request& request, const Responder& answer) {
      const int after = std::atoi(std::string(request.headers.value("Last-Event-ID")).c_str());
      answer(Response::events([after](const std::shared_ptr<StreamSink>& sink) {
        for (int i = after + 1; i <= after + 4; ++i) sink->send(format_event(std::to_string(i), "", std::to_string(i)));
        if (after % 8 == 0) {
          sink->send("id: 999\ndata: half an event\n");
          sink->close();
        } else {
          sink->close("rotating");
        }
      }));
    });
  });
  std::vector<std::string> seen;
  std::vector<StreamBreak> breaks;
  StreamOptions options;
  options.last_event_id = "8";
  options.reconnect_delay = milliseconds(1);
  options.resume = [&](const StreamBreak& broken) {
    breaks.push_back(broken);
    return true;
  };
  const Result<ClientResponse> result = client_of(server.port())
                                            .stream(
                                                "/events",
                                                [&](const ServerEvent& event) {
                                                  seen.push_back(event.data);
                                                  return seen.size() < 20;
                                                },
                                                options);
  ASSERT_TRUE(result);
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], std::to_string(9 + i));
  ASSERT_EQ(breaks.size(), 4U);
  EXPECT_EQ(breaks[0].last_event_id, "12");
  EXPECT_EQ(breaks[1].reason, "closed: rotating");
  EXPECT_EQ(breaks[1].failures, 1);
}

TEST(ClientStream, TellsWhatBrokeIt) {
  const TestServer server({}, [](Router& router) {
    router.get("/events", [](const Request&, const Responder& answer) {
      answer(Response::events([](const std::shared_ptr<StreamSink>& sink) { sink->close("going away"); }));
    });
    router.get("/mute", [](const Request&, const Responder& answer) { answer(Response::events([](const auto&) {})); });
  });
  Client client = client_of(server.port());
  const auto ignore = [](const ServerEvent&) { return true; };
  EXPECT_EQ(client.stream("/events", ignore)->status, 200);
  const Result<ClientResponse> refused = client.stream("/nothing", ignore);
  EXPECT_EQ(refused->status, 404);
  EXPECT_THAT(refused->body, testing::HasSubstr("http.noSuchPath"));
  StreamOptions impatient;
  impatient.silence_timeout = milliseconds(50);
  EXPECT_EQ(client.stream("/mute", ignore, impatient).error().code, "client.timeout");
  std::vector<int> failures;
  impatient.reconnect_delay = milliseconds(1);
  impatient.resume = [&](const StreamBreak& broken) {
    failures.push_back(broken.failures);
    return broken.failures < 3;
  };
  EXPECT_FALSE(client.stream("/mute", ignore, impatient));
  EXPECT_THAT(failures, testing::ElementsAre(1, 2, 3));
}

// Another implementation's view of the same server.
TEST(Curl, UnderstandsTheServer) {
  if (std::system("curl --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no curl here";
  const std::string large(300'000, 'x');
  const TestServer server({}, [&](Router& router) {
    router.get("/large",
               [&](const Request&, const Responder& answer) { answer(Response::json(large).with("ETag", "\"v1\"")); });
    router.get("/events", [](const Request&, const Responder& answer) {
      answer(Response::events([](const std::shared_ptr<StreamSink>& sink) {
        sink->send(format_event("1", "", "one"));
        sink->close("done");
      }));
    });
    router.put("/upload",
               [](const Request& request, const Responder& answer) {
                 answer(Response::text(std::to_string(request.body.size())));
               },
               {.body_limit_bytes = 8'000'000});
  });
  const auto curl = [&](const std::string& arguments) {
    const std::string command = "curl -sS --max-time 20 " + arguments + " 2>&1";
    std::string output;
    std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::array<char, 65536> piece;
    for (std::size_t count = 0; (count = fread(piece.data(), 1, piece.size(), pipe.get())) > 0;)
      output.append(piece.data(), count);
    return output;
  };
  const std::string base = "http://127.0.0.1:" + std::to_string(server.port());
  EXPECT_EQ(curl(base + "/hello " + base + "/hello " + base + "/things/a%2Fb"), "hello\nhello\nthing a/b");
  EXPECT_EQ(curl("--compressed " + base + "/large"), large);
  EXPECT_EQ(curl("-o /dev/null -w '%{http_code} %{size_download}' -H 'If-None-Match: W/\"v1\"' " + base + "/large"),
            "304 0");
  EXPECT_THAT(curl("-I " + base + "/large"), testing::HasSubstr("Content-Length: 300000\r\n"));
  EXPECT_EQ(curl("-N " + base + "/events"), "id: 1\ndata: one\n\n: closed: done\n\n");
  EXPECT_EQ(curl("-0 " + base + "/hello"), "hello\n");
  EXPECT_EQ(curl("-o /dev/null -w '%{http_code}' -X OPTIONS " + base + "/hello"), "204");
  // Over a megabyte curl waits for 100 Continue; in chunks when it does not know the length.
  const std::string upload = "head -c 5000000 /dev/zero | ";
  const auto piped = [&](const std::string& arguments) {
    return curl("--version >/dev/null; " + upload + "curl -sS " + arguments);
  };
  EXPECT_EQ(piped("-T - " + base + "/upload"), "5000000");
  EXPECT_EQ(piped("-X PUT --data-binary @- " + base + "/upload"), "5000000");
  EXPECT_THAT(piped("-X POST --data-binary @- " + base + "/echo"), testing::HasSubstr("http.bodyTooLarge"));
}

}  // namespace
}  // namespace railweave::api
