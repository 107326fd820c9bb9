#include "services/control/decide/cut_off_alarms.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "services/control/state/cluster_state.h"
#include "services/control/views/host_jobs.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr const char* kKind = "hosts.cutOff";
constexpr std::size_t kMaxParts = 64;  // further ones share an alarm
constexpr std::size_t kMaxNamed = 16;

struct Part {
  std::vector<SwitchId> switches;
  std::vector<HostId> hosts;          // ascending; without drained ones, which expect no traffic
  std::vector<std::string> adapters;  // of no host
  std::vector<HostId> drained;        // ascending
};

// A cable that leads out of it is down: drains alone are what operators asked for.
bool has_failed(const ClusterState& state, const Part& part) {
  const Topology& t = state.topology();
  return std::ranges::any_of(part.switches, [&](SwitchId sw) {
    return std::ranges::any_of(t.ports(sw), [&](PortId port) {
      const LinkId link = t.link(port);
      return link && t.joins_switches(link) && !state.view.alive(link);
    });
  });
}

void sort_unique(std::vector<HostId>& hosts) {
  std::ranges::sort(hosts);
  hosts.erase(std::ranges::unique(hosts).begin(), hosts.end());
}

std::vector<Part> parts_of(const ClusterState& state) {
  const Topology& t = state.topology();
  std::vector<Part> parts(state.cut_off->parts());
  for (const SwitchId sw : t.switches()) {
    if (const auto part = state.cut_off->part(sw)) parts[part - 1].switches.push_back(sw);
  }
  for (const PortId port : t.hca_ports()) {
    const SwitchId sw = t.link(port) ? t.switch_of(t.peer(port)) : SwitchId();
    const auto part = sw ? state.cut_off->part(sw) : 0;
    const HcaId hca = t.hca_of(port);
    if (part == 0 || t.kind(hca) == HcaKind::aggregation) continue;
    if (const HostId host = t.host(hca); !host) {
      parts[part - 1].adapters.push_back(fmt::format("'{}'", t.description(hca)));
    } else {
      (state.view.drained(host) ? parts[part - 1].drained : parts[part - 1].hosts).push_back(host);
    }
  }
  for (Part& part : parts) {
    sort_unique(part.hosts);
    sort_unique(part.drained);
  }
  std::erase_if(parts, [&](const Part& part) {
    return part.hosts.empty() && part.adapters.empty() && (part.drained.empty() || !has_failed(state, part));
  });
  return parts;
}

std::string subnet_name(const Topology& t, const Part& part) {
  const SubnetId subnet = t.subnet(part.switches.front());
  return subnet ? std::string(t.name(subnet)) : std::string();
}

std::string names_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNamed); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kMaxNamed ? fmt::format("{} and {} more", text, names.size() - kMaxNamed) : text;
}

Alarm alarm_of(const ClusterState& state, const HostJobs& jobs, const Part& part) {
  const Topology& t = state.topology();
  std::vector<std::string> hosts;
  std::set<std::string> on_them;
  for (const HostId host : part.hosts) {
    hosts.emplace_back(t.name(host));
    for (const JobPtr& job : jobs.on(host)) {
      if (on_them.size() < Alarm::kMaxJobs) on_them.insert(to_string(job->id));
    }
  }
  hosts.insert(hosts.end(), part.adapters.begin(), part.adapters.end());
  const bool is_all_drained = hosts.empty();
  if (is_all_drained) {
    for (const HostId host : part.drained) hosts.emplace_back(t.name(host));
  }
  std::vector<std::string> switches;
  for (const SwitchId sw : part.switches) switches.emplace_back(t.name(sw));
  const std::string subnet = subnet_name(t, part);
  Alarm alarm{.kind = kKind,
              .subject_kind = "switch",
              .subject_id = switches.front(),
              .subnet = subnet,
              .severity = is_all_drained ? AlarmSeverity::warning : AlarmSeverity::critical};
  alarm.text =
      fmt::format("{}{}{} cut off from {} with {}{}: {}", hosts.size(), is_all_drained ? " drained" : "",
                  hosts.size() == 1 ? " host is" : " hosts are", subnet.empty() ? "the rest" : "subnet " + subnet,
                  switches.size() == 1 ? "switch " : "switches ", names_of(switches), names_of(hosts));
  if (!on_them.empty()) {
    std::vector<MessagePart> named;
    for (const auto& job : on_them) {
      if (named.size() < kMaxNamed) named.push_back(job_part(job));
    }
    alarm.text += "; jobs ";
    append_list(alarm.text, std::move(named));
    if (on_them.size() > kMaxNamed) alarm.text += fmt::format(" and {} more", on_them.size() - kMaxNamed);
  }
  alarm.jobs.assign(on_them.begin(), on_them.end());
  return alarm;
}

}  // namespace

std::vector<EventBody> cut_off_alarm_changes(const ClusterState& state) {
  std::map<std::string, Alarm> wanted;
  if (state.cut_off->parts() != 0) {
    const HostJobs jobs(state);
    const auto parts = parts_of(state);
    for (std::size_t i = 0; i < std::min(parts.size(), kMaxParts); ++i) {
      Alarm alarm = alarm_of(state, jobs, parts[i]);
      wanted.insert_or_assign(alarm.id(), std::move(alarm));
    }
    if (parts.size() > kMaxParts) {
      const Topology& t = state.topology();
      const std::string subnet = subnet_name(t, parts[kMaxParts]);
      Alarm more{.kind = kKind, .subject_kind = "subnet", .subject_id = subnet, .subnet = subnet};
      more.severity = AlarmSeverity::critical;
      more.text = fmt::format("{} more parts are cut off, the first from subnet {}", parts.size() - kMaxParts, subnet);
      wanted.insert_or_assign(more.id(), std::move(more));
    }
  }
  std::vector<EventBody> events;
  const std::string prefix = std::string(kKind) + ":";
  for (auto at = state.alarms->lower_bound(prefix); at != state.alarms->end() && at->first.starts_with(prefix); ++at) {
    const auto same = wanted.find(at->first);
    if (same == wanted.end()) {
      events.emplace_back(AlarmCleared{at->first});
    } else if (same->second.text == at->second.text) {
      wanted.erase(same);
    }
  }
  for (auto& [id, alarm] : wanted) {
    if (state.alarms->size() >= kMaxAlarms && !state.alarms->contains(id)) break;  // it would be dropped
    events.emplace_back(AlarmRaised{std::move(alarm)});
  }
  return events;
}

}  // namespace railweave::control
