#include "fabric/routing/up_down/port_balance.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "fabric/base/mix.h"
#include "fabric/routing/up_down/host_load.h"

namespace railweave::fabric {

namespace {

constexpr std::uint32_t kNoArc = UINT32_MAX;
constexpr unsigned kPatience = 3;  // rounds without improvement before it stops
// Small fabrics get more rounds, as long as all rounds together take fewer steps than this.
constexpr std::uint64_t kCheapSteps = 300'000;
constexpr unsigned kMaxRounds = 60;

__extension__ using Wide = unsigned __int128;

class Balance {
 public:
  Balance(const Plane& plane, const NextHops& hops, std::vector<std::uint32_t> pair_weight,
          std::span<const std::uint32_t> weights)
      : plane_(plane),
        hops_(hops),
        pair_weight_(std::move(pair_weight)),
        weight_(scaled_weights(plane, weights)),
        load_(plane.arcs.size(), 0),
        choice_(plane.destination_count() * plane.switch_count(), kNoArc),
        flow_(plane.switch_count()),
        cost_(plane.switch_count()) {
    list_destinations();
    std::uint64_t hosts = 0, ports = 0, senders = 0;
    for (const Home& home : plane.homes) {
      hosts += home.host_ports;
      ports += home.end_ports;
      senders += home.host_ports > 0 ? 1 : 0;
    }
    typical_hosts_ = std::max<std::uint64_t>(1, hosts / std::max<std::uint64_t>(1, senders));
    typical_ports_ = std::max<std::uint64_t>(1, ports / std::max<std::size_t>(1, plane.homes.size()));
  }

  void start_from(const PlaneTables& tables) {
    for (std::size_t d = 0; d < plane_.destination_count(); ++d) {
      for (const std::uint32_t s : hops_.nearest_first(plane_.destination_home[d]).subspan(1)) {
        const std::uint16_t port = tables.at(s, d);
        for (const std::uint32_t a : hops_.arcs(plane_.destination_home[d], s)) {
          if (plane_.arcs[a].port == port) choice(d, s) = a;
        }
      }
    }
  }

  // Routes the destinations of hosts, or the others, over arcs of least cost, in several rounds. The others are routed
  // last, on top of the loads of hosts, which no longer change then.
  void settle(bool hosts, unsigned rounds, std::uint64_t least) {
    to_hosts_ = hosts;
    auto list = hosts ? to_host_ : to_other_;
    bool complete = true;
    for (const std::uint32_t d : list) complete = complete && is_routed(d);
    if (complete) {
      for (const std::uint32_t d : list) add(d, +1);
    }
    if (hosts) start_ = complete ? fullest() : UINT64_MAX;
    if (complete && is_even_enough(fullest(), least)) return;
    std::vector<std::uint32_t> best;
    std::pair<std::uint64_t, std::uint64_t> best_load{UINT64_MAX, UINT64_MAX};
    const auto keep_best = [&] {
      const auto load = std::pair(fullest(), spread());
      if (load >= best_load) return false;
      best_load = load;
      best = choice_;
      return true;
    };
    if (complete) keep_best();
    unsigned without_gain = 0;
    for (unsigned round = 0; round < rounds && without_gain < std::max(kPatience, rounds / 3); ++round) {
      // No improvement: try another order, chosen by a hash so that tables do not depend on chance.
      if (without_gain > 0) {
        std::ranges::sort(list, {}, [&](std::uint32_t d) {
          // Not by destination number, which depends on the other kinds of destinations.
          const Home& home = plane_.homes[plane_.destination_home[d]];
          return mix(std::uint64_t{home.sw} << 32U | (d - home.first), round);
        });
      }
      for (const std::uint32_t d : list) {
        if (complete) add(d, -1);
        route(d);
        add(d, +1);
      }
      complete = true;
      without_gain = keep_best() ? 0 : without_gain + 1;
      if (is_even_enough(best_load.first, least)) break;
    }
    if (best.empty()) return;
    for (const std::uint32_t d : list) add(d, -1);
    choice_ = std::move(best);
    for (const std::uint32_t d : list) add(d, +1);
  }

  [[nodiscard]] std::uint64_t fullest() const { return load_.empty() ? 0 : std::ranges::max(load_); }
  [[nodiscard]] std::uint64_t start_load() const { return start_; }

  [[nodiscard]] std::uint64_t least_possible() const { return least_load(plane_, hops_, pair_weight_, weight_); }

