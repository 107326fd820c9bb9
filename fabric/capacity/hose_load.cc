#include "fabric/capacity/hose_load.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "fabric/base/check.h"
#include "fabric/routing/plane/mix.h"

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
  std::unordered_multimap<std::uint64_t, std::uint32_t> known;  // hash of ways -> a switch with such
  std::uint32_t likes = 0;
  like_.resize(t.switches().size());
  for (const SwitchId sw : t.switches()) {
    const auto first = static_cast<std::uint32_t>(ways_.size());
    first_port_.push_back(first);
    const PlaneId plane = tables_.scope().plane_of(sw);
    std::uint64_t hash = plane.value();
    bool sends = false;
    for (const PortId port : t.ports(sw)) {
      Way way;
      const PortId peer = t.peer(port);
      if (peer && view_.alive(t.link(port))) {
        way.link = directed_link(t, port);
        if (t.is_switch_port(peer)) {
          way.sw = t.switch_of(peer).value();
        } else {
          sends = true;
        }
      }
      hash = (hash ^ way.sw) * 0xFF51AFD7ED558CCDULL, hash ^= hash >> 32U;
      ways_.push_back(way);
    }
    if (!sends) continue;  // no source is on it
    const auto alike = [&](std::uint32_t other) {
      const std::size_t count = ways_.size() - first;
      if (first_port_[other + 1] - first_port_[other] != count) return false;
      if (tables_.scope().plane_of(SwitchId(other)) != plane) return false;
      for (std::size_t i = 0; i < count; ++i) {
        if (ways_[first_port_[other] + i].sw != ways_[first + i].sw) return false;
      }
      return true;
    };
    auto [at, end] = known.equal_range(hash);
    while (at != end && !alike(at->second)) ++at;
    like_[sw.index()] = at != end ? like_[at->second] : likes++;
    if (at == end) known.emplace(hash, sw.value());
  }
  first_port_.push_back(static_cast<std::uint32_t>(ways_.size()));
  hops_ = FirstHops(t.switches().size(), likes);
  slots_.resize(directed_link_count(t));
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
  for (auto first = targets_.begin(); first != targets_.end();) {
    const PlaneId plane = scope.plane_of(first->id);
    auto end = first;
    while (end != targets_.end() && scope.plane_of(end->id) == plane) ++end;
    plane_targets_.assign(first, end);
    load_plane(plane, method, result);
    first = end;
  }
  sort_by_link(result.loads);
  return result;
}

void HoseLoads::load_plane(PlaneId plane, HoseMethod method, HoseLoad& result) {
  const RoutingScope& scope = tables_.scope();
  groups_.clear();
  own_.clear();
  columns_.clear();
  sources_.clear();
  for (Target& target : plane_targets_) {
    const SwitchId home = scope.destination(target.id).home;
    if (groups_.empty() || groups_.back().sw != home.value()) {
      groups_.push_back({.sw = home.value(), .self = {.print = mix(home.value()), .groups = 1}});
      const Home& own = scope.plane(plane).homes[scope.plane(plane).home_of[scope.local(home)]];
      sources_.push_back({.sw = home.value(),
                          .row = static_cast<std::uint32_t>(scope.local(home)),
                          .like = like_[home.index()],
                          .first_column = own.first,
                          .column_count = own.count});
    }
    target.group = static_cast<std::uint32_t>(groups_.size() - 1);
    groups_.back().self.send += target.send;
    own_.push_back(target.group);
    columns_.push_back(static_cast<std::uint32_t>(scope.local(target.id)));
  }
  uses_.clear();
  lossy_.clear();
  unrouted_ = 0;
  ++use_token_;
  read_first_hops(plane);
  for (std::uint32_t k = 0; k < plane_targets_.size(); ++k) walk(plane, k);
  if (!lossy_.empty()) note_losses(plane);
  finish_host_links(result);
  finish_entries(result);
  finish_links(plane, method, result);
  result.unrouted += unrouted_;
}

