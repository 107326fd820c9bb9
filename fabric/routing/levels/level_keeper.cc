#include "fabric/routing/levels/level_keeper.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "fabric/base/mix.h"
#include "fabric/routing/levels/path_channels.h"
#include "fabric/routing/plane/acyclic_turns.h"

namespace railweave::fabric {

namespace {

// Attempts: as many as their work allows, which is about that of copying the turns.
constexpr std::size_t kMaxWork = 300'000;
constexpr std::size_t kFewAttempts = 3, kMaxAttempts = 600, kMixedAttempts = 6;
constexpr unsigned kWiden = 4;
constexpr std::uint32_t kUnknown = UINT32_MAX, kLost = UINT32_MAX - 1;

}  // namespace

LevelKeeper::LevelKeeper(const Plane& plane, const PlaneTables& tables, const PlaneLanes& lanes)
    : plane_(plane),
      tables_(tables),
      lanes_(lanes),
      port_arcs_(plane),
      turns_(PathChannels(plane, lanes_, port_arcs_).all(tables)) {}

bool LevelKeeper::are_verified(const PlaneTables& tables) const {
  return !PathChannels(plane_, lanes_, port_arcs_).all(tables).has_circle();
}

// One repair: destinations one after the other, each on top of the turns of those before it and of all paths that are not
// touched. Where one finds no way, it is routed before all others, without a path that it had.
class LevelKeeper::Repair {
 public:
  Repair(const LevelKeeper& keeper, const LivePlane& live, std::span<const std::uint8_t> is_dead, Moments moments)
      : keeper_(keeper),
        plane_(keeper.plane_),
        live_(live),
        is_dead_(is_dead),
        moments_(moments),
        paths_(keeper.plane_, keeper.lanes_, keeper.port_arcs_),
        depth_(plane_.switch_count()),
        next_(plane_.switch_count()),
        is_joined_(plane_.switch_count()),
        met_(plane_.switch_count()) {}

  std::optional<PlaneTables> all() {
    std::vector<std::uint32_t> order = affected();
    std::size_t whole = 0;  // of the first ones no path stays as cabled
    const bool are_routes_alone = moments_ == Moments::after;
    const std::size_t attempts = are_routes_alone
                                     ? std::clamp(kMaxWork / (1 + keeper_.turns_.size()), kFewAttempts, kMaxAttempts)
                                     : kMixedAttempts;
    for (unsigned attempt = 0; attempt < attempts; ++attempt) {
      PlaneTables tables = keeper_.tables_;
      const auto failed = route_all(order, whole, attempt, tables);
      if (!failed) return tables;
      const auto at = order.begin() + static_cast<std::ptrdiff_t>(*failed);
      std::rotate(order.begin(), at, at + 1);
      if (!are_routes_alone) continue;  // what is as cabled stays, as its packets are on the way
      if (*failed >= whole) ++whole;
      if (attempt % kWiden == kWiden - 1) widen(order, whole, attempt);
    }
    return std::nullopt;
  }

 private:
  // Whether packets for a destination at `end` may pass the arc.
  [[nodiscard]] bool passes(std::uint32_t arc, std::uint32_t end) const {
    const std::uint32_t to = plane_.arcs[arc].to;
    return live_.usable[arc] != 0 && (live_.drained[to] == 0 || to == end);
  }
  [[nodiscard]] std::uint32_t end_of(std::uint32_t d) const { return plane_.homes[plane_.destination_home[d]].sw; }

  // Destinations whose entry at some switch leads to where it may not pass, or nowhere.
  [[nodiscard]] std::vector<std::uint32_t> affected() const {
    std::vector<bool> is_affected(plane_.destination_count(), false);
    for (std::uint32_t s = 0; s < plane_.switch_count(); ++s) {
      const auto arcs = plane_.arcs_of(s);
      const bool is_whole = std::ranges::all_of(arcs, [&](const Arc& arc) {
        return live_.drained[arc.to] == 0 && live_.usable[plane_.arcs[arc.reverse].reverse] != 0;
      });
      if (is_whole) continue;
      for (std::uint32_t d = 0; d < plane_.destination_count(); ++d) {
        if (end_of(d) == s) continue;
        const std::uint32_t arc = keeper_.port_arcs_.arc(s, keeper_.tables_.at(s, d));
        if (arc == Plane::kNone || !passes(arc, end_of(d))) is_affected[d] = true;
      }
    }
    std::vector<std::uint32_t> list;
    for (std::uint32_t d = 0; d < is_affected.size(); ++d) {
      if (is_affected[d]) list.push_back(d);
    }
    return list;
  }

  // Also routes a destination that nothing has touched, as its paths may be in the way.
  void widen(std::vector<std::uint32_t>& order, std::size_t& whole, unsigned attempt) const {
    const auto d = static_cast<std::uint32_t>(mix(attempt) % plane_.destination_count());
    const auto at = std::ranges::find(order, d);
    if (at != order.end() && static_cast<std::size_t>(at - order.begin()) < whole) return;
    if (at != order.end()) order.erase(at);
    order.insert(order.begin(), d);
    ++whole;
  }

