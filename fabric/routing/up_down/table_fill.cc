#include "fabric/routing/up_down/table_fill.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "fabric/base/mix.h"
#include "fabric/routing/plane/parallel_for.h"

namespace railweave::fabric {

namespace {

constexpr float kMaxDraws = 64;
constexpr std::uint32_t kLeastRowsPerThread = 128;

}  // namespace

void set_keys(NominalPlan& plan, const RoutingScope& scope, const Plane& plane) {
  for (const SwitchId sw : plane.switches) plan.switch_key.push_back(mix(scope.topology().guid(sw).value()));
  for (std::size_t d = 0; d < plane.destination_count(); ++d) {
    const Destination& destination = scope.destination(plane.destination(d));
    plan.destination_key.push_back(mix(plan.switch_key[plane.homes[plane.destination_home[d]].sw],
                                       std::uint64_t{destination.out_port} << 8U | destination.lid_offset));
  }
}

// A link of cost c accepts one in c of the destinations planned for it.
bool TableFill::takes(std::uint32_t arc, std::uint64_t key) const {
  if (live_.cost.empty() || live_.cost[arc] == 1.0F) return true;
  return static_cast<double>(mix(key, 0x5eedU) >> 32U) * static_cast<double>(live_.cost[arc]) < 4294967296.0;
}

std::uint16_t TableFill::pick(std::uint32_t s, std::uint32_t destination) const {
  const std::uint32_t first = plane_.first_arc[s];
  std::uint32_t nominal = SlotPlan::kEmpty;
  if (plan_.table.destinations() > 0) {
    const std::uint16_t port = plan_.table.at(s, destination);
    for (const std::uint32_t arc : candidates_) {
      if (plane_.arcs[arc].port == port) nominal = arc;
    }
  } else {
    const std::uint32_t up = plan_.slots.up_arc(s, destination);
    if (up != SlotPlan::kEmpty && is_candidate_[up - first] != 0) {
      nominal = up;
    } else {  // going down: the cable that the child would come up by
      const std::uint32_t cable = plan_.slots.up_arc(plane_.arcs[candidates_.front()].to, destination);
      if (cable != SlotPlan::kEmpty && plane_.arcs[cable].to == s) {
        const std::uint32_t back = plane_.arcs[cable].reverse;
        if (is_candidate_[back - first] != 0) nominal = back;
      }
    }
  }
  if (nominal != SlotPlan::kEmpty && live_.cost.empty()) return plane_.arcs[nominal].port;  // most by far: no hashing
  const std::uint64_t key = mix(plan_.switch_key[s] ^ plan_.destination_key[destination]);
  if (nominal != SlotPlan::kEmpty && takes(nominal, key)) return plane_.arcs[nominal].port;
  std::uint64_t best = 0;
  std::uint16_t port = kNoPort;
  for (const std::uint32_t arc : candidates_) {
    std::uint64_t draw = mix(key, plane_.arcs[arc].port);
    if (!live_.cost.empty()) {  // the least of c draws is the greatest of all about once in c times as often
      const auto draws = static_cast<unsigned>(std::min(live_.cost[arc], kMaxDraws));
      for (unsigned i = 1; i < draws; ++i) draw = std::min(draw, mix(draw, i));
    }
    if (port != kNoPort && draw <= best) continue;
    best = draw;
    port = plane_.arcs[arc].port;
  }
  return port;
}

void TableFill::gather_candidates(std::uint32_t s, std::uint32_t home) {
  const std::uint32_t first = plane_.first_arc[s];
  candidates_.clear();
  is_candidate_.assign(plane_.first_arc[s + 1] - first, 0);
  // On a layered order all next hops of a switch to a home go down, or all go up.
  const bool layered = reach_.layered();
  const bool down = layered && reach_.down(s)[home] != kUnreachable;
  const ArcDirection direction = down ? ArcDirection::down : ArcDirection::up;
  for (std::uint32_t a = first; a < plane_.first_arc[s + 1]; ++a) {
    if ((layered && directions_[a] != direction) || !reach_.leads(plane_, directions_, s, a, home)) continue;
    candidates_.push_back(a);
    is_candidate_[a - first] = 1;
  }
}

void TableFill::without(std::uint32_t s, std::uint32_t home, std::uint16_t gone, std::vector<std::uint16_t>& ports) {
  const Home& to = plane_.homes[home];
  bool gathered = false;
  for (std::uint32_t i = 0; i < to.count; ++i) {
    if (ports[i] != gone) continue;
    if (!gathered) gather_candidates(s, home);
    gathered = true;
    ports[i] = candidates_.empty() ? kNoPort : pick(s, to.first + i);
  }
}

void TableFill::block(std::uint32_t s, std::uint32_t home, std::vector<std::uint16_t>& ports) {
  const Home& to = plane_.homes[home];
  ports.resize(to.count);
  if (to.sw == s) {
    std::copy_n(plane_.destination_port.begin() + to.first, to.count, ports.begin());
    return;
  }
  gather_candidates(s, home);
  if (candidates_.size() <= 1) {
    std::ranges::fill(ports, candidates_.empty() ? kNoPort : plane_.arcs[candidates_.front()].port);
    return;
  }
  for (std::uint32_t i = 0; i < to.count; ++i) ports[i] = pick(s, to.first + i);
}

// Fills one row after another, most blocks without computing single destinations.
template <class Entry>
class TableFill::Row {
 public:
  Row(TableFill& fill, PlaneTables& tables)
      : fill_(fill),
        tables_(tables),
        plane_(fill.plane_),
        count_(fill.reach_.row_bytes()),
        up_count_(fill.reach_.row_bytes()),
        last_(fill.reach_.row_bytes()),
        barred_(fill.reach_.row_bytes()),
        child_barred_(fill.reach_.row_bytes()),
        none_(fill.reach_.row_bytes()) {
    for (const Segment& segment : plane_.segments) longest_ = std::max<std::size_t>(longest_, segment.count);
  }

