#include "fabric/routing/up_down/load_shift.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "fabric/base/mix.h"
#include "fabric/routing/up_down/host_load.h"

namespace railweave::fabric {
namespace {

constexpr std::uint16_t kNoHop = UINT16_MAX;
constexpr std::uint64_t kRaiseShift = 5;  // a ceiling that cannot be held is raised by 1/32
constexpr unsigned kMaxPasses = 64;       // over all links above the ceiling

class Shift {
 public:
  Shift(const Plane& plane, const NextHops& hops, std::span<const std::uint32_t> pair_weight,
        std::vector<std::uint64_t> weight, std::uint64_t steps)
      : plane_(plane),
        hops_(hops),
        pair_weight_(pair_weight),
        weight_(std::move(weight)),
        steps_(steps),
        destinations_(plane.destination_count()),
        load_(plane.arcs.size(), 0),
        hop_(plane.switch_count() * destinations_, kNoHop),
        flow_(plane.switch_count() * destinations_, 0) {
    for (const Segment& segment : plane.segments) {
      if (segment.kind != DestinationKind::host) continue;
      for (std::uint32_t i = 0; i < segment.count; ++i) hosts_.push_back(segment.first + i);
    }
    std::ranges::sort(hosts_);
  }

  // False: packets of a pair are dropped.
  bool start_from(const PlaneTables& tables) {
    read_hops(tables);
    return std::ranges::all_of(hosts_, [&](std::uint32_t d) { return add_flows(d); });
  }

  // Until no arc carries more than a ceiling, which begins just above the bound.
  void settle(std::uint64_t least) {
    std::uint64_t ceiling = least + least / 64;
    for (unsigned pass = 0; pass < kMaxPasses && steps_ > 0; ++pass) {
      std::vector<std::pair<std::uint64_t, std::uint32_t>> above;
      for (std::uint32_t a = 0; a < load_.size(); ++a) {
        if (load_[a] > ceiling) above.emplace_back(~load_[a], a);
      }
      if (above.empty()) return;
      std::ranges::sort(above);
      bool moved = false;
      for (const auto& [fuller, a] : above) moved = relieve(a, ceiling) || moved;
      if (moved) continue;
      const std::uint64_t raised = std::min(fullest() - 1, ceiling + (ceiling >> kRaiseShift) + 1);
      if (raised == ceiling) return;  // nothing leaves the fullest arcs
      ceiling = raised;
    }
  }

  [[nodiscard]] std::uint64_t fullest() const { return load_.empty() ? 0 : std::ranges::max(load_); }

  void write_into(PlaneTables& tables) {
    std::ranges::sort(changed_);
    const auto twice = std::ranges::unique(changed_);
    changed_.erase(twice.begin(), twice.end());
    PlaneTables::Editor editor(tables);
    for (const auto& [s, d] : changed_) editor.set(s, d, plane_.arcs[arc_at(s, d)].port);
  }

 private:
  bool add_flows(std::size_t d) {
    const std::size_t home = plane_.destination_home[d];
    const auto order = hops_.nearest_first(home);
    sending_.assign(plane_.switch_count(), 0);
    for (const Home& from : plane_.homes) sending_[from.sw] = from.host_ports;
    for (std::size_t i = order.size(); i-- > 1;) {
      const std::uint32_t s = order[i];
      if (hop_at(s, d) == kNoHop) return false;
      const std::uint32_t a = arc_at(s, d), flow = sending_[s];
      flow_[s * destinations_ + d] = flow;
      load_[a] += std::uint64_t{flow} * weight_[d] * pair_weight_[a];
      sending_[plane_.arcs[a].to] += flow;
    }
    return true;
  }

  void read_hops(const PlaneTables& tables) {
    std::vector<std::uint16_t> ports(destinations_), hop_of(std::size_t{plane_.max_ports} + 1);
    for (std::uint32_t s = 0; s < plane_.switch_count(); ++s) {
      std::ranges::fill(hop_of, kNoHop);
      for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1]; ++a) {
        hop_of[plane_.arcs[a].port] = static_cast<std::uint16_t>(a - plane_.first_arc[s]);
      }
      tables.read(s, 0, destinations_, ports.data());
      for (std::size_t d = 0; d < destinations_; ++d) {
        if (ports[d] < hop_of.size()) hop_at(s, d) = hop_of[ports[d]];
      }
    }
  }

  std::uint16_t& hop_at(std::size_t s, std::size_t d) { return hop_[s * destinations_ + d]; }
  std::uint32_t arc_at(std::size_t s, std::size_t d) { return plane_.first_arc[s] + hop_at(s, d); }

  // Moves what passes the arc until it carries no more than the ceiling. False: nothing was moved.
  bool relieve(std::uint32_t arc, std::uint64_t ceiling) {
    const std::uint32_t s = plane_.arcs[plane_.arcs[arc].reverse].to;
    const auto hop = static_cast<std::uint16_t>(arc - plane_.first_arc[s]);
    // Not always the same destinations first.
    const std::size_t first = mix(arc, load_[arc]) % std::max<std::size_t>(1, hosts_.size());
    bool moved = false;
    for (std::size_t i = 0; i < hosts_.size() && load_[arc] > ceiling && steps_ > 0; ++i) {
      const std::size_t d = hosts_[first + i < hosts_.size() ? first + i : first + i - hosts_.size()];
      if (hop_at(s, d) != hop || flow_[s * destinations_ + d] == 0) continue;
      moved = relieve_of(s, d, arc, ceiling) || moved;
    }
    return moved;
  }

