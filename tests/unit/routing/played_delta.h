// A delta as simulated switches take it, block by block: what becomes of packets at every moment.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "fabric/routing/delta/forwarding_delta.h"
#include "tests/unit/routing/naive_checker.h"

namespace railweave::fabric::played_delta {

// The ports that switches may use for a destination at a moment: one, or two while a block is being written.
using Ports = std::map<SwitchId, std::set<std::uint16_t>>;

enum class Fate { arrives, lost, loops };

class Moment {
 public:
  Moment(const FabricView& view, const RoutingScope& scope, DestinationId destination, const Ports& ports)
      : view_(view), scope_(scope), to_(scope.destination(destination)), ports_(ports) {}

  // The worst that can happen to a packet at sw.
  Fate fate(SwitchId sw) {
    if (const auto known = fates_.find(sw); known != fates_.end()) return known->second;
    if (!path_.insert(sw).second) return Fate::loops;
    Fate worst = Fate::arrives;
    for (const std::uint16_t port : ports_.at(sw)) worst = std::max(worst, by(sw, port));
    path_.erase(sw);
    return fates_[sw] = worst;
  }

 private:
  Fate by(SwitchId sw, std::uint16_t number) {
    const Topology& t = view_.topology();
    if (number == kPortZero) return !to_.port && sw == to_.home ? Fate::arrives : Fate::lost;
    if (number > t.ports(sw).size()) return Fate::lost;
    const PortId out = t.ports(sw)[number - 1U];
    if (!t.peer(out) || view_.state(t.link(out)) == LinkState::down) return Fate::lost;
    if (t.peer(out) == to_.port) return Fate::arrives;
    const SwitchId next = t.switch_of(t.peer(out));
    return next ? fate(next) : Fate::lost;
  }

  const FabricView& view_;
  const RoutingScope& scope_;
  const Destination& to_;
  const Ports& ports_;
  std::map<SwitchId, Fate> fates_;
  std::set<SwitchId> path_;
};

// What a switch sends by for a destination: `old` until the moment of the change and during it, `fresh` from then on.
struct Entry {
  std::uint16_t old = kNoPort, fresh = kNoPort;
  int changed_at = 0;
};
using EntryOf = std::function<Entry(SwitchId, DestinationId)>;

// Lanes that packets may be on: senders know levels of either routing, and switches have the maps of the one after.
struct MixedLanes {
  const RoutingScope& scope;
  const Lanes& before;
  const Lanes& after;

  [[nodiscard]] std::set<unsigned> levels(SwitchId from, DestinationId to) const {
    const PlaneId id = scope.plane_of(from);
    const Plane& plane = scope.plane(id);
    const std::size_t home = plane.home_of[scope.local(from)];
    std::set<unsigned> known;
    for (const Lanes* lanes : {&before, &after}) {
      known.insert(lanes->planes.at(id.index()).level(home, scope.local(to), plane.destination_count()));
    }
    return known;
  }
  // in: the port of the switch before that the packet left by; none: it comes from an end port.
  [[nodiscard]] unsigned lane(PortId in, PortId out, unsigned level) const {
    const PlaneId id = scope.plane_of(scope.topology().switch_of(out));
    return after.planes.at(id.index()).lane(in ? arc(id, in) : PlaneLanes::kFromEndPort, arc(id, out), level);
  }

