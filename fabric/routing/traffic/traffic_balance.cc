#include "fabric/routing/traffic/traffic_balance.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "fabric/routing/plane/routing_scope.h"
#include "fabric/routing/traffic/ordered_routes.h"

namespace railweave::fabric {
namespace {

constexpr double kUnknownMbps = 100'000;
constexpr unsigned kMaxPasses = 256;
constexpr double kLeastGain = 1e-9;        // less is rounding
constexpr std::size_t kLongestChain = 16;  // of moves that gain together
constexpr std::uint64_t kChainStepsOfPair = 100;
constexpr std::size_t kMaxTried = 64;  // destinations that may make way for another

// The flows of one plane: how much each switch sends to each destination that anyone sends to.
class PlaneTraffic {
 public:
  PlaneTraffic(const FabricView& view, const Plane& plane, const PlaneTables& tables, const SwitchOrder& order)
      : plane_(plane),
        routes_(view, plane, tables, order),
        kbps_(plane.arcs.size(), 0),
        capacity_kbps_(plane.arcs.size()),
        through_(plane.arcs.size()),
        failed_kbps_(plane.arcs.size(), 0) {
    for (std::size_t a = 0; a < plane.arcs.size(); ++a) {
      const auto mbps = static_cast<double>(view.rate(plane.arcs[a].link).value());
      capacity_kbps_[a] = 1000 * (mbps > 0 ? mbps : kUnknownMbps);
    }
  }

  // False: they are on one switch, or packets do not arrive.
  bool add(std::uint32_t from, std::uint32_t d, std::uint64_t kbps) {
    const unsigned length = routes_.length(from, d);
    if (length == 0 || length == OrderedRoutes::kNone) return false;
    send(from, d, kbps, true);
    ++pairs_;
    return true;
  }

  // stays: by destination, or empty.
  void settle(std::uint64_t& steps, std::vector<std::uint8_t> stays) {
    stays_ = std::move(stays);
    std::uint64_t chain_steps = std::min(steps, kChainStepsOfPair * pairs_);
    for (unsigned pass = 0; pass < kMaxPasses && steps > 0; ++pass) {
      const auto full = fullest_first();
      bool moved = false;
      for (const std::uint32_t a : full) moved = relieve(a, Depth::one, steps) || moved;
      const bool is_shallow = moved;  // while single hops gain, they do
      for (std::size_t i = 0; i < full.size() && !is_shallow; ++i) {
        while (chain_steps > 0 && try_chains(full[i], chain_steps)) moved = true;
      }
      if (!moved && !forget_unused()) return;
    }
  }

  void add_fullness(double& fullest, double& sum) const {
    for (std::uint32_t a = 0; a < kbps_.size(); ++a) {
      fullest = std::max(fullest, share(a));
      sum += cost(a, 0);
    }
  }

  // Whether routes to d stay as they are; whether packets from s to d are there, and the port that they are to leave by.
  [[nodiscard]] bool stays(std::uint32_t d) const { return !stays_.empty() && stays_[d] != 0; }
  [[nodiscard]] bool has(std::uint32_t s, std::uint32_t d) const { return sent(s, d) > 0; }
  [[nodiscard]] std::uint16_t port(std::uint32_t s, std::uint32_t d) const { return plane_.arcs[hop(s, d)].port; }
  template <class Visit>
  void for_each_moved(Visit visit) const {
    for (const auto& [key, arc] : chosen_) {
      const auto s = static_cast<std::uint32_t>(key >> 32U), d = static_cast<std::uint32_t>(key);
      if (arc != routes_.arc(s, d) && has(s, d)) visit(s, d);
    }
  }

 private:
  using Key = std::uint64_t;  // a switch and a destination
  static Key key(std::uint32_t s, std::uint32_t d) { return std::uint64_t{s} << 32U | d; }