void HoseLoads::read_first_hops(PlaneId plane) {
  hops_.read(tables_.plane(plane), sources_, columns_, own_);
  bundle_groups_.assign(hops_.bundles(), {});
  for (std::uint32_t g = 0; g < groups_.size(); ++g) bundle_groups_[hops_.bundle_of(g)].add(groups_[g].self);
  // What targets receive by each of a bundle's ports; finish_entries() takes out what is not so for a member.
  ports_ = tables_.scope().plane(plane).max_ports + 1U;
  bundle_entered_.assign(hops_.bundles() * ports_, 0);
  for (std::size_t b = 0; b < hops_.bundles(); ++b) {
    std::int64_t* entered = bundle_entered_.data() + b * ports_;
    for (std::size_t k = 0; k < plane_targets_.size(); ++k) {
      const std::uint16_t port = hops_.port(b, k);
      if (port < ports_) entered[port] += plane_targets_[k].receive;
    }
  }
}

HoseLoads::Front& HoseLoads::front_at(std::uint32_t sw) {
  Arrival& arrival = arrivals_[sw];
  if (arrival.token != arrival_token_) {
    arrival = {arrival_token_, static_cast<std::uint32_t>(next_frontier_.size())};
    next_frontier_.push_back({sw, {}});
  }
  return next_frontier_[arrival.front];
}

// From every group to one target, hop by hop; those that meet at a switch go on as one.
void HoseLoads::walk(PlaneId plane, std::uint32_t target) {
  const PlaneTables& tables = tables_.plane(plane);
  const RoutingScope& scope = tables_.scope();
  const std::uint32_t own = own_[target], home = groups_[own].sw;
  ++arrival_token_;
  next_frontier_.clear();
  const auto deviations = hops_.deviations(target);
  for (std::size_t b = 0; b < hops_.bundles(); ++b) {
    if (hops_.port(b, target) == FirstHops::kUnset) continue;
    const std::uint32_t next = bundle_way(b, target).sw;
    if (next == kNone) {
      for (std::uint32_t g = 0; g < groups_.size(); ++g) {
        if (hops_.bundle_of(g) != b || g == own) continue;
        if (std::ranges::find(deviations, g, &FirstHops::Deviation::source) == deviations.end()) {
          note_unrouted(target, g);
        }
      }
    } else if (next != home) {
      front_at(next).groups.add(bundle_groups_[b]);
    }
  }
  const auto leave_bundle = [&](std::uint32_t group) {
    const std::uint32_t b = hops_.bundle_of(group);
    if (hops_.port(b, target) == FirstHops::kUnset) return;
    const std::uint32_t next = bundle_way(b, target).sw;
    if (next != kNone && next != home) front_at(next).groups.remove(groups_[group].self);
  };
  leave_bundle(own);
  for (const auto& one : deviations) {
    leave_bundle(one.source);
    const std::uint32_t next = way_out(groups_[one.source].sw, one.port).sw;
    if (next == kNone) {
      note_unrouted(target, one.source);
    } else if (next != home) {
      front_at(next).groups.add(groups_[one.source].self);
    }
  }
  for (unsigned hop = 0; !next_frontier_.empty(); ++hop) {
    std::swap(frontier_, next_frontier_);
    next_frontier_.clear();
    ++arrival_token_;
    front_ways_.resize(frontier_.size());
    for (std::size_t i = 0; i < frontier_.size(); ++i) {  // apart from what follows, so that they wait together
      const std::uint32_t sw = frontier_[i].sw;
      front_ways_[i] = way_out(sw, tables.at(scope.local(SwitchId(sw)), columns_[target]));
      if (front_ways_[i].link != kNone) __builtin_prefetch(&slots_[front_ways_[i].link]);
    }
    for (std::size_t i = 0; i < frontier_.size(); ++i) {
      const Crossing& groups = frontier_[i].groups;
      if (groups.groups == 0) continue;
      const Way way = front_ways_[i];
      if (way.sw == kNone || hop > kMaxHops) {
        if (lossy_.empty() || lossy_.back() != target) lossy_.push_back(target);
        continue;
      }
      note_use(way.link, target, groups);
      if (way.sw != home) front_at(way.sw).groups.add(groups);
    }
  }
}