 private:
  [[nodiscard]] std::uint32_t arc(PlaneId id, PortId out) const {
    const Topology& t = scope.topology();
    return scope.plane(id).find_arc(scope.local(t.switch_of(out)), static_cast<std::uint16_t>(t.number(out)));
  }
};

using Channel = std::pair<PortId, unsigned>;  // the port that packets leave by, lane

inline bool has_circle(const std::map<Channel, std::set<Channel>>& waits) {
  std::map<Channel, int> state;
  std::function<bool(const Channel&)> circle = [&](const Channel& channel) {
    int& s = state[channel];
    if (s != 0) return s == 1;
    s = 1;
    const auto next = waits.find(channel);
    if (next != waits.end() && std::ranges::any_of(next->second, circle)) return true;
    state[channel] = 2;
    return false;
  };
  return std::ranges::any_of(waits, [&](const auto& entry) { return circle(entry.first); });
}

// Whether channels wait in a circle, whenever packets start and however long they stay anywhere: a packet leaves a switch no
// earlier than it came.
inline bool can_deadlock(const FabricView& view, const MixedLanes& lanes, const EntryOf& entry_of) {
  const RoutingScope& scope = lanes.scope;
  const Topology& t = view.topology();
  std::map<Channel, std::set<Channel>> waits;
  for (const DestinationId id : scope.destinations()) {
    struct Exit {
      PortId out;
      int at;  // the earliest moment
    };
    const auto exits = [&](SwitchId sw, int since) {
      const Entry entry = entry_of(sw, id);
      std::vector<Exit> found;
      const auto add = [&](std::uint16_t number, int at) {
        if (number == kNoPort || number == kPortZero || number > t.ports(sw).size()) return;
        const PortId out = t.ports(sw)[number - 1U];
        if (!t.peer(out) || !t.switch_of(t.peer(out)) || view.state(t.link(out)) == LinkState::down) return;
        found.push_back({out, at});
      };
      if (since <= entry.changed_at) add(entry.old, since);
      add(entry.fresh, std::max(since, entry.changed_at));
      return found;
    };
    // Packets at a switch: the channel that they came by and their level. They come from switches with end ports.
    struct At {
      SwitchId sw;
      Channel by;
      unsigned level;
      auto operator<=>(const At&) const = default;
    };
    std::map<At, int> earliest;
    std::vector<At> queue;
    const auto reach = [&](const At& at, int when) {
      const auto [known, is_new] = earliest.emplace(at, when);
      if (!is_new && known->second <= when) return;
      known->second = when;
      queue.push_back(at);
    };
    for (const PortId port : t.hca_ports()) {
      const SwitchId sw = t.peer(port) ? t.switch_of(t.peer(port)) : SwitchId();
      if (!sw || scope.plane_of(sw) != scope.plane_of(id)) continue;
      for (const unsigned level : lanes.levels(sw, id)) reach({sw, {}, level}, 0);
    }
    while (!queue.empty()) {
      const At at = queue.back();
      queue.pop_back();
      for (const Exit& exit : exits(at.sw, earliest.at(at))) {
        const Channel channel{exit.out, lanes.lane(at.by.first, exit.out, at.level)};
        if (at.by.first) waits[at.by].insert(channel);
        reach({t.switch_of(t.peer(exit.out)), channel, at.level}, exit.at);
      }
    }
  }
  return has_circle(waits);
}

struct Played {
  std::size_t blocks = 0, entries = 0, dropped = 0, waits = 0, left_out = 0;
  std::size_t lost_before = 0,
              lost_after_first = 0;  // (switch, destination) that new tables deliver: until the first wait
  bool dropped_first = false;
};

// How many (switch with end ports, destination) are lost though the new tables deliver.
inline std::size_t count_lost(const FabricView& view, const RoutingScope& scope, const ForwardingTables& after,
                              const std::function<std::uint16_t(SwitchId, DestinationId)>& port_of) {
  std::size_t lost = 0;
  const Topology& t = view.topology();
  std::set<SwitchId> leaves;
  for (const PortId port : t.hca_ports()) {
    if (t.peer(port) && t.switch_of(t.peer(port))) leaves.insert(t.switch_of(t.peer(port)));
  }
  for (const DestinationId id : scope.destinations()) {
    Ports now, fresh;
    for (const SwitchId sw : scope.plane(scope.plane_of(id)).switches) {
      now[sw].insert(port_of(sw, id));
      fresh[sw].insert(after.out_port(sw, id));
    }
    Moment at(view, scope, id, now), in_the_end(view, scope, id, fresh);
    for (const auto& [sw, ports] : now) {
      if (leaves.contains(sw) && in_the_end.fate(sw) == Fate::arrives && at.fate(sw) != Fate::arrives) ++lost;
    }
  }
  return lost;
}

// Applies a delta stage by stage.
class Play {
 public:
  Play(const FabricView& view, const Routing& before, const Routing& after, std::string what,
       const DeltaOptions& options)
      : view_(view),
        before_(before),
        after_(after),
        scope_(before.tables.scope()),
        what_(std::move(what)),
        delta_(compute_delta(view, before, after, options)) {}