  void fill(std::uint32_t s) {
    Entry* row = tables_.template fresh_row<Entry>(s);
    const std::uint32_t first = plane_.first_arc[s], arcs = plane_.first_arc[s + 1] - first;
    const bool counted = arcs < UINT8_MAX;
    is_flagged_ = false;
    if (counted) count_candidates(s);
    const std::uint32_t cycle_arcs = counted ? set_cycle(s) : 0;
    for (std::uint32_t h = 0; h < plane_.homes.size(); ++h) {
      const Home& home = plane_.homes[h];
      Entry* to = row + home.first;
      if (counted && home.sw != s) {
        if (count_[h] == 0) {
          std::fill_n(to, home.count, PlaneTables::entry_none<Entry>());
          continue;
        }
        if (count_[h] == 1) {
          std::fill_n(to, home.count, static_cast<Entry>(plane_.arcs[first + last_[h]].port));
          continue;
        }
        if (cycle_arcs > 0 && up_count_[h] == cycle_arcs && count_[h] == cycle_arcs) {
          for (const Segment& segment : plane_.segments_of(home)) copy_cycle(s, segment, row);
          continue;
        }
        choose_among(s, h, to);
        continue;
      }
      fill_.block(s, h, ports_);
      for (std::size_t i = 0; i < ports_.size(); ++i) to[i] = static_cast<Entry>(ports_[i]);
    }
  }

 private:
  void count_candidates(std::uint32_t s) {
    const std::size_t n = fill_.reach_.row_bytes();
    const std::uint8_t* total = fill_.reach_.total(s);
    std::ranges::fill(count_, 0);
    std::ranges::fill(up_count_, 0);
    for_each_arc(
        s, [&](std::uint8_t number, ArcDirection direction, const std::uint8_t* below, const std::uint8_t* barred) {
          std::uint8_t* count = direction == ArcDirection::up ? up_count_.data() : count_.data();
          count_next(count, last_.data(), number, below, total, barred, n);
        });
    for (std::size_t i = 0; i < n; ++i) count_[i] = static_cast<std::uint8_t>(count_[i] + up_count_[i]);
  }