  // The place in `order` of a destination for which there is no way; nullopt: all have one.
  std::optional<std::size_t> route_all(const std::vector<std::uint32_t>& order, std::size_t whole, unsigned attempt,
                                       PlaneTables& tables) {
    attempt_ = attempt;
    TurnCounts turns = keeper_.turns_;
    if (moments_ == Moments::and_back) returning_.emplace(turns.next());
    for (std::size_t i = 0; i < order.size(); ++i) forget_paths(order[i], i >= whole, turns);
    turns_.emplace(turns.next());
    PlaneTables::Editor editor(tables);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::uint32_t d = order[i];
      join(d);
      start(d, i >= whole);
      if (moments_ != Moments::after) find_met(d);
      if (!settle(d, i >= whole)) return i;
      for (std::uint32_t s = 0; s < plane_.switch_count(); ++s) {
        if (s == end_of(d)) continue;
        editor.set(s, d, next_[s] == Plane::kNone ? kNoPort : plane_.arcs[next_[s]].port);
      }
    }
    return std::nullopt;
  }

  // Paths that do not stay make no turns once no packet is on its way; until then they make those before a dead link.
  void forget_paths(std::uint32_t d, bool keeps, TurnCounts& turns) {
    start(d, keeps);
    for (std::size_t h = 0; h < plane_.homes.size(); ++h) {
      const Home& home = plane_.homes[h];
      if (home.end_ports == 0 || depth_[home.sw] != kUnknown) continue;
      const std::span<const std::uint32_t> path = paths_.path(keeper_.tables_, h, d);
      if (moments_ == Moments::after) {
        turns.remove(path);
        continue;
      }
      const auto dead =
          std::ranges::find_if(path, [&](std::uint32_t channel) { return is_dead_[arc_of(channel)] != 0; });
      if (dead == path.end()) continue;
      turns.remove(path.subspan(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, dead - path.begin() - 1))));
    }
  }

  // Packets that are on their way as cabled when they meet a new entry, by the switch where they do.
  void find_met(std::uint32_t d) {
    for (auto& at : met_) at.clear();
    for (std::uint32_t h = 0; h < plane_.homes.size(); ++h) {
      const Home& home = plane_.homes[h];
      if (home.end_ports == 0 || depth_[home.sw] != kUnknown) continue;
      const unsigned level = keeper_.lanes_.level(h, d, plane_.destination_count());
      for (const std::uint32_t channel : paths_.path(keeper_.tables_, h, d)) {
        const std::uint32_t to = plane_.arcs[arc_of(channel)].to;
        if (is_dead_[arc_of(channel)] != 0 || depth_[to] != kUnknown) break;
        const Met met{channel, level};
        if (std::ranges::find(met_[to], met) == met_[to].end()) met_[to].push_back(met);
      }
    }
  }
  [[nodiscard]] std::uint32_t arc_of(std::uint32_t channel) const { return channel / keeper_.lanes_.lanes; }

  // What has any way to the destination at all.
  void join(std::uint32_t d) {
    is_joined_.assign(plane_.switch_count(), false);
    queue_.assign(1, end_of(d));
    is_joined_[queue_.front()] = true;
    for (std::size_t i = 0; i < queue_.size(); ++i) {
      const std::uint32_t s = queue_[i];
      if (live_.drained[s] != 0 && i > 0) continue;
      for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1]; ++a) {
        const std::uint32_t to = plane_.arcs[a].to;
        if (live_.usable[a] == 0 || is_joined_[to]) continue;
        is_joined_[to] = true;
        queue_.push_back(to);
      }
    }
  }

  // What still arrives as cabled, where that is to be kept; else the destination's own switch alone.
  void start(std::uint32_t d, bool keeps) {
    std::ranges::fill(depth_, kUnknown);
    std::ranges::fill(next_, Plane::kNone);
    depth_[end_of(d)] = 0;
    if (!keeps) return;
    std::vector<std::uint32_t> way;
    for (std::uint32_t s = 0; s < plane_.switch_count(); ++s) {
      way.clear();
      std::uint32_t at = s;
      while (depth_[at] == kUnknown) {
        const std::uint32_t arc = keeper_.port_arcs_.arc(at, keeper_.tables_.at(at, d));
        way.push_back(at);
        if (arc == Plane::kNone || !passes(arc, end_of(d))) break;
        at = plane_.arcs[arc].to;
      }
      const bool arrives = depth_[at] != kUnknown && depth_[at] != kLost;
      std::uint32_t depth = arrives ? depth_[at] : kLost;
      for (; !way.empty(); way.pop_back()) {
        if (arrives) next_[way.back()] = keeper_.port_arcs_.arc(way.back(), keeper_.tables_.at(way.back(), d));
        depth_[way.back()] = arrives ? ++depth : kLost;
      }
    }
    std::ranges::replace(depth_, kLost, kUnknown);
  }

  // Gives every switch that has a way the nearest next one on which its own path closes no circle. False: some sender has none.
  bool settle(std::uint32_t d, bool keeps) {
    for (unsigned depth = 1;; ++depth) {
      bool is_any_open = false, is_any_deeper = false;
      for (std::uint32_t s = 0; s < plane_.switch_count(); ++s) {
        if (depth_[s] != kUnknown || !is_joined_[s]) {
          is_any_deeper = is_any_deeper || (depth_[s] != kUnknown && depth_[s] >= depth);
          continue;
        }
        if (!take(s, d, depth, keeps)) is_any_open = true;
        is_any_deeper = is_any_deeper || depth_[s] == depth;
      }
      if (!is_any_open) return true;
      if (!is_any_deeper) return false;
    }
  }

  // At this distance.
  bool take(std::uint32_t s, std::uint32_t d, unsigned depth, bool keeps) {
    std::vector<std::pair<std::uint64_t, std::uint32_t>> arcs;
    const std::uint16_t cabled = keeper_.tables_.at(s, d);
    for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1]; ++a) {
      if (!passes(a, end_of(d)) || depth_[plane_.arcs[a].to] + 1 != depth) continue;
      const bool is_cabled = keeps && plane_.arcs[a].port == cabled;
      arcs.emplace_back(is_cabled ? 0 : mix(mix(std::uint64_t{s} << 32U | d, plane_.arcs[a].port), attempt_) | 1U, a);
    }
    std::ranges::sort(arcs);
    for (const auto& [key, arc] : arcs) {
      if (!is_free_of_circles(s, arc, d)) continue;
      next_[s] = arc;
      depth_[s] = depth;
      return true;
    }
    return false;
  }

  // The path from s that starts with the arc, and those of packets that meet it.
  bool is_free_of_circles(std::uint32_t s, std::uint32_t first, std::uint32_t d) {
    for (const Met& met : met_[s]) {
      channels_.assign(1, met.channel);
      follow(arc_of(met.channel), first, met.level);
      if (!turns_->add_path(channels_)) return false;
    }
    const std::uint32_t home = plane_.home_of[s];
    if (home == Plane::kNone || plane_.homes[home].end_ports == 0) return true;
    const unsigned level = keeper_.lanes_.level(home, d, plane_.destination_count());
    channels_.clear();
    follow(PlaneLanes::kFromEndPort, first, level);
    return turns_->add_path(channels_) && (moments_ != Moments::and_back || returns(d, level));
  }
  // By the new entries.
  void follow(std::uint32_t in, std::uint32_t first, unsigned level) {
    for (std::uint32_t arc = first; arc != Plane::kNone; arc = next_[plane_.arcs[arc].to]) {
      channels_.push_back(arc * keeper_.lanes_.lanes + keeper_.lanes_.lane(in, arc, level));
      in = arc;
    }
  }
  // Packets on the path in channels_ may meet an entry as cabled at any of its switches, once links are up again.
  bool returns(std::uint32_t d, unsigned level) {
    const std::vector<std::uint32_t> path = channels_;
    for (std::size_t length = path.size(); length > 0; --length) {
      channels_.assign(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length));
      std::uint32_t in = arc_of(channels_.back());
      for (std::uint32_t at = plane_.arcs[in].to; at != end_of(d); at = plane_.arcs[in].to) {
        const std::uint32_t arc = keeper_.port_arcs_.arc(at, keeper_.tables_.at(at, d));
        if (arc == Plane::kNone) break;
        channels_.push_back(arc * keeper_.lanes_.lanes + keeper_.lanes_.lane(in, arc, level));
        in = arc;
      }
      if (!returning_->add_path(channels_)) return false;
    }
    return true;
  }

  struct Met {
    std::uint32_t channel = 0;
    unsigned level = 0;
    friend bool operator==(const Met&, const Met&) = default;
  };

  const LevelKeeper& keeper_;
  const Plane& plane_;
  const LivePlane& live_;
  const std::span<const std::uint8_t> is_dead_;  // by arc
  const Moments moments_;
  PathChannels paths_;
  std::optional<AcyclicTurns> turns_, returning_;  // returning_: with all links up, of routes as cabled and new ones
  unsigned attempt_ = 0;
  std::vector<std::uint32_t> depth_, next_;  // of the destination under way, by switch: links to it, the arc taken
  std::vector<bool> is_joined_;
  std::vector<std::vector<Met>> met_;  // of the destination under way, by switch
  std::vector<std::uint32_t> queue_, channels_;
};

std::optional<PlaneTables> LevelKeeper::repaired(const LivePlane& live, std::span<const std::uint8_t> is_dead,
                                                 Moments moments) const {
  return Repair(*this, live, is_dead, moments).all();
}

}  // namespace railweave::fabric