  Played run() {
    check_counts();
    played_.lost_before = lost([this](SwitchId sw, DestinationId id) { return before_.tables.out_port(sw, id); });
    std::uint16_t last = 0;
    for (const LftBlock& block : delta_.blocks) last = std::max(last, block.stage);
    for (std::uint16_t stage = 0; stage <= last && !delta_.blocks.empty(); ++stage) {
      if (std::ranges::find(delta_.waits, stage) != delta_.waits.end()) {
        expect_no_circle(" before stage " + std::to_string(stage));
        changed_.clear();
      }
      write(stage);
      const bool is_first = delta_.waits.empty() ? stage == last : stage + 1 == delta_.waits.front();
      if (is_first) played_.lost_after_first = lost([this](SwitchId sw, DestinationId id) { return now(sw, id); });
    }
    expect_no_circle(" in the end");
    played_.dropped = dropped_.size();
    std::size_t left = 0;
    for (const DestinationId id : scope_.destinations()) {
      for (const SwitchId sw : switches_of(id)) left += now(sw, id) != after_.tables.out_port(sw, id) ? 1 : 0;
    }
    EXPECT_EQ(left, delta_.left_out) << what_;
    return played_;
  }

 private:
  using Changes = std::map<DestinationId, std::map<SwitchId, std::uint16_t>>;

