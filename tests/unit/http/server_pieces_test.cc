// Large answers, made piece by piece as the client takes them.
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/http/raw_socket.h"
#include "tests/unit/http/test_server.h"

namespace railweave::api {
namespace {

using std::chrono::milliseconds;

class ServerPieces : public testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    server_ = std::make_unique<TestServer>(std::move(options), [this](Router& router) {
      router.get("/pieces/{number}",
                 [this](const Request& request, const Responder& answer) {
                   const int number = std::stoi(request.param("number"));
                   answer(Response::text([this, number, next = 0]() mutable -> std::optional<std::string> {
                     if (next == number) return std::nullopt;
                     if (next == 13) throw std::runtime_error("the thirteenth");
                     ++made_;
                     return std::string(kPieceBytes, static_cast<char>('a' + next++ % 26));
                   }));
                 },
                 {.compute = true, .heavy = true});
    });
  }
  static std::string whole(int number) {
    std::string text;
    for (int i = 0; i < number; ++i) text += std::string(kPieceBytes, static_cast<char>('a' + i % 26));
    return text;
  }
  static constexpr std::size_t kPieceBytes = 1'000'000;
  std::unique_ptr<TestServer> server_;
  std::atomic<int> made_ = 0;
};

TEST_F(ServerPieces, ArriveInOrderAndTheConnectionGoesOn) {
  start();
  RawSocket socket(server_->port());
  for (const int number : {0, 1, 12}) {
    socket.send(get_request("/pieces/" + std::to_string(number)));
    const RawAnswer answer = socket.read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.complete);
    EXPECT_TRUE(answer.body == whole(number));
    EXPECT_FALSE(answer.headers.contains("content-length"));
  }
  socket.send("HEAD /pieces/3 HTTP/1.1\r\nHost: localhost\r\n\r\n" + get_request("/hello"));
  EXPECT_EQ(socket.read_answer(true).status, 200);
  EXPECT_EQ(socket.read_answer().body, "hello\n");
  RawSocket old(server_->port());
  old.send("GET /pieces/2 HTTP/1.0\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(old.read_all().ends_with(whole(2)));
}

TEST_F(ServerPieces, AreMadeAsTheClientTakesThem) {
  ServerOptions options;
  options.write_timeout = milliseconds(200);
  start(options);
  RawSocket slow(server_->port(), 4096);
  slow.send(get_request("/pieces/12"));
  EXPECT_TRUE(eventually([&] { return (*server_)->metrics().timeouts["write"] == 1; }));
  EXPECT_LT(made_, 12) << "the rest was never made";
}

TEST_F(ServerPieces, AnAnswerThatFailsHalfwayIsNotTakenForAWhole) {
  start();
  RawSocket socket(server_->port());
  socket.send(get_request("/pieces/20"));
  const RawAnswer answer = socket.read_answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_FALSE(answer.complete);
}

TEST_F(ServerPieces, AreBoundedInNumber) {
  ServerOptions options;
  options.max_piecewise = 1;
  start(options);
  RawSocket first(server_->port(), 4096);
  first.send(get_request("/pieces/12"));
  EXPECT_TRUE(eventually([&] { return made_ > 0; }));
  RawSocket second(server_->port());
  second.send(get_request("/pieces/1"));
  const RawAnswer refused = second.read_answer();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(code_of(refused), "http.tooManyLargeAnswers");
}

}  // namespace
}  // namespace railweave::api
