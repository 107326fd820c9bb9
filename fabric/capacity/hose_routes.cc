#include "fabric/capacity/hose_routes.h"

#include <algorithm>
#include <tuple>

namespace railweave::fabric {
namespace {

bool before(const auto& a, const auto& b) { return std::tie(a.arc, a.set) < std::tie(b.arc, b.set); }

}  // namespace

HoseRoutes::HoseRoutes(const FabricView& view, const ForwardingTables& tables, PlaneId plane,
                       std::span<const HosePort> ports)
    : scope_(tables.scope()), plane_(scope_.plane(plane)), tables_(tables.plane(plane)) {
  const Topology& t = scope_.topology();
  first_port_.reserve(plane_.switch_count());
  for (std::uint32_t s = 0, first = 0; s < plane_.switch_count(); ++s) {
    first_port_.push_back(first);
    first += plane_.port_count[s];
    arc_of_port_.resize(first, kNone);
    for (std::uint32_t a = plane_.first_arc[s]; a < plane_.first_arc[s + 1]; ++a) {
      const Arc& arc = plane_.arcs[a];
      link_of_arc_.push_back(directed_link(t, t.ports(plane_.switches[s])[arc.port - 1U]));
      if (view.alive(arc.link)) arc_of_port_[first_port_[s] + arc.port - 1U] = a;
    }
  }
  visits_.resize(plane_.switch_count());
  target_at_.assign(plane_.destination_count(), kNone);

  std::vector<std::uint32_t> source_of(plane_.switch_count(), kNone);
  std::vector<std::int64_t> send;
  for (const HosePort& port : ports) {
    const DestinationId id = scope_.find(port.port);
    const std::uint32_t home = scope_.local(scope_.destination(id).home);
    if (source_of[home] == kNone) {
      source_of[home] = static_cast<std::uint32_t>(send.size());
      source_switch_.push_back(home);
      send.push_back(0);
    }
    send[source_of[home]] += port.send_mbps;
    targets_.push_back({scope_.local(id), source_of[home], port.receive_mbps});
  }
  sets_ = SourceSets(std::move(send));
  std::vector<Edge> edges;
  for (std::uint32_t k = 0; k < targets_.size(); ++k) {
    Target& target = targets_[k];
    target_at_[target.destination] = k;
    target.first_edge = static_cast<std::uint32_t>(edges_.size());
    complete_ = walk(target, {}, edges) && complete_;
    edges_.insert(edges_.end(), edges.begin(), edges.end());
    for (const Edge& edge : edges) {
      if (target.receive > 0) sums_.push_back({edge.arc, edge.set, target.receive});
    }
  }
  std::ranges::sort(sums_, before<Sum, Sum>);
  std::size_t kept = 0;
  for (const Sum& sum : sums_) {
    if (kept > 0 && sums_[kept - 1].arc == sum.arc && sums_[kept - 1].set == sum.set) {
      sums_[kept - 1].receive += sum.receive;
    } else {
      sums_[kept++] = sum;
    }
  }
  sums_.resize(kept);
  for (std::uint32_t a = 0, at = 0; a <= plane_.arcs.size(); ++a) {
    while (at < sums_.size() && sums_[at].arc < a) ++at;
    first_sum_.push_back(at);
  }
}

std::uint32_t HoseRoutes::next_arc(std::uint32_t sw, const Target& target) const {
  const std::uint32_t arc = arc_out(sw, tables_.at(sw, target.destination));
  return arc == dead_ || arc == dead_back_ ? kNone : arc;
}

std::span<const HoseRoutes::Edge> HoseRoutes::edges_of(const Target& target) const {
  const std::size_t end = &target == &targets_.back() ? edges_.size() : (&target + 1)->first_edge;
  return std::span(edges_).subspan(target.first_edge, end - target.first_edge);
}

// The set of sources whose packets to the target pass the switch; kNone: no source's do.
HoseRoutes::Set HoseRoutes::set_out(const Target& target, std::uint32_t sw) const {
  const auto edges = edges_of(target);
  const auto at = std::ranges::lower_bound(edges, plane_.first_arc[sw], {}, &Edge::arc);
  return at == edges.end() || at->arc >= plane_.first_arc[sw + 1] ? kNone : at->set;
}

// Follows packets from all sources to one target: a tree, from the leaves to the root. False: packets are lost or loop.
bool HoseRoutes::walk(const Target& target, std::span<const EntryChange> changed, std::vector<Edge>& edges) {
  edges.clear();
  order_.clear();
  ++token_;
  const std::uint32_t home = source_switch_[target.source];
  bool whole = true;
  const auto out = [&](std::uint32_t sw) {
    const auto at = std::ranges::lower_bound(changed, sw, {}, &EntryChange::sw);
    if (at == changed.end() || at->sw != sw) return next_arc(sw, target);
    const std::uint32_t arc = arc_out(sw, at->port);
    return arc == dead_ || arc == dead_back_ ? kNone : arc;
  };
  const auto visit = [&](std::uint32_t sw) -> Visit& {
    Visit& here = visits_[sw];
    if (here.token != token_) {
      here = {token_, 0, kNone};
      order_.push_back(sw);
    }
    return here;
  };
  for (std::uint32_t source = 0; source < source_switch_.size(); ++source) {
    if (source != target.source) visit(source_switch_[source]).set = source;
  }
  for (std::size_t i = 0; i < order_.size(); ++i) {  // order_ grows meanwhile
    const std::uint32_t arc = out(order_[i]);
    if (arc == kNone) {
      whole = false;
    } else if (plane_.arcs[arc].to != home) {
      ++visit(plane_.arcs[arc].to).waiting;
    }
  }
  const std::size_t reached = order_.size();
  std::erase_if(order_, [&](std::uint32_t sw) { return visits_[sw].waiting != 0; });
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const std::uint32_t arc = out(order_[i]);
    if (arc == kNone) continue;
    const Set set = visits_[order_[i]].set;
    edges.push_back({arc, set});
    const std::uint32_t to = plane_.arcs[arc].to;
    if (to == home) continue;
    Visit& next = visits_[to];
    next.set = next.set == kNone ? set : sets_.united(next.set, set);
    if (--next.waiting == 0) order_.push_back(to);
  }
  std::ranges::sort(edges, {}, &Edge::arc);
  return whole && order_.size() == reached;
}