  [[nodiscard]] double share(std::uint32_t a) const { return static_cast<double>(kbps_[a]) / capacity_kbps_[a]; }
  [[nodiscard]] double cost(std::uint32_t a, std::int64_t more) const {
    const double part = (static_cast<double>(kbps_[a]) + static_cast<double>(more)) / capacity_kbps_[a];
    return part * part * part * part;
  }
  [[nodiscard]] std::uint64_t sent(std::uint32_t s, std::uint32_t d) const {
    const auto found = sent_.find(key(s, d));
    return found == sent_.end() ? 0 : found->second;
  }
  [[nodiscard]] std::uint32_t hop(std::uint32_t s, std::uint32_t d) const {
    const auto found = chosen_.find(key(s, d));
    return found == chosen_.end() ? routes_.arc(s, d) : found->second;
  }
  [[nodiscard]] bool at_home(std::uint32_t s, std::uint32_t d) const {
    return plane_.homes[plane_.destination_home[d]].sw == s;
  }

  void send(std::uint32_t s, std::uint32_t d, std::uint64_t kbps, bool plus) {
    while (!at_home(s, d)) {
      const std::uint32_t a = hop(s, d);
      std::uint64_t& of_switch = sent_[key(s, d)];
      if (plus && of_switch == 0) through_[a].push_back(d);
      of_switch = plus ? of_switch + kbps : of_switch - kbps;
      kbps_[a] = plus ? kbps_[a] + kbps : kbps_[a] - kbps;
      s = plane_.arcs[a].to;
    }
  }

  // The arcs of the way from behind a switch's arc, that one first.
  void list_way(std::uint32_t arc, std::uint32_t d, std::vector<std::uint32_t>& way) const {
    way.assign(1, arc);
    for (std::uint32_t s = plane_.arcs[arc].to; !at_home(s, d); s = plane_.arcs[way.back()].to)
      way.push_back(hop(s, d));
  }

  // Hops that no packets take any more, over which routes could lead. False: there are none.
  bool forget_unused() {
    return std::erase_if(chosen_, [&](const auto& one) {
             return sent(static_cast<std::uint32_t>(one.first >> 32U), static_cast<std::uint32_t>(one.first)) == 0;
           }) > 0;
  }
  [[nodiscard]] std::vector<std::uint32_t> fullest_first() const {
    std::vector<std::pair<double, std::uint32_t>> full;
    for (std::uint32_t a = 0; a < kbps_.size(); ++a) {
      if (kbps_[a] > 0) full.emplace_back(-share(a), a);
    }
    std::ranges::sort(full);
    std::vector<std::uint32_t> arcs;
    for (const auto& [fuller, a] : full) arcs.push_back(a);
    return arcs;
  }
  [[nodiscard]] std::uint32_t from(std::uint32_t arc) const { return plane_.arcs[plane_.arcs[arc].reverse].to; }

  // Destinations that cross the arc, ascending.
  const std::vector<std::uint32_t>& across(std::uint32_t arc) {
    std::vector<std::uint32_t>& here = through_[arc];
    std::ranges::sort(here);
    here.erase(std::ranges::unique(here).begin(), here.end());
    const std::uint32_t s = from(arc);
    std::erase_if(here, [&](std::uint32_t d) { return sent(s, d) == 0 || hop(s, d) != arc; });
    return here;
  }

  // One hop at a time, or one together with others that it gets in the way of.
  enum class Depth : std::uint8_t { one, chain };

  // Gives destinations that cross the arc other next hops where the sum of costs falls by that.
  bool relieve(std::uint32_t arc, Depth depth, std::uint64_t& steps) {
    const std::vector<std::uint32_t> here = across(arc);  // moves change it
    bool moved = false;
    for (const std::uint32_t d : here) {
      if (stays(d) || is_alone(arc, d)) continue;
      moved = (depth == Depth::one ? move(from(arc), d, steps) : move_chain(from(arc), d, steps)) || moved;
      if (moved && depth == Depth::chain) return true;
    }
    return moved;
  }

  // Not where that failed before and the arc carries as much as then.
  bool try_chains(std::uint32_t arc, std::uint64_t& steps) {
    if (failed_kbps_[arc] == kbps_[arc]) return false;
    if (relieve(arc, Depth::chain, steps)) return true;
    failed_kbps_[arc] = kbps_[arc];
    return false;
  }

  // Nothing else is on the way from the arc on.
  bool is_alone(std::uint32_t arc, std::uint32_t d) {
    list_way(arc, d, way_);
    const std::uint64_t own = sent(from(arc), d);
    return std::ranges::all_of(way_, [&](std::uint32_t on) { return kbps_[on] == own; });
  }

