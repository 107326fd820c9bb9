#include "fabric/routing/delta/change_groups.h"

#include <algorithm>
#include <utility>

#include "fabric/routing/audit/channel_graph.h"
#include "fabric/routing/audit/column_block.h"
#include "fabric/routing/audit/mixture.h"
#include "fabric/routing/audit/transition.h"

namespace railweave::fabric {

namespace {

constexpr std::size_t kSearchBudget = 100'000'000;  // channels visited for all groups of a plane: about a second
constexpr unsigned kOrders = 4;                     // in which destinations are tried

struct Turn {
  std::uint32_t in = 0, out = 0;
  unsigned in_lane = 0, out_lane = 0;
};

class Grouping {
 public:
  explicit Grouping(const TableChange& change)
      : change_(change),
        lanes_(most_lanes(change)),
        walk_(change.plane, change.ports),
        mixture_(change.plane, change.ports, all_lanes(change)),
        channels_(change.plane, lanes_),
        is_new_(change.plane.destination_count(), false) {
    search_.budget = kSearchBudget;
  }

  void start_over() {
    is_new_.assign(is_new_.size(), false);
    has_earlier_ = true;
  }
  // Packets that were sent before have left.
  void waited() { has_earlier_ = false; }
  // The waits of all packets while nothing changes.
  void start_group() {
    channels_ = ChannelGraph(change_.plane, lanes_);
    ColumnBlock before(change_.before), after(change_.after);
    const std::size_t count = change_.plane.destination_count();
    for (std::size_t first = 0; first < count; first += ColumnBlock::kColumns) {
      const std::size_t here = std::min(ColumnBlock::kColumns, count - first);
      before.read(first, here);
      after.read(first, here);
      for (std::size_t i = 0; i < here; ++i) {
        const std::uint16_t* ports = is_new_[first + i] ? after.column(i) : before.column(i);
        const auto d = static_cast<std::uint32_t>(first + i);
        for (std::size_t s = 0; s < change_.plane.switch_count(); ++s) {
          set(s, d, ports[s], ports[s]);
        }
        mixture_.set_ordered(false);
        for_each_turn(d, [&](const Turn& turn) { channels_.add(turn.in, turn.in_lane, turn.out, turn.out_lane); });
      }
    }
  }
  // False: it would close a circle.
  bool add(std::uint32_t destination) {
    for (std::size_t s = 0; s < change_.plane.switch_count(); ++s) {
      set(s, destination, change_.before.at(s, destination), change_.after.at(s, destination));
    }
    mixture_.set_ordered(arrive_all(destination));
    std::vector<Turn> added;
    bool fits = true;
    for_each_turn(destination, [&](const Turn& turn) {
      if (!fits || channels_.has(turn.in, turn.in_lane, turn.out, turn.out_lane)) return;
      fits = !channels_.waits_for(turn.out * lanes_ + turn.out_lane, turn.in * lanes_ + turn.in_lane, search_);
      if (!fits) return;
      channels_.add(turn.in, turn.in_lane, turn.out, turn.out_lane);
      added.push_back(turn);
    });
    if (!fits) {
      for (const Turn& turn : added) channels_.remove(turn.in, turn.in_lane, turn.out, turn.out_lane);
    }
    return fits;
  }
  void set_new(std::uint32_t destination) { is_new_[destination] = true; }