LoadVector HoseRoutes::loads() const {
  LoadVector loads;
  std::vector<std::pair<Set, std::int64_t>> targets;
  for (std::uint32_t a = 0; a < plane_.arcs.size(); ++a) {
    targets.clear();
    for (std::uint32_t i = first_sum_[a]; i < first_sum_[a + 1]; ++i) {
      targets.emplace_back(sums_[i].set, sums_[i].receive);
    }
    if (const std::int64_t mbps = sets_.max_rate(targets); mbps > 0) loads.push_back({link_of_arc_[a], mbps});
  }
  std::ranges::sort(loads, {}, &LinkLoad::link);
  return loads;
}

// An entry changes at one switch alone: the packets that pass it leave the old route until both routes meet again.
bool HoseRoutes::move_one(const Target& target, const EntryChange& change) {
  const Set set = set_out(target, change.sw);
  if (set == kNone) return true;
  const std::uint32_t home = source_switch_[target.source];
  std::uint32_t arc = arc_out(change.sw, change.port);
  if (arc == dead_ || arc == dead_back_) arc = kNone;
  // 1. Follow the new route and mark its switches.
  ++token_;
  visits_[change.sw] = {token_, 0, kNone};
  order_.clear();
  std::uint32_t at = change.sw;
  while (arc != kNone) {
    order_.push_back(arc);
    at = plane_.arcs[arc].to;
    if (at == home) break;
    if (visits_[at].token == token_) return false;  // a loop
    visits_[at] = {token_, 0, kNone};
    arc = next_arc(at, target);
  }
  if (at != home) return false;
  // 2. Remove the packets from the old route, up to where it meets the new one.
  const auto old_arc = [&](std::uint32_t sw) {
    const auto edges = edges_of(target);
    return *std::ranges::lower_bound(edges, plane_.first_arc[sw], {}, &Edge::arc);
  };
  std::uint32_t meet = change.sw;
  do {
    const Edge edge = old_arc(meet);
    note(edge.arc, edge.set, -target.receive);
    if (edge.set != set) note(edge.arc, sets_.without(edge.set, set), target.receive);
    meet = plane_.arcs[edge.arc].to;
  } while (meet != home && visits_[meet].token != token_);
  // 3. Add them to the new route up to there.
  for (const std::uint32_t taken : order_) {
    const std::uint32_t from = plane_.arcs[plane_.arcs[taken].reverse].to;
    if (from == meet) break;
    const Set present = from == change.sw ? kNone : set_out(target, from);
    if (present != kNone) {
      note(taken, present, -target.receive);
      note(taken, sets_.united(present, set), target.receive);
    } else {
      note(taken, set, target.receive);
    }
  }
  return true;
}