  // How much less the costs are when s sends to d by another arc.
  double gain_of(std::uint32_t s, std::uint32_t d, std::uint32_t arc) {
    const auto amount = static_cast<std::int64_t>(sent(s, d));
    list_way(hop(s, d), d, old_way_);
    list_way(arc, d, way_);
    // Arcs that both routes have keep their load.
    double gain = 0;
    for (const std::uint32_t on : old_way_) {
      if (std::ranges::find(way_, on) == way_.end()) gain += cost(on, 0) - cost(on, -amount);
    }
    for (const std::uint32_t on : way_) {
      if (std::ranges::find(old_way_, on) == old_way_.end()) gain -= cost(on, amount) - cost(on, 0);
    }
    return gain;
  }

  struct Choice {
    std::uint32_t arc = Plane::kNone;
    double gain = 0;
  };
  Choice best_of(std::uint32_t s, std::uint32_t d, std::uint64_t& steps, double least = kLeastGain) {
    Choice best{.arc = hop(s, d), .gain = least};
    const std::uint32_t old = best.arc;
    for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1]; ++a) {
      if (steps > 0) --steps;
      if (a == old || !routes_.may_use(s, d, a)) continue;
      if (const double gain = gain_of(s, d, a); gain > best.gain) best = {a, gain};
    }
    return best;
  }

  void use(std::uint32_t s, std::uint32_t d, std::uint32_t arc) {
    const std::uint64_t kbps = sent(s, d);
    send(s, d, kbps, false);
    chosen_[key(s, d)] = arc;
    send(s, d, kbps, true);
  }

  bool move(std::uint32_t s, std::uint32_t d, std::uint64_t& steps) {
    if (sent(s, d) == 0 || steps == 0) return false;
    const std::uint32_t old = hop(s, d);
    const Choice best = best_of(s, d, steps);
    if (best.arc == old) return false;
    use(s, d, best.arc);
    return true;
  }

  struct Step {
    std::uint32_t s, d, arc;
  };

  // A chain of moves that begins with one that gains nothing by itself: who is on the fullest link of its way makes way, and so on.
  bool move_chain(std::uint32_t s, std::uint32_t d, std::uint64_t& steps) {
    if (sent(s, d) == 0) return false;
    const std::uint32_t old = hop(s, d);
    for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1] && steps > 0; ++a) {
      --steps;
      if (a != old && routes_.may_use(s, d, a) && carry_out({s, d, a}, steps)) return true;
    }
    return false;
  }

  // False: nothing was gained, and all is as it was.
  bool carry_out(Step step, std::uint64_t& steps) {
    std::vector<Step> undo;
    touched_.clear();
    double total = 0;
    while (true) {
      total += gain_of(step.s, step.d, step.arc);
      touched_.insert(touched_.end(), way_.begin(), way_.end());
      undo.push_back({step.s, step.d, hop(step.s, step.d)});
      use(step.s, step.d, step.arc);
      if (total > kLeastGain) return true;
      if (undo.size() == kLongestChain || steps == 0) break;
      const auto next = who_makes_way(undo, steps);
      if (!next) break;
      step = *next;
    }
    for (auto back = undo.rbegin(); back != undo.rend(); ++back) use(back->s, back->d, back->arc);
    return false;
  }

  // Adds the switches that send to d over s to before_.
  void list_senders(std::uint32_t s, std::uint32_t d) {
    for (std::uint32_t out = plane_.first_arc[s]; out < plane_.first_arc[s + 1]; ++out) {
      const std::uint32_t u = plane_.arcs[out].to;
      if (sent(u, d) > 0 && hop(u, d) == plane_.arcs[out].reverse) before_.push_back(u);
    }
  }

  std::optional<Step> who_makes_way(const std::vector<Step>& moved, std::uint64_t& steps) {
    const std::uint32_t full = *std::ranges::max_element(touched_, {}, [&](std::uint32_t on) { return share(on); });
    const std::vector<std::uint32_t> there = across(full);
    std::optional<Step> next;
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < std::min(there.size(), kMaxTried) && steps > 0; ++i) {
      const std::uint32_t d = there[i];
      if (stays(d)) continue;
      // At the link, or before it.
      before_.assign(1, from(full));
      for (std::size_t at = 0; at < before_.size() && before_.size() < kMaxTried && steps > 0; ++at) {
        const std::uint32_t s = before_[at];
        list_senders(s, d);
        const bool was_moved = std::ranges::any_of(moved, [&](const Step& one) { return one.s == s && one.d == d; });
        if (was_moved) continue;
        const std::uint32_t old = hop(s, d);
        const Choice best = best_of(s, d, steps, most);
        if (best.arc == old) continue;
        most = best.gain;
        next = Step{s, d, best.arc};
      }
    }
    return next;
  }

  const Plane& plane_;
  OrderedRoutes routes_;
  std::vector<std::uint64_t> kbps_;                  // by arc
  std::vector<double> capacity_kbps_;                // by arc
  std::vector<std::vector<std::uint32_t>> through_;  // by arc: destinations, some of them no longer
  std::vector<std::uint64_t> failed_kbps_;           // by arc: what it carried when no chain relieved it; 0: not tried
  std::uint64_t pairs_ = 0;                          // added
  std::unordered_map<Key, std::uint64_t> sent_;      // kb/s
  std::map<Key, std::uint32_t> chosen_;              // arc
  std::vector<std::uint8_t> stays_;                  // by destination, or empty
  std::vector<std::uint32_t> old_way_, way_, touched_, before_;
};

}  // namespace

