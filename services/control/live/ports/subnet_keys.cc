#include "services/control/live/ports/subnet_keys.h"

#include <algorithm>

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr std::int64_t kUsPerMs = 1000;
constexpr std::int64_t kShownUs = 3'600'000'000;  // how long an alarm about something that is over stands
constexpr std::size_t kNamed = 3;

}  // namespace

std::string SubnetKeys::name(Guid device) const {
  const TopologyPtr& found = context_.status().discovered;
  if (found) {
    if (const SwitchId sw = found->find_switch(device)) return std::string(found->name(sw));
    if (const HcaId hca = found->find_hca(device)) return std::string(found->description(hca));
  }
  return to_string(device);
}

std::string SubnetKeys::names(const std::vector<PortRef>& ports) const {
  std::string text;
  for (std::size_t i = 0; i < std::min(ports.size(), kNamed); ++i) {
    text += (i == 0 ? "" : ", ") + name(ports[i].device);
  }
  return ports.size() <= kNamed ? text : fmt::format("{} and {} more", text, ports.size() - kNamed);
}

Result<void> SubnetKeys::keep(const ClusterState& state) {
  if (!context_.options.has_key || context_.mode() != SubnetMode::direct) {
    context_.status().discovery.keys.reset();
    return {};
  }
  const std::int64_t now_us = context_.now();
  if (wrong_us_ != 0 && now_us - wrong_us_ > kShownUs) {
    wrong_ = 0;
    wrong_us_ = 0;
    context_.alarms().set_subnet("keys.wrong", AlarmSeverity::warning, "");
  }
  const std::uint64_t generation = state.key_generation(context_.options.subnet);
  const bool is_old = now_us - looked_us_ >= context_.options.look_every.count() * kUsPerMs;
  if (!is_due_ && !is_old && generation == generation_) return {};
  const auto report = context_.driver().keep_keys(generation, false);
  if (!report) return context_.not_written(report.error());
  is_due_ = false;
  generation_ = generation;
  looked_us_ = now_us;
  show(*report);
  return {};
}

void SubnetKeys::give_back() {
  if (!context_.options.has_key || context_.mode() != SubnetMode::direct || generation_ == 0) return;
  // What cannot be reached now keeps its key, and is named in keys.locked or found again where Railweave is in charge later.
  (void)context_.driver().keep_keys(generation_, true);
  generation_ = 0;
  is_due_ = true;
}

void SubnetKeys::show(const ManagementKeysReport& report) {
  context_.status().discovery.keys = KeysStatus{.generation = generation_,
                                                .ports = report.ports,
                                                .held = report.held,
                                                .locked = report.locked.size(),
                                                .without = report.without.size(),
                                                .silent = report.silent.size(),
                                                .seen_us = context_.with.unix_us()};
  const auto set = [this](const char* kind, AlarmSeverity severity, const std::vector<PortRef>& ports,
                          const std::string& text) {
    context_.alarms().set_subnet(
        kind, severity,
        ports.empty() ? "" : plural(ports.size(), "port", "ports") + " of " + context_.name() + " " + text);
  };
  set("keys.locked", AlarmSeverity::critical, report.locked,
      "(" + names(report.locked) +
          ") have a management key that is not known here, and take no change: give the secret that it was made with "
          "as a further "
          "line of the key file, or switch the devices off and on");
  set("keys.notKept", AlarmSeverity::warning, report.without,
      "(" + names(report.without) + ") keep no management key: any host can change them");
  const std::int64_t now_us = context_.now();
  if (!report.replaced.empty()) {
    replaced_us_ = now_us;
    set("keys.replaced", AlarmSeverity::warning, report.replaced,
        "(" + names(report.replaced) +
            ") had a management key that another program had set; they have Railweave's again");
  } else if (replaced_us_ != 0 && now_us - replaced_us_ > kShownUs) {
    replaced_us_ = 0;
    context_.alarms().set_subnet("keys.replaced", AlarmSeverity::warning, "");
  }
}

void SubnetKeys::note(const std::vector<Observation>& wrong_keys) {
  if (wrong_keys.empty()) return;
  wrong_ += wrong_keys.size();
  wrong_us_ = context_.now();
  const Observation& last = wrong_keys.back();
  context_.alarms().set_subnet("keys.wrong", AlarmSeverity::warning,
                               plural(wrong_, "datagram", "datagrams") + " with a wrong management key in " +
                                   context_.name() + ", the last for " + name(last.device) + " from " +
                                   (last.sender.known() ? name(last.sender) : std::string("an unknown device")) +
                                   ": devices ignored them");
}

}  // namespace railweave::control
