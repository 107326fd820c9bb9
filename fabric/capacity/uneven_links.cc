// Links that not the same sources cross towards every target: a second walk with sets spelled out, and a maximum flow.
#include <algorithm>
#include <bit>

#include "fabric/capacity/b_matching.h"
#include "fabric/capacity/hose_load.h"
#include "fabric/capacity/set_members.h"

namespace railweave::fabric {
namespace {

using Set = std::vector<std::uint64_t>;  // of groups

// Sets of which each of `sets` is a union, and no two share a member: members alike in all count as one source.
std::vector<Set> parts_of(const std::vector<Set>& sets) {
  std::vector<Set> parts;
  for (Set rest : sets) {
    const std::size_t known = parts.size();
    for (std::size_t i = 0; i < known; ++i) {
      Set both = parts[i];
      bool some = false, all = true;
      for (std::size_t w = 0; w < both.size(); ++w) {
        both[w] &= rest[w];
        some = some || both[w] != 0;
        all = all && both[w] == parts[i][w];
        rest[w] &= ~both[w];
      }
      if (!some || all) continue;
      for (std::size_t w = 0; w < both.size(); ++w) parts[i][w] &= ~both[w];
      parts.push_back(std::move(both));
    }
    if (std::ranges::any_of(rest, [](std::uint64_t word) { return word != 0; })) parts.push_back(std::move(rest));
  }
  return parts;
}

bool overlap(const Set& a, const Set& b) {
  for (std::size_t w = 0; w < a.size(); ++w) {
    if ((a[w] & b[w]) != 0) return true;
  }
  return false;
}

}  // namespace

// Targets that the same groups reach over the link count as one.
struct HoseLoads::Uneven {
  std::uint32_t use = 0;
  std::uint32_t last_target = kNone;
  Set latest;
  std::vector<Set> sets;
  std::vector<std::int64_t> receive;  // by set

  void open(std::uint32_t target, std::int64_t target_receive, std::size_t words) {
    last_target = target;
    latest.assign(words, 0);
    latest_receive = target_receive;
  }
  void close() {
    if (last_target == kNone) return;
    const auto at = std::ranges::find(sets, latest);
    if (at != sets.end()) {
      receive[static_cast<std::size_t>(at - sets.begin())] += latest_receive;
    } else {
      sets.push_back(latest);
      receive.push_back(latest_receive);
    }
    last_target = kNone;
  }

