// Routes that follow traffic: whatever hops are chosen, tables stay as complete, as short and as free of credit loops as the
// engine's, and reroutes equal full computations; loads are those of packets followed one by one, and as little as any choice of
// hops brings.
#include "fabric/routing/traffic/traffic_balance.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/routing/engine_registry.h"
#include "tests/unit/routing/naive_checker.h"
#include "tests/unit/routing/random_fabric.h"
#include "tests/unit/routing/routed.h"

namespace railweave::fabric::traffic_balance_test {
namespace {

using testing::build;
using testing::check_naively;
using testing::FabricSketch;
using testing::input_of;
using testing::random_graph;
using testing::random_tree;

std::vector<PortId> host_ports(const Topology& t) {
  std::vector<PortId> ports;
  for (const SwitchId sw : t.switches()) {
    for (const PortId port : t.ports(sw)) {
      const PortId peer = t.peer(port);
      if (peer && t.hca_of(peer) && t.host(t.hca_of(peer))) ports.push_back(peer);
    }
  }
  return ports;
}

void set_hops(FabricView& view, std::vector<ChosenHop> hops) {
  auto basis = std::make_shared<SpreadBasis>();
  if (view.spread_basis()) *basis = *view.spread_basis();
  std::ranges::sort(hops);
  basis->hops = std::move(hops);
  view.set_spread_basis(basis->empty() ? nullptr : std::move(basis));
}

void cut_some(FabricView& view, std::mt19937_64& random, unsigned one_in) {
  for (const LinkId link : view.topology().links()) {
    if (view.topology().joins_switches(link) && random() % one_in == 0) {
      view.set_state(link, random() % 3 == 0 ? LinkState::up : LinkState::down);
    }
  }
}

// Mostly nonsense, as links fail after hops were chosen, and switches are exchanged.
std::vector<ChosenHop> random_hops(const Topology& t, std::mt19937_64& random) {
  std::vector<ChosenHop> hops;
  const auto ports = host_ports(t);
  for (const SwitchId sw : t.switches()) {
    for (const PortId port : ports) {
      if (random() % 2 == 0) continue;
      hops.push_back({sw, port, static_cast<std::uint16_t>(1 + random() % (t.ports(sw).size() + 1))});
    }
  }
  return hops;
}

// The links between switches that packets cross, by an own walk.
std::vector<LinkId> walked(const FabricView& view, const Routing& routing, PortId from, PortId to) {
  const Topology& t = view.topology();
  const DestinationId destination = routing.tables.scope().find(to);
  std::vector<LinkId> links;
  SwitchId at = t.switch_of(t.peer(from));
  while (links.size() < t.switches().size()) {
    const std::uint16_t port = routing.tables.out_port(at, destination);
    if (port == kNoPort || port == kPortZero) return {};
    const PortId out = t.ports(at)[port - 1U];
    if (t.peer(out) == to) break;
    if (!t.joins_switches(t.link(out)) || !view.alive(t.link(out))) return {};
    links.push_back(t.link(out));
    at = t.switch_of(t.peer(out));
  }
  return links;
}

TEST(ChosenHops, AnyOfThemLeaveRoutesAsShortAndFreeOfCreditLoops) {
  std::size_t changed = 0, cut = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    std::mt19937_64 random(seed);
    RoutingInput input = input_of(build(seed % 3 == 0 ? random_graph(seed) : random_tree(seed)));
    const RoutingEngine& engine = *find_engine("up-down");
    if (seed % 2 == 0) cut_some(input.view, random, 6);
    const Routing plain = engine.route(input).value();
    const auto before = check_naively(input.view, plain);
    set_hops(input.view, random_hops(input.view.topology(), random));
    const Routing chosen = engine.route(input).value();
    const auto after = check_naively(input.view, chosen);
    ASSERT_EQ(after.failed, 0U) << "seed " << seed << ": " << after.text();
    ASSERT_EQ(after.unreachable, before.unreachable) << "seed " << seed;
    ASSERT_FALSE(after.credit_loop) << "seed " << seed;
    ASSERT_EQ(after.route_length, before.route_length) << "seed " << seed;
    changed += chosen.tables == plain.tables ? 0 : 1;
    Routing last = engine.reroute(plain, input).value();
    ASSERT_TRUE(last.tables == chosen.tables) << "seed " << seed;
    // Failures, repairs, other hops and none, one after the other.
    for (unsigned step = 0; step < 6; ++step) {
      cut_some(input.view, random, 8);
      if (step == 3) set_hops(input.view, random_hops(input.view.topology(), random));
      if (step == 5) set_hops(input.view, {});
      Routing next = engine.reroute(last, input).value();
      const Routing whole = engine.route(input).value();
      ASSERT_TRUE(next.tables == whole.tables) << "seed " << seed << " step " << step;
      const auto now = check_naively(input.view, next);
      ASSERT_TRUE(now.failed == 0 && !now.credit_loop) << "seed " << seed << " step " << step << ": " << now.text();
      ++cut;
      last = std::move(next);
    }
  }
  EXPECT_GT(changed, 60U);
  EXPECT_EQ(cut, 720U);
}

// What guarantees that survive failures rest on.
TEST(ChosenHops, ALinkThatIsNotFarReachingChangesOnlyRoutesThatCrossIt) {
  std::size_t near = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    RoutingInput input = input_of(build(random_tree(seed)));
    set_hops(input.view, random_hops(input.view.topology(), random));
    const RoutingEngine& engine = *find_engine("fat-tree");
    const Routing routing = engine.route(input).value();
    std::set<LinkId> far;
    for (const PlaneId plane : input.scope->planes()) {
      for (const LinkId link : engine.far_reaching_links(routing, plane)) far.insert(link);
    }
    const Topology& t = input.view.topology();
    const auto ports = host_ports(t);
    for (const LinkId link : t.links()) {
      if (!t.joins_switches(link) || far.contains(link)) continue;
      ++near;
      RoutingInput without = input;
      without.view.set_state(link, LinkState::down);
      const Routing rerouted = engine.reroute(routing, without).value();
      for (const PortId from : ports) {
        for (const PortId to : ports) {
          const auto path = walked(input.view, routing, from, to);
          if (std::ranges::find(path, link) != path.end()) continue;
          ASSERT_EQ(walked(without.view, rerouted, from, to), path) << "seed " << seed;
        }
      }
    }
  }
  EXPECT_GT(near, 100U);
}

