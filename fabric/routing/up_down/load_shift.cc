#include "fabric/routing/up_down/load_shift.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "fabric/base/check.h"
#include "fabric/base/mix.h"
#include "fabric/routing/up_down/host_load.h"

namespace railweave::fabric {
namespace {

constexpr std::uint64_t kRaiseShift = 5;  // a ceiling that cannot be held is raised by 1/32
constexpr unsigned kMaxPasses = 64;       // over all links above the ceiling

constexpr std::size_t kEntryValues = std::size_t{UINT16_MAX} + 1;  // of tables

bool are_zero(const std::uint16_t* four) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, four, sizeof bits);
  return bits == 0;
}

// Hop: an arc, counted from the first of its switch.
template <class Hop>
class Shift {
 public:
  static constexpr Hop kNoHop = std::numeric_limits<Hop>::max();

  Shift(const Plane& plane, const DirectedReach& on, std::span<const std::uint32_t> pair_weight,
        std::vector<std::uint64_t> weight, std::uint64_t steps)
      : plane_(plane),
        on_(on),
        pair_weight_(pair_weight),
        weight_(std::move(weight)),
        steps_(steps),
        destinations_(plane.destination_count()),
        load_(plane.arcs.size(), 0),
        hop_(std::make_unique_for_overwrite<Hop[]>(plane.switch_count() * destinations_)),
        row_of_(plane.switch_count(), kNoRow),
        own_flow_(plane.switch_count(), 0),
        ports_(destinations_),
        own_row_(destinations_),
        unused_(destinations_) {
    for (const Segment& segment : plane.segments) {
      if (segment.kind != DestinationKind::host) continue;
      for (std::uint32_t i = 0; i < segment.count; ++i) hosts_.push_back(segment.first + i);
    }
    std::ranges::sort(hosts_);
    std::uint64_t all_ports = 0;
    for (const Home& home : plane.homes) {
      own_flow_[home.sw] = static_cast<std::uint16_t>(home.host_ports);
      all_ports += home.host_ports;
    }
    lay_out_flows();
    RAILWEAVE_CHECK(all_ports <= kMaxShiftedPorts, "flows of a plane are counted in 16 bits");
  }

