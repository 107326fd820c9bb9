#include "fabric/routing/up_down/slot_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace railweave::fabric {

namespace {

constexpr std::uint32_t kMaxDivisor = 1U << 24U;
constexpr std::uint32_t kMaxRateWeight = 16;  // slots of one cable, relative to the slowest of its group
constexpr std::size_t kMaxNesting = 16;       // ranks that destinations are counted by

class Sets {  // union-find; a set's name is its least member
 public:
  explicit Sets(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0U); }
  std::uint32_t find(std::uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::uint32_t a, std::uint32_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace

class SlotPlan::Layout {
 public:
  Layout(SlotPlan& plan, const Plane& plane, const Ranking& ranking) : plan_(plan), plane_(plane), ranking_(ranking) {
    by_rank_.resize(plane.switch_count());
    std::iota(by_rank_.begin(), by_rank_.end(), 0U);
    std::ranges::stable_sort(by_rank_, {}, [&](std::uint32_t s) { return ranking[s]; });
  }
  void lay_out_slots();
  void lay_out_divisors();
  void number_destinations(std::span<const std::uint32_t> weights);

 private:
  [[nodiscard]] bool goes_up(std::size_t s, const Arc& arc) const { return ranking_[arc.to] > ranking_[s]; }
  [[nodiscard]] std::vector<std::uint32_t> homes_by_pod() const;

  SlotPlan& plan_;
  const Plane& plane_;
  const Ranking& ranking_;
  std::vector<std::uint32_t> by_rank_;  // switches from the bottom
};

void SlotPlan::Layout::lay_out_slots() {
  const std::size_t switches = plane_.switch_count();
  // The least top switch that each leads to: the same for corresponding parents in every pod of a tidy tree.
  std::vector<std::uint32_t> top(switches);
  for (auto s = by_rank_.rbegin(); s != by_rank_.rend(); ++s) {
    top[*s] = *s;
    bool first = true;
    for (const Arc& arc : plane_.arcs_of(*s)) {
      if (!goes_up(*s, arc)) continue;
      top[*s] = first ? top[arc.to] : std::min(top[*s], top[arc.to]);
      first = false;
    }
  }
  Sets groups(switches);
  for (std::uint32_t parent = 0; parent < switches; ++parent) {
    std::map<std::uint32_t, std::uint32_t> first_of_rank;
    for (const Arc& arc : plane_.arcs_of(parent)) {
      if (ranking_[arc.to] >= ranking_[parent]) continue;
      const auto [first, is_new] = first_of_rank.emplace(ranking_[arc.to], arc.to);
      if (!is_new) groups.join(first->second, arc.to);
    }
  }
  std::vector<std::vector<std::uint32_t>> members(switches);
  for (std::uint32_t s = 0; s < switches; ++s) members[groups.find(s)].push_back(s);

  struct Cable {
    std::tuple<std::uint32_t, std::uint32_t> parent;  // (top, switch): the order of parents
    std::uint32_t arc;
  };
  std::vector<std::vector<std::uint32_t>> slots_of(switches);
  for (const auto& group : members) {
    std::uint32_t slowest = UINT32_MAX;
    std::vector<std::vector<Cable>> cables(group.size());  // of each member, by parent, then port
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (std::uint32_t a = plane_.first_arc[group[i]]; a < plane_.first_arc[group[i] + 1]; ++a) {
        const Arc& arc = plane_.arcs[a];
        if (!goes_up(group[i], arc)) continue;
        cables[i].push_back({{top[arc.to], arc.to}, a});
        if (plane_.arc_rate_mbps[a] > 0) slowest = std::min(slowest, plane_.arc_rate_mbps[a]);
      }
      std::ranges::stable_sort(cables[i], {}, &Cable::parent);
    }
    const auto weight = [&](std::uint32_t arc) {
      const std::uint32_t rate = plane_.arc_rate_mbps[arc];
      return rate == 0 ? 1U : std::clamp((rate + slowest / 2) / slowest, 1U, kMaxRateWeight);
    };
    // How many slots each parent has: what the member with most cables to it needs.
    std::map<std::tuple<std::uint32_t, std::uint32_t>, std::uint32_t> width;
    for (const auto& list : cables) {
      std::map<std::tuple<std::uint32_t, std::uint32_t>, std::uint32_t> mine;
      for (const Cable& cable : list) mine[cable.parent] += weight(cable.arc);
      for (const auto& [parent, count] : mine) width[parent] = std::max(width[parent], count);
    }
    std::uint32_t rounds = 0, total = 0;
    for (const auto& [parent, count] : width) {
      rounds = std::max(rounds, count);
      total += count;
    }
    for (std::size_t i = 0; i < group.size(); ++i) {
      auto& slots = slots_of[group[i]];
      slots.reserve(total);
      std::map<std::tuple<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> mine;
      for (const Cable& cable : cables[i]) {
        for (std::uint32_t n = weight(cable.arc); n > 0; --n) mine[cable.parent].push_back(cable.arc);
      }
      for (std::uint32_t round = 0; round < rounds; ++round) {  // one cable of every parent, then the next of each
        for (const auto& [parent, count] : width) {
          if (round >= count) continue;
          const auto own = mine.find(parent);
          slots.push_back(own != mine.end() && round < own->second.size() ? own->second[round] : kEmpty);
        }
      }
    }
  }
  plan_.first_slot_.reserve(switches + 1);
  for (std::uint32_t s = 0; s < switches; ++s) {
    plan_.first_slot_.push_back(static_cast<std::uint32_t>(plan_.slots_.size()));
    plan_.slots_.insert(plan_.slots_.end(), slots_of[s].begin(), slots_of[s].end());
    const bool whole = std::ranges::find(slots_of[s], kEmpty) == slots_of[s].end();
    std::uint32_t arcs = 0;
    for (const Arc& arc : plane_.arcs_of(s)) arcs += goes_up(s, arc) ? 1 : 0;
    plan_.complete_arcs_.push_back(whole ? arcs : 0);
    plan_.complete_ = plan_.complete_ && whole;
  }
  plan_.first_slot_.push_back(static_cast<std::uint32_t>(plan_.slots_.size()));
}

void SlotPlan::Layout::lay_out_divisors() {
  plan_.divisor_.assign(plane_.switch_count(), 1);
  for (const std::uint32_t s : by_rank_) {
    const std::uint64_t next = std::uint64_t{plan_.divisor_[s]} * std::max<std::size_t>(1, plan_.slots(s).size());
    const auto divisor = static_cast<std::uint32_t>(std::min<std::uint64_t>(next, kMaxDivisor));
    for (const Arc& arc : plane_.arcs_of(s)) {
      if (goes_up(s, arc)) plan_.divisor_[arc.to] = std::max(plan_.divisor_[arc.to], divisor);
    }
  }
}

// Homes so that those of a pod (what is connected up to some rank) stand together, at every rank.
std::vector<std::uint32_t> SlotPlan::Layout::homes_by_pod() const {
  std::vector<std::uint32_t> homes(plane_.homes.size());
  std::iota(homes.begin(), homes.end(), 0U);
  std::vector<std::uint32_t> ranks(ranking_.begin(), ranking_.end());
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  if (ranks.size() > kMaxNesting) return homes;
  Sets pods(plane_.switch_count());
  for (const std::uint32_t rank : ranks) {
    for (std::uint32_t s = 0; s < plane_.switch_count(); ++s) {
      if (ranking_[s] > rank) continue;
      for (const Arc& arc : plane_.arcs_of(s)) {
        if (ranking_[arc.to] <= rank) pods.join(s, arc.to);
      }
    }
    std::ranges::stable_sort(homes, {}, [&](std::uint32_t h) { return pods.find(plane_.homes[h].sw); });
  }
  return homes;
}

void SlotPlan::Layout::number_destinations(std::span<const std::uint32_t> weights) {
  plan_.index_.assign(plane_.destination_count(), 0);
  plan_.sequential_ = weights.empty();
  std::map<std::pair<DestinationKind, std::uint8_t>, std::uint32_t> counted;
  std::vector<std::uint32_t> order;
  for (const std::uint32_t h : homes_by_pod()) {
    const Home& home = plane_.homes[h];
    std::uint32_t offsets = 1;
    for (const Segment& segment : plane_.segments_of(home)) offsets = std::max(offsets, segment.lid_offset + 1U);
    const auto width = static_cast<std::uint32_t>(plan_.slots(home.sw).size());
    for (const Segment& segment : plane_.segments_of(home)) {
      order.resize(segment.count);
      std::iota(order.begin(), order.end(), segment.first);
      if (!weights.empty())
        std::ranges::stable_sort(order, std::greater<>(), [&](std::uint32_t d) { return weights[d]; });
      // Paths to the LIDs of one port begin a share of the slots apart.
      const std::uint32_t shift = segment.lid_offset * std::max(1U, width / offsets);
      std::uint32_t& next = counted[{segment.kind, segment.lid_offset}];
      for (const std::uint32_t d : order) plan_.index_[d] = shift + next++;
    }
  }
}

SlotPlan::SlotPlan(const Plane& plane, const Ranking& ranking, std::span<const std::uint32_t> weights) {
  Layout layout(*this, plane, ranking);
  layout.lay_out_slots();
  layout.lay_out_divisors();
  layout.number_destinations(weights);
}

}  // namespace railweave::fabric
