// Malformed requests: refused with the right status, and never read as two requests.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/http/raw_socket.h"
#include "tests/unit/http/test_server.h"

namespace railweave::api {
namespace {

using namespace std::string_literals;

struct Refusal {
  std::string name;
  std::string request;
  int status;
};

class ServerMalformed : public testing::TestWithParam<Refusal> {};

// The refused request is followed by a good one, which must not be answered: where it begins is not known.
TEST_P(ServerMalformed, IsRefusedAndNothingAfterItIsRead) {
  const TestServer server;
  RawSocket socket(server.port());
  socket.send(GetParam().request + get_request("/hello"));
  const RawAnswer answer = socket.read_answer();
  ASSERT_TRUE(answer.complete);
  EXPECT_EQ(answer.status, GetParam().status) << answer.body;
  EXPECT_EQ(answer.headers.at("connection"), "close");
  EXPECT_EQ(nlohmann::json::parse(answer.body)["status"], GetParam().status);
  socket.end_sending();
  EXPECT_TRUE(socket.ends());
  RawSocket after(server.port());
  after.send(get_request("/hello"));
  EXPECT_EQ(after.read_answer().status, 200);
}

std::string with_headers(const std::string& headers, const std::string& body = {}) {
  return "POST /echo HTTP/1.1\r\n" + headers + "\r\n" + body;
}

const std::string kHost = "Host: localhost\r\n";

INSTANTIATE_TEST_SUITE_P(
    Framing, ServerMalformed,
    testing::Values(
        Refusal{"NoHost", with_headers("Content-Length: 0\r\n"), 400},
        Refusal{"TwoHosts", with_headers(kHost + kHost + "Content-Length: 0\r\n"), 400},
        Refusal{"TwoLengths", with_headers(kHost + "Content-Length: 1\r\nContent-Length: 2\r\n", "ab"), 400},
        Refusal{"TwoEqualLengths", with_headers(kHost + "Content-Length: 1\r\nContent-Length: 1\r\n", "a"), 400},
        Refusal{"LengthList", with_headers(kHost + "Content-Length: 1, 1\r\n", "a"), 400},
        Refusal{"LengthWithSign", with_headers(kHost + "Content-Length: +1\r\n", "a"), 400},
        Refusal{"NegativeLength", with_headers(kHost + "Content-Length: -1\r\n"), 400},
        Refusal{"HexLength", with_headers(kHost + "Content-Length: 0x1\r\n", "a"), 400},
        Refusal{"EmptyLength", with_headers(kHost + "Content-Length: \r\n"), 400},
        Refusal{"LengthBeyond64Bits", with_headers(kHost + "Content-Length: 99999999999999999999999\r\n"), 400},
        Refusal{"LengthThenChunked",
                with_headers(kHost + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
        Refusal{"ChunkedThenLength",
                with_headers(kHost + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), 400},
        Refusal{"ChunkedTwice",
                with_headers(kHost + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
        Refusal{"ChunkedNotLast", with_headers(kHost + "Transfer-Encoding: chunked, identity\r\n", "0\r\n\r\n"), 501},
        Refusal{"OtherCoding", with_headers(kHost + "Transfer-Encoding: gzip\r\n", "0\r\n\r\n"), 501},
        Refusal{"CodingBeforeChunked", with_headers(kHost + "Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501},
        Refusal{"CodingWithTab",
                with_headers(kHost + "Transfer-Encoding: \x0b"
                                     "chunked\r\n",
                             "0\r\n\r\n"),
                400},
        Refusal{"CodingMisspelt", with_headers(kHost + "Transfer-Encoding: xchunked\r\n", "0\r\n\r\n"), 501},
        Refusal{"OtherCodingAndLength",
                with_headers(kHost + "Transfer-Encoding: xchunked\r\nContent-Length: 5\r\n", "0\r\n\r\n"), 400},
        Refusal{"ChunkedInHttp10", "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
        Refusal{"SpaceBeforeColon", with_headers(kHost + "Content-Length : 0\r\n"), 400},
        Refusal{"LineWithoutColon", with_headers(kHost + "garbage\r\n"), 400},
        Refusal{"EmptyName", with_headers(kHost + ": value\r\n"), 400},
        Refusal{"NulInValue", with_headers(kHost + "X: a\0b\r\n"s), 400},
        Refusal{"NulInName", with_headers(kHost + "X\0Y: a\r\n"s), 400},
        Refusal{"BareLineFeed", "GET /hello HTTP/1.1\nHost: localhost\n\n", 400},
        Refusal{"BareCarriageReturn", with_headers(kHost + "X: a\rb\r\n"), 400},
        Refusal{"LeadingSpace", " GET /hello HTTP/1.1\r\n" + kHost + "\r\n", 400}),
    [](const auto& refusal) { return refusal.param.name; });

INSTANTIATE_TEST_SUITE_P(RequestLine, ServerMalformed,
                         testing::Values(Refusal{"NoVersion", "GET /hello\r\n" + kHost + "\r\n", 400},
                                         Refusal{"Http2", "GET /hello HTTP/2.0\r\n" + kHost + "\r\n", 505},
                                         Refusal{"Http2Preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
                                         Refusal{"Http09", "GET /hello HTTP/0.9\r\n\r\n", 505},
                                         Refusal{"NoTarget", "GET  HTTP/1.1\r\n" + kHost + "\r\n", 400},
                                         Refusal{"SpaceInTarget", "GET /hel lo HTTP/1.1\r\n" + kHost + "\r\n", 400},
                                         Refusal{"NulInTarget", "GET /hel\0lo HTTP/1.1\r\n"s + kHost + "\r\n", 400},
                                         Refusal{"ControlInMethod", "G\x01T /hello HTTP/1.1\r\n" + kHost + "\r\n", 400},
                                         Refusal{"OnlyNul", std::string(64, '\0'), 400},
                                         Refusal{"Tls", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"s, 400}),
                         [](const auto& refusal) { return refusal.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Chunks, ServerMalformed,
    testing::Values(
        Refusal{"NotHex", with_headers(kHost + "Transfer-Encoding: chunked\r\n", "zz\r\nab\r\n0\r\n\r\n"), 400},
        Refusal{"Negative", with_headers(kHost + "Transfer-Encoding: chunked\r\n", "-1\r\nab\r\n0\r\n\r\n"), 400},
        Refusal{"HexPrefix", with_headers(kHost + "Transfer-Encoding: chunked\r\n", "0x2\r\nab\r\n0\r\n\r\n"), 400},
        Refusal{"Overflow", with_headers(kHost + "Transfer-Encoding: chunked\r\n", "fffffffffffffffff\r\nab\r\n"), 400},
        Refusal{"Huge", with_headers(kHost + "Transfer-Encoding: chunked\r\n", "ffffffffffffffff\r\nab\r\n"), 413},
        Refusal{"LongerThanItSays", with_headers(kHost + "Transfer-Encoding: chunked\r\n", "2\r\nabc\r\n0\r\n\r\n"),
                400},
        Refusal{"NoLineEnd", with_headers(kHost + "Transfer-Encoding: chunked\r\n", "2\nab\r\n0\r\n\r\n"), 400},
        Refusal{"EndlessExtension",
                with_headers(kHost + "Transfer-Encoding: chunked\r\n", "2;" + std::string(100'000, 'x')), 400},
        Refusal{"EndlessTrailers",
                with_headers(kHost + "Transfer-Encoding: chunked\r\n", "0\r\nX: " + std::string(100'000, 'x')), 400}),
    [](const auto& refusal) { return refusal.param.name; });

TEST(ServerTargets, AmbiguousTargetsAreRefusedButTheConnectionGoesOn) {
  const TestServer server;
  RawSocket socket(server.port());
  const std::vector<std::string> targets = {
      "/things/%",   "/things/%4",       "/things/%zz",    "/things/%00",  "/things/a%0ab",
      "/things/%ff", "/things/\xff\xfe", "/things/%c0%af", "/things/..",   "/things/%2e%2E",
      "/things/./a", "/hello#fragment",  "/hello?a=%zz",   "/hello?%00=1", "ftp://localhost/x",
      "hello",       "/things/%ed%a0%80"};
  for (const std::string& target : targets) {
    socket.send(get_request(target));
    const RawAnswer answer = socket.read_answer();
    EXPECT_EQ(answer.status, 400) << target;
    EXPECT_TRUE(nlohmann::json::accept(answer.body)) << target;
  }
  socket.send(get_request("/things/gr%C3%B6%C3%9Fe"));
  EXPECT_EQ(socket.read_answer().body, "thing größe");
}

TEST(ServerGarbage, GarbageAfterAGoodRequestIsRefusedAfterItsAnswer) {
  const TestServer server;
  RawSocket socket(server.port());
  socket.send(get_request("/hello") + "\x01\x02garbage\r\n\r\n");
  EXPECT_EQ(socket.read_answer().body, "hello\n");
  EXPECT_EQ(socket.read_answer().status, 400);
  EXPECT_TRUE(socket.ends());
}

// What follows the length that a request gives is the next request, whatever it was meant to be.
TEST(ServerGarbage, ALengthThatIsTooShortDoesNotHideBytes) {
  const TestServer server;
  RawSocket socket(server.port());
  socket.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabcdef\r\n\r\n");
  EXPECT_EQ(socket.read_answer().body, "abc");
  EXPECT_EQ(socket.read_answer().status, 400);
}

TEST(ServerGarbage, AConnectionThatEndsWithinARequestIsNoRequest) {
  int handled = 0;
  TestServer server({}, [&](Router& router) {
    router.put("/count", [&](const Request&, const Responder& answer) {
      ++handled;
      answer(Response::empty());
    });
  });
  const std::string whole = "PUT /count HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody";
  for (std::size_t length = 1; length < whole.size(); ++length) {
    RawSocket socket(server.port());
    socket.send(whole.substr(0, length));
    socket.end_sending();
    EXPECT_EQ(socket.read_answer().status, 400) << length;
  }
  server->stop(std::chrono::milliseconds(100));
  EXPECT_EQ(handled, 0);
}

// A sanitizer build shows memory errors here; any build shows a server that hangs, ends or answers nonsense.
TEST(ServerGarbage, MutatedRequestsNeverBreakTheServer) {
  ServerOptions options;
  options.header_timeout = options.body_timeout = std::chrono::milliseconds(200);
  const TestServer server(options);
  const std::vector<std::string> seeds = {
      get_request("/things/a%2Fb?x=1&y=%20", "Accept-Encoding: gzip;q=0.5, *\r\nIf-None-Match: \"a\", W/\"b\"\r\n"),
      post_request("/echo", "some body", "Content-Type: text/plain\r\nExpect: 100-continue\r\n"),
      with_headers(kHost + "Transfer-Encoding: chunked\r\n", "3;a=b\r\nabc\r\n0\r\nT: 1\r\n\r\n"),
      post_request("/echo", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"s, "Content-Encoding: gzip\r\n")};
  const std::vector<std::string> pieces = {"\r\n",    "\n",   "\r",
                                           "\0"s,     ":",    "%",
                                           "/",       "0",    "Content-Length: 5\r\n",
                                           "chunked", "\xff", std::string(5000, 'a'),
                                           " ",       "\t",   "HTTP/1.1",
                                           ";",       "\"",   ","};
  std::mt19937 random(20'231'121);
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  for (int round = 0; round < 1500; ++round) {
    std::string bytes;
    for (std::size_t i = 0; i < 1 + below(3); ++i) bytes += seeds[below(seeds.size())];
    for (std::size_t i = 0; i < 1 + below(6); ++i) {
      const std::size_t at = below(bytes.size());
      switch (below(4)) {
        case 0:
          bytes[at] = static_cast<char>(below(256));
          break;
        case 1:
          bytes.insert(at, pieces[below(pieces.size())]);
          break;
        case 2:
          bytes.erase(at, 1 + below(20));
          break;
        default:
          bytes.insert(at, bytes.substr(below(bytes.size()), below(40)));
          break;
      }
      if (bytes.empty()) bytes = "x";
    }
    RawSocket socket(server.port());
    const std::size_t cut = below(bytes.size());
    socket.send(std::string_view(bytes).substr(0, cut));
    socket.send(std::string_view(bytes).substr(cut));
    socket.end_sending();
    const std::string answers = socket.read_all();
    ASSERT_TRUE(answers.empty() || answers.starts_with("HTTP/1.1 ")) << "round " << round;
  }
  RawSocket after(server.port());
  after.send(get_request("/hello"));
  EXPECT_EQ(after.read_answer().body, "hello\n");
}

}  // namespace
}  // namespace railweave::api
