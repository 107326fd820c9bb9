#include "fabric/routing/up_down/slot_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "fabric/topology/disjoint_sets.h"

namespace railweave::fabric {

namespace {

constexpr std::uint32_t kMaxDivisor = 1U << 24U;
constexpr std::uint32_t kMaxRateWeight = 16;  // slots of one cable, relative to the slowest of its group
constexpr std::size_t kMaxNesting = 16;       // with more ranks than this, homes are not sorted by pod

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
  using Parent = std::tuple<std::uint32_t, std::uint32_t>;  // (top, switch): the order of parents
  struct Cable {
    Parent parent;
    std::uint32_t arc;
  };
  // The cables upwards of switches that share parents.
  struct Group {
    std::vector<std::vector<Cable>> cables;  // of each member, by parent, then port
    std::uint32_t slowest_mbps = UINT32_MAX;
    std::map<Parent, std::uint32_t> width;  // number of slots: what the member with most cables to the parent needs
  };

  [[nodiscard]] bool goes_up(std::size_t s, const Arc& arc) const { return ranking_[arc.to] > ranking_[s]; }
  [[nodiscard]] std::vector<std::uint32_t> least_tops() const;
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> groups() const;
  [[nodiscard]] Group cables_of(const std::vector<std::uint32_t>& members, const std::vector<std::uint32_t>& top) const;
  [[nodiscard]] std::uint32_t slots_of_cable(const Group& group, std::uint32_t arc) const;
  [[nodiscard]] std::vector<std::uint32_t> slots_of_member(const Group& group, const std::vector<Cable>& cables) const;
  void store(const std::vector<std::vector<std::uint32_t>>& slots_of);
  [[nodiscard]] std::vector<std::uint32_t> homes_by_pod() const;

  SlotPlan& plan_;
  const Plane& plane_;
  const Ranking& ranking_;
  std::vector<std::uint32_t> by_rank_;  // switches from the bottom
};

void SlotPlan::Layout::lay_out_slots() {
  const auto top = least_tops();
  std::vector<std::vector<std::uint32_t>> slots_of(plane_.switch_count());
  for (const auto& members : groups()) {
    const Group group = cables_of(members, top);
    for (std::size_t i = 0; i < members.size(); ++i) slots_of[members[i]] = slots_of_member(group, group.cables[i]);
  }
  store(slots_of);
}

// By switch: the least top switch above it, which is the same for corresponding parents in every pod of a regular tree.
std::vector<std::uint32_t> SlotPlan::Layout::least_tops() const {
  std::vector<std::uint32_t> top(plane_.switch_count());
  for (auto s = by_rank_.rbegin(); s != by_rank_.rend(); ++s) {
    top[*s] = *s;
    bool first = true;
    for (const Arc& arc : plane_.arcs_of(*s)) {
      if (!goes_up(*s, arc)) continue;
      top[*s] = first ? top[arc.to] : std::min(top[*s], top[arc.to]);
      first = false;
    }
  }
  return top;
}

// Switches of one rank that share parents, directly or through others.
std::vector<std::vector<std::uint32_t>> SlotPlan::Layout::groups() const {
  const std::size_t switches = plane_.switch_count();
  DisjointSets joined(switches);
  for (std::uint32_t parent = 0; parent < switches; ++parent) {
    std::map<std::uint32_t, std::uint32_t> first_of_rank;
    for (const Arc& arc : plane_.arcs_of(parent)) {
      if (ranking_[arc.to] >= ranking_[parent]) continue;
      const auto [first, is_new] = first_of_rank.emplace(ranking_[arc.to], arc.to);
      if (!is_new) joined.unite(first->second, arc.to);
    }
  }
  std::vector<std::vector<std::uint32_t>> members(switches);
  for (std::uint32_t s = 0; s < switches; ++s) members[joined.find(s)].push_back(s);
  std::erase_if(members, [](const auto& group) { return group.empty(); });
  return members;
}

SlotPlan::Layout::Group SlotPlan::Layout::cables_of(const std::vector<std::uint32_t>& members,
                                                    const std::vector<std::uint32_t>& top) const {
  Group group;
  group.cables.resize(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (std::uint32_t a = plane_.first_arc[members[i]]; a < plane_.first_arc[members[i] + 1]; ++a) {
      const Arc& arc = plane_.arcs[a];
      if (!goes_up(members[i], arc)) continue;
      group.cables[i].push_back({{top[arc.to], arc.to}, a});
      if (plane_.arc_rate_mbps[a] > 0) group.slowest_mbps = std::min(group.slowest_mbps, plane_.arc_rate_mbps[a]);
    }
    std::ranges::stable_sort(group.cables[i], {}, &Cable::parent);
  }
  for (const auto& cables : group.cables) {
    std::map<Parent, std::uint32_t> own;
    for (const Cable& cable : cables) own[cable.parent] += slots_of_cable(group, cable.arc);
    for (const auto& [parent, count] : own) group.width[parent] = std::max(group.width[parent], count);
  }
  return group;
}

// In proportion to the cable's rate.
std::uint32_t SlotPlan::Layout::slots_of_cable(const Group& group, std::uint32_t arc) const {
  const std::uint32_t rate = plane_.arc_rate_mbps[arc];
  return rate == 0 ? 1U : std::clamp((rate + group.slowest_mbps / 2) / group.slowest_mbps, 1U, kMaxRateWeight);
}

// One cable of every parent, then the next of each; empty slots where the member has fewer than others of its group.
std::vector<std::uint32_t> SlotPlan::Layout::slots_of_member(const Group& group,
                                                             const std::vector<Cable>& cables) const {
  std::uint32_t rounds = 0, total = 0;
  for (const auto& [parent, count] : group.width) {
    rounds = std::max(rounds, count);
    total += count;
  }
  std::map<Parent, std::vector<std::uint32_t>> own;
  for (const Cable& cable : cables) {
    for (std::uint32_t n = slots_of_cable(group, cable.arc); n > 0; --n) own[cable.parent].push_back(cable.arc);
  }
  std::vector<std::uint32_t> slots;
  slots.reserve(total);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (const auto& [parent, count] : group.width) {
      if (round >= count) continue;
      const auto found = own.find(parent);
      slots.push_back(found != own.end() && round < found->second.size() ? found->second[round] : kEmpty);
    }
  }
  return slots;
}

void SlotPlan::Layout::store(const std::vector<std::vector<std::uint32_t>>& slots_of) {
  plan_.first_slot_.reserve(slots_of.size() + 1);
  for (std::uint32_t s = 0; s < slots_of.size(); ++s) {
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

// Homes in an order in which those of every pod (switches connected by ranks up to some rank) are consecutive.
std::vector<std::uint32_t> SlotPlan::Layout::homes_by_pod() const {
  std::vector<std::uint32_t> homes(plane_.homes.size());
  std::iota(homes.begin(), homes.end(), 0U);
  std::vector<std::uint32_t> ranks(ranking_.begin(), ranking_.end());
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  if (ranks.size() > kMaxNesting) return homes;
  DisjointSets pods(plane_.switch_count());
  for (const std::uint32_t rank : ranks) {
    for (std::uint32_t s = 0; s < plane_.switch_count(); ++s) {
      if (ranking_[s] > rank) continue;
      for (const Arc& arc : plane_.arcs_of(s)) {
        if (ranking_[arc.to] <= rank) pods.unite(s, arc.to);
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
      // The LIDs of one port start a share of the slots apart, so that paths to them differ.
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