  [[nodiscard]] PlaneTables tables() const {
    PlaneTables tables(plane_.switch_count(), plane_.destination_count(), plane_.max_ports);
    const auto fill = [&]<class Entry>(Entry) {
      for (std::uint32_t s = 0; s < plane_.switch_count(); ++s) {
        Entry* row = tables.template fresh_row<Entry>(s);
        for (std::size_t d = 0; d < plane_.destination_count(); ++d) {
          const std::uint32_t a = choice_[d * plane_.switch_count() + s];
          if (plane_.homes[plane_.destination_home[d]].sw == s) {
            row[d] = static_cast<Entry>(plane_.destination_port[d]);
          } else {
            row[d] = a == kNoArc ? PlaneTables::entry_none<Entry>() : static_cast<Entry>(plane_.arcs[a].port);
          }
        }
      }
    };
    if (tables.wide()) {
      fill(std::uint16_t{});
    } else {
      fill(std::uint8_t{});
    }
    return tables;
  }

 private:
  std::uint32_t& choice(std::size_t d, std::size_t s) { return choice_[d * plane_.switch_count() + s]; }

  // The first destination of every home, then the second of every home: no home comes last with all of its own.
  void list_destinations() {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> hosts, others;  // (place in its home, destination)
    for (const Home& home : plane_.homes) {
      for (const Segment& segment : plane_.segments_of(home)) {
        auto& list = segment.kind == DestinationKind::host ? hosts : others;
        for (std::uint32_t i = 0; i < segment.count; ++i) {
          list.emplace_back(segment.first + i - home.first, segment.first + i);
        }
      }
    }
    std::ranges::sort(hosts);
    std::ranges::sort(others);
    for (const auto& [place, d] : hosts) to_host_.push_back(d);
    for (const auto& [place, d] : others) to_other_.push_back(d);
  }

  [[nodiscard]] bool is_routed(std::uint32_t d) {
    for (const std::uint32_t s : hops_.nearest_first(plane_.destination_home[d]).subspan(1)) {
      if (choice(d, s) == kNoArc) return false;
    }
    return true;
  }

  void set_flows() {
    std::ranges::fill(flow_, 0);
    typical_flow_ = to_hosts_ ? typical_hosts_ : typical_ports_;
    for (const Home& home : plane_.homes) flow_[home.sw] = to_hosts_ ? home.host_ports : home.end_ports;
  }

  void add(std::uint32_t d, int sign) {
    set_flows();
    const auto order = hops_.nearest_first(plane_.destination_home[d]);
    for (std::size_t i = order.size(); i-- > 1;) {
      const std::uint32_t s = order[i], a = choice(d, s);
      const std::uint64_t load = flow_[s] * weight_[d] * pair_weight_[a];
      load_[a] = sign > 0 ? load_[a] + load : load_[a] - load;
      flow_[plane_.arcs[a].to] += flow_[s];
    }
  }

  // The eighth power of load / ceiling, times 2^12, the ceiling being the fullest arc so far; saturates at 16 times it.
  [[nodiscard]] std::uint64_t price(std::uint64_t load) const {
    // (load << 12) / ceiling, multiplied by its inverse: divisions would take most of the time.
    const auto share = static_cast<std::uint64_t>((Wide{load << 12U} * inverse_ceiling_) >> 64U);
    std::uint64_t x = std::min<std::uint64_t>(share, 16U << 12U);  // 4.12 bits
    x = x * x >> 12U;
    x = x * x >> 12U;                                          // below 2^28
    const std::uint64_t eighth = (x >> 2U) * (x >> 2U) >> 8U;  // of 12 binary places
    return eighth + share + 1;
  }

  // The cost at s for further traffic, on top of what already passes it, so that not all traffic to a destination
  // converges on the same route.
  void reprice(std::size_t home, std::uint32_t s, std::uint64_t weight) {
    if (s == plane_.homes[home].sw) return;
    std::uint64_t least = UINT64_MAX;
    for (const std::uint32_t a : hops_.arcs(home, s)) {
      least = std::min(
          least, cost_[plane_.arcs[a].to] + price(load_[a] + (flow_[s] + typical_flow_) * pair_weight_[a] * weight));
    }
    cost_[s] = least;
  }