TrafficBalance balance_traffic(const FabricView& view, const Routing& routing, std::span<const Demand> demands,
                               const TrafficBalanceOptions& options) {
  TrafficBalance result;
  const RoutingScope& scope = routing.tables.scope();
  const Topology& topology = view.topology();
  using Pair = std::pair<std::uint32_t, std::uint32_t>;  // a switch and a destination of the plane
  std::map<PlaneId, std::map<Pair, std::uint64_t>> of_plane;
  for (const Demand& demand : demands) {
    const PortId leaf_port = topology.peer(demand.from);
    const DestinationId to = scope.find(demand.to);
    if (!leaf_port || !to || demand.kbps == 0) continue;
    const SwitchId leaf = topology.switch_of(leaf_port);
    if (!leaf || scope.plane_of(leaf) != scope.plane_of(to)) continue;
    of_plane[scope.plane_of(to)][{scope.local(leaf), scope.local(to)}] += demand.kbps;
  }
  const auto& present = view.spread_basis();
  for (std::size_t i = 0; present && i < present->hops.size(); ++i) of_plane[scope.plane_of(present->hops[i].sw)];
  std::uint64_t steps = options.steps;
  for (const auto& [id, sums] : of_plane) {
    if (id.index() >= routing.orders.size() || routing.orders[id.index()] == nullptr) continue;
    const Plane& plane = scope.plane(id);
    PlaneTraffic traffic(view, plane, routing.tables.plane(id), *routing.orders[id.index()]);
    for (const auto& [pair, kbps] : sums) result.demands += traffic.add(pair.first, pair.second, kbps) ? 1 : 0;
    traffic.add_fullness(result.fullest_before, result.cost_before);
    std::vector<std::uint8_t> stays(options.stays ? plane.destination_count() : 0, 0);
    for (std::size_t d = 0; d < stays.size(); ++d) {
      const PortId port = scope.destination(plane.destination(d)).port;
      stays[d] = port && options.stays(port) ? 1 : 0;
    }
    traffic.settle(steps, std::move(stays));
    traffic.add_fullness(result.fullest, result.cost);
    std::map<Pair, std::uint16_t> hops;  // ports
    for (std::size_t i = 0; present && i < present->hops.size(); ++i) {
      const ChosenHop& hop = present->hops[i];
      const DestinationId to = scope.find(hop.to);
      if (scope.plane_of(hop.sw) != id || !to || scope.plane_of(to) != id) continue;
      const Pair pair{scope.local(hop.sw), scope.local(to)};
      if (traffic.has(pair.first, pair.second) || traffic.stays(pair.second)) hops[pair] = hop.port;
    }
    traffic.for_each_moved([&](std::uint32_t s, std::uint32_t d) {
      hops[{s, d}] = traffic.port(s, d);
      result.is_changed = true;
    });
    for (const auto& [pair, port] : hops) {
      if (result.hops.size() == options.max_hops) break;
      result.hops.push_back({plane.switches[pair.first], scope.destination(plane.destination(pair.second)).port, port});
    }
  }
  std::ranges::sort(result.hops);
  return result;
}

}  // namespace railweave::fabric
