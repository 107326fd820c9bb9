#include "fabric/capacity/hose_load.h"

#include <algorithm>
#include <bit>
#include <map>

#include "fabric/base/check.h"
#include "fabric/capacity/b_matching.h"

namespace railweave::fabric {

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
  std::ranges::sort(result.loads, {}, &LinkLoad::link);
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
  for (std::size_t i = first; i < end; ++i) {
    const auto target = static_cast<std::uint32_t>(i);
    walk(plane, target, [&](DirectedLink link, std::uint32_t group, const std::uint64_t* set) {
      if (link == kNone) {
        note_unrouted(target, group);
      } else {
        note_use(link, target, group, set);
      }
    });
  }
  finish_host_links(first, end, result);
  finish_links(plane, method, result);
  result.unrouted += unrouted_;
}

// Calls visit(link, group, null) for the group that enters the network by a link, visit(link, 0, set) for links further
// on, and visit(kNone, group, null) for a group whose packets are lost.
template <class Visit>
void HoseLoads::walk(PlaneId plane, std::uint32_t target, Visit visit) {
  const PlaneTables& tables = tables_.plane(plane);
  const RoutingScope& scope = tables_.scope();
  const std::uint32_t home = groups_[targets_[target].group].sw;
  const std::uint32_t destination = scope.local(targets_[target].id);
  walk_sets_.clear();
  next_frontier_.clear();
  ++arrival_token_;
  const auto arrive = [&](std::uint32_t sw) -> std::uint64_t* {
    Arrival& arrival = arrivals_[sw];
    if (arrival.token != arrival_token_) {
      arrival = {arrival_token_, static_cast<std::uint32_t>(walk_sets_.size())};
      walk_sets_.resize(walk_sets_.size() + words_);
      next_frontier_.push_back(sw);
    }
    return walk_sets_.data() + arrival.set;
  };
  const auto way_of = [&](std::uint32_t sw) -> Way {
    const std::uint16_t port = tables.at(scope.local(SwitchId(sw)), destination);
    if (port == kNoPort || port == kPortZero || port > first_port_[sw + 1] - first_port_[sw]) return {};
    return ways_[first_port_[sw] + port - 1];
  };
  for (std::uint32_t g = 0; g < groups_.size(); ++g) {
    const std::uint32_t sw = groups_[g].sw;
    if (sw == home) continue;
    const Way way = way_of(sw);
    if (way.sw == kNone) {
      visit(kNone, g, nullptr);
      continue;
    }
    visit(way.link, g, nullptr);
    if (way.sw != home) arrive(way.sw)[g / 64] |= std::uint64_t{1} << (g % 64);
  }
  const auto lose = [&](const std::uint64_t* set) {
    for (std::size_t w = 0; w < words_; ++w) {
      for (std::uint64_t bits = set[w]; bits != 0; bits &= bits - 1) {
        visit(kNone, static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits))), nullptr);
      }
    }
  };
  for (unsigned hop = 0; !next_frontier_.empty(); ++hop) {
    std::swap(frontier_, next_frontier_);
    next_frontier_.clear();
    ++arrival_token_;
    for (const std::uint32_t sw : frontier_) {
      const std::uint32_t from = arrivals_[sw].set;
      const Way way = way_of(sw);
      if (way.sw == kNone || hop > kMaxHops) {
        lose(walk_sets_.data() + from);
        continue;
      }
      visit(way.link, 0, walk_sets_.data() + from);
      if (way.sw == home) continue;
      std::uint64_t* to = nullptr;
      if (arrivals_[way.sw].token == arrival_token_) {
        to = walk_sets_.data() + arrivals_[way.sw].set;
      } else {
        // `sw` itself may be met again only in a loop; its set of this hop is read before it is overwritten.
        to = arrive(way.sw);
      }
      const std::uint64_t* set = walk_sets_.data() + from;
      for (std::size_t w = 0; w < words_; ++w) to[w] |= set[w];
    }
  }
}

void HoseLoads::note_use(DirectedLink link, std::uint32_t target, std::uint32_t group, const std::uint64_t* set) {
  LinkUse& use = uses_[link];
  if (use.token != use_token_) {
    use = {.token = use_token_};
    used_.push_back(link);
    if (set == nullptr) {
      use.set = -1 - static_cast<std::int32_t>(group);
    } else {
      use.set = static_cast<std::int32_t>(new_set());
    }
  }
  if (use.last_target != target) {
    use.last_target = target;
    ++use.targets;
    use.receive += targets_[target].receive;
  }
  if (set == nullptr && use.set == -1 - static_cast<std::int32_t>(group)) {
    ++use.pairs;
    return;
  }
  if (use.set < 0) {
    const auto only = static_cast<std::uint32_t>(-1 - use.set);
    use.set = static_cast<std::int32_t>(new_set());
    sets_[static_cast<std::size_t>(use.set) + only / 64] |= std::uint64_t{1} << (only % 64);
  }
  std::uint64_t* all = sets_.data() + use.set;
  if (set == nullptr) {
    all[group / 64] |= std::uint64_t{1} << (group % 64);
    ++use.pairs;
    return;
  }
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

void HoseLoads::finish_links(PlaneId plane, HoseMethod method, HoseLoad& result) {
  std::vector<DirectedLink> uneven;
  for (const DirectedLink link : used_) {
    const LinkUse& use = uses_[link];
    std::int64_t send = 0;
    std::uint64_t sources = 1;
    if (use.set < 0) {
      send = groups_[static_cast<std::size_t>(-1 - use.set)].send;
    } else {
      sources = 0;
      for (std::size_t w = 0; w < words_; ++w) {
        for (std::uint64_t bits = sets_[static_cast<std::size_t>(use.set) + w]; bits != 0; bits &= bits - 1) {
          send += groups_[w * 64 + static_cast<std::size_t>(std::countr_zero(bits))].send;
          ++sources;
        }
      }
    }
    if (method == HoseMethod::exact && use.pairs != sources * use.targets) {
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
    walk(plane, static_cast<std::uint32_t>(i), [&](DirectedLink link, std::uint32_t group, const std::uint64_t* set) {
      if (link == kNone) return;
      const auto at = slot.find(link);
      if (at == slot.end()) return;
      auto& groups = of_target.try_emplace(at->second, words_).first->second;
      if (set == nullptr) {
        groups[group / 64] |= std::uint64_t{1} << (group % 64);
      } else {
        for (std::size_t w = 0; w < words_; ++w) groups[w] |= set[w];
      }
    });
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
