#include "services/control/live/links/link_alarms.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/base/rate_text.h"
#include "fabric/topology/cut_off.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr std::size_t kMaxUnreadAlarms = 64;
constexpr std::size_t kMaxLinkAlarms = 64;  // further links that are down share one

// By links as observed, which the state may not have yet, and its drains. The control loop alarms them.
CutOffSwitches cut_off_of(const ClusterState& state, const SubnetLinks& links, const ObservedLinks& observed) {
  if (observed.empty() || state.view.topology_ptr() != links.topology()) return {};
  FabricView view = state.view;
  for (std::size_t i = 0; i < observed.states().size(); ++i) {
    const LinkId link = links.cables()[i].link;
    if (view.state(link) != observed.states()[i]) view.set_state(link, observed.states()[i]);
  }
  return CutOffSwitches(view);
}

bool is_covered(const Topology& t, const CutOffSwitches& cut_off, PortId port) {
  const SwitchId sw = t.switch_of(port);
  return sw && cut_off.contains(sw);
}

std::vector<Alarm> down_links(const SubnetContext& context, const ClusterState& state, const SubnetLinks& links,
                              const ObservedLinks& observed, const CutOffSwitches& cut_off) {
  std::vector<Alarm> down;
  const Topology& t = *links.topology();
  for (std::size_t i = 0; i < observed.states().size(); ++i) {
    if (!observed.was_found_down(i)) continue;
    const LinkId link = links.cables()[i].link;
    if (is_covered(t, cut_off, t.a(link)) || is_covered(t, cut_off, t.b(link))) continue;
    const std::string name = t.link_text(link);
    down.push_back({.subject_kind = "link", .subject_id = name, .text = "link " + name + " is down"});
    if (down.size() > kMaxLinkAlarms) continue;
    down.back().jobs = context.jobs.at(state, t, link);
    if (!down.back().jobs.empty()) down.back().severity = AlarmSeverity::critical;
  }
  if (down.size() <= kMaxLinkAlarms) return down;
  Alarm all{.subject_kind = "subnet", .subject_id = context.options.subnet, .severity = AlarmSeverity::critical};
  all.text = fmt::format("{} links of {} are down", down.size(), context.name());
  return {std::move(all)};
}

// What crosses them is promised and predicted less at once; which guarantees that puts at risk their own alarms say.
std::vector<Alarm> slow_links(const SubnetContext& context, const ClusterState& state, const SubnetLinks& links,
                              const ObservedLinks& observed) {
  std::vector<Alarm> slow;
  const Topology& t = *links.topology();
  for (std::size_t i = 0; i < observed.states().size(); ++i) {
    if (observed.states()[i] != LinkState::degraded) continue;
    const LinkId link = links.cables()[i].link;
    const std::string name = t.link_text(link);
    slow.push_back({.subject_kind = "link",
                    .subject_id = name,
                    .text = "link " + name + " runs at " + rate_text(observed.rates().of(i)) + ", accepted is " +
                            rate_text(t.rate(link)) + ": what it carries is counted at the lower one"});
    if (slow.size() <= kMaxLinkAlarms) slow.back().jobs = context.jobs.at(state, t, link);
  }
  if (slow.size() <= kMaxLinkAlarms) return slow;
  Alarm all{.subject_kind = "subnet", .subject_id = context.options.subnet};
  all.text = fmt::format("{} links of {} run more slowly than accepted", slow.size(), context.name());
  return {std::move(all)};
}

std::vector<Alarm> isolated_switches(const SubnetLinks& links, const IsolatedSwitches& isolated,
                                     const SwitchPresences& presences, const CutOffSwitches& cut_off) {
  std::vector<Alarm> alarms;
  const auto add = [&](const std::string& name, std::string text) {
    alarms.push_back({.subject_kind = "switch",
                      .subject_id = name,
                      .severity = AlarmSeverity::critical,
                      .text = "switch " + name + " " + std::move(text)});
  };
  for (const SwitchId sw : links.switches()) {
    const std::string name(links.topology()->name(sw));
    if (presences.is_gone(sw)) {
      if (!cut_off.contains(sw)) add(name, "is gone: no cable leads to it");
    } else if (const auto reason = isolated.find(sw); reason != isolated.end()) {
      add(name, reason->second + "; it is left out until it answers");
    } else if (presences.of(sw) == SwitchPresence::silent) {
      add(name, "does not answer; it is left out until it does");
    }
  }
  return alarms;
}