  std::int64_t latest_receive = 0;
};

std::uint32_t HoseLoads::set_at(std::uint32_t sw) {
  Arrival& arrival = arrivals_[sw];
  if (arrival.token != arrival_token_) {
    arrival = {arrival_token_, static_cast<std::uint32_t>(sets_.size())};
    next_set_frontier_.push_back({sw, arrival.front});
    sets_.resize(sets_.size() + words_);
  }
  return arrival.front;
}

template <class Visit>
void HoseLoads::walk_sets(PlaneId plane, std::uint32_t target, Visit visit) {
  const PlaneTables& tables = tables_.plane(plane);
  const RoutingScope& scope = tables_.scope();
  const std::uint32_t own = own_[target], home = groups_[own].sw;
  ++arrival_token_;
  next_set_frontier_.clear();
  sets_.clear();
  const auto deviations = hops_.deviations(target);
  for (std::size_t b = 0; b < hops_.bundles(); ++b) {
    if (hops_.port(b, target) == FirstHops::kUnset) continue;
    const std::uint32_t next = bundle_way(b, target).sw;
    if (next == kNone || next == home) continue;
    const std::uint32_t into = set_at(next);
    for (std::size_t w = 0; w < words_; ++w) {
      std::uint64_t members = bundle_sets_[b * words_ + w];
      const auto without = [&](std::uint32_t group) {
        if (group / 64 == w) members &= ~(std::uint64_t{1} << (group % 64));
      };
      without(own);
      for (const auto& one : deviations) without(one.source);
      sets_[into + w] |= members;
    }
  }
  for (const auto& one : deviations) {
    const std::uint32_t next = way_out(groups_[one.source].sw, one.port).sw;
    if (next == kNone || next == home) continue;
    const std::uint32_t into = set_at(next);
    sets_[into + one.source / 64] |= std::uint64_t{1} << (one.source % 64);
  }
  for (unsigned hop = 0; !next_set_frontier_.empty(); ++hop) {
    std::swap(set_frontier_, next_set_frontier_);
    next_set_frontier_.clear();
    ++arrival_token_;
    for (const auto [sw, from] : set_frontier_) {
      const auto set = std::span(sets_).subspan(from, words_);
      if (std::ranges::all_of(set, [](std::uint64_t word) { return word == 0; })) continue;
      const Way way = way_out(sw, tables.at(scope.local(SwitchId(sw)), columns_[target]));
      if (way.sw == kNone || hop > kMaxHops) {
        visit(kNone, set);
        continue;
      }
      visit(way.link, set);
      if (way.sw == home) continue;
      const std::uint32_t into = set_at(way.sw);  // may move `set`
      for (std::size_t w = 0; w < words_; ++w) sets_[into + w] |= sets_[from + w];
    }
  }
}

void HoseLoads::note_losses(PlaneId plane) {
  spell_sets();
  for (const std::uint32_t target : lossy_) {
    walk_sets(plane, target, [&](DirectedLink link, std::span<const std::uint64_t> set) {
      if (link == kNone) for_each_member(set, [&](std::uint32_t group) { note_unrouted(target, group); });
    });
  }
}

void HoseLoads::spell_sets() {
  words_ = (groups_.size() + 63) / 64;
  bundle_sets_.assign(hops_.bundles() * words_, 0);
  for (std::uint32_t g = 0; g < groups_.size(); ++g) {
    bundle_sets_[hops_.bundle_of(g) * words_ + g / 64] |= std::uint64_t{1} << (g % 64);
  }
}

void HoseLoads::finish_links(PlaneId plane, HoseMethod method, HoseLoad& result) {
  std::vector<Uneven> uneven;
  for (Use& use : uses_) {
    use.close();
    if (use.mixed || use.uneven) {
      uneven.push_back({.use = static_cast<std::uint32_t>(&use - uses_.data())});
      continue;
    }
    const std::int64_t load = std::min(use.every.send, use.receive);
    if (load > 0) result.loads.push_back({use.link, load});
  }
  if (!uneven.empty()) solve_uneven(plane, method, uneven, result);
}

void HoseLoads::solve_uneven(PlaneId plane, HoseMethod method, std::vector<Uneven>& links, HoseLoad& result) {
  spell_sets();
  std::vector<std::uint32_t> uneven_of(uses_.size(), kNone);
  struct Entry {  // a link by which a group enters the network while others pass
    std::uint32_t link = 0, group = 0;
    std::uint16_t port = 0;
  };
  std::vector<Entry> entries;
  for (std::uint32_t i = 0; i < links.size(); ++i) uneven_of[links[i].use] = i;
  for (std::uint32_t g = 0; g < groups_.size(); ++g) {
    for (std::uint16_t port = 1; port < ports_; ++port) {
      const Way way = way_out(groups_[g].sw, port);
      if (way.sw == kNone || slots_[way.link].token != use_token_) continue;
      const std::uint32_t use = slots_[way.link].use;
      if (uses_[use].mixed) entries.push_back({uneven_of[use], g, port});
    }
  }
  for (std::uint32_t target = 0; target < plane_targets_.size(); ++target) {
    const std::int64_t receive = plane_targets_[target].receive;
    const auto set_of = [&](Uneven& one) -> Set& {
      if (one.last_target != target) {
        one.close();
        one.open(target, receive, words_);
      }
      return one.latest;
    };
    for (const Entry& entry : entries) {
      if (own_[target] == entry.group) continue;
      std::uint16_t port = hops_.port(hops_.bundle_of(entry.group), target);
      for (const auto& one : hops_.deviations(target)) {
        if (one.source == entry.group) port = one.port;
      }
      if (port == entry.port) set_of(links[entry.link])[entry.group / 64] |= std::uint64_t{1} << (entry.group % 64);
    }
    walk_sets(plane, target, [&](DirectedLink link, std::span<const std::uint64_t> set) {
      if (link == kNone || slots_[link].token != use_token_) return;
      const std::uint32_t at = uneven_of[slots_[link].use];
      if (at == kNone) return;
      Set& all = set_of(links[at]);
      for (std::size_t w = 0; w < words_; ++w) all[w] |= set[w];
    });
  }
  for (Uneven& one : links) {
    one.close();
    const std::int64_t load = largest_load(one, method);
    if (load > 0) result.loads.push_back({uses_[one.use].link, load});
    result.flow_links += method == HoseMethod::exact ? 1 : 0;
  }
}

std::int64_t HoseLoads::largest_load(const Uneven& link, HoseMethod method) const {
  const std::vector<Set> parts = parts_of(link.sets);
  std::vector<std::int64_t> send;
  std::int64_t all_send = 0, all_receive = 0;
  for (const Set& part : parts) {
    send.push_back(0);
    for_each_member(part, [&](std::uint32_t group) { send.back() += groups_[group].self.send; });
    all_send += send.back();
  }
  for (const std::int64_t receive : link.receive) all_receive += receive;
  if (method == HoseMethod::bound) return std::min(all_send, all_receive);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> allowed;
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    for (std::uint32_t s = 0; s < link.sets.size(); ++s) {
      if (overlap(parts[p], link.sets[s])) allowed.emplace_back(p, s);
    }
  }
  return max_b_matching(send, link.receive, allowed);
}

}  // namespace railweave::fabric
