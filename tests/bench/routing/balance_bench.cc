// The fullest link, in pairs of host ports, of the real fabrics in shared/data after cuts: as repaired, after the steps
// towards fresh balance (FabricView::spread_basis()), and of a fabric that was cabled so from the start. Beside it what
// OpenSM's best engine free of deadlocks had, where it was measured (tests/bench/opensm.sh).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include <benchmark/benchmark.h>

#include "fabric/formats/read_fabric.h"
#include "fabric/routing/audit/audit.h"
#include "fabric/routing/delta/forwarding_delta.h"
#include "fabric/routing/engine_registry.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {
namespace {

struct Dump {
  std::string text;
  TopologyPtr topology;
};

TopologyPtr topology_of(const std::string& text) {
  TopologyBuilder builder;
  if (!read_into(text, Format::unknown, {.source = "dump"}, builder)) return nullptr;
  auto made = std::move(builder).build();
  return made ? std::make_shared<const Topology>(std::move(*made)) : nullptr;
}

Dump read(const char* name) {
  const auto path = std::filesystem::path(RAILWEAVE_SHARED_DATA) / "ib" / name;
  std::ifstream file(path);
  Dump dump{.text = std::string(std::istreambuf_iterator<char>(file), {}), .topology = nullptr};
  if (file && !dump.text.empty()) dump.topology = topology_of(dump.text);
  return dump;
}

// The text without the lines of these ports, each named by its switch's GUID and its number.
std::string without(const std::string& text, const std::set<std::pair<std::uint64_t, unsigned>>& ports) {
  std::istringstream lines(text);
  std::string line, out;
  std::uint64_t guid = 0;
  while (std::getline(lines, line)) {
    if (const auto at = line.find("\"S-"); line.starts_with("Switch") && at != std::string::npos) {
      guid = std::stoull(line.substr(at + 3, 16), nullptr, 16);
    } else if (line.starts_with("Ca")) {
      guid = 0;
    }
    if (line.starts_with("[") && guid != 0 && ports.contains({guid, static_cast<unsigned>(std::stoul(line.substr(1)))}))
      continue;
    out += line + "\n";
  }
  return out;
}

double fullest(const RoutingInput& input, const Routing& routing) {
  return static_cast<double>(
      audit(input.view, routing.tables, routing.lanes, {.shift_samples = 0}).max_link_load_hosts);
}

void BalanceAfterCuts(benchmark::State& state, const char* name) {
  const Dump dump = read(name);
  if (!dump.topology) {
    state.SkipWithError("the dump is absent");
    return;
  }
  const Topology& t = *dump.topology;
  const RoutingInput whole{.view = FabricView(dump.topology), .scope = RoutingScope::make(dump.topology).value()};
  const RoutingEngine& engine = *choose_engine(*whole.scope).engine;
  const Routing healthy = engine.route(whole).value();
  std::vector<LinkId> links;
  for (const LinkId link : t.links()) {
    if (t.joins_switches(link)) links.push_back(link);
  }
  std::mt19937_64 random(static_cast<std::uint64_t>(state.range(1)));
  std::shuffle(links.begin(), links.end(), random);
  links.resize(std::min(links.size(), static_cast<std::size_t>(state.range(0))));
  RoutingInput cut = whole;
  auto basis = std::make_shared<SpreadBasis>();
  std::set<std::pair<std::uint64_t, unsigned>> ports;
  for (const LinkId link : links) {
    cut.view.set_state(link, LinkState::down);
    basis->links.push_back(link);
    for (const PortId port : {t.a(link), t.b(link)}) {
      ports.emplace(t.guid(t.switch_of(port)).value(), t.number(port));
    }
  }
  std::ranges::sort(basis->links);
  const Routing repaired = engine.reroute(healthy, cut).value();
  RoutingInput based = cut;
  based.view.set_spread_basis(basis);
  Routing spread;
  for (auto _ : state) spread = engine.reroute(repaired, based).value();
  const ForwardingDelta delta = compute_delta(based.view, repaired, spread);
  state.counters["healthy"] = fullest(whole, healthy);
  state.counters["repaired"] = fullest(cut, repaired);
  state.counters["spread"] = fullest(based, spread);
  state.counters["blocks"] = static_cast<double>(delta.changed_blocks);
  state.counters["waits"] = static_cast<double>(delta.waits.size());
  state.counters["unproven"] =  // entries that change only with drops, which is not done
      static_cast<double>(compute_delta(based.view, repaired, spread, {.may_drop = false}).left_out);
  state.counters["sound"] = audit(based.view, spread.tables, spread.lanes, {.shift_samples = 0}).verified() ? 1 : 0;
  if (const auto topology = topology_of(without(dump.text, ports))) {
    const RoutingInput fresh{.view = FabricView(topology), .scope = RoutingScope::make(topology).value()};
    const double best = fullest(fresh, choose_engine(*fresh.scope).engine->route(fresh).value());
    state.counters["fresh"] = best;
    state.counters["ratio"] = fullest(based, spread) / best;
  }
}

constexpr const char* kDgx = "dgx-h100-ndr.ibnetdiscover.txt";
constexpr const char* kStorage = "selene.storage.txt";
BENCHMARK_CAPTURE(BalanceAfterCuts, dgx, kDgx)
    ->ArgNames({"cuts", "draw"})
    ->ArgsProduct({{1, 5, 27}, {1, 2, 3}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(BalanceAfterCuts, storage, kStorage)
    ->ArgNames({"cuts", "draw"})
    ->ArgsProduct({{1, 20}, {1, 2, 3}})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);

}  // namespace
}  // namespace railweave::fabric
