// The cost of guarantees in the control thread on rail-optimized fabrics of 8 rails: four jobs on all hosts, whose
// tenant's contract is amended to survive any link failure; a first book of them on another thread; a failure of a
// link, and its recovery.
#include <chrono>
#include <ctime>
#include <string>

#include <benchmark/benchmark.h>

#include "fabric/base/check.h"
#include "fabric/generate/generate.h"
#include "services/control/decide/decide.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/recheck.h"

namespace railweave::control {
namespace {

class Cluster {
 public:
  explicit Cluster(std::int64_t hosts) {
    auto topology =
        fabric::generate("rail-optimized", {{"hosts", std::to_string(hosts)}, {"tiers", hosts > 256 ? "3" : "2"}});
    RAILWEAVE_CHECK(topology.has_value(), "it is a fabric");
    ask(AcceptTopology{
        std::make_shared<const fabric::Topology>(std::move(*topology)), nullptr, "digest", "bench", false, {}});
    ask(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
    contract(false);
    for (int i = 0; i < 4; ++i) {
      SubmitJob job;
      job.spec.name = "job";
      job.spec.tenant = "t";
      job.spec.parallelism.data = static_cast<std::uint32_t>(hosts * 8 / 4);
      ask(job);
    }
  }
  void ask(const decltype(Command::body)& body) {
    QueueRunner queue(placers, 0);
    auto decision = decide(state, {"bench", body}, 1'000'000, placers, queue);
    while (!decision && decision.error().error.code == "admission.tooManyFailures") {  // as a reader's thread does
      decision = decide(state, {"bench", body}, 1'000'000, placers, queue);
    }
    RAILWEAVE_CHECK(decision.has_value(), decision ? "" : decision.error().error.text().c_str());
    for (const auto& event : decision->events) apply(state, Event{state.seq + 1, 1, 1'000'000, "bench", event});
  }
  void contract(bool survives) {
    scheduler::Contract terms{.tenant = "t", .guaranteed = RateMbps(1'000)};
    terms.survives_link_failure = survives;
    ask(PutContract{.terms = terms, .if_version = {}, .withdraw = true});
  }

  ClusterState state;
  PlacerCache placers;
};

struct Spent {
  double wall_ms = 0, cpu_ms = 0;  // cpu: of all threads
};

Spent spent(const auto& work) {
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  const std::clock_t cpu = std::clock();
  work();
  return {std::chrono::duration<double, std::milli>(Clock::now() - started).count(),
          static_cast<double>(std::clock() - cpu) * 1e3 / CLOCKS_PER_SEC};
}

// amend: no thread evaluated it before. known: the control thread, after a reader's thread evaluated the same.
// book: a first one, while others exist. down, up: the report of a cable.
void Guarantees(benchmark::State& state) {
  Cluster cluster(state.range(0));
  Spent amend, known, book, down, up;
  const auto& t = cluster.state.topology();
  std::string cable;
  std::size_t between_switches = 0;
  for (const auto link : t.links()) {
    if (!t.joins_switches(link)) continue;
    cable = t.link_text(link);
    ++between_switches;
  }
  for (auto _ : state) {
    amend = spent([&] { cluster.contract(true); });
    cluster.contract(false);
    known = spent([&] { cluster.contract(true); });
    book = spent([&] {
      GuaranteeBook fresh(cluster.placers.guarantees().routing());
      RAILWEAVE_CHECK(fresh.bring_to(cluster.state).has_value(), "it is routed");
    });
    down = spent([&] { cluster.ask(ReportLinks{"default", {{cable, fabric::LinkState::down, false}}}); });
    up = spent([&] { cluster.ask(ReportLinks{"default", {{cable, fabric::LinkState::up, false}}}); });
  }
  std::size_t covered = 0;
  for (const JobId id : *cluster.state.guaranteed) covered += cluster.state.jobs.find(id)->guarantee->covered ? 1U : 0U;
  state.counters["links"] = static_cast<double>(between_switches);
  state.counters["covered"] = static_cast<double>(covered);
  const auto show = [&](const std::string& name, const Spent& one) {
    state.counters[name + "_ms"] = one.wall_ms;
    state.counters[name + "_cpu_ms"] = one.cpu_ms;
  };
  show("amend", amend);
  show("known", known);
  show("book", book);
  show("down", down);
  show("up", up);
}
BENCHMARK(Guarantees)->Arg(256)->Arg(1024)->Arg(4096)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railweave::control