std::vector<Demand> random_demands(const Topology& t, std::mt19937_64& random, std::size_t count) {
  const auto ports = host_ports(t);
  std::vector<Demand> demands;
  for (std::size_t i = 0; i < count; ++i) {
    demands.push_back({ports[random() % ports.size()], ports[random() % ports.size()], 1 + random() % 400'000'000});
  }
  return demands;
}

struct Fullness {
  double fullest = 0, cost = 0;
};
Fullness followed(const FabricView& view, const Routing& routing, const std::vector<Demand>& demands) {
  const Topology& t = view.topology();
  std::map<std::pair<LinkId, SwitchId>, double> kbps;  // by link and the switch that it leaves
  for (const Demand& demand : demands) {
    if (demand.from == demand.to) continue;
    SwitchId at = t.switch_of(t.peer(demand.from));
    for (const LinkId link : walked(view, routing, demand.from, demand.to)) {
      kbps[{link, at}] += static_cast<double>(demand.kbps);
      const SwitchId a = t.switch_of(t.a(link));
      at = a == at ? t.switch_of(t.b(link)) : a;
    }
  }
  Fullness result;
  for (const auto& [link, sum] : kbps) {
    const double share = sum / 1000 / static_cast<double>(view.rate(link.first).value());
    result.fullest = std::max(result.fullest, share);
    result.cost += share * share * share * share;
  }
  return result;
}