  // What goes to one destination: all of it, or what single switches before it send.
  bool relieve_of(std::uint32_t s, std::size_t d, std::uint32_t arc, std::uint64_t ceiling) {
    bool moved = false;
    before_.assign(1, s);
    while (!before_.empty() && load_[arc] > ceiling && steps_ > 0) {
      const std::uint32_t u = before_.back();
      before_.pop_back();
      if (move(u, d, ceiling)) {
        moved = true;
        continue;
      }
      for (std::uint32_t out = plane_.first_arc[u]; out < plane_.first_arc[u + 1]; ++out) {
        const std::uint32_t neighbour = plane_.arcs[out].to, in = plane_.arcs[out].reverse;
        spend(1);
        if (flow_[neighbour * destinations_ + d] > 0 && hop_at(neighbour, d) != kNoHop && arc_at(neighbour, d) == in) {
          before_.push_back(neighbour);
        }
      }
    }
    return moved;
  }

  // Adds an amount to the loads of the way that packets take from a switch, or takes it off them.
  void add_way(std::uint32_t from, std::size_t d, std::uint64_t amount, bool plus) {
    for (std::uint32_t s = from; s != home_of(d);) {
      const std::uint32_t a = arc_at(s, d);
      load_[a] = plus ? load_[a] + amount * pair_weight_[a] : load_[a] - amount * pair_weight_[a];
      s = plane_.arcs[a].to;
      spend(1);
    }
  }

  // The load of the fullest arc of the way over that arc with so much more on it.
  std::uint64_t fullest_with(std::uint32_t arc, std::size_t d, std::uint64_t amount, std::uint64_t limit) {
    std::uint64_t most = load_[arc] + amount * pair_weight_[arc];
    for (std::uint32_t s = plane_.arcs[arc].to; s != home_of(d) && most <= limit;) {
      const std::uint32_t a = arc_at(s, d);
      most = std::max(most, load_[a] + amount * pair_weight_[a]);
      s = plane_.arcs[a].to;
      spend(1);
    }
    return most;
  }

  // Gives the switch the next hop whose way is the least full, if none of its arcs is above the ceiling then.
  bool move(std::uint32_t s, std::size_t d, std::uint64_t ceiling) {
    const auto arcs = hops_.arcs(plane_.destination_home[d], s);
    if (arcs.size() < 2) return false;
    const std::uint32_t flow = flow_[s * destinations_ + d], old = arc_at(s, d);
    const std::uint64_t amount = flow * weight_[d];
    add_way(s, d, amount, false);
    std::uint32_t best = old;
    std::uint64_t least = ceiling + 1;
    // Not by the destination's number, which depends on the other kinds of destinations.
    const Home& home = plane_.homes[plane_.destination_home[d]];
    const std::size_t turn = mix(std::uint64_t{home.sw} << 32U | (d - home.first), s) % arcs.size();
    for (std::size_t i = 0; i < arcs.size(); ++i) {
      const std::uint32_t a = arcs[(i + turn) % arcs.size()];
      if (a == old) continue;
      const std::uint64_t most = fullest_with(a, d, amount, least);
      if (most < least) std::tie(least, best) = std::pair(most, a);
    }
    if (best != old) {
      add_flow(plane_.arcs[old].to, d, flow, false);
      hop_at(s, d) = static_cast<std::uint16_t>(best - plane_.first_arc[s]);
      add_flow(plane_.arcs[best].to, d, flow, true);
      changed_.emplace_back(s, static_cast<std::uint32_t>(d));
    }
    add_way(s, d, amount, true);
    return best != old;
  }

  void add_flow(std::uint32_t from, std::size_t d, std::uint32_t flow, bool plus) {
    for (std::uint32_t s = from; s != home_of(d); s = plane_.arcs[arc_at(s, d)].to) {
      std::uint32_t& passes = flow_[s * destinations_ + d];
      passes = plus ? passes + flow : passes - flow;
    }
  }

  [[nodiscard]] std::uint32_t home_of(std::size_t d) const { return plane_.homes[plane_.destination_home[d]].sw; }
  void spend(std::uint64_t steps) { steps_ -= std::min(steps, steps_); }

  const Plane& plane_;
  const NextHops& hops_;
  std::span<const std::uint32_t> pair_weight_;
  std::vector<std::uint64_t> weight_;  // by destination
  std::uint64_t steps_;                // left
  std::size_t destinations_;
  std::vector<std::uint64_t> load_;   // by arc, in 1/64 pairs
  std::vector<std::uint16_t> hop_;    // switch x destination -> arc, counted from the switch's first
  std::vector<std::uint32_t> flow_;   // switch x destination: host ports whose packets pass it
  std::vector<std::uint32_t> hosts_;  // destinations that are hosts'
  std::vector<std::uint32_t> sending_, before_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> changed_;  // (switch, destination)
};

}  // namespace

std::optional<LoadShiftResult> shift_loads(const Plane& plane, const NextHops& hops,
                                           std::span<const std::uint32_t> pair_weight, const PlaneTables& start,
                                           std::span<const std::uint32_t> weights, std::uint64_t steps) {
  std::vector<std::uint64_t> weight = scaled_weights(plane, weights);
  LoadShiftResult result;
  result.least_load = least_load(plane, pair_weight, weight);
  Shift shift(plane, hops, pair_weight, std::move(weight), steps);
  if (!shift.start_from(start)) return std::nullopt;
  result.start_load = shift.fullest();
  shift.settle(result.least_load);
  result.max_load = shift.fullest();
  result.tables = start;
  shift.write_into(result.tables);
  return result;
}

}  // namespace railweave::fabric
