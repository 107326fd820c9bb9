#include "services/control/decide/site_link_alarms.h"

#include <array>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/topology/site_link_name.h"
#include "services/control/views/site_link_jobs.h"

namespace railweave::control {
namespace {

using fabric::LinkState;
using fabric::SiteLinkId;

constexpr std::array<const char*, 2> kKinds = {"link.down", "link.degraded"};

// What is wrong, without the jobs, which change meanwhile.
std::string fault_text(const ClusterState& state, SiteLinkId link) {
  const auto& topology = state.topology();
  const auto& joins = topology.site_links()[link.index()];
  std::string text = fmt::format("link {} between the sites {} and {} is ", fabric::site_link_text(topology, link),
                                 topology.name(joins.a), topology.name(joins.b));
  if (state.view.state(link) == LinkState::down) return text + "down";
  text += "degraded";
  if (state.view.links_up(link) == 0) return text;
  return fmt::format("{}: {} of its {} parallel links are up", text, state.view.links_up(link), joins.links);
}

Alarm alarm_of(const ClusterState& state, SiteLinkId link) {
  const bool down = state.view.state(link) == LinkState::down;
  Alarm alarm;
  alarm.kind = down ? kKinds[0] : kKinds[1];
  alarm.subject_kind = "link";
  alarm.subject_id = fabric::site_link_text(state.topology(), link);
  alarm.text = fault_text(state, link);
  const auto jobs = jobs_over(state, link);
  for (const auto& one : jobs) {
    if (alarm.jobs.size() < Alarm::kMaxJobs) alarm.jobs.push_back(to_string(one.job->id));
  }
  if (down && !jobs.empty()) alarm.severity = AlarmSeverity::critical;
  if (jobs.empty()) return alarm;
  alarm.text += fmt::format("; {}{} across it", jobs.size(), jobs.size() == 1 ? " job runs" : " jobs run");
  if (const auto named = needing(jobs); down && !named.empty()) alarm.text += ", without another route: " + named;
  return alarm;
}

}  // namespace

std::vector<EventBody> site_link_alarm_changes(const ClusterState& state) {
  std::vector<EventBody> events;
  std::set<std::string> standing;
  for (const char* kind : kKinds) {
    const std::string prefix = std::string(kind) + ":";
    for (auto at = state.alarms->lower_bound(prefix); at != state.alarms->end() && at->first.starts_with(prefix);
         ++at) {
      const Alarm& alarm = at->second;
      if (!alarm.subnet.empty() || alarm.subject_kind != "link") continue;
      const auto link = fabric::find_site_link(state.topology(), alarm.subject_id);
      const auto wanted = kind == kKinds[0] ? LinkState::down : LinkState::degraded;
      if (!link || state.view.state(link) != wanted) {
        events.emplace_back(AlarmCleared{at->first});
      } else if (const auto fault = fault_text(state, link);
                 alarm.text.whole_text() == fault || alarm.text.whole_text().starts_with(fault + ";")) {
        standing.insert(alarm.subject_id);
      }
    }
  }
  for (const auto link : fabric::site_link_ids(state.topology())) {
    if (state.view.state(link) == LinkState::up) continue;
    if (standing.contains(fabric::site_link_text(state.topology(), link))) continue;
    Alarm alarm = alarm_of(state, link);
    if (state.alarms->size() >= kMaxAlarms && !state.alarms->contains(alarm.id())) break;  // it would be dropped
    events.emplace_back(AlarmRaised{std::move(alarm)});
  }
  return events;
}

}  // namespace railweave::control