 private:
  static std::vector<const PlaneLanes*> all_lanes(const TableChange& change) {
    std::vector<const PlaneLanes*> lanes{&change.before_lanes, &change.after_lanes};
    for (const auto& earlier : change.earlier) lanes.push_back(earlier.lanes);
    return lanes;
  }
  static unsigned most_lanes(const TableChange& change) {
    unsigned most = 1;
    for (const PlaneLanes* lanes : all_lanes(change)) most = std::max<unsigned>(most, lanes->lanes);
    return most;
  }
  void set(std::size_t s, std::uint32_t destination, std::uint16_t old_port, std::uint16_t new_port) {
    mixture_.set(s, 0, old_port);
    mixture_.set(s, 1, new_port);
    for (unsigned i = 0; i < change_.earlier.size(); ++i) {
      mixture_.set(s, i + 2, has_earlier_ ? change_.earlier[i].tables->at(s, destination) : old_port);
    }
  }
  // Entries whose new route does not arrive are changed last, in any order.
  bool arrive_all(std::uint32_t destination) {
    std::vector<std::uint16_t> ports(change_.plane.switch_count());
    for (std::size_t s = 0; s < ports.size(); ++s) ports[s] = change_.after.at(s, destination);
    walk_.walk(destination, ports.data());
    for (std::size_t s = 0; s < ports.size(); ++s) {
      const bool is_changed = ports[s] != change_.before.at(s, destination);
      const bool leads_on = ports[s] < change_.ports.stride && change_.ports.arc(s, ports[s]) < PortMap::kDead;
      if (is_changed && leads_on && walk_.depth(s) == ColumnWalk::kLost) return false;
    }
    return true;
  }
  template <class Visit>
  void for_each_turn(std::uint32_t destination, Visit visit) {
    mixture_.for_each_turn(destination, [&](std::uint32_t in, unsigned in_lane, std::uint32_t out, unsigned out_lane) {
      if (std::max(in_lane, out_lane) < lanes_) visit(Turn{in, out, in_lane, out_lane});
    });
  }

  const TableChange& change_;
  const unsigned lanes_;
  ColumnWalk walk_;
  Mixture mixture_;
  ChannelGraph channels_;
  ChannelGraph::Search search_;
  bool has_earlier_ = true;
  std::vector<bool> is_new_;  // by destination: of an earlier group
};

ChangeGroups group_in_order(Grouping& grouping, std::span<const std::uint32_t> destinations, std::size_t most) {
  ChangeGroups made;
  made.unproven.assign(destinations.begin(), destinations.end());
  while (!made.unproven.empty() && made.proven.size() < most) {
    grouping.start_group();
    std::vector<std::uint32_t> group, left;
    for (const std::uint32_t d : made.unproven) (grouping.add(d) ? group : left).push_back(d);
    if (group.empty()) break;
    for (const std::uint32_t d : group) grouping.set_new(d);
    grouping.waited();
    made.proven.push_back(std::move(group));
    made.unproven = std::move(left);
  }
  return made;
}

}  // namespace

// Which destinations fit into a group depends on those that were added before: what was left is tried first.
ChangeGroups group_changes(const TableChange& change, std::span<const std::uint32_t> destinations, std::size_t most) {
  std::vector<std::uint32_t> order(destinations.begin(), destinations.end());
  if (!can_be_mixed(change.before_lanes, change.after_lanes)) return {.proven = {}, .unproven = std::move(order)};
  ChangeGroups best;
  Grouping grouping(change);
  for (unsigned i = 0; i < kOrders; ++i) {
    grouping.start_over();
    ChangeGroups made = group_in_order(grouping, order, most);
    std::vector<bool> is_left(change.plane.destination_count(), false);
    for (const std::uint32_t d : made.unproven) is_left[d] = true;
    if (i == 0 || made.unproven.size() < best.unproven.size()) best = std::move(made);
    if (best.unproven.empty()) break;
    std::ranges::stable_sort(order, {}, [&](std::uint32_t d) { return !is_left[d]; });
  }
  return best;
}

std::vector<std::uint32_t> broken_before(const TableChange& change, std::span<const std::uint32_t> destinations) {
  const Plane& plane = change.plane;
  std::vector<std::uint32_t> broken;
  ColumnWalk before(plane, change.ports), after(plane, change.ports);
  std::vector<std::uint16_t> old_ports(plane.switch_count()), new_ports(plane.switch_count());
  for (const std::uint32_t d : destinations) {
    for (std::size_t s = 0; s < plane.switch_count(); ++s) {
      old_ports[s] = change.before.at(s, d);
      new_ports[s] = change.after.at(s, d);
    }
    before.walk(d, old_ports.data());
    after.walk(d, new_ports.data());
    const bool is_broken = std::ranges::any_of(plane.homes, [&](const Home& home) {
      return change.ports.sources[home.sw] != 0 && before.depth(home.sw) == ColumnWalk::kLost &&
             after.depth(home.sw) != ColumnWalk::kLost;
    });
    if (is_broken) broken.push_back(d);
  }
  return broken;
}

}  // namespace railweave::fabric