  // Visits the arcs of s that are in use, by number, with the distances behind each and the homes for which it may not be used.
  template <class Visit>
  void for_each_arc(std::uint32_t s, Visit visit) {
    const Reach& reach = fill_.reach_;
    const std::size_t n = reach.row_bytes();
    const std::uint8_t* barred_up = none_.data();
    if (!reach.layered()) {
      barred_up = reach.bars_up(s);
    } else if (fill_.live_.drained_count >
               0) {  // without drains distances alone rule out going up where down is possible
      for (std::size_t i = 0; i < n; ++i) barred_[i] = reach.down(s)[i] != kUnreachable ? UINT8_MAX : 0;
      barred_up = barred_.data();
    }
    const std::uint32_t first = plane_.first_arc[s];
    for (std::uint32_t a = first; a < plane_.first_arc[s + 1]; ++a) {
      const std::uint32_t to = plane_.arcs[a].to;
      const auto number = static_cast<std::uint8_t>(a - first);
      if (fill_.directions_[a] == ArcDirection::up) {
        visit(number, ArcDirection::up, reach.total(to), barred_up);
      } else if (fill_.directions_[a] == ArcDirection::down) {
        const std::uint8_t* barred_down = none_.data();
        if (!reach.layered()) {
          reach.bars_down(s, to, child_barred_.data());
          barred_down = child_barred_.data();
        }
        visit(number, ArcDirection::down, reach.down(to), barred_down);
      }
    }
  }

  // Which arcs of s are next hops, for all homes at once.
  void flag_arcs(std::uint32_t s) {
    const std::size_t n = fill_.reach_.row_bytes();
    const std::uint32_t first = plane_.first_arc[s], arcs = plane_.first_arc[s + 1] - first;
    leads_.assign(arcs * n, 0);
    arc_of_.assign(std::size_t{plane_.max_ports} + 1, SlotPlan::kEmpty);
    for (std::uint32_t a = first; a < first + arcs; ++a) arc_of_[plane_.arcs[a].port] = a;
    for_each_arc(s, [&](std::uint8_t number, ArcDirection, const std::uint8_t* below, const std::uint8_t* barred) {
      flag_next(leads_.data() + number * n, below, fill_.reach_.total(s), barred, n);
    });
    is_flagged_ = true;
  }

  // As TableFill::block(), for a home with several next hops: most destinations use the planned port, for which the others need
  // not be known.
  void choose_among(std::uint32_t s, std::uint32_t h, Entry* to) {
    if (!is_flagged_) flag_arcs(s);
    const Home& home = plane_.homes[h];
    const std::size_t n = fill_.reach_.row_bytes();
    const std::uint32_t first = plane_.first_arc[s];
    const PlaneTables& planned = fill_.plan_.table;
    const bool by_table = planned.destinations() > 0;
    if (by_table) {
      ports_.resize(home.count);
      planned.read(s, home.first, home.count, ports_.data());
    } else {
      list_planned(s, home);
    }
    const bool costs = !fill_.live_.cost.empty();
    bool gathered = false;
    for (std::uint32_t i = 0; i < home.count; ++i) {
      std::uint32_t arc = SlotPlan::kEmpty;
      if (!by_table) {
        arc = planned_[i];
      } else if (ports_[i] < arc_of_.size()) {
        arc = arc_of_[ports_[i]];
      }
      if (!costs && arc != SlotPlan::kEmpty && leads_[(arc - first) * n + h] != 0) {
        to[i] = static_cast<Entry>(plane_.arcs[arc].port);
        continue;
      }
      if (!gathered) gather_flagged(s, h);
      gathered = true;
      to[i] = static_cast<Entry>(fill_.pick(s, home.first + i));
    }
  }

  void gather_flagged(std::uint32_t s, std::uint32_t h) {
    const std::size_t n = fill_.reach_.row_bytes();
    const std::uint32_t first = plane_.first_arc[s], arcs = plane_.first_arc[s + 1] - first;
    fill_.candidates_.clear();
    fill_.is_candidate_.assign(arcs, 0);
    for (std::uint32_t a = 0; a < arcs; ++a) {
      if (leads_[a * n + h] == 0) continue;
      fill_.candidates_.push_back(first + a);
      fill_.is_candidate_[a] = 1;
    }
  }

  // SlotPlan::up_arc() for the destinations of a home.
  void list_planned(std::uint32_t s, const Home& home) {
    const SlotPlan& plan = fill_.plan_.slots;
    const auto slots = plan.slots(s);
    planned_.assign(home.count, SlotPlan::kEmpty);
    if (slots.empty()) return;
    const std::uint32_t divisor = plan.divisor(s);
    for (const Segment& segment : plane_.segments_of(home)) {
      std::uint32_t* to = planned_.data() + (segment.first - home.first);
      if (!plan.sequential()) {
        for (std::uint32_t i = 0; i < segment.count; ++i) to[i] = plan.up_arc(s, segment.first + i);
        continue;
      }
      const std::uint32_t index = plan.index(segment.first);
      std::size_t slot = index / divisor % slots.size();
      std::uint32_t run = divisor - index % divisor;
      for (std::uint32_t i = 0; i < segment.count; ++i) {
        to[i] = slots[slot];
        if (--run > 0) continue;
        run = divisor;
        slot = slot + 1 == slots.size() ? 0 : slot + 1;
      }
    }
  }