TEST(TrafficBalance, LoadsAreThoseOfPacketsFollowedAndNeverCostMore) {
  std::size_t gained = 0, kept = 0, stayed = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    RoutingInput input = input_of(build(random_tree(seed)));
    const RoutingEngine& engine = *find_engine("fat-tree");
    if (seed % 4 == 0) cut_some(input.view, random, 6);
    Routing routing = engine.route(input).value();
    for (unsigned round = 0; round < 3; ++round) {  // other traffic, from the hops that there are
      const auto demands = random_demands(input.view.topology(), random, 2 + random() % 20);
      TrafficBalanceOptions options;
      const auto fixed = demands.front().to;
      if (seed % 2 == 0) options.stays = [&](PortId port) { return port == fixed; };
      const TrafficBalance balance = balance_traffic(input.view, routing, demands, options);
      const Fullness before = followed(input.view, routing, demands);
      const Routing last = routing;
      set_hops(input.view, balance.hops);
      routing = engine.reroute(last, input).value();
      const Fullness after = followed(input.view, routing, demands);
      ASSERT_NEAR(balance.fullest_before, before.fullest, 1e-9 * before.fullest) << "seed " << seed;
      ASSERT_NEAR(balance.cost_before, before.cost, 1e-9 * before.cost) << "seed " << seed;
      ASSERT_NEAR(balance.fullest, after.fullest, 1e-9 * after.fullest) << "seed " << seed;
      ASSERT_NEAR(balance.cost, after.cost, 1e-9 * after.cost) << "seed " << seed;
      ASSERT_LE(after.cost, before.cost * (1 + 1e-12)) << "seed " << seed;
      ASSERT_EQ(balance.is_changed, after.cost < before.cost * (1 - 1e-12)) << "seed " << seed;
      gained += balance.is_changed ? 1 : 0;
      kept += !balance.is_changed && !balance.hops.empty() ? 1 : 0;
      if (options.stays) {
        const Topology& t = input.view.topology();
        for (const PortId from : host_ports(t)) {
          ASSERT_EQ(walked(input.view, routing, from, fixed), walked(input.view, last, from, fixed)) << "seed " << seed;
          ++stayed;
        }
      }
      // Nothing is left to be gained, and nothing changes for nothing.
      const TrafficBalance again = balance_traffic(input.view, routing, demands, options);
      ASSERT_TRUE(!again.is_changed && again.hops == balance.hops) << "seed " << seed;
    }
  }
  EXPECT_GT(gained, 150U);
  EXPECT_GT(kept, 5U);
  EXPECT_GT(stayed, 500U);
}

