// Requests per second over keep-alive connections on loopback: server (2 I/O threads), load generator and kernel share
// the machine. Swept over connections and body sizes; one item is one request.
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "api/client/client.h"
#include "api/http/server.h"
#include "tests/bench/http/load.h"

namespace railweave::api {
namespace {

// JSON-like, so that compression has something to do.
std::string body_of(std::size_t size) {
  std::string text = "[";
  for (unsigned i = 0; text.size() < size; ++i) text += "{\"rank\":" + std::to_string(i * 7919U % 100'003U) + "},";
  text.resize(size);
  return text;
}

std::unique_ptr<Server> serve(std::size_t body_bytes) {
  auto server = std::make_unique<Server>(ServerOptions{});
  const auto body = std::make_shared<const std::string>(body_of(body_bytes));
  server->router().get("/v1/jobs/{id}",
                       [body](const Request&, const Responder& answer) { answer(Response::json(body)); });
  server->router().get("/v1/computed/{id}",
                       [body](const Request&, const Responder& answer) { answer(Response::json(body)); },
                       {.compute = true});
  server->router().post("/v1/jobs",
                        [](const Request& request, const Responder& answer) {
                          answer(Response::text(std::to_string(request.body.size())));
                        },
                        {.body_limit_bytes = std::size_t{4} << 20U});
  if (!server->start()) std::abort();
  return server;
}

void run(benchmark::State& state, const Server& server, const std::string& request) {
  const auto connections = static_cast<std::size_t>(state.range(0));
  Load load(server.port(), connections, request);
  for (auto _ : state) {
    if (!load.round()) {
      state.SkipWithError("an answer was not as it should be");
      break;
    }
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(static_cast<std::int64_t>(
      load.received_bytes() + static_cast<std::size_t>(state.iterations()) * connections * request.size()));
}

void BM_Get(benchmark::State& state) {
  const auto server = serve(static_cast<std::size_t>(state.range(1)));
  run(state, *server, "GET /v1/jobs/job-000123 HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

void BM_GetGzip(benchmark::State& state) {
  const auto server = serve(static_cast<std::size_t>(state.range(1)));
  run(state, *server, "GET /v1/jobs/job-000123 HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n");
}

void BM_GetComputed(benchmark::State& state) {
  const auto server = serve(static_cast<std::size_t>(state.range(1)));
  run(state, *server, "GET /v1/computed/job-000123 HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

void BM_Post(benchmark::State& state) {
  const auto server = serve(100);
  const std::string body = body_of(static_cast<std::size_t>(state.range(1)));
  run(state, *server,
      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
          std::to_string(body.size()) + "\r\n\r\n" + body);
}

void BM_Client(benchmark::State& state) {
  const auto server = serve(static_cast<std::size_t>(state.range(0)));
  ClientOptions options;
  options.accept_gzip = false;
  Client client(Url{"127.0.0.1", server->port()}, options);
  for (auto _ : state) {
    if (!client.get("/v1/jobs/job-000123")) state.SkipWithError("no answer");
  }
  state.SetItemsProcessed(state.iterations());
}

const std::vector<std::int64_t> kConnections = {1, 8, 64};
const std::vector<std::int64_t> kBodies = {100, 10'000, 1'000'000};

BENCHMARK(BM_Get)->ArgNames({"connections", "body"})->ArgsProduct({kConnections, kBodies})->UseRealTime();
BENCHMARK(BM_GetGzip)->ArgNames({"connections", "body"})->ArgsProduct({{1, 64}, {10'000, 1'000'000}})->UseRealTime();
BENCHMARK(BM_GetComputed)->ArgNames({"connections", "body"})->ArgsProduct({kConnections, {100}})->UseRealTime();
BENCHMARK(BM_Post)->ArgNames({"connections", "body"})->ArgsProduct({{1, 64}, kBodies})->UseRealTime();
BENCHMARK(BM_Client)->ArgName("body")->Arg(100)->Arg(1'000'000)->UseRealTime();

}  // namespace
}  // namespace railweave::api
