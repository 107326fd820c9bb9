// What guarantees cost the control thread on rail-optimised fabrics of 8 rails: four jobs on all hosts, whose tenant's
// contract is amended to survive any link failure; a first book of them on another thread; a failure of a link, and its
// return.
#include <chrono>
#include <string>

#include <benchmark/benchmark.h>

#include "fabric/base/check.h"
#include "fabric/generate/generate.h"
#include "services/control/apply.h"
#include "services/control/decide.h"
#include "services/control/guarantee_recheck.h"

namespace railweave::control {
namespace {

class Cluster {
 public:
  explicit Cluster(std::int64_t hosts) {
    auto topology = fabric::generate("rail-optimized", {{"hosts", std::to_string(hosts)}, {"tiers", hosts > 256 ? "3" : "2"}});
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
  void ask(decltype(Command::body) body) {
    QueueRunner queue(placers, 0);
    auto decision = decide(state, {"bench", std::move(body)}, 1'000'000, placers, queue);
    RAILWEAVE_CHECK(decision.has_value(), decision ? "" : decision.error().error.text().c_str());
    for (const auto& event : decision->events) apply(state, Event{state.seq + 1, 1, 1'000'000, "bench", event});
  }
  void contract(bool survives) {
    scheduler::Contract terms{.tenant = "t", .guaranteed = RateMbps(1'000)};
    terms.survives_link_failure = survives;
    ask(PutContract{terms, {}});
  }

  ClusterState state;
  PlacerCache placers;
};

double seconds(const auto& work) {
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - started).count();
}

void Guarantees(benchmark::State& state) {
  Cluster cluster(state.range(0));
  double amend = 0, again = 0, book = 0, down = 0, up = 0;
  const auto& t = cluster.state.topology();
  std::string cable;
  for (const auto link : t.links()) {
    if (t.joins_switches(link)) cable = t.link_text(link);
  }
  for (auto _ : state) {
    amend = seconds([&] { cluster.contract(true); });
    again = seconds([&] {
      cluster.contract(false);
      cluster.contract(true);
    });
    book = seconds([&] {
      GuaranteeBook fresh;
      RAILWEAVE_CHECK(fresh.bring_to(cluster.state).has_value(), "it is routed");
    });
    down = seconds([&] { cluster.ask(ReportLinks{"default", {{cable, fabric::LinkState::down, false}}}); });
    up = seconds([&] { cluster.ask(ReportLinks{"default", {{cable, fabric::LinkState::up, false}}}); });
  }
  std::size_t covered = 0;
  for (const JobId id : *cluster.state.guaranteed) covered += cluster.state.jobs.find(id)->guarantee->covered ? 1U : 0U;
  state.counters["switch_links"] = static_cast<double>(t.links().size());
  state.counters["amend_ms"] = amend * 1e3;
  state.counters["again_ms"] = again * 1e3;
  state.counters["first_book_ms"] = book * 1e3;
  state.counters["down_ms"] = down * 1e3;
  state.counters["up_ms"] = up * 1e3;
  state.counters["covered"] = static_cast<double>(covered);
}
BENCHMARK(Guarantees)->Arg(256)->Arg(1024)->Arg(4096)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace railweave::control
