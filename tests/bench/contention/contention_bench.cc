// What the service spends on saying what jobs slow each other by, on 100,000 GPUs at 95% fill: on worker threads the
// book of real routes, on the control thread the traffic that candidates are scored beside.
#include <chrono>
#include <random>

#include <benchmark/benchmark.h>

#include "fabric/generate/generate.h"
#include "services/control/views/contention_book.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

scheduler::JobSpec job_of(std::uint64_t gpus) {
  scheduler::JobSpec spec;
  auto& p = spec.parallelism;
  p.tensor = static_cast<std::uint32_t>(std::min<std::uint64_t>(8, gpus));
  p.pipeline = gpus >= 512 ? 4 : 1;
  p.data = static_cast<std::uint32_t>(gpus / p.tensor / p.pipeline);
  return spec;
}

struct Cluster {
  ClusterState state;
  PlacerCache placers;
  std::uint64_t next = 1, used = 0;
  std::vector<JobPtr> running;
  std::mt19937_64 random{7};

  explicit Cluster(std::uint64_t gpus) {
    auto topology = fabric::generate(
        "rail-optimized",
        {{"tiers", "3"}, {"planes", "8"}, {"hosts-per-rack", "4"}, {"hosts", std::to_string(gpus / 8)}});
    if (!topology) std::abort();
    state.set_topology(std::make_shared<const fabric::Topology>(std::move(*topology)));
    state.accepted.digest = "d";
    static constexpr std::pair<std::uint64_t, double> kMix[] = {
        {8, 25}, {16, 14}, {32, 11}, {64, 9}, {128, 7}, {256, 4}, {512, 2.5}, {1024, 1.5}, {2048, 0.6}, {4096, 0.3}};
    std::vector<double> weights;
    for (const auto& [size, weight] : kMix) weights.push_back(weight);
    std::discrete_distribution<std::size_t> mix(weights.begin(), weights.end());
    while (used < gpus * 95 / 100) {
      if (!start(kMix[mix(random)].first)) break;
    }
  }
  JobPtr start(std::uint64_t gpus) {
    const scheduler::JobSpec spec = job_of(gpus);
    auto result = placers.at(state).place(spec);
    if (result.outcome != scheduler::Outcome::placed) return nullptr;
    auto job = std::make_shared<Job>();
    job->id = JobId(next++);
    job->spec = spec;
    job->placement = std::move(result.placement);
    used += gpus;
    state.restore(job);
    ++state.seq;
    running.push_back(job);
    return job;
  }
  void end(const JobPtr& job) {
    state.hold_gpus(*job, false);
    state.jobs.erase(job->id);
    std::erase(running, job);
    used -= job->placement.gpu_of_rank.size();
    ++state.seq;
  }
  JobPtr some(std::uint64_t gpus) {
    for (const JobPtr& job : running) {
      if (job->placement.gpu_of_rank.size() == gpus) return job;
    }
    return start(gpus);
  }
};

Cluster& cluster(std::uint64_t gpus) {
  static std::map<std::uint64_t, std::unique_ptr<Cluster>> all;
  auto& one = all[gpus];
  if (!one) one = std::make_unique<Cluster>(gpus);
  return *one;
}

// Everything from scratch: routes, then all jobs' flows walked.
void BM_BookFromNothing(benchmark::State& state) {
  Cluster& all = cluster(static_cast<std::uint64_t>(state.range(0)));
  const auto routing = std::make_shared<RoutingCache>();
  const auto begin = Clock::now();
  if (!routing->at(all.state)) std::abort();
  state.counters["routes_ms"] = seconds_since(begin) * 1e3;
  for (auto _ : state) {
    ContentionBook book(routing);
    book.bring_to(all.state);
    state.counters["jobs"] = static_cast<double>(book.computed());
    state.counters["routed"] = book.basis() == scheduler::ContentionBasis::routes ? 1 : 0;
  }
}
BENCHMARK(BM_BookFromNothing)->Arg(8'192)->Arg(102'400)->Iterations(2)->Unit(benchmark::kMillisecond);

// One job comes, one goes; then what is said of one of that size.
void BM_BookFollowsAndTells(benchmark::State& state) {
  Cluster& all = cluster(102'400);
  static ContentionBook book;
  book.bring_to(all.state);
  const auto size = static_cast<std::uint64_t>(state.range(0));
  double follow = 0, tell = 0, ask = 0, control = 0, factor = 1;
  for (auto _ : state) {
    if (const JobPtr gone = all.some(size)) all.end(gone);
    (void)all.placers.at(all.state);
    const JobPtr job = all.start(size);
    if (job == nullptr) std::abort();
    auto begin = Clock::now();
    (void)all.placers.at(all.state);
    control += seconds_since(begin);
    begin = Clock::now();
    book.bring_to(all.state);
    follow += seconds_since(begin);
    begin = Clock::now();
    factor = std::max(factor, book.of(job->id)->own.slowdown());
    tell += seconds_since(begin);
    begin = Clock::now();
    benchmark::DoNotOptimize(book.what_if(job->spec, job->placement.gpu_of_rank));
    ask += seconds_since(begin);
  }
  const auto per = [&](double seconds) { return seconds / static_cast<double>(state.iterations()) * 1e3; };
  state.counters["control_ms"] = per(control);
  state.counters["follow_ms"] = per(follow);
  state.counters["tell_ms"] = per(tell);
  state.counters["what_if_ms"] = per(ask);
  state.counters["most_slowed"] = factor;
}
BENCHMARK(BM_BookFollowsAndTells)->Arg(64)->Arg(1024)->Arg(4096)->Iterations(20)->Unit(benchmark::kMillisecond);

// A link between switches fails: rerouted, and all jobs walked again.
void BM_BookAfterALinkFailed(benchmark::State& state) {
  Cluster& all = cluster(102'400);
  ContentionBook book;
  book.bring_to(all.state);
  std::uint32_t at = 0;
  for (auto _ : state) {
    while (!all.state.topology().joins_switches(fabric::LinkId(at))) ++at;
    all.state.set_link(fabric::LinkId(at++), fabric::LinkState::down);
    all.state.view_version = ++all.state.seq;
    book.bring_to(all.state);
  }
}
BENCHMARK(BM_BookAfterALinkFailed)->Iterations(3)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railweave::control