  // Sets cycle_ to the ports of the slots of s, repeated for the longest segment. Returns the number of arcs in them;
  // 0: the slots cannot be used as they are.
  std::uint32_t set_cycle(std::uint32_t s) {
    const SlotPlan& plan = fill_.plan_.slots;
    if (fill_.plan_.table.destinations() > 0 || !plan.sequential() || !fill_.live_.cost.empty()) return 0;
    const auto slots = plan.slots(s);
    const std::uint32_t arcs = plan.complete_arcs(s);
    if (arcs == 0) return 0;
    // On the present order the arcs up must be those in the slots.
    const auto directions =
        std::span(fill_.directions_).subspan(plane_.first_arc[s], plane_.first_arc[s + 1] - plane_.first_arc[s]);
    if (std::ranges::count(directions, ArcDirection::up) != arcs) return 0;
    if (std::ranges::any_of(slots, [&](std::uint32_t arc) { return fill_.directions_[arc] != ArcDirection::up; }))
      return 0;
    cycle_.resize(slots.size() + (plan.divisor(s) == 1 ? longest_ : 0));
    for (std::size_t i = 0; i < cycle_.size(); ++i) {
      cycle_[i] = i < slots.size() ? static_cast<Entry>(plane_.arcs[slots[i]].port) : cycle_[i - slots.size()];
    }
    return arcs;
  }

  void copy_cycle(std::uint32_t s, const Segment& segment, Entry* row) const {
    const SlotPlan& plan = fill_.plan_.slots;
    const std::size_t slots = plan.slots(s).size();
    const std::uint32_t divisor = plan.divisor(s), index = plan.index(segment.first);
    Entry* to = row + segment.first;
    if (divisor == 1) {
      std::memcpy(to, cycle_.data() + index % slots, segment.count * sizeof(Entry));
      return;
    }
    std::size_t slot = index / divisor % slots;
    std::size_t run = divisor - index % divisor;
    for (std::size_t remaining = segment.count; remaining > 0;) {
      const std::size_t here = std::min(remaining, run);
      std::fill_n(to, here, cycle_[slot]);
      to += here;
      remaining -= here;
      run = divisor;
      slot = slot + 1 == slots ? 0 : slot + 1;
    }
  }

  TableFill& fill_;
  PlaneTables& tables_;
  const Plane& plane_;
  std::vector<std::uint8_t> count_, up_count_, last_, barred_, child_barred_, none_;
  std::vector<std::uint8_t> leads_;     // arc of the switch x home: a next hop, where is_flagged_
  std::vector<std::uint32_t> arc_of_;   // port of the switch -> arc
  std::vector<std::uint32_t> planned_;  // arcs for the destinations of one home
  bool is_flagged_ = false;             // leads_ and arc_of_ are those of the switch
  std::vector<Entry> cycle_;
  std::vector<std::uint16_t> ports_;
  std::size_t longest_ = 0;
};

PlaneTables TableFill::all(std::size_t threads) const {
  PlaneTables tables(plane_.switch_count(), plane_.destination_count(), plane_.max_ports);
  const auto switches = static_cast<std::uint32_t>(plane_.switch_count());
  const std::size_t parts =
      std::clamp<std::size_t>(switches / kLeastRowsPerThread, 1, std::max<std::size_t>(1, threads));
  const auto fill_rows = [&]<class Entry>(Entry) {
    on_threads()(parts, [&](std::size_t part) {
      TableFill fill(plane_, live_, directions_, reach_, plan_);
      Row<Entry> row(fill, tables);
      const auto until = static_cast<std::uint32_t>(switches * (part + 1) / parts);
      for (auto s = static_cast<std::uint32_t>(switches * part / parts); s < until; ++s) row.fill(s);
    });
  };
  if (tables.wide()) {
    fill_rows(std::uint16_t{});
  } else {
    fill_rows(std::uint8_t{});
  }
  return tables;
}

}  // namespace railweave::fabric
