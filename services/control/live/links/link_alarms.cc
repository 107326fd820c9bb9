#include "services/control/live/links/link_alarms.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "services/control/live/links/cut_off.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr std::size_t kMostLinkAlarms = 64;  // further links that are down share one

std::vector<Alarm> down_links(const SubnetContext& context, const ClusterState& state, const SubnetLinks& links,
                              const ObservedLinks& observed, const CutOffParts& cut_off) {
  std::vector<Alarm> down;
  const Topology& t = *links.topology();
  for (std::size_t i = 0; i < observed.states().size(); ++i) {
    if (!observed.was_found_down(i)) continue;
    const LinkId link = links.cables()[i].link;
    if (cut_off.covers(t.switch_of(t.a(link))) || cut_off.covers(t.switch_of(t.b(link)))) continue;
    const std::string name = t.link_text(link);
    down.push_back({.subject_kind = "link", .subject_id = name, .text = "link " + name + " is down"});
    if (down.size() > kMostLinkAlarms) continue;
    down.back().jobs = context.jobs.at(state, t, link);
    if (!down.back().jobs.empty()) down.back().severity = AlarmSeverity::critical;
  }
  if (down.size() <= kMostLinkAlarms) return down;
  Alarm all{.subject_kind = "subnet", .subject_id = context.options.subnet, .severity = AlarmSeverity::critical};
  all.text = std::to_string(down.size()) + " links of " + context.name() + " are down";
  return {std::move(all)};
}

std::vector<Alarm> isolated_switches(const SubnetLinks& links, const IsolatedSwitches& isolated,
                                     const SwitchPresences& presences, const CutOffParts& cut_off) {
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
      if (!cut_off.covers(sw)) add(name, "is gone: no cable leads to it");
    } else if (const auto reason = isolated.find(sw); reason != isolated.end()) {
      add(name, reason->second + "; it is left out until it answers");
    } else if (presences.of(sw) == SwitchPresence::silent) {
      add(name, "does not answer; it is left out until it does");
    }
  }
  return alarms;
}

}  // namespace

void raise_flapping(const SubnetContext& context, const SubnetLinks& links, const ObservedLinks& observed) {
  std::vector<Alarm> flapping;
  for (const std::size_t cable : observed.damped()) {
    const std::string name = links.topology()->link_text(links.cables()[cable].link);
    flapping.push_back({.subject_kind = "link",
                        .subject_id = name,
                        .text = "link " + name + " goes up and down; it is not used until it is calm"});
  }
  context.alarms().set("link.flapping", std::move(flapping));
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
  CutOffParts cut_off = find_cut_off(context, state, links, observed);
  context.alarms().set("link.down", down_links(context, state, links, observed, cut_off));
  context.alarms().set("switch.isolated", isolated_switches(links, isolated, presences, cut_off));
  context.alarms().set("hosts.cutOff", std::move(cut_off.alarms));
  const auto others = std::ranges::count_if(status.differences, [](const FabricDifference& difference) {
    return difference.kind == FabricDifference::Kind::other_link ||
           difference.kind == FabricDifference::Kind::unknown_device;
  });
  context.alarms().set_subnet("subnet.differs", AlarmSeverity::warning,
                              others == 0
                                  ? ""
                                  : "the cabling of " + context.name() + " differs from the accepted topology in " +
                                        std::to_string(others) + (others == 1 ? " place" : " places") +
                                        ": railweave subnets show " + context.options.subnet);
}

}  // namespace railweave::control