  // False: packets of a pair are dropped. Flows go up first and then down, so that two passes over the rows of all switches are
  // enough: no switch sends up what came down to it.
  bool start_from(const PlaneTables& tables) {
    for (const std::uint32_t s : on_.order.ascending) {
      if (!read_hops(s, tables)) return false;
      pass_flows(s, ArcDirection::up);
    }
    for (auto s = on_.order.ascending.rbegin(); s != on_.order.ascending.rend(); ++s)
      pass_flows(*s, ArcDirection::down);
    return true;
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
  static constexpr std::uint32_t kNoRow = UINT32_MAX;

  // Rows for switches that others send through, which are those with an arc down: most of a tree's are leaves.
  void lay_out_flows() {
    std::uint32_t rows = 0;
    for (std::size_t s = 0; s < plane_.switch_count(); ++s) {
      const auto of_switch = std::span(on_.directions).subspan(plane_.first_arc[s], plane_.arcs_of(s).size());
      if (std::ranges::find(of_switch, ArcDirection::down) != of_switch.end()) row_of_[s] = rows++;
    }
    flow_ = std::make_unique_for_overwrite<std::uint16_t[]>(rows * destinations_);
    for (std::size_t s = 0; s < plane_.switch_count(); ++s) {
      if (row_of_[s] != kNoRow) std::fill_n(flow_row(s), destinations_, own_flow_[s]);
    }
  }
  std::uint16_t* flow_row(std::size_t s) { return &flow_[row_of_[s] * destinations_]; }
  [[nodiscard]] std::uint32_t flow(std::size_t s, std::size_t d) const {
    return row_of_[s] == kNoRow ? own_flow_[s] : flow_[row_of_[s] * destinations_ + d];
  }

  // The destinations of hosts, as ranges.
  template <class Visit>
  void for_each_range(Visit visit) const {
    for (std::uint32_t h = 0; h < plane_.homes.size(); ++h) {
      for (const Segment& segment : plane_.segments_of(plane_.homes[h])) {
        if (segment.kind == DestinationKind::host) visit(h, segment.first, segment.first + segment.count);
      }
    }
  }

  // False: packets are dropped that could reach a home.
  bool read_hops(std::uint32_t s, const PlaneTables& tables) {
    hop_of_.resize(kEntryValues, kNoHop);
    std::fill_n(hop_of_.begin(), std::size_t{plane_.max_ports} + 1, kNoHop);
    for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1]; ++a) {
      if (on_.directions[a] == ArcDirection::none) continue;
      hop_of_[plane_.arcs[a].port] = static_cast<Hop>(a - plane_.first_arc[s]);
    }
    Hop* hops = &hop_[s * destinations_];
    tables.read(s, 0, destinations_, ports_.data());
    for (std::size_t d = 0; d < destinations_; ++d) hops[d] = hop_of_[ports_[d]];
    const std::uint8_t* total = on_.reach.total(s);
    unsigned missing = 0;
    for_each_range([&](std::uint32_t home, std::uint32_t first, std::uint32_t end) {
      if (plane_.homes[home].sw == s || total[home] == kUnreachable) return;
      for (std::uint32_t d = first; d < end; ++d) missing |= hops[d] == kNoHop ? 1U : 0U;
    });
    return missing == 0;
  }

  // Adds what the switch sends in the direction to the loads of its arcs, and to the flows of the switches behind them.
  void pass_flows(std::uint32_t s, ArcDirection direction) {
    const std::uint32_t first_arc = plane_.first_arc[s], arcs = plane_.first_arc[s + 1] - first_arc;
    next_flows_.assign(arcs, nullptr);
    bool any = false;
    for (std::uint32_t i = 0; i < arcs; ++i) {
      if (on_.directions[first_arc + i] != direction) continue;
      const std::uint32_t to = plane_.arcs[first_arc + i].to;
      next_flows_[i] = row_of_[to] == kNoRow ? unused_.data() : flow_row(to);
      any = true;
    }
    if (!any) return;
    sent_.assign(arcs, 0);
    const Hop* hops = &hop_[s * destinations_];
    if (row_of_[s] == kNoRow) std::ranges::fill(own_row_, own_flow_[s]);
    const std::uint16_t* flows = row_of_[s] == kNoRow ? own_row_.data() : flow_row(s);
    for_each_range([&](std::uint32_t, std::uint32_t first, std::uint32_t end) {
      for (std::uint32_t d = first; d < end; ++d) {
        if (d + 4 <= end && are_zero(flows + d)) {  // most are, but in leaves
          d += 3;
          continue;
        }
        if (flows[d] == 0 || hops[d] == kNoHop || next_flows_[hops[d]] == nullptr) continue;
        std::uint16_t& next = next_flows_[hops[d]][d];
        next = static_cast<std::uint16_t>(next + flows[d]);
        sent_[hops[d]] += flows[d] * weight_[d];
      }
    });
    for (std::uint32_t i = 0; i < arcs; ++i) load_[first_arc + i] += sent_[i] * pair_weight_[first_arc + i];
  }

  // The next hops of a switch to a home, kept for the next question, which is often about the same ones.
  std::span<const std::uint32_t> next_hops(std::uint32_t s, std::uint32_t home) {
    if (std::pair(s, home) == hops_of_) return hops_;
    hops_of_ = {s, home};
    hops_.clear();
    for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1]; ++a) {
      if (on_.reach.leads(plane_, on_.directions, s, a, home)) hops_.push_back(a);
    }
    return hops_;
  }

  Hop& hop_at(std::size_t s, std::size_t d) { return hop_[s * destinations_ + d]; }
  std::uint32_t arc_at(std::size_t s, std::size_t d) { return plane_.first_arc[s] + hop_at(s, d); }

  // Moves what passes the arc until it carries no more than the ceiling. False: nothing was moved.
  bool relieve(std::uint32_t arc, std::uint64_t ceiling) {
    const std::uint32_t s = plane_.arcs[plane_.arcs[arc].reverse].to;
    const auto hop = static_cast<Hop>(arc - plane_.first_arc[s]);
    // Not always the same destinations first.
    const std::size_t first = mix(arc, load_[arc]) % std::max<std::size_t>(1, hosts_.size());
    bool moved = false;
    for (std::size_t i = 0; i < hosts_.size() && load_[arc] > ceiling && steps_ > 0; ++i) {
      const std::size_t d = hosts_[first + i < hosts_.size() ? first + i : first + i - hosts_.size()];
      if (hop_at(s, d) != hop || flow(s, d) == 0) continue;
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
        if (flow(neighbour, d) > 0 && hop_at(neighbour, d) != kNoHop && arc_at(neighbour, d) == in) {
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
    const auto arcs = next_hops(s, plane_.destination_home[d]);
    if (arcs.size() < 2) return false;
    const std::uint32_t sent = flow(s, d), old = arc_at(s, d);
    const std::uint64_t amount = sent * weight_[d];
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
      add_flow(plane_.arcs[old].to, d, sent, false);
      hop_at(s, d) = static_cast<Hop>(best - plane_.first_arc[s]);
      add_flow(plane_.arcs[best].to, d, sent, true);
      changed_.emplace_back(s, static_cast<std::uint32_t>(d));
    }
    add_way(s, d, amount, true);
    return best != old;
  }

  void add_flow(std::uint32_t from, std::size_t d, std::uint32_t more, bool plus) {
    for (std::uint32_t s = from; s != home_of(d); s = plane_.arcs[arc_at(s, d)].to) {
      std::uint16_t& passes = flow_row(s)[d];
      passes = static_cast<std::uint16_t>(plus ? passes + more : passes - more);
    }
  }

  [[nodiscard]] std::uint32_t home_of(std::size_t d) const { return plane_.homes[plane_.destination_home[d]].sw; }
  void spend(std::uint64_t steps) { steps_ -= std::min(steps, steps_); }

  const Plane& plane_;
  DirectedReach on_;
  std::span<const std::uint32_t> pair_weight_;
  std::vector<std::uint64_t> weight_;  // by destination
  std::uint64_t steps_;                // left
  std::size_t destinations_;
  std::vector<std::uint64_t> load_;        // by arc, in 1/64 pairs
  std::unique_ptr<Hop[]> hop_;             // switch x destination
  std::vector<std::uint32_t> row_of_;      // by switch: of flow_; kNoRow: only its own host ports' packets leave it
  std::vector<std::uint16_t> own_flow_;    // by switch: its host ports
  std::unique_ptr<std::uint16_t[]> flow_;  // row x destination: host ports whose packets pass it
  std::vector<std::uint32_t> hosts_;       // destinations that are hosts'
  std::vector<std::uint32_t> before_, hops_;
  std::vector<Hop> hop_of_;  // of one switch: by entry of its table
  std::vector<std::uint16_t> ports_, own_row_,
      unused_;                              // rows of one switch: entries, flows; of a home, where nothing is counted
  std::vector<std::uint16_t*> next_flows_;  // of one switch: by arc, the row of flow_ behind it
  std::vector<std::uint64_t> sent_;         // of one switch: by arc
  std::pair<std::uint32_t, std::uint32_t> hops_of_{Plane::kNone, Plane::kNone};  // switch and home
  std::vector<std::pair<std::uint32_t, std::uint32_t>> changed_;                 // (switch, destination)
};