  void route(std::uint32_t d) {
    const std::size_t home = plane_.destination_home[d];
    const auto order = hops_.nearest_first(home);
    set_flows();
    inverse_ceiling_ = UINT64_MAX / std::max<std::uint64_t>(64, fullest_so_far_);
    // From near to far: costs with the present loads. From far to near: with the traffic that really passes.
    cost_[order.front()] = 0;
    for (const std::uint32_t s : order.subspan(1)) {
      std::uint64_t least = UINT64_MAX;
      for (const std::uint32_t a : hops_.arcs(home, s)) {
        least =
            std::min(least, cost_[plane_.arcs[a].to] + price(load_[a] + typical_flow_ * pair_weight_[a] * weight_[d]));
      }
      cost_[s] = least;
    }
    for (std::size_t i = order.size(); i-- > 1;) {
      const std::uint32_t s = order[i];
      std::uint64_t least = UINT64_MAX;
      std::uint32_t best = kNoArc;
      for (const std::uint32_t a : hops_.arcs(home, s)) {
        const std::uint64_t more = std::max<std::uint64_t>(1, flow_[s]) * pair_weight_[a] * weight_[d];
        const std::uint64_t cost = cost_[plane_.arcs[a].to] + price(load_[a] + more);
        if (cost >= least) continue;
        least = cost;
        best = a;
      }
      choice(d, s) = best;
      if (flow_[s] == 0) continue;
      const std::uint32_t next = plane_.arcs[best].to;
      flow_[next] += flow_[s];
      reprice(home, next, weight_[d]);
      fullest_so_far_ = std::max(fullest_so_far_, load_[best] + flow_[s] * pair_weight_[best] * weight_[d]);
    }
  }

  // Sum of squares of loads, scaled down: how even the rest is.
  [[nodiscard]] std::uint64_t spread() const {
    const std::uint64_t top = std::max<std::uint64_t>(1, fullest());
    std::uint64_t sum = 0;
    for (const std::uint64_t load : load_) {
      const std::uint64_t part = (load << 16U) / top;
      sum += part * part >> 16U;
    }
    return sum;
  }

  const Plane& plane_;
  const NextHops& hops_;
  std::vector<std::uint32_t> pair_weight_;
  std::vector<std::uint64_t> weight_;       // by destination
  std::vector<std::uint64_t> load_;         // by arc, in 1/64 pairs
  std::vector<std::uint32_t> choice_;       // destination x switch -> arc
  std::vector<std::uint64_t> flow_, cost_;  // by switch
  std::vector<std::uint32_t> to_host_, to_other_;
  std::uint64_t typical_hosts_ = 1, typical_ports_ = 1, typical_flow_ = 1;  // of a switch that end ports send from
  bool to_hosts_ = true;
  std::uint64_t inverse_ceiling_ = UINT64_MAX / 64, fullest_so_far_ = 0, start_ = UINT64_MAX;
};

BalanceResult run(Balance& balance, const Plane& plane, const NextHops& hops, const BalanceEffort& effort,
                  const PlaneTables* start) {
  BalanceResult result;
  const std::uint64_t steps =
      1 + hops.arc_count() / std::max<std::size_t>(1, plane.homes.size()) * plane.destination_count();
  const auto rounds = static_cast<unsigned>(
      std::max<std::uint64_t>(effort.rounds, std::min<std::uint64_t>(kMaxRounds, kCheapSteps / steps)));
  result.least_load = balance.least_possible();
  balance.settle(true, rounds, result.least_load);
  result.start_load = balance.start_load();
  result.max_load = balance.fullest();
  if (start != nullptr && result.max_load >= result.start_load) {
    result.tables = *start;
    return result;
  }
  balance.settle(false, std::min(effort.rounds, 2U), 0);
  result.tables = balance.tables();
  return result;
}

}  // namespace

BalanceResult balance_ports(const Plane& plane, const NextHops& hops, std::vector<std::uint32_t> pair_weight,
                            const PlaneTables& start, std::span<const std::uint32_t> weights,
                            const BalanceEffort& effort) {
  Balance balance(plane, hops, std::move(pair_weight), weights);
  balance.start_from(start);
  return run(balance, plane, hops, effort, &start);
}

BalanceResult balance_ports(const Plane& plane, const NextHops& hops, std::vector<std::uint32_t> pair_weight,
                            std::span<const std::uint32_t> weights, const BalanceEffort& effort) {
  Balance balance(plane, hops, std::move(pair_weight), weights);
  return run(balance, plane, hops, effort, nullptr);
}

}  // namespace railweave::fabric
