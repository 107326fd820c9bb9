#include "services/control/live/links/cut_off.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <utility>

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr std::size_t kMostParts = 64;  // further ones share an alarm
constexpr std::size_t kMostNamed = 16;

// Switches that live links join, by the smallest of them.
class Parts {
 public:
  Parts(const SubnetLinks& links, const ObservedLinks& observed) : root_(links.topology()->switches().size()) {
    std::iota(root_.begin(), root_.end(), 0U);
    const Topology& t = *links.topology();
    for (std::size_t i = 0; i < links.cables().size(); ++i) {
      const LinkId link = links.cables()[i].link;
      if (t.joins_switches(link) && observed.states()[i] != LinkState::down) {
        join(t.switch_of(t.a(link)), t.switch_of(t.b(link)));
      }
    }
  }
  [[nodiscard]] std::uint32_t of(SwitchId sw) const {
    std::uint32_t at = static_cast<std::uint32_t>(sw.index());
    while (root_[at] != at) at = root_[at];
    return at;
  }

 private:
  void join(SwitchId a, SwitchId b) {
    const std::uint32_t one = of(a);
    const std::uint32_t other = of(b);
    root_[std::max(one, other)] = std::min(one, other);
  }
  std::vector<std::uint32_t> root_;
};

struct Part {
  std::vector<SwitchId> switches;
  std::vector<HcaId> adapters;
};

std::string names_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMostNamed ? text + " and " + std::to_string(names.size() - kMostNamed) + " more" : text;
}

Alarm alarm_of(const SubnetContext& context, const ClusterState& state, const Topology& t, const Part& part) {
  std::vector<std::string> hosts;
  std::set<std::string> jobs;
  std::set<HostId> seen;
  const bool has_jobs = state.view.topology_ptr().get() == &t;
  for (const HcaId hca : part.adapters) {
    const HostId host = t.host(hca);
    if (!host) {
      hosts.push_back("'" + std::string(t.description(hca)) + "'");
    } else if (seen.insert(host).second) {
      hosts.emplace_back(t.name(host));
      if (!has_jobs) continue;
      for (const JobPtr& job : context.jobs.of(state).on(host)) {
        if (jobs.size() < Alarm::kMaxJobs) jobs.insert(to_string(job->id));
      }
    }
  }
  std::vector<std::string> switches;
  for (const SwitchId sw : part.switches) switches.emplace_back(t.name(sw));
  Alarm alarm{.subject_kind = "switch", .subject_id = switches.front(), .severity = AlarmSeverity::critical};
  alarm.text = std::to_string(hosts.size()) + (hosts.size() == 1 ? " host is" : " hosts are") + " cut off from " +
               context.name() + " with " + (switches.size() == 1 ? "switch " : "switches ") + names_of(switches) +
               ": " + names_of(hosts);
  if (!jobs.empty()) alarm.text += "; jobs " + names_of({jobs.begin(), jobs.end()});
  alarm.jobs.assign(jobs.begin(), jobs.end());
  return alarm;
}

}  // namespace

CutOffParts find_cut_off(const SubnetContext& context, const ClusterState& state, const SubnetLinks& links,
                         const ObservedLinks& observed) {
  CutOffParts found;
  if (observed.empty()) return found;  // a topology that was just accepted
  const Topology& t = *links.topology();
  const Parts joined(links, observed);
  std::vector<Part> parts(t.switches().size());
  for (const SwitchId sw : links.switches()) parts[joined.of(sw)].switches.push_back(sw);
  for (const SubnetLinks::Cable& cable : links.cables()) {
    if (t.joins_switches(cable.link)) continue;
    const PortId end = t.is_switch_port(t.a(cable.link)) ? t.b(cable.link) : t.a(cable.link);
    if (const HcaId hca = t.hca_of(end)) parts[joined.of(t.find_switch(cable.a))].adapters.push_back(hca);
  }
  const auto main = std::ranges::max_element(
      parts, {}, [](const Part& part) { return std::pair(part.adapters.size(), part.switches.size()); });
  // Where no two switches are joined nothing is up yet: that is not a part that was lost.
  if (main == parts.end() || main->switches.size() < 2) return found;
  std::size_t more = 0;
  for (Part& part : parts) {
    if (&part == &*main || part.adapters.empty()) continue;
    found.is_covered.resize(t.switches().size(), false);
    for (const SwitchId sw : part.switches) found.is_covered[sw.index()] = true;
    if (found.alarms.size() == kMostParts) {
      ++more;
    } else {
      found.alarms.push_back(alarm_of(context, state, t, part));
    }
  }
  if (more == 0) return found;
  found.alarms.push_back({.subject_kind = "subnet",
                          .subject_id = context.options.subnet,
                          .severity = AlarmSeverity::critical,
                          .text = std::to_string(more) + " more parts of " + context.name() + " are cut off"});
  return found;
}

}  // namespace railweave::control
