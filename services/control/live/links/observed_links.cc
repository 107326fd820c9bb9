#include "services/control/live/links/observed_links.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "fabric/base/text/time_text.h"
#include "fabric/topology/joined_switches.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr std::size_t kNoCable = SIZE_MAX;

// Pairs of end ports whose own cables are used and whose switches are joined by such links.
template <class InUse>
std::uint64_t joined_pairs(const SubnetLinks& links, InUse in_use) {
  const Topology& t = *links.topology();
  DisjointSets joined = joined_switches(t, in_use);
  std::map<std::uint32_t, std::uint64_t> ends;
  for (const SubnetLinks::Cable& cable : links.cables()) {
    if (!t.joins_switches(cable.link) && in_use(cable.link)) ++ends[joined.find(t.find_switch(cable.a).index())];
  }
  std::uint64_t pairs = 0;
  for (const auto& [part, count] : ends) pairs += count * (count - 1);
  return pairs;
}

}  // namespace

ObservedLinks::ObservedLinks(const SubnetLinks& links, const health::DampingOptions& options)
    : links_(links), options_(options), rates_(links) {
  if (!links.found()) return;
  damping_.emplace(options);
  restarts_.emplace(options);
  std::vector<LinkId> ids;
  cable_of_.assign(links.topology()->links().size(), kNoCable);
  for (std::size_t i = 0; i < links.cables().size(); ++i) {
    ids.push_back(links.cables()[i].link);
    cable_of_[links.cables()[i].link.index()] = i;
  }
  flaps_.emplace(*links.topology(), ids, options.start_us);
}

void ObservedLinks::note_sights(const FabricDriver& driver, std::int64_t unix_us) {
  is_seen_.resize(links_.cables().size());
  seen_us_.resize(links_.cables().size());
  for (std::size_t i = 0; i < links_.cables().size(); ++i) {
    const SubnetLinks::Cable& cable = links_.cables()[i];
    is_seen_[i] = driver.read_link(cable.a, cable.a_port).known || driver.read_link(cable.b, cable.b_port).known;
    if (is_seen_[i]) seen_us_[i] = unix_us;
  }
}

LinkCounts ObservedLinks::counts() const {
  LinkCounts counts;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    ++(!is_seen_[i]                    ? counts.unknown
       : states_[i] != LinkState::down ? counts.up
       : found_[i] == LinkState::down  ? counts.down
                                       : counts.damped);
  }
  return counts;
}

UnseenLinks ObservedLinks::unseen() const {
  UnseenLinks unseen;
  for (std::size_t i = 0; i < is_seen_.size(); ++i) {
    if (!is_seen_[i]) unseen.emplace(links_.cables()[i].link, seen_us_[i]);
  }
  return unseen;
}

void ObservedLinks::count_flaps(std::int64_t now_us) {
  std::vector<bool> is_up(found_.size());
  for (std::size_t i = 0; i < found_.size(); ++i) is_up[i] = found_[i] != LinkState::down;
  const auto seen = flaps_->see(is_up, now_us);
  if (options_.is_on) {
    for (const LinkId link : seen.flapped) damping_->flap(link, now_us);
  }
  for (const SwitchId sw : seen.restarted) restarts_->flap(sw, now_us);
  restarting_ = restarts_->flapping(now_us);
}