template <class Hop>
std::optional<LoadShiftResult> shift(const Plane& plane, const DirectedReach& on,
                                     std::span<const std::uint32_t> pair_weight, const PlaneTables& start,
                                     std::span<const std::uint32_t> weights, std::uint64_t steps) {
  std::vector<std::uint64_t> weight = scaled_weights(plane, weights);
  LoadShiftResult result;
  result.least_load = least_load(plane, on, pair_weight, weight);
  Shift<Hop> shift(plane, on, pair_weight, std::move(weight), steps);
  if (!shift.start_from(start)) return std::nullopt;
  result.start_load = shift.fullest();
  shift.settle(result.least_load);
  result.max_load = shift.fullest();
  result.tables = start;
  shift.write_into(result.tables);
  return result;
}

}  // namespace

std::optional<LoadShiftResult> shift_loads(const Plane& plane, const DirectedReach& on,
                                           std::span<const std::uint32_t> pair_weight, const PlaneTables& start,
                                           std::span<const std::uint32_t> weights, std::uint64_t steps) {
  std::size_t most_arcs = 0;
  for (std::size_t s = 0; s < plane.switch_count(); ++s) most_arcs = std::max(most_arcs, plane.arcs_of(s).size());
  return most_arcs < UINT8_MAX ? shift<std::uint8_t>(plane, on, pair_weight, start, weights, steps)
                               : shift<std::uint16_t>(plane, on, pair_weight, start, weights, steps);
}

}  // namespace railweave::fabric