void HoseLoads::note_use(DirectedLink link, std::uint32_t target, const Crossing& groups) {
  Slot& slot = slots_[link];
  if (slot.token != use_token_) {
    slot = {use_token_, static_cast<std::uint32_t>(uses_.size())};
    uses_.push_back({.link = link});
  }
  Use& use = uses_[slot.use];
  if (use.last_target != target) {
    use.close();
    use.last_target = target;
    ++use.targets;
    use.receive += plane_targets_[target].receive;
    use.latest = groups;
  } else {
    use.latest.add(groups);  // by a longer way
  }
}

void HoseLoads::Use::close() {
  if (targets == 0) return;
  if (targets == 1) every = latest;
  uneven = uneven || every != latest;
}

void HoseLoads::note_unrouted(std::uint32_t target, std::uint32_t group) {
  ++unrouted_;
  groups_[group].unrouted_receive += plane_targets_[target].receive;
  plane_targets_[target].unrouted_send += groups_[group].self.send;
}

// What a port sends is bounded by what the others of its plane receive, and the other way round.
void HoseLoads::finish_host_links(HoseLoad& result) {
  const Topology& t = view_.topology();
  std::int64_t send = 0, receive = 0;
  for (const Target& one : plane_targets_) {
    send += one.send;
    receive += one.receive;
  }
  for (const Target& one : plane_targets_) {
    const std::int64_t out = std::min(one.send, receive - one.receive - groups_[one.group].unrouted_receive);
    const std::int64_t in = std::min(one.receive, send - one.send - one.unrouted_send);
    if (out > 0) result.loads.push_back({directed_link(t, one.port), out});
    if (in > 0) result.loads.push_back({directed_link(t, t.peer(one.port)), in});
  }
}

// Links by which a group's packets enter the network carry those of the group alone, unless others pass through.
void HoseLoads::finish_entries(HoseLoad& result) {
  std::vector<std::pair<std::uint32_t, const FirstHops::Deviation*>> deviations;  // by group
  for (const auto& one : hops_.deviations()) deviations.emplace_back(one.source, &one);
  std::ranges::sort(deviations);
  auto deviation = deviations.begin();
  std::size_t own = 0;  // targets stand group by group
  for (std::uint32_t g = 0; g < groups_.size(); ++g) {
    const std::uint32_t bundle = hops_.bundle_of(g);
    const auto receive_by = bundle_entered_.begin() + static_cast<std::ptrdiff_t>(bundle * ports_);
    entered_.assign(receive_by, receive_by + static_cast<std::ptrdiff_t>(ports_));
    const auto add = [&](std::uint16_t port, std::int64_t mbps) {
      if (port < ports_) entered_[port] += mbps;
    };
    for (; own < own_.size() && own_[own] == g; ++own) add(hops_.port(bundle, own), -plane_targets_[own].receive);
    for (; deviation != deviations.end() && deviation->first == g; ++deviation) {
      const auto& one = *deviation->second;
      add(hops_.port(bundle, one.target), -plane_targets_[one.target].receive);
      add(one.port, plane_targets_[one.target].receive);
    }
    for (std::size_t port = 1; port < ports_; ++port) {
      if (entered_[port] == 0) continue;
      const Way way = way_out(groups_[g].sw, static_cast<std::uint16_t>(port));
      if (way.sw == kNone) continue;
      if (slots_[way.link].token == use_token_) {
        uses_[slots_[way.link].use].mixed = true;  // how much takes a second look
      } else if (groups_[g].self.send > 0) {
        result.loads.push_back({way.link, std::min(groups_[g].self.send, entered_[port])});
      }
    }
  }
}

}  // namespace railweave::fabric
