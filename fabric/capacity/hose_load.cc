#include "fabric/capacity/hose_load.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "fabric/base/check.h"
#include "fabric/capacity/b_matching.h"

namespace railweave::fabric {
namespace {

// Digit by digit where there are many: comparisons would take a quarter of a large job's time.
void sort_by_link(LoadVector& loads) {
  if (loads.size() < 256) {
    std::ranges::sort(loads, {}, &LinkLoad::link);
    return;
  }
  constexpr unsigned kBits = 10;
  DirectedLink last = 0;
  for (const LinkLoad& load : loads) last = std::max(last, load.link);
  LoadVector other(loads.size());
  for (unsigned shift = 0; shift < 32 && (last >> shift) != 0; shift += kBits) {
    std::array<std::uint32_t, (1U << kBits) + 1> begin{};
    const auto digit = [shift](const LinkLoad& load) { return load.link >> shift & ((1U << kBits) - 1); };
    for (const LinkLoad& load : loads) ++begin[digit(load) + 1];
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    for (const LinkLoad& load : loads) other[begin[digit(load)]++] = load;
    std::swap(loads, other);
  }
}

}  // namespace

HoseLoads::HoseLoads(const FabricView& view, ForwardingTables tables) : view_(view), tables_(std::move(tables)) {
  const Topology& t = view_.topology();
  for (const SwitchId sw : t.switches()) {
    first_port_.push_back(static_cast<std::uint32_t>(ways_.size()));
    for (const PortId port : t.ports(sw)) {
      Way way;
      const PortId peer = t.peer(port);
      if (peer && view_.alive(t.link(port))) {
        way.link = directed_link(t, port);
        if (t.is_switch_port(peer)) way.sw = t.switch_of(peer).value();
      }
      ways_.push_back(way);
    }
  }
  first_port_.push_back(static_cast<std::uint32_t>(ways_.size()));
  uses_.resize(directed_link_count(t));
  arrivals_.resize(t.switches().size());
}

HoseLoad HoseLoads::load(std::span<const HosePort> ports, HoseMethod method) {
  HoseLoad result;
  const Topology& t = view_.topology();
  const RoutingScope& scope = tables_.scope();
  targets_.clear();
  for (const HosePort& port : ports) {
    RAILWEAVE_CHECK(t.is_hca_port(port.port), "hose ports are adapters' ports");
    RAILWEAVE_CHECK(port.send_mbps >= 0 && port.receive_mbps >= 0, "rates are not negative");
    const DestinationId id = scope.find(port.port);
    const LinkId cable = t.link(port.port);
    const bool live = id && cable.valid() && view_.alive(cable);
    if (!live || tables_.out_port(scope.destination(id).home, id) != scope.destination(id).out_port) {
      result.cut_off.push_back(port.port);
      continue;
    }
    targets_.push_back({.id = id, .port = port.port, .send = port.send_mbps, .receive = port.receive_mbps});
  }
  // Those of a plane stand together, and in it those of a switch.
  std::ranges::stable_sort(targets_, {}, &Target::id);
  targets_.erase(std::unique(targets_.begin(), targets_.end(), [](auto& a, auto& b) { return a.id == b.id; }),
                 targets_.end());
  for (std::size_t first = 0; first < targets_.size();) {
    const PlaneId plane = scope.plane_of(targets_[first].id);
    std::size_t end = first;
    while (end < targets_.size() && scope.plane_of(targets_[end].id) == plane) ++end;
    load_plane(plane, first, end, method, result);
    first = end;
  }
  sort_by_link(result.loads);
  return result;
}

void HoseLoads::load_plane(PlaneId plane, std::size_t first, std::size_t end, HoseMethod method, HoseLoad& result) {
  const RoutingScope& scope = tables_.scope();
  groups_.clear();
  for (std::size_t i = first; i < end; ++i) {
    const std::uint32_t home = scope.destination(targets_[i].id).home.value();
    if (groups_.empty() || groups_.back().sw != home) groups_.push_back({.sw = home});
    targets_[i].group = static_cast<std::uint32_t>(groups_.size() - 1);
    groups_.back().send += targets_[i].send;
  }
  words_ = (groups_.size() + 63) / 64;
  first_target_ = first;
  end_target_ = end;
  sets_.clear();
  used_.clear();
  unrouted_ = 0;
  ++use_token_;
  ports_ = scope.plane(plane).max_ports + 1U;
  entered_.assign(groups_.size() * ports_, 0);
  for (std::size_t i = first; i < end; i += kBlock) {
    const std::size_t count = std::min(kBlock, end - i);
    enter(plane, i, count);
    for (std::size_t k = 0; k < count; ++k) {
      const auto target = static_cast<std::uint32_t>(i + k);
      const std::uint32_t home = groups_[targets_[target].group].sw;
      std::swap(next_frontier_, block_fronts_[k]);
      std::swap(walk_sets_, block_sets_[k]);
      walk_on(plane, target, home, [&](DirectedLink link, std::uint32_t group, const std::uint64_t* set) {
        if (link == kNone) {
          note_unrouted(target, group);
        } else {
          note_use(link, target, set);
        }
      });
      std::swap(next_frontier_, block_fronts_[k]);
      std::swap(walk_sets_, block_sets_[k]);
    }
  }
  finish_host_links(first, end, result);
  finish_entries(result);
  finish_links(plane, method, result);
  result.unrouted += unrouted_;
}

HoseLoads::Way HoseLoads::way_of(const PlaneTables& tables, std::uint32_t sw, std::uint32_t destination) const {
  const std::uint16_t port = tables.at(tables_.scope().local(SwitchId(sw)), destination);
  if (port == kNoPort || port == kPortZero || port > first_port_[sw + 1] - first_port_[sw]) return {};
  return ways_[first_port_[sw] + port - 1];
}

// The first hop of a block of targets, group by group, so that a switch's row is read once and its look-ups wait for
// memory together.
void HoseLoads::enter(PlaneId plane, std::size_t first, std::size_t count) {
  const PlaneTables& tables = tables_.plane(plane);
  const RoutingScope& scope = tables_.scope();
  std::array<std::uint32_t, kBlock> column;
  std::array<std::uint16_t, kBlock> port;
  for (std::size_t k = 0; k < count; ++k) {
    column[k] = scope.local(targets_[first + k].id);
    block_fronts_[k].clear();
    block_sets_[k].clear();
  }
  for (std::uint32_t g = 0; g < groups_.size(); ++g) {
    const std::uint32_t sw = groups_[g].sw;
    const std::size_t row = scope.local(SwitchId(sw));
    const std::uint32_t ports = first_port_[sw + 1] - first_port_[sw];
    for (std::size_t k = 0; k < count; ++k) port[k] = tables.at(row, column[k]);
    for (std::size_t k = 0; k < count; ++k) {
      const Target& target = targets_[first + k];
      if (target.group == g) continue;
      const Way way = port[k] == kPortZero || port[k] > ports ? Way{} : ways_[first_port_[sw] + port[k] - 1U];
      if (way.sw == kNone) {
        note_unrouted(static_cast<std::uint32_t>(first + k), g);
        continue;
      }
      entered_[g * ports_ + port[k]] += target.receive;
      if (way.sw == groups_[target.group].sw) continue;
      // Groups of neighbouring switches mostly meet at the switch where the one before them arrived.
      auto& fronts = block_fronts_[k];
      auto at = fronts.rbegin();
      while (at != fronts.rend() && at->sw != way.sw) ++at;
      if (at == fronts.rend()) {
        fronts.push_back({way.sw, static_cast<std::uint32_t>(block_sets_[k].size())});
        block_sets_[k].resize(block_sets_[k].size() + words_);
        at = fronts.rbegin();
      }
      block_sets_[k][at->set + g / 64] |= std::uint64_t{1} << (g % 64);
    }
  }
}

// From where the groups in next_frontier_ are on: calls visit(link, 0, set) for each link that a set of groups crosses
// and visit(kNone, group, null) for a group whose packets are lost.
template <class Visit>
void HoseLoads::walk_on(PlaneId plane, std::uint32_t target, std::uint32_t home, Visit visit) {
  const PlaneTables& tables = tables_.plane(plane);
  const std::uint32_t destination = tables_.scope().local(targets_[target].id);
  for (unsigned hop = 0; !next_frontier_.empty(); ++hop) {
    std::swap(frontier_, next_frontier_);
    next_frontier_.clear();
    ++arrival_token_;
    for (const auto [sw, from] : frontier_) {
      const Way way = way_of(tables, sw, destination);
      if (way.sw == kNone || hop > kMaxHops) {
        for (std::size_t w = 0; w < words_; ++w) {
          for (std::uint64_t bits = walk_sets_[from + w]; bits != 0; bits &= bits - 1) {
            const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
            visit(kNone, static_cast<std::uint32_t>(w * 64 + bit), nullptr);
          }
        }
        continue;
      }
      visit(way.link, 0, walk_sets_.data() + from);
      if (way.sw == home) continue;
      Arrival& arrival = arrivals_[way.sw];
      if (arrival.token != arrival_token_) {
        arrival = {arrival_token_, static_cast<std::uint32_t>(walk_sets_.size())};
        walk_sets_.resize(walk_sets_.size() + words_);
        next_frontier_.push_back({way.sw, arrival.set});
      }
      for (std::size_t w = 0; w < words_; ++w) walk_sets_[arrival.set + w] |= walk_sets_[from + w];
    }
  }
}

void HoseLoads::note_use(DirectedLink link, std::uint32_t target, const std::uint64_t* set) {
  LinkUse& use = uses_[link];
  if (use.token != use_token_) {
    use = {.token = use_token_, .set = new_set()};
    used_.push_back(link);
  }
  if (use.last_target != target) {
    use.last_target = target;
    ++use.targets;
    use.receive += targets_[target].receive;
  }
  std::uint64_t* all = sets_.data() + use.set;
  for (std::size_t w = 0; w < words_; ++w) {
    all[w] |= set[w];
    use.pairs += static_cast<std::uint64_t>(std::popcount(set[w]));
  }
}

std::uint32_t HoseLoads::new_set() {
  const std::size_t at = sets_.size();
  sets_.resize(at + words_);
  return static_cast<std::uint32_t>(at);
}

void HoseLoads::note_unrouted(std::uint32_t target, std::uint32_t group) {
  ++unrouted_;
  groups_[group].unrouted_receive += targets_[target].receive;
  targets_[target].unrouted_send += groups_[group].send;
}

// What a port sends is bounded by what the others of its plane receive, and the other way round.
void HoseLoads::finish_host_links(std::size_t first, std::size_t end, HoseLoad& result) {
  const Topology& t = view_.topology();
  std::int64_t send = 0, receive = 0;
  for (std::size_t i = first; i < end; ++i) {
    send += targets_[i].send;
    receive += targets_[i].receive;
  }
  for (std::size_t i = first; i < end; ++i) {
    const Target& one = targets_[i];
    const std::int64_t out = std::min(one.send, receive - one.receive - groups_[one.group].unrouted_receive);
    const std::int64_t in = std::min(one.receive, send - one.send - one.unrouted_send);
    if (out > 0) result.loads.push_back({directed_link(t, one.port), out});
    if (in > 0) result.loads.push_back({directed_link(t, t.peer(one.port)), in});
  }
}

// Links by which a group's packets enter the network carry those of the group alone, unless others pass through.
void HoseLoads::finish_entries(HoseLoad& result) {
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (std::size_t port = 1; port < ports_; ++port) {
      const std::int64_t receive = entered_[g * ports_ + port];
      if (receive == 0) continue;
      const DirectedLink link = ways_[first_port_[groups_[g].sw] + port - 1].link;
      LinkUse& use = uses_[link];
      if (use.token != use_token_) {
        if (groups_[g].send > 0) result.loads.push_back({link, std::min(groups_[g].send, receive)});
        continue;
      }
      // A bound that may count targets twice; whether it is exact takes a maximum flow to say.
      use.receive += receive;
      use.mixed = true;
      sets_[use.set + g / 64] |= std::uint64_t{1} << (g % 64);
    }
  }
}

