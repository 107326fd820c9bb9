#include "fabric/capacity/spread_paths.h"

#include <algorithm>
#include <map>
#include <utility>

namespace railweave::fabric {
namespace {

constexpr double kUnknownRateMbps = 100'000;

double rate_of(const Plane& plane, std::uint32_t arc) {
  return plane.arc_rate_mbps[arc] == 0 ? kUnknownRateMbps : plane.arc_rate_mbps[arc];
}

}  // namespace

PathSpread spread_of(const FabricView& view, const RoutingScope& scope, PlaneId plane) {
  const SubnetId subnet = view.topology().subnet(scope.plane(plane).switches.front());
  return subnet ? view.spread(subnet) : PathSpread::single;
}

SpreadPaths::SpreadPaths(const FabricView& view, const ForwardingTables& tables, PlaneId plane)
    : scope_(tables.scope()),
      plane_(scope_.plane(plane)),
      tables_(tables.plane(plane)),
      spread_(spread_of(view, scope_, plane)),
      hops_(plane_.switch_count(), kNone),
      has_hops_(plane_.switch_count()),
      next_of_(plane_.switch_count()),
      frontier_(plane_.switch_count()),
      fraction_(plane_.arcs.size()) {
  for (const Arc& arc : plane_.arcs) alive_.push_back(view.alive(arc.link) ? 1 : 0);
}

void SpreadPaths::fail(LinkId link, const RouteChanges* changes) {
  failed_ = link;
  changes_ = changes;
}

void SpreadPaths::aim(PortId target) {
  const DestinationId first = scope_.find(target);
  home_ = scope_.local(scope_.destination(first).home);
  const unsigned lids = spread_ == PathSpread::lmc ? scope_.lid_count(target) : 1;
  destinations_.clear();
  for (unsigned offset = 0; offset < lids; ++offset) {
    const DestinationId id = scope_.find(target, offset);
    destinations_.push_back(id ? scope_.local(id) : kNone);
  }
  std::ranges::fill(has_hops_, 0);
  std::ranges::fill(next_of_, NextHops());
  next_.clear();
}

std::uint16_t SpreadPaths::port_at(std::uint32_t sw, std::uint32_t destination) const {
  if (changes_ != nullptr) {
    const auto changed = changes_->of(destination);
    const auto at = std::ranges::lower_bound(changed, sw, {}, &EntryChange::sw);
    if (at != changed.end() && at->sw == sw) return at->port;
  }
  return tables_.at(sw, destination);
}

std::uint32_t SpreadPaths::next_arc(std::uint32_t sw, std::uint32_t destination) const {
  const std::uint32_t arc = plane_.find_arc(sw, port_at(sw, destination));
  return arc == kNone || alive_[arc] == 0 || plane_.arcs[arc].link == failed_ ? kNone : arc;
}

// By the tables, to the target's switch.
std::uint32_t SpreadPaths::hops(std::uint32_t sw) {
  trail_.clear();
  std::uint32_t at = sw;
  while (at != home_ && has_hops_[at] == 0) {
    has_hops_[at] = 1;
    hops_[at] = kNone;  // also what a loop comes back to
    trail_.push_back(at);
    const std::uint32_t arc = next_arc(at, destinations_.front());
    if (arc == kNone) break;
    at = plane_.arcs[arc].to;
  }
  std::uint32_t count = at == home_ ? 0 : hops_[at];
  for (std::size_t i = trail_.size(); i-- > 0;) {
    if (count != kNone) ++count;
    hops_[trail_[i]] = count;
  }
  return sw == home_ ? 0 : hops_[sw];
}

void SpreadPaths::add(std::uint32_t arc, double fraction) {
  if (fraction_[arc] == 0) shares_.push_back({arc, 0});
  fraction_[arc] += fraction;
}

bool SpreadPaths::follow(std::uint32_t sw, std::uint32_t destination, double fraction) {
  for (std::size_t hop = 0; sw != home_; ++hop) {
    const std::uint32_t arc = destination == kNone ? kNone : next_arc(sw, destination);
    if (arc == kNone || hop > plane_.switch_count()) return false;
    add(arc, fraction);
    sw = plane_.arcs[arc].to;
  }
  return true;
}

std::span<const ArcShare> SpreadPaths::next_hops(std::uint32_t sw) {
  NextHops& known = next_of_[sw];
  if (known.first == kNone) {
    known = {static_cast<std::uint32_t>(next_.size()), 0};
    const std::uint32_t nearer = hops(sw) - 1;
    double sum = 0;
    for (std::uint32_t arc = plane_.first_arc[sw]; arc < plane_.first_arc[sw + 1]; ++arc) {
      if (alive_[arc] == 0 || plane_.arcs[arc].link == failed_ || hops(plane_.arcs[arc].to) != nearer) continue;
      next_.push_back({arc, rate_of(plane_, arc)});
      sum += next_.back().fraction;
      ++known.count;
    }
    for (std::uint32_t i = 0; i < known.count; ++i) next_[known.first + i].fraction /= sum;
  }
  return std::span(next_).subspan(known.first, known.count);
}

void SpreadPaths::flood() {
  while (!frontier_.empty()) {
    frontier_.advance();
    for (const auto& [at, fraction] : frontier_.present()) {
      if (at == home_) continue;
      for (const ArcShare& hop : next_hops(at)) {
        add(hop.arc, fraction * hop.fraction);
        frontier_.at(plane_.arcs[hop.arc].to) += fraction * hop.fraction;
      }
    }
  }
}

std::span<const ArcShare> SpreadPaths::take_shares() {
  for (ArcShare& share : shares_) {
    share.fraction = fraction_[share.arc];
    fraction_[share.arc] = 0;
  }
  return shares_;
}

std::optional<std::span<const ArcShare>> SpreadPaths::from(std::uint32_t sw) {
  shares_.clear();
  bool whole = true;
  if (spread_ == PathSpread::adaptive) {
    whole = hops(sw) != kNone;
    frontier_.clear();
    if (whole) frontier_.at(sw) = 1;
    flood();
  } else {
    for (const std::uint32_t one : destinations_) {
      whole = whole && follow(sw, one, 1.0 / static_cast<double>(destinations_.size()));
    }
  }
  const auto shares = take_shares();
  if (!whole) return std::nullopt;
  return shares;
}

void SpreadPaths::from_each(std::span<const std::uint32_t> switches, const Visit& visit) {
  std::map<std::vector<std::pair<std::uint32_t, double>>, std::vector<std::uint32_t>>
      behind;  // first hops: who has them
  for (std::uint32_t i = 0; i < switches.size(); ++i) {
    const std::uint32_t sw = switches[i];
    if (sw == home_) continue;
    if (spread_ != PathSpread::adaptive) {
      visit(std::span(&i, 1), from(sw));
      continue;
    }
    if (hops(sw) == kNone) {
      visit(std::span(&i, 1), std::nullopt);
      continue;
    }
    const std::span<const ArcShare> first = next_hops(sw);
    visit(std::span(&i, 1), first);
    std::vector<std::pair<std::uint32_t, double>> reached;
    for (const ArcShare& hop : first) reached.emplace_back(plane_.arcs[hop.arc].to, hop.fraction);
    std::ranges::sort(reached);
    behind[std::move(reached)].push_back(i);
  }
  for (const auto& [reached, whose] : behind) {
    shares_.clear();
    frontier_.clear();
    for (const auto& [sw, fraction] : reached) frontier_.at(sw) += fraction;
    flood();
    visit(whose, take_shares());
  }
}

}  // namespace railweave::fabric