// Every choice of hops on leaves and spines with parallel cables: up by any cable of a spine that is there, down by any cable to the
// leaf.
class EveryChoice {
 public:
  EveryChoice(const FabricView& view, const std::vector<Demand>& demands) : view_(view), t_(view.topology()) {
    for (const Demand& demand : demands) {
      const SwitchId from = leaf(demand.from), to = leaf(demand.to);
      if (from != to) pairs_[{from, demand.to}] += static_cast<double>(demand.kbps);
    }
    for (const auto& [pair, kbps] : pairs_) entries_.push_back({pair.first, pair.second, kbps});
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  Fullness best() {
    try_from(0);
    return best_;
  }

 private:
  struct Entry {
    SwitchId from;
    PortId to;
    double kbps;
  };
  [[nodiscard]] SwitchId leaf(PortId port) const { return t_.switch_of(t_.peer(port)); }
  [[nodiscard]] std::vector<PortId> ports_between(SwitchId from, SwitchId to) const {
    std::vector<PortId> ports;
    for (const PortId port : t_.ports(from)) {
      const PortId peer = t_.peer(port);
      if (peer && t_.switch_of(peer) == to && view_.alive(t_.link(port))) ports.push_back(port);
    }
    return ports;
  }
  void add(PortId out, double kbps) {
    share_[out] += kbps / 1000 / static_cast<double>(view_.rate(t_.link(out)).value());
  }

  void try_from(std::size_t i) {
    if (i == entries_.size()) {
      Fullness sum;
      for (const auto& [out, share] : share_) {
        sum.fullest = std::max(sum.fullest, share);
        sum.cost += share * share * share * share;
      }
      if (is_first_ || sum.cost < best_.cost) best_.cost = sum.cost;
      if (is_first_ || sum.fullest < best_.fullest) best_.fullest = sum.fullest;
      is_first_ = false;
      return;
    }
    const Entry& entry = entries_[i];
    for (const SwitchId spine : t_.switches()) {
      const auto down = ports_between(spine, leaf(entry.to));
      if (down.empty()) continue;
      for (const PortId up : ports_between(entry.from, spine)) {
        add(up, entry.kbps);
        // What comes to one spine for one end port leaves it by one cable.
        const auto key = std::pair(spine, entry.to);
        if (const auto decided = down_.find(key); decided != down_.end()) {
          add(decided->second, entry.kbps);
          try_from(i + 1);
          add(decided->second, -entry.kbps);
        } else {
          for (const PortId out : down) {
            down_[key] = out;
            add(out, entry.kbps);
            try_from(i + 1);
            add(out, -entry.kbps);
          }
          down_.erase(key);
        }
        add(up, -entry.kbps);
      }
    }
  }

  const FabricView& view_;
  const Topology& t_;
  std::map<std::pair<SwitchId, PortId>, double> pairs_;
  std::vector<Entry> entries_;
  std::map<PortId, double> share_;
  std::map<std::pair<SwitchId, PortId>, PortId> down_;
  Fullness best_;
  bool is_first_ = true;
};

TEST(TrafficBalance, IsHardlyDearerThanTheBestOfEveryChoice) {
  std::size_t cases = 0, best = 0;
  double worst = 1;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    std::mt19937_64 random(seed);
    FabricSketch sketch;
    sketch.guid_seed = seed;
    const unsigned leaves = 2 + random() % 3, spines = 2 + random() % 2;
    for (unsigned i = 0; i < leaves; ++i) sketch.switches.push_back({2 + static_cast<unsigned>(random() % 3), 0});
    for (unsigned i = 0; i < spines; ++i) sketch.switches.push_back({0, 0});
    for (unsigned leaf = 0; leaf < leaves; ++leaf) {
      for (unsigned spine = 0; spine < spines; ++spine) {
        const unsigned parallel = random() % 8 == 0 ? 0 : 1 + random() % 2;
        for (unsigned i = 0; i < parallel; ++i) sketch.cables.emplace_back(leaf, leaves + spine);
      }
    }
    RoutingInput input = input_of(build(sketch));
    const RoutingEngine& engine = *find_engine("fat-tree");
    const Routing routing = engine.route(input).value();
    auto demands = random_demands(input.view.topology(), random, 3 + random() % 3);
    if (seed % 2 == 0) {
      for (Demand& demand : demands) demand.kbps = 400'000'000;
    }
    // Longer routes, over another leaf, are for pairs without a spine in common: not enumerated.
    bool is_short = true;
    for (const Demand& demand : demands) {
      const auto path = walked(input.view, routing, demand.from, demand.to);
      const bool is_same =
          demand.from == demand.to || input.view.topology().switch_of(input.view.topology().peer(demand.from)) ==
                                          input.view.topology().switch_of(input.view.topology().peer(demand.to));
      is_short = is_short && (is_same || path.size() == 2);
    }
    if (!is_short) continue;
    EveryChoice every(input.view, demands);
    if (every.size() < 2) continue;
    const TrafficBalance balance = balance_traffic(input.view, routing, demands);
    const Fullness least = every.best();
    ASSERT_GE(balance.cost, least.cost * (1 - 1e-9)) << "seed " << seed;
    ++cases;
    best += balance.cost <= least.cost * (1 + 1e-9) ? 1 : 0;
    worst = std::max(worst, balance.cost / least.cost);
  }
  EXPECT_LE(worst, 1.02);
  EXPECT_GT(best, cases * 98 / 100);
  EXPECT_GT(cases, 150U);
}

// Every host sends to one and receives from one: by Koenig's theorem leaves with as many uplinks as hosts keep all of them apart.
TEST(TrafficBalance, PermutationsAreKeptApart) {
  std::size_t apart = 0, cases = 0;
  double before = 0, after = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    std::mt19937_64 random(seed);
    FabricSketch sketch;
    sketch.guid_seed = seed;
    const unsigned radix = 3 + random() % 6, leaves = 3 + random() % 6;
    for (unsigned i = 0; i < leaves; ++i) sketch.switches.push_back({radix, 0});
    for (unsigned i = 0; i < radix; ++i) sketch.switches.push_back({0, 0});
    for (unsigned leaf = 0; leaf < leaves; ++leaf) {
      for (unsigned spine = 0; spine < radix; ++spine) sketch.cables.emplace_back(leaf, leaves + spine);
    }
    const RoutingInput input = input_of(build(sketch));
    const Routing routing = find_engine("fat-tree")->route(input).value();
    const auto from = host_ports(input.view.topology());
    auto to = from;
    std::ranges::shuffle(to, random);
    std::vector<Demand> demands;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] != to[i]) demands.push_back({from[i], to[i], 400'000'000});
    }
    const TrafficBalance balance = balance_traffic(input.view, routing, demands);
    ++cases;
    apart += balance.fullest < 1.001 ? 1 : 0;
    before += balance.fullest_before;
    after += balance.fullest;
  }
  EXPECT_EQ(apart, cases);
  EXPECT_GT(before, 2 * after);
}

}  // namespace
}  // namespace railweave::fabric::traffic_balance_test