void ObservedLinks::hold(std::vector<LinkState>& states, Moment at, const FabricView& drains, bool may_hold) {
  const Topology& t = *links_.topology();
  const auto flapping = damping_->flapping(at.now_us);
  flapping_.clear();
  held_ = 0;
  pairs_lost_ = 0;
  calm_at_us_.reset();
  if (flapping.empty()) return not_held_.clear();
  std::erase_if(not_held_, [&](LinkId link) {
    return std::ranges::none_of(flapping, [&](const auto& one) { return one.id == link; });
  });
  std::vector<bool> in_use(t.links().size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    const LinkId link = links_.cables()[i].link;
    const auto is_drained = [&](PortId port) { return t.switch_of(port) && drains.drained(t.switch_of(port)); };
    in_use[link.index()] =
        found_[i] != LinkState::down && !drains.drained(link) && !is_drained(t.a(link)) && !is_drained(t.b(link));
  }
  std::vector<LinkId> wanted;
  for (const auto& one : flapping) {
    if (may_hold && !not_held_.contains(one.id)) wanted.push_back(one.id);
  }
  const auto chosen = health::choose_held(t, wanted, in_use, options_.share_percent);
  const std::set<LinkId> held(chosen.held.begin(), chosen.held.end());
  for (const auto& one : flapping) {
    const auto used = std::ranges::find(chosen.used, one.id, &health::HeldLinks::Used::link);
    flapping_.push_back({.link = one.id,
                         .since_us = at.unix_us - (at.now_us - one.since_us),
                         .until_us = at.unix_us + (one.until_us - at.now_us),
                         .flaps = one.flaps,
                         .is_held = held.contains(one.id),
                         .is_up = found_[cable_of_[one.id.index()]] != LinkState::down});
    if (used != chosen.used.end()) flapping_.back().why_used = used->why;
    if (not_held_.contains(one.id)) flapping_.back().why_used = health::WhyUsed::routes;
    calm_at_us_ = std::min(calm_at_us_.value_or(INT64_MAX), one.until_us);
  }
  for (const LinkId link : chosen.held) states[cable_of_[link.index()]] = LinkState::down;
  held_ = chosen.held.size();
  if (held_ == 0) return;
  const auto before = joined_pairs(links_, [&](LinkId link) { return bool(in_use[link.index()]); });
  const auto after = joined_pairs(links_, [&](LinkId link) { return in_use[link.index()] && !held.contains(link); });
  pairs_lost_ = before - after;
}

std::string ObservedLinks::held_text() const {
  if (held_ == 0) return {};
  const auto first = std::ranges::find_if(flapping_, &FlappingCable::is_held);
  std::int64_t until_us = 0;
  for (const auto& one : flapping_) {
    if (one.is_held) until_us = std::max(until_us, one.until_us);
  }
  const std::string name = links_.topology()->link_text(first->link);
  return fmt::format("{}{} held out of use until calm, at the latest {}: {}{}; pairs of end ports lost by it: {}",
                     held_, held_ == 1 ? " link that flaps is" : " links that flap are",
                     time_text(until_us / 1'000'000 * 1'000'000), name, held_ == 1 ? "" : " and others", pairs_lost_);
}

void ObservedLinks::use_all() {
  for (const auto& one : flapping_) {
    if (one.is_held) not_held_.insert(one.link);
  }
}

std::string ObservedLinks::Change::text() const {
  if (lost == 0) return plural(back, "link", "links") + " back";
  return plural(lost, "link", "links") + " down" + (back == 0 ? std::string() : fmt::format(", {} back", back));
}

ObservedLinks::Change ObservedLinks::observe(const FabricDriver& driver, bool bringing_up, Moment at,
                                             const FabricView& known, bool may_hold) {
  Change change{.is_first = states_.empty()};
  note_sights(driver, at.unix_us);
  misled_ = links_.misled(driver);
  found_ = links_.states(driver, bringing_up, found_);
  count_flaps(at.now_us);
  auto states = found_;
  hold(states, at, known, may_hold);
  for (std::size_t i = 0; i < states.size(); ++i) {
    const LinkState before = change.is_first ? known.state(links_.cables()[i].link) : states_[i];
    const bool is_up = states[i] != LinkState::down;
    if (before == states[i]) continue;
    change.differing.push_back(i);
    if (is_up && !change.is_first) change.returned.push_back(i);
    ++(is_up ? change.back : change.lost);
  }
  change.other_rate = rates_.observe(driver, states, known);
  states_ = std::move(states);
  return change;
}

}  // namespace railweave::control
