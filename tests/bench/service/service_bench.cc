// What a caller of railweaved gets over HTTP on loopback, with its SQLite store on this disk and 100,000 GPUs (12,800
// hosts): what-if queries and durable submissions per second by number of callers, and a restart with 10,000 jobs.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "tests/bench/service/large_fabric.h"
#include "tests/bench/service/running_service.h"

namespace railweave {
namespace {

void load(RunningService& service) {
  auto client = service.client();
  service.must(client.put("/v1/fabric/topology", large_fabric()));
  service.must(client.put("/v1/tenants/bench", "{}"));
}

std::string job(std::uint64_t tensor, std::uint64_t data) {
  return R"({"name":"bench","tenant":"bench","parallelism":{"tensor":)" + std::to_string(tensor) + R"(,"data":)" +
         std::to_string(data) + "}}";
}

// `callers` threads, each with a connection of its own, repeat `ask` until `total` answers have come.
template <class Ask>
void in_parallel(int callers, std::int64_t total, Ask ask) {
  std::atomic<std::int64_t> left{total};
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(callers));
  for (int c = 0; c < callers; ++c) {
    threads.emplace_back([&ask, &left, c] {
      while (--left >= 0) ask(c);
    });
  }
  for (auto& thread : threads) thread.join();
}

struct Callers {
  Callers(const RunningService& service, int count) {
    for (int i = 0; i < count; ++i) clients.push_back(service.client());
  }
  std::vector<api::Client> clients;
};

void import_100k_gpus(benchmark::State& state) {
  RunningService service;
  service.start();
  auto client = service.client();
  for (auto _ : state) {
    const std::string text = large_fabric();
    service.must(client.put("/v1/fabric/topology?source=" + std::to_string(state.iterations()), text));
  }
  state.counters["MB"] = static_cast<double>(large_fabric().size()) / 1e6;
}
BENCHMARK(import_100k_gpus)->Unit(benchmark::kMillisecond)->Iterations(1)->UseRealTime();

// By predicted cost: no request can choose another policy.
void what_if(benchmark::State& state) {
  static RunningService service;
  static const bool loaded = [] {
    service.start();
    load(service);
    return true;
  }();
  benchmark::DoNotOptimize(loaded);
  const auto callers = static_cast<int>(state.range(1));
  Callers clients(service, callers);
  const std::string body = job(8, static_cast<std::uint64_t>(state.range(0)) / 8);
  const std::int64_t questions = std::clamp<std::int64_t>(200'000 / state.range(0), 50, 2000);
  for (auto _ : state) {
    in_parallel(callers, questions, [&](int c) {
      service.must(clients.clients[static_cast<std::size_t>(c)].post("/v1/placements/query", body));
    });
  }
  state.counters["queries/s"] =
      benchmark::Counter(static_cast<double>(state.iterations() * questions), benchmark::Counter::kIsRate);
}
BENCHMARK(what_if)
    ->ArgNames({"gpus", "callers"})
    ->ArgsProduct({{8, 64, 1024, 8192}, {1, 8}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// 60,000 GPUs of 102,400: on an empty fabric; where 800 jobs run, so that it does not fit, and the refusal says when it would
// start and what would change it; and where another such job waits as well. A refusal is to cost no more than an answer.
void large_what_if(benchmark::State& state) {
  constexpr std::uint64_t kAsked = 7'500, kRunning = 800, kMaxBlocks = 13, kTensor = 8;
  RunningService service;
  service.start();
  load(service);
  auto client = service.client();
  const std::string body = job(kTensor, kAsked);
  if (state.range(0) > 0) {
    for (std::uint64_t i = 0; i < kRunning; ++i) {
      std::string runs = job(kTensor, 1 + i * 7 % kMaxBlocks);
      runs.insert(runs.size() - 1, R"(,"expectedDuration":"PT)" + std::to_string(i + 30) + R"(M")");
      service.must(client.post("/v1/jobs", runs));
    }
  }
  if (state.range(0) > 1) {
    std::string waits = body;
    waits.insert(waits.size() - 1, R"(,"queue":true)");
    service.must(client.post("/v1/jobs", waits));
  }
  std::string answer = service.must(client.post("/v1/placements/query", body));  // what is computed once
  for (auto _ : state) answer = service.must(client.post("/v1/placements/query", body));
  // Of the answer itself: changes that it offers have outcomes as well.
  state.SetLabel(answer.find(R"("outcome":"placed")") < answer.find("counterfactuals") ? "placed" : "refused");
}
BENCHMARK(large_what_if)
    ->ArgName("refused")
    ->DenseRange(0, 2)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5)
    ->UseRealTime();

void durable_submission(benchmark::State& state) {
  RunningService service;
  service.start();
  load(service);
  const auto callers = static_cast<int>(state.range(0));
  Callers clients(service, callers);
  const std::string body = job(8, 1);
  const std::int64_t jobs = 200 * std::min(callers, 10);
  for (auto _ : state) {
    in_parallel(callers, jobs,
                [&](int c) { service.must(clients.clients[static_cast<std::size_t>(c)].post("/v1/jobs", body)); });
  }
  state.counters["jobs/s"] =
      benchmark::Counter(static_cast<double>(state.iterations() * jobs), benchmark::Counter::kIsRate);
}
BENCHMARK(durable_submission)
    ->ArgName("callers")
    ->Arg(1)
    ->Arg(8)
    ->Arg(64)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(2)
    ->UseRealTime();

// From the start of the process until it listens, everything read back: after a clean stop (snapshot) and after a kill.
void restart(benchmark::State& state) {
  RunningService service;
  service.start();
  load(service);
  const auto jobs = state.range(0);
  Callers clients(service, 32);
  in_parallel(32, jobs,
              [&](int c) { service.must(clients.clients[static_cast<std::size_t>(c)].post("/v1/jobs", job(8, 1))); });
  const int signal = state.range(1) != 0 ? SIGKILL : SIGTERM;
  for (auto _ : state) {
    state.PauseTiming();
    service.end(signal);
    state.ResumeTiming();
    service.start();
  }
}
BENCHMARK(restart)
    ->ArgNames({"jobs", "killed"})
    ->ArgsProduct({{100, 1000, 10'000}, {0, 1}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3)
    ->UseRealTime();

}  // namespace
}  // namespace railweave