bool HoseRoutes::move_many(const Target& target, std::span<const EntryChange> changed) {
  if (std::ranges::none_of(changed, [&](const EntryChange& one) { return set_out(target, one.sw) != kNone; })) {
    return true;
  }
  if (!walk(target, changed, rewalked_)) return false;
  const auto old = edges_of(target);
  auto i = old.begin();
  auto j = rewalked_.begin();
  while (i != old.end() || j != rewalked_.end()) {
    if (j == rewalked_.end() || (i != old.end() && i->arc < j->arc)) {
      note(i->arc, i->set, -target.receive);
      ++i;
    } else if (i == old.end() || j->arc < i->arc) {
      note(j->arc, j->set, target.receive);
      ++j;
    } else {
      if (i->set != j->set) {
        note(i->arc, i->set, -target.receive);
        note(j->arc, j->set, target.receive);
      }
      ++i;
      ++j;
    }
  }
  return true;
}

// Computes the loads of the arcs from which or to which packets moved.
void HoseRoutes::settle() {
  std::ranges::sort(moved_, before<Sum, Sum>);
  for (auto at = moved_.begin(); at != moved_.end();) {
    const std::uint32_t arc = at->arc;
    mix_.clear();
    std::uint32_t i = first_sum_[arc];
    const std::uint32_t end = first_sum_[arc + 1];
    while (i != end || (at != moved_.end() && at->arc == arc)) {
      const bool more = at != moved_.end() && at->arc == arc;
      const Set set = !more ? sums_[i].set : i == end ? at->set : std::min(at->set, sums_[i].set);
      std::int64_t receive = 0;
      if (i != end && sums_[i].set == set) receive += sums_[i++].receive;
      while (at != moved_.end() && at->arc == arc && at->set == set) receive += (at++)->receive;
      if (receive > 0) mix_.emplace_back(set, receive);
    }
    changed_.push_back({link_of_arc_[arc], sets_.max_rate(mix_)});
  }
}

std::optional<std::span<const LinkLoad>> HoseRoutes::loads_without(LinkId link, const RouteChanges& changes) {
  const std::size_t sets_before = sets_.size();
  moved_.clear();
  changed_.clear();
  dead_ = scope_.arc_of(link).arc;
  dead_back_ = plane_.arcs[dead_].reverse;
  bool whole = true;
  for (auto at = changes.entries.begin(); at != changes.entries.end() && whole;) {
    auto end = at;
    while (end != changes.entries.end() && end->destination == at->destination) ++end;
    if (const std::uint32_t k = target_at_[at->destination]; k != kNone) {
      whole = end - at == 1 ? move_one(targets_[k], *at) : move_many(targets_[k], {at, end});
    }
    at = end;
  }
  if (whole) settle();
  for (const std::uint32_t arc : {dead_, dead_back_}) {  // packets still on it would be lost
    if (first_sum_[arc] == first_sum_[arc + 1]) continue;
    const auto now = std::ranges::find(changed_, link_of_arc_[arc], &LinkLoad::link);
    whole = whole && now != changed_.end() && now->mbps == 0;
  }
  dead_ = dead_back_ = kNone;
  sets_.shrink(sets_before);
  if (!whole) return std::nullopt;
  return changed_;
}

}  // namespace railweave::fabric