void HoseLoads::finish_links(PlaneId plane, HoseMethod method, HoseLoad& result) {
  std::vector<DirectedLink> uneven;
  for (const DirectedLink link : used_) {
    const LinkUse& use = uses_[link];
    std::int64_t send = 0;
    std::uint64_t sources = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      for (std::uint64_t bits = sets_[use.set + w]; bits != 0; bits &= bits - 1) {
        send += groups_[w * 64 + static_cast<std::size_t>(std::countr_zero(bits))].send;
        ++sources;
      }
    }
    if (method == HoseMethod::exact && (use.mixed || use.pairs != sources * use.targets)) {
      uneven.push_back(link);
      continue;
    }
    const std::int64_t load = std::min(send, use.receive);
    if (load > 0) result.loads.push_back({link, load});
  }
  if (!uneven.empty()) solve_flows(plane, uneven, result);
}

// Targets that the same groups reach over a link count as one. A second walk, as few jobs need it.
void HoseLoads::solve_flows(PlaneId plane, std::span<const DirectedLink> links, HoseLoad& result) {
  std::map<DirectedLink, std::size_t> slot;
  for (std::size_t i = 0; i < links.size(); ++i) slot.emplace(links[i], i);
  std::vector<std::map<std::vector<std::uint64_t>, std::int64_t>> receive(links.size());
  std::map<std::size_t, std::vector<std::uint64_t>> of_target;  // slot -> groups of the target at hand
  for (std::size_t i = first_target_; i < end_target_; ++i) {
    of_target.clear();
    const auto note = [&](DirectedLink link, std::uint32_t group, const std::uint64_t* set) {
      const auto at = link == kNone ? slot.end() : slot.find(link);
      if (at == slot.end()) return;
      auto& groups = of_target.try_emplace(at->second, words_).first->second;
      if (set == nullptr) {
        groups[group / 64] |= std::uint64_t{1} << (group % 64);
      } else {
        for (std::size_t w = 0; w < words_; ++w) groups[w] |= set[w];
      }
    };
    const auto target = static_cast<std::uint32_t>(i);
    const std::uint32_t home = groups_[targets_[i].group].sw;
    next_frontier_.clear();
    walk_sets_.clear();
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].sw == home) continue;
      const Way way = way_of(tables_.plane(plane), groups_[g].sw, tables_.scope().local(targets_[i].id));
      if (way.sw == kNone) continue;
      note(way.link, g, nullptr);
      if (way.sw == home) continue;
      // Not merged: each group of its own is met at most once at a switch, and sets are few.
      next_frontier_.push_back({way.sw, static_cast<std::uint32_t>(walk_sets_.size())});
      walk_sets_.resize(walk_sets_.size() + words_);
      walk_sets_[walk_sets_.size() - words_ + g / 64] |= std::uint64_t{1} << (g % 64);
    }
    walk_on(plane, target, home, note);
    for (auto& [at, groups] : of_target) receive[at][std::move(groups)] += targets_[i].receive;
  }
  std::vector<std::int64_t> send;
  for (const Group& group : groups_) send.push_back(group.send);
  for (std::size_t i = 0; i < links.size(); ++i) {
    std::vector<std::int64_t> sinks;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> allowed;
    for (const auto& [groups, mbps] : receive[i]) {
      for (std::uint32_t g = 0; g < groups_.size(); ++g) {
        if ((groups[g / 64] >> (g % 64) & 1U) != 0) allowed.emplace_back(g, static_cast<std::uint32_t>(sinks.size()));
      }
      sinks.push_back(mbps);
    }
    const std::int64_t load = max_b_matching(send, sinks, allowed);
    if (load > 0) result.loads.push_back({links[i], load});
    ++result.flow_links;
  }
}

}  // namespace railweave::fabric
