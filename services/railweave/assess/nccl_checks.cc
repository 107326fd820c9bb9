#include "services/railweave/assess/nccl_checks.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include <fmt/core.h>

namespace railweave::cli {
namespace {

constexpr std::size_t kMaxHostsChecked = 4096;

}  // namespace

CheckedSite::CheckedSite(const SiteView& site) : view(site), adapters(*site.topology) {
  for (const JobEnvironment& environment : site.environments.jobs) {
    if (environment.whole) continue;
    for (const auto& [name, value] : environment.variables) told_by_files.insert(name);
    told_by_files.insert(environment.unknown.begin(), environment.unknown.end());
  }
}

bool CheckedEnvironment::lacks(const std::string& name) const {
  if (!environment.whole || environment.has(name) || !environment.knows(name)) return false;
  return !checks.told_by_files.contains(name) && !checks.told_by_files.contains("*");
}

bool CheckedEnvironment::is_on(const std::string& name) const {
  return std::strtoll(environment.value(name).c_str(), nullptr, 10) != 0;
}

std::string CheckedEnvironment::setting(const char* name) const {
  return fmt::format("{}={}", name, environment.value(name));
}

Advice CheckedEnvironment::advice(const char* code, const char* severity, std::string title) const {
  return {.code = code,
          .severity = severity,
          .title = std::move(title),
          .sure = {},
          .cost = {},
          .action = {},
          .command = environment.command,
          .objects = {environment.job}};
}

CheckedEnvironment checked_environment(CheckedSite& site, const JobEnvironment& environment) {
  CheckedEnvironment checked{
      .checks = site, .site = site.view, .environment = environment, .hosts = {}, .host_ids = {}};
  const fabric::Topology& t = *site.view.topology;
  if (environment.hosts.empty()) {
    for (const fabric::HostId host : t.hosts()) {
      if (t.kind(host) == fabric::HostKind::compute) checked.host_ids.push_back(host);
    }
  }
  for (const std::string& name : environment.hosts) {
    if (const fabric::HostId host = host_named(t, name)) checked.host_ids.push_back(host);
  }
  if (checked.host_ids.size() > kMaxHostsChecked) checked.host_ids.resize(kMaxHostsChecked);
  for (const fabric::HostId host : checked.host_ids) {
    checked.gpus_per_host = std::max(checked.gpus_per_host, static_cast<double>(t.gpus(host).size()));
    if (!site.view.own) continue;
    if (const HostAdapters& adapters = site.adapters.at(host); !adapters.ports.empty()) {
      checked.hosts.emplace_back(adapters);
    }
  }
  if (environment.gpus_per_host > 0) checked.gpus_per_host = environment.gpus_per_host;
  return checked;
}

std::vector<Advice> environment_advice(const SiteView& site) {
  CheckedSite checks(site);
  std::vector<Advice> all;
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const JobEnvironment& environment : site.environments.jobs) {
    const CheckedEnvironment checked = checked_environment(checks, environment);
    std::vector<Advice> found;
    for (const auto check : {check_adapters, check_transports, check_marks, check_tuning}) check(checked, found);
    for (Advice& one : found) {
      const auto [at, added] = known.try_emplace({one.code, one.title}, all.size());
      if (added) all.push_back(std::move(one));
      if (!added) all[at->second].objects.push_back(environment.job);
    }
  }
  return all;
}

}  // namespace railweave::cli