// What flapping does to its use. Without times and counts, which would raise the alarm again and again.
std::string use_text(const FlappingCable& link, SubnetMode mode) {
  if (link.is_held) return "it is not used until it is calm";
  if (mode != SubnetMode::direct) return "it is used all the same, as another subnet manager routes here";
  if (!link.why_used) return "it is not used while it is down";
  switch (*link.why_used) {
    case health::WhyUsed::last_path:
      return "it is used all the same, as nothing else joins what it joins";
    case health::WhyUsed::share:
      return "it is used all the same, as enough links of its switches are held";
    case health::WhyUsed::routes:
      break;
  }
  return "it is used all the same, as there are no routes without it";
}

}  // namespace

void show_links(const SubnetContext& context, const SubnetLinks& links, const ObservedLinks& observed) {
  SubnetStatus& status = context.status();
  status.links = observed.counts();
  status.sights = std::make_shared<const LinkSights>(
      LinkSights{.topology = links.topology(),
                 .flapping = {observed.flapping().begin(), observed.flapping().end()},
                 .unseen = observed.unseen(),
                 .pairs_lost_by_held = observed.pairs_lost_by_held()});
  std::vector<Alarm> flapping;
  for (const FlappingCable& one : observed.flapping().first(std::min(observed.flapping().size(), kMaxLinkAlarms))) {
    const std::string name = links.topology()->link_text(one.link);
    flapping.push_back({.subject_kind = "link",
                        .subject_id = name,
                        .text = "link " + name + " goes up and down; " + use_text(one, context.mode())});
  }
  context.alarms().set("link.flapping", std::move(flapping));
  std::vector<Alarm> restarting;
  for (const auto& one : observed.restarting()) {
    const std::string name(links.topology()->name(one.id));
    restarting.push_back({.subject_kind = "switch",
                          .subject_id = name,
                          .text = "switch " + name +
                                  " loses all its cables and comes back again and again; they are "
                                  "used whenever they are up"});
  }
  context.alarms().set("switch.flapping", std::move(restarting));
}

void show_differences(const SubnetContext& context, const ClusterState& state, const SubnetLinks& links,
                      const ObservedLinks& observed, const IsolatedSwitches& isolated,
                      const SwitchPresences& presences) {
  SubnetStatus& status = context.status();
  const Topology& found = status.discovered ? *status.discovered : *links.topology();
  status.switches = found.switches().size();
  status.adapters = found.hcas().size();
  if (!links.found()) return;
  status.differences = links.differences(context.driver(), found, !context.writes(), status.difference_count);
  const CutOffSwitches cut_off = cut_off_of(state, links, observed);
  context.alarms().set("link.down", down_links(context, state, links, observed, cut_off));
  context.alarms().set("link.slow", slow_links(context, state, links, observed));
  context.alarms().set("switch.isolated", isolated_switches(links, isolated, presences, cut_off));
  const auto others = std::ranges::count_if(status.differences, [](const FabricDifference& difference) {
    return difference.kind == FabricDifference::Kind::other_link ||
           difference.kind == FabricDifference::Kind::unknown_device;
  });
  context.alarms().set_subnet(
      "subnet.differs", AlarmSeverity::warning,
      others == 0
          ? ""
          : fmt::format("the cabling of {} differs from the accepted topology in {}{}: railweave subnets show {}",
                        context.name(), others, others == 1 ? " place" : " places", context.options.subnet));
}

void show_unread_counters(const SubnetContext& context, const SubnetLinks& links, const SubnetHealth& health) {
  const Topology& t = *links.topology();
  const std::int64_t lasting_us = 3 * context.options.counters_every.count() * 1000;
  std::vector<IsolatedDevice> unread;
  std::vector<Alarm> alarms;
  for (const SubnetHealth::Unread& one : health.unread(context.now(), 0)) {
    if (!context.driver().is_present(one.device)) continue;  // which other alarms say
    const SwitchId sw = t.find_switch(one.device);
    const HcaId hca = sw ? HcaId() : t.find_hca(one.device);
    const std::string name(sw ? t.name(sw) : hca ? t.description(hca) : std::string_view());
    unread.push_back({one.device, name, one.reason, context.with.unix_us() - one.for_us});
    if (one.for_us < lasting_us || alarms.size() == kMaxUnreadAlarms) continue;
    alarms.push_back(
        {.subject_kind = sw ? "switch" : "adapter",
         .subject_id = sw ? std::string(t.name(sw)) : to_string(one.device),
         .severity = AlarmSeverity::warning,
         .text = fmt::format(
             "counters of {}{} are not read: it {} to performance management, which is routed by LID. Errors and load "
             "at its ports are not seen; there may be no route to its LID from here, or from it back",
             sw ? "switch " : "adapter ", name, one.reason)});
  }
  context.alarms().set("counters.unread", std::move(alarms));
  context.status().discovery.counters_unread = std::move(unread);
  context.board.publish();
}

}  // namespace railweave::control
