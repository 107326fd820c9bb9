// The form in which answers are sent: compression, entity tags, conditions; and their counting.
#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "api/http/message/etag.h"
#include "api/http/message/prometheus_text.h"
#include "tests/unit/http/raw_socket.h"
#include "tests/unit/http/test_server.h"

namespace railweave::api {
namespace {

// By zlib directly; "" when it is not gzip.
std::string inflated(const std::string& bytes, std::size_t size) {
  z_stream stream{};
  if (inflateInit2(&stream, 31) != Z_OK) return {};
  std::string out(size + 1, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return result == Z_STREAM_END ? out : std::string();
}

std::string json_of(std::size_t size) {
  std::string text = "[";
  std::mt19937 random(7);
  while (text.size() < size) text += std::to_string(random() % 100'000) + ",";
  text.back() = ']';
  return text;
}

class ServerAnswer : public testing::Test {
 protected:
  static constexpr const char* kGzip = "Accept-Encoding: gzip\r\n";

  const std::string small = json_of(1000);
  const std::string medium = json_of(20'000);
  const std::string large = json_of(1'000'000);  // compressed on the pool
  const TestServer server{{}, [this](Router& router) {
                            const auto serve = [&](const std::string& path, const std::string& body) {
                              router.get(path, [&body](const Request&, const Responder& answer) {
                                answer(Response::json(body).with("ETag", "\"v1\""));
                              });
                            };
                            serve("/small", small);
                            serve("/medium", medium);
                            serve("/large", large);
                          }};
  RawSocket socket{server.port()};
};

TEST_F(ServerAnswer, CompressesWhatIsLargeForThoseWhoCanReadIt) {
  for (const auto& [path, body] : {std::pair{"/medium", &medium}, std::pair{"/large", &large}}) {
    socket.send(get_request(path, kGzip));
    const RawAnswer answer = socket.read_answer();
    EXPECT_EQ(answer.headers.at("content-encoding"), "gzip");
    EXPECT_EQ(answer.headers.at("vary"), "Accept-Encoding");
    EXPECT_EQ(answer.headers.at("etag"), "\"v1-gzip\"");
    EXPECT_LT(answer.body.size(), body->size() * 3 / 4);
    EXPECT_EQ(inflated(answer.body, body->size()), *body);
    socket.send(get_request(path));
    const RawAnswer plain = socket.read_answer();
    EXPECT_FALSE(plain.headers.contains("content-encoding"));
    EXPECT_EQ(plain.headers.at("vary"), "Accept-Encoding");
    EXPECT_EQ(plain.headers.at("etag"), "\"v1\"");
    EXPECT_EQ(plain.body, *body);
  }
  socket.send(get_request("/small", kGzip));
  const RawAnswer answer = socket.read_answer();
  EXPECT_FALSE(answer.headers.contains("content-encoding"));
  EXPECT_EQ(answer.body, small);
}

TEST_F(ServerAnswer, HonoursTheWeightsOfAcceptEncoding) {
  const auto compressed = [&](const std::string& accepted) {
    socket.send(get_request("/medium", "Accept-Encoding: " + accepted + "\r\n"));
    return socket.read_answer().headers.contains("content-encoding");
  };
  EXPECT_TRUE(compressed("br, GZIP"));
  EXPECT_TRUE(compressed("gzip;q=0.001"));
  EXPECT_TRUE(compressed("*"));
  EXPECT_TRUE(compressed("identity;q=0, *;q=0.1"));
  EXPECT_FALSE(compressed("gzip;q=0"));
  EXPECT_FALSE(compressed("gzip; q=0.000, *"));
  EXPECT_FALSE(compressed("*;q=0"));
  EXPECT_FALSE(compressed("br"));
  EXPECT_FALSE(compressed("gzip;q=nonsense"));
}

TEST_F(ServerAnswer, SendsNothingTwiceToThoseWhoHaveIt) {
  const auto status = [&](const std::string& tags, const std::string& more = {}) {
    socket.send(get_request("/medium", "If-None-Match: " + tags + "\r\n" + more));
    const RawAnswer answer = socket.read_answer();
    if (answer.status == 304) {
      EXPECT_FALSE(answer.headers.contains("content-length"));
      EXPECT_TRUE(answer.headers.contains("etag"));
      EXPECT_EQ(answer.headers.at("vary"), "Accept-Encoding");
    }
    return answer.status;
  };
  EXPECT_EQ(status("\"v1\""), 304);
  EXPECT_EQ(status("\"v1-gzip\"", kGzip), 304);
  EXPECT_EQ(status("W/\"v1\""), 304);
  EXPECT_EQ(status("*"), 304);
  EXPECT_EQ(status("\"a,b\", \"v0\" ,\"v1\""), 304);
  EXPECT_EQ(status("\"v0\""), 200);
  EXPECT_EQ(status("v1"), 200);
  EXPECT_EQ(status("\"v1"), 200);
  socket.send("HEAD /medium HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \"v1\"\r\n\r\n");
  EXPECT_EQ(socket.read_answer(true).status, 304);
}

TEST_F(ServerAnswer, HeadSaysWhatGetWould) {
  socket.send("HEAD /medium HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n" + get_request("/small"));
  const RawAnswer head = socket.read_answer(true);
  EXPECT_EQ(head.headers.at("content-encoding"), "gzip");
  EXPECT_EQ(head.headers.at("etag"), "\"v1-gzip\"");
  EXPECT_FALSE(head.headers.contains("content-length"));
  EXPECT_EQ(socket.read_answer().body, small);
}

TEST(ServerMetrics, CountByPatternMethodAndStatus) {
  std::atomic<int> logged = 0;
  ServerOptions options;
  options.access_log = [&](const AccessRecord& record) {
    if (record.route == "/things/{id}" && record.path == "/things/b" && record.status == 200) ++logged;
  };
  TestServer server(options);
  {
    RawSocket socket(server.port());
    socket.send(get_request("/things/a") + get_request("/things/b") + get_request("/nothing/here") +
                "HEAD /hello HTTP/1.1\r\nHost: localhost\r\n\r\n" + "POST /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
    socket.end_sending();
    socket.read_all();
  }
  server->stop(std::chrono::milliseconds(1000));
  const HttpMetrics metrics = server->metrics();
  EXPECT_EQ((metrics.requests.at({"/things/{id}", Method::get, 200})), 2U);
  EXPECT_EQ((metrics.requests.at({"unmatched", Method::get, 404})), 1U);
  EXPECT_EQ((metrics.requests.at({"/hello", Method::head, 200})), 1U);
  EXPECT_EQ((metrics.requests.at({"/hello", Method::post, 405})), 1U);
  EXPECT_EQ(metrics.accepted_connections, 1U);
  EXPECT_EQ(metrics.requests_in_flight, 0U);
  EXPECT_EQ(metrics.open_connections, 0U);
  EXPECT_GT(metrics.received_bytes, 200U);
  EXPECT_GT(metrics.sent_bytes, 500U);
  EXPECT_EQ(logged, 1);
  PrometheusText text;
  render(metrics, text);
  const std::string page = text.take();
  EXPECT_THAT(page, testing::HasSubstr(
                        "railweave_http_requests_total{route=\"/things/{id}\",method=\"GET\",status=\"200\"} 2\n"));
  EXPECT_THAT(page, testing::HasSubstr(
                        "railweave_http_request_duration_seconds_count{route=\"/things/{id}\",method=\"GET\"} 2\n"));
  EXPECT_THAT(page, testing::HasSubstr("# TYPE railweave_http_request_duration_seconds histogram\n"));
  EXPECT_THAT(page, testing::HasSubstr("le=\"0.00025\""));
}

TEST(ServerLoad, ManyConnectionsAtOnceGetTheirOwnAnswers) {
  std::vector<std::thread> workers;
  std::mutex mutex;
  {
    const TestServer server({}, [&](Router& router) {
      router.post("/compute",
                  [](const Request& request, const Responder& answer) { answer(Response::text("c" + request.body)); },
                  {.compute = true});
      router.post("/later", [&](const Request& request, const Responder& answer) {
        const std::lock_guard lock(mutex);
        workers.emplace_back([answer, body = request.body] { answer(Response::text("l" + body)); });
      });
    });
    std::vector<std::thread> clients;
    for (int client = 0; client < 16; ++client) {
      clients.emplace_back([&server, client] {
        RawSocket socket(server.port());
        for (int i = 0; i < 40; ++i) {
          const std::string body = std::to_string(client) + "." + std::to_string(i);
          socket.send(post_request("/compute", body) + post_request("/later", body) + post_request("/echo", body));
          ASSERT_EQ(socket.read_answer().body, "c" + body);
          ASSERT_EQ(socket.read_answer().body, "l" + body);
          ASSERT_EQ(socket.read_answer().body, body);
        }
      });
    }
    for (std::thread& client : clients) client.join();
  }
  for (std::thread& worker : workers) worker.join();
}

}  // namespace
}  // namespace railweave::api