  void check_counts() {
    std::set<std::pair<SwitchId, unsigned>> differing_blocks;
    for (const DestinationId id : scope_.destinations()) {
      by_lid_[{view_.topology().subnet(scope_.destination(id).home), scope_.lid(id)}] = id;
      for (const SwitchId sw : view_.topology().switches()) {
        if (before_.tables.out_port(sw, id) == after_.tables.out_port(sw, id)) continue;
        ++played_.entries;
        differing_blocks.emplace(sw, scope_.lid(id) / kLidsPerBlock);
      }
    }
    EXPECT_EQ(delta_.changed_entries, played_.entries) << what_;
    if (delta_.left_out == 0) {
      EXPECT_EQ(delta_.changed_blocks, differing_blocks.size()) << what_;
    }
    played_.blocks = delta_.blocks.size();
    played_.waits = delta_.waits.size();
    played_.left_out = delta_.left_out;
    played_.dropped_first = delta_.drops_first;
  }
  [[nodiscard]] std::uint16_t now(SwitchId sw, DestinationId id) const {
    const auto found = written_.find({sw, id});
    return found != written_.end() ? found->second : before_.tables.out_port(sw, id);
  }
  [[nodiscard]] const std::vector<SwitchId>& switches_of(DestinationId id) const {
    return scope_.plane(scope_.plane_of(id)).switches;
  }
  [[nodiscard]] std::size_t lost(const std::function<std::uint16_t(SwitchId, DestinationId)>& port_of) const {
    return count_lost(view_, scope_, after_.tables, port_of);
  }
  void expect_no_circle(const std::string& when) const {
    // Where levels change as well, what senders meet that keep theirs is another question (old_levels.h).
    if (before_.lanes.planes != after_.lanes.planes) return;
    const MixedLanes lanes{scope_, before_.lanes, after_.lanes};
    const bool is_one = can_deadlock(view_, lanes, [this](SwitchId sw, DestinationId id) {
      const std::uint16_t port = now(sw, id);
      const auto found = changed_.find({sw, id});
      return found == changed_.end() ? Entry{port, port, 0} : Entry{found->second.old, port, found->second.changed_at};
    });
    EXPECT_FALSE(is_one) << what_ << when;
  }
  void write(std::uint16_t stage) {
    Changes coming;
    for (const LftBlock& block : delta_.blocks) {
      if (block.stage != stage) continue;
      for (unsigned i = 0; i < kLidsPerBlock; ++i) {
        const auto id = by_lid_.find({view_.topology().subnet(block.sw), block.number * kLidsPerBlock + i});
        if (id == by_lid_.end() || scope_.plane_of(id->second) != scope_.plane_of(block.sw)) continue;
        coming[id->second][block.sw] = block.ports[i];
      }
    }
    for (const auto& [id, changes] : coming) {
      for (const auto& [sw, port] : changes) {
        const bool drops = port == kNoPort && now(sw, id) != kNoPort && after_.tables.out_port(sw, id) != kNoPort;
        if (drops) dropped_.emplace(id, sw);
        EXPECT_TRUE(!drops || delta_.drops_first) << what_;
      }
    }
    for (const auto& [id, changes] : coming) check_mixture(id, changes, stage);
    for (const auto& [id, changes] : coming) {
      for (const auto& [sw, port] : changes) {
        const std::uint16_t had = now(sw, id);
        if (had != port) {
          EXPECT_TRUE(changed_.emplace(std::pair(sw, id), Entry{had, port, stage + 1}).second) << what_ << ": twice";
        }
        written_[{sw, id}] = port;
      }
    }
  }
  // While the stage is written.
  void check_mixture(DestinationId id, const std::map<SwitchId, std::uint16_t>& changes, std::uint16_t stage) const {
    Ports mixture, old_ports, new_ports;
    for (const SwitchId sw : switches_of(id)) {
      mixture[sw].insert(now(sw, id));
      if (const auto change = changes.find(sw); change != changes.end()) mixture[sw].insert(change->second);
      old_ports[sw].insert(before_.tables.out_port(sw, id));
      new_ports[sw].insert(after_.tables.out_port(sw, id));
    }
    Moment mixed(view_, scope_, id, mixture), old(view_, scope_, id, old_ports), fresh(view_, scope_, id, new_ports);
    const auto first = dropped_.lower_bound({id, SwitchId(0)});
    const bool drops = first != dropped_.end() && first->first == id;
    for (const auto& [sw, ports] : mixture) {
      if (old.fate(sw) == Fate::loops) continue;  // looped before
      EXPECT_NE(mixed.fate(sw), Fate::loops) << what_ << " stage " << stage;
      if (drops || old.fate(sw) != Fate::arrives || fresh.fate(sw) != Fate::arrives) continue;
      EXPECT_EQ(mixed.fate(sw), Fate::arrives) << what_ << " stage " << stage;
    }
  }

  const FabricView& view_;
  const Routing& before_;
  const Routing& after_;
  const RoutingScope& scope_;
  const std::string what_;
  const ForwardingDelta delta_;
  Played played_;
  std::map<std::pair<SubnetId, unsigned>, DestinationId> by_lid_;
  std::map<std::pair<SwitchId, DestinationId>, std::uint16_t> written_;
  // Since all packets had left the fabric last: what entries were, and when they changed.
  std::map<std::pair<SwitchId, DestinationId>, Entry> changed_;
  std::set<std::pair<DestinationId, SwitchId>> dropped_;
};

inline Played play(const FabricView& view, const Routing& before, const Routing& after, const std::string& what,
                   const DeltaOptions& options = {}) {
  return Play(view, before, after, what, options).run();
}

}  // namespace railweave::fabric::played_delta
