// What it costs to start a job that owns a lane, while others come and go at 95% fill: placing, admitting and applying it; and
// what switches and adapters have to be told then, as the difference of the tables planned before and after.
#include <algorithm>
#include <chrono>
#include <map>
#include <random>
#include <string>

#include <benchmark/benchmark.h>

#include "fabric/base/check.h"
#include "fabric/capacity/lane_owners.h"
#include "fabric/generate/generate.h"
#include "fabric/qos/infiniband_plan.h"
#include "services/control/decide/decide.h"
#include "services/control/events/apply.h"
#include "services/control/live/ports/ingress_users.h"
#include "tests/bench/lanes/job_sizes.h"

namespace railweave::control {
namespace {

using Clock = std::chrono::steady_clock;

// What ports hold: tables that differ between two plans, and the ports that they are of.
struct Difference {
  std::size_t ports = 0, arbitration = 0, maps = 0;
};
Difference difference(const std::vector<fabric::PortTables>& before, const std::vector<fabric::PortTables>& after) {
  RAILWEAVE_CHECK(before.size() == after.size(), "they are of the same ports");
  constexpr unsigned kMaxInPorts = 65;
  Difference changed;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool arbitration = before[i].arbitration != after[i].arbitration;
    std::size_t maps = 0;
    if (before[i].sl_to_vl != after[i].sl_to_vl || before[i].ingress != after[i].ingress) {
      for (unsigned in = 1; in < kMaxInPorts; ++in)
        maps += before[i].sl_to_vl_from(in) != after[i].sl_to_vl_from(in) ? 1U : 0U;
    }
    changed.arbitration += arbitration ? 1 : 0;
    changed.maps += maps;
    changed.ports += arbitration || maps > 0 ? 1 : 0;
  }
  return changed;
}

class Cluster {
 public:
  Cluster(const std::string& kind, const fabric::GenerateParameters& parameters) {
    auto topology = fabric::generate(kind, parameters);
    RAILWEAVE_CHECK(topology.has_value(), topology ? "" : topology.error().text().c_str());
    ask(AcceptTopology{
        std::make_shared<const fabric::Topology>(std::move(*topology)), nullptr, "digest", "bench", false, {}});
    ask(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
    scheduler::Contract terms{.tenant = "t", .guaranteed = RateMbps(1'000)};
    terms.isolation = scheduler::Isolation::lane;
    ask(PutContract{terms, {}});
    gpus_ = state.topology().gpus().size();
  }
  bool ask(const decltype(Command::body)& body) {
    QueueRunner queue(placers, 0);
    auto decision = decide(state, {"bench", body}, 1'000'000, placers, queue);
    if (!decision) {
      refusals.push_back(decision.error().error.code);
      return false;
    }
    for (const auto& event : decision->events) apply(state, Event{state.seq + 1, 1, 1'000'000, "bench", event});
    last_job_ = decision->job;
    return true;
  }
  // The next job of the stream, after the ends of others that make room for it. True: it started.
  bool next(double* ms = nullptr) {
    SubmitJob job;
    job.spec.name = "job";
    job.spec.tenant = "t";
    const std::uint32_t size = bench::next_size(random_) * scale_;
    job.spec.parallelism.tensor = std::min<std::uint32_t>(8, size);
    job.spec.parallelism.data = size / job.spec.parallelism.tensor;
    while (!running_.empty() && (gpus_ - state.free_gpus + size) * 100 > gpus_ * 95) {
      const std::size_t at = random_() % running_.size();
      ask(EndJob{running_[at], JobState::completed, {}, {}});
      running_[at] = running_.back();
      running_.pop_back();
    }
    const auto begin = Clock::now();
    const bool started = ask(job);
    if (ms != nullptr) *ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    if (started) running_.push_back(last_job_);
    return started;
  }
  void scale(std::uint32_t times) { scale_ = times; }
  [[nodiscard]] std::vector<fabric::PortTables> tables() {
    GuaranteeBook& book = placers.guarantees();
    RAILWEAVE_CHECK(book.bring_to(state).has_value(), "there are routes");
    const auto& routes = *book.routes();
    auto plan = fabric::plan_infiniband({.classes = state.qos_classes.get(),
                                         .subnet = fabric::SubnetId(),
                                         .view = routes.input.view,
                                         .scope = routes.input.scope,
                                         .lanes = &routes.routing.lanes,
                                         .ledger = &book.ledger(),
                                         .uniform = false,
                                         .owned_lanes = true,
                                         .users = ingress_users(state),
                                         .data_lanes = 15,
                                         .arbitration = {.entries = fabric::kMaxArbitrationEntries},
                                         .tenants = {},
                                         .limited_default = {}});
    RAILWEAVE_CHECK(plan.has_value(), plan ? "" : plan.error().text().c_str());
    return std::move(plan->ports);
  }
  [[nodiscard]] unsigned lanes() {
    RAILWEAVE_CHECK(placers.guarantees().bring_to(state).has_value(), "there are routes");
    return fabric::lanes_in_use(placers.guarantees().ledger());
  }
  [[nodiscard]] std::size_t jobs() const { return running_.size(); }
  [[nodiscard]] std::size_t gpus() const { return gpus_; }

  ClusterState state;
  PlacerCache placers;
  std::vector<std::string> refusals;

 private:
  std::mt19937_64 random_{1};
  std::vector<JobId> running_;
  JobId last_job_;
  std::size_t gpus_ = 0;
  std::uint32_t scale_ = 1;
};

enum Kind : std::int64_t { hosts_1024_2_tiers, hosts_512_8_rails, hosts_12800_8_rails };

void lane_starts(benchmark::State& state) {
  for (auto _ : state) {
    const bool is_large = state.range(0) == hosts_12800_8_rails;
    static const std::map<std::int64_t, std::pair<const char*, fabric::GenerateParameters>> kShapes = {
        {hosts_1024_2_tiers,
         {"fat-tree", {{"hosts", "1024"}, {"tiers", "2"}, {"nics-per-host", "1"}, {"radix", "64"}}}},
        {hosts_512_8_rails, {"rail-optimized", {{"hosts", "512"}, {"tiers", "2"}, {"planes", "8"}}}},
        {hosts_12800_8_rails, {"rail-optimized", {{"hosts", "12800"}, {"tiers", "3"}, {"planes", "8"}}}}};
    const auto& [kind, parameters] = kShapes.at(state.range(0));
    Cluster cluster(kind, parameters);
    if (is_large) cluster.scale(8);  // jobs of 8 to 8,192 GPUs
    while (static_cast<double>(cluster.gpus() - cluster.state.free_gpus) < 0.94 * static_cast<double>(cluster.gpus()))
      (void)cluster.next();
    cluster.refusals.clear();
    std::vector<double> ms, ports, arbitration, maps, lanes, jobs;
    const int starts = is_large ? 400 : 2'000, compared = is_large ? 10 : 100;
    for (int i = 0; i < starts; ++i) {
      double spent = 0;
      if (!cluster.next(&spent)) continue;
      ms.push_back(spent);
      lanes.push_back(cluster.lanes());
      jobs.push_back(static_cast<double>(cluster.jobs()));
    }
    state.counters["refused"] = static_cast<double>(cluster.refusals.size());
    for (int i = 0; i < compared; ++i) {
      // With the jobs that end for it: what they leave is written in the same step.
      const auto before = cluster.tables();
      if (!cluster.next()) continue;
      const Difference changed = difference(before, cluster.tables());
      ports.push_back(static_cast<double>(changed.ports));
      arbitration.push_back(static_cast<double>(changed.arbitration));
      maps.push_back(static_cast<double>(changed.maps));
    }
    state.counters["jobs"] = bench::quantile(jobs, 0.5);
    state.counters["lanes_p50"] = bench::quantile(lanes, 0.5);
    state.counters["lanes_max"] = bench::quantile(lanes, 1);
    state.counters["start_ms_p50"] = bench::quantile(ms, 0.5);
    state.counters["start_ms_p99"] = bench::quantile(ms, 0.99);
    state.counters["ports_p50"] = bench::quantile(ports, 0.5);
    state.counters["ports_p99"] = bench::quantile(ports, 0.99);
    state.counters["arbitration_p50"] = bench::quantile(arbitration, 0.5);
    state.counters["maps_p50"] = bench::quantile(maps, 0.5);
  }
}
BENCHMARK(lane_starts)
    ->ArgName("fabric")
    ->DenseRange(hosts_1024_2_tiers, hosts_12800_8_rails)
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

}  // namespace
}  // namespace railweave::control
