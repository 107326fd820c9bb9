#include "services/rest/handlers/live/live_metrics.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "services/rest/json/fabric/alarm.h"

namespace railweave::api {
namespace {

using Type = PrometheusText::Type;
using control::SubnetPhase;

constexpr double kMicros = 1e6;  // in a second

constexpr std::array kPhases = {SubnetPhase::offline,  SubnetPhase::discovering, SubnetPhase::unaccepted,
                                SubnetPhase::watching, SubnetPhase::programming, SubnetPhase::synced,
                                SubnetPhase::partial,  SubnetPhase::blind};

void render_administration(const std::vector<control::SubnetStatusPtr>& subnets, PrometheusText& text) {
  const auto each = [&](std::string_view name, Type type, std::string_view help, auto value) {
    text.family(name, type, help);
    for (const auto& status : subnets) text.sample({{"subnet", status->subnet}}, value(*status));
  };
  text.family(
      "railweave_subnet_administration_requests_total", Type::counter,
      "Requests to a subnet's administration in direct mode, since it was last connected; refused: answered with a "
      "status, dropped: not answered.");
  for (const auto& status : subnets) {
    if (!status->administration) continue;
    const control::AdministrationStatus& asked = *status->administration;
    for (const auto& [answer, count] :
         {std::pair("ok", asked.answered), std::pair("refused", asked.refused), std::pair("dropped", asked.dropped)}) {
      text.sample({{"subnet", status->subnet}, {"answer", answer}}, count);
    }
  }
  text.family("railweave_subnet_administration_asked_total", Type::counter,
              "The same requests by what they ask for, without those dropped; refused: with a status, unsupported: as "
              "there is no "
              "such attribute, method or version. Only what was asked for at least once.");
  for (const auto& status : subnets) {
    if (!status->administration) continue;
    for (const auto& asked : status->administration->asked) {
      for (const auto& [answer, count] : {std::pair("ok", asked.answered), std::pair("refused", asked.refused),
                                          std::pair("unsupported", asked.unsupported)}) {
        text.sample({{"subnet", status->subnet}, {"attribute", std::string(asked.attribute)}, {"answer", answer}},
                    count);
      }
    }
  }
  each("railweave_subnet_administration_subscriptions", Type::gauge,
       "Subscriptions of a subnet's clients to notices, in direct mode.",
       [](const auto& status) { return status.administration ? status.administration->subscriptions : 0; });
  text.family("railweave_subnet_administration_reports_total", Type::counter,
              "Reports of notices to a subnet's clients; all, those confirmed, and those given up as the client was "
              "silent or left, or "
              "as too many waited.");
  for (const auto& status : subnets) {
    if (!status->administration) continue;
    const control::AdministrationStatus& told = *status->administration;
    for (const auto& [result, count] : {std::pair("sent", told.reports), std::pair("confirmed", told.reports_confirmed),
                                        std::pair("given_up", told.reports_given_up)}) {
      text.sample({{"subnet", status->subnet}, {"result", result}}, count);
    }
  }
  each("railweave_subnet_administration_wrong_keys_total", Type::counter,
       "Requests to a subnet's administration that showed another key than its own.",
       [](const auto& status) { return status.administration ? status.administration->wrong_keys : 0; });
}

// Of subnets whose routes use several lanes, once a repair was audited.
void render_old_levels(const std::vector<control::SubnetStatusPtr>& subnets, PrometheusText& text) {
  const auto each = [&](std::string_view name, std::string_view help, auto value) {
    text.family(name, Type::gauge, help);
    for (const auto& status : subnets) {
      if (status->lanes && status->lanes->old_levels) {
        text.sample({{"subnet", status->subnet}}, value(*status->lanes));
      }
    }
  };
  each("railweave_subnet_old_levels_loop_lanes",
       "Virtual lanes on which senders that keep the service levels from before the last repair close credit loops.",
       [](const control::LanesStatus& lanes) { return std::uint64_t{lanes.old_levels->loop_lanes}; });
  each("railweave_subnet_old_levels_audited_timestamp_seconds", "When that was audited, in seconds since 1970.",
       [](const control::LanesStatus& lanes) {
         return static_cast<std::uint64_t>(lanes.old_levels_audited_us / 1'000'000);
       });
}

void render_subnets(const std::vector<control::SubnetStatusPtr>& subnets, PrometheusText& text) {
  const auto each = [&](std::string_view name, Type type, std::string_view help, auto value) {
    text.family(name, type, help);
    for (const auto& status : subnets) text.sample({{"subnet", status->subnet}}, value(*status));
  };
  text.family("railweave_subnet_phase", Type::gauge, "1 for the phase that a live subnet is in.");
  for (const auto& status : subnets) {
    for (const auto phase : kPhases) {
      text.sample({{"subnet", status->subnet}, {"phase", control::to_string(phase)}},
                  static_cast<std::uint64_t>(status->phase == phase ? 1 : 0));
    }
  }
  text.family("railweave_subnet_links", Type::gauge, "Links found in a live subnet.");
  for (const auto& status : subnets) {
    const auto links = status->links_now();
    text.sample({{"subnet", status->subnet}, {"state", "up"}}, links.up);
    text.sample({{"subnet", status->subnet}, {"state", "down"}}, links.down);
    text.sample({{"subnet", status->subnet}, {"state", "damped"}}, links.damped);
    text.sample({{"subnet", status->subnet}, {"state", "unknown"}}, links.unknown);
  }
  each("railweave_subnet_blocks_wanted", Type::gauge, "Blocks of forwarding tables that a live subnet should have.",
       [](const auto& status) { return status.blocks_wanted; });
  each("railweave_subnet_blocks_differing", Type::gauge, "Blocks that differ from what is wanted, as last read.",
       [](const auto& status) { return status.blocks_differing; });
  each("railweave_subnet_isolated_devices", Type::gauge, "Switches that do not answer.",
       [](const auto& status) { return static_cast<std::uint64_t>(status.isolated.size()); });
  each("railweave_subnet_unread_devices", Type::gauge, "Devices that are there and whose counters cannot be read.",
       [](const auto& status) { return static_cast<std::uint64_t>(status.discovery.counters_unread.size()); });
  each("railweave_subnet_changed_ports", Type::gauge,
       "Ports whose tables for classes and partitions another program has changed.",
       [](const auto& status) { return status.qos ? status.qos->ports_changed : 0; });
  each("railweave_subnet_differences", Type::gauge, "Differences between what was found and the accepted topology.",
       [](const auto& status) { return status.difference_count; });
  each("railweave_subnet_lost_pairs", Type::gauge,
       "Pairs of end ports that cannot reach each other by the tables that switches hold, though cables connect them.",
       [](const auto& status) { return status.discovery.walk.lost_pairs; });
  each("railweave_subnet_repairs_total", Type::counter, "Times that tables were programmed since the service started.",
       [](const auto& status) { return status.repairs_total; });
  render_old_levels(subnets, text);
  render_administration(subnets, text);
  each("railweave_subnet_last_repair_seconds", Type::gauge,
       "From the report of what caused it to the last block read back; 0 before the first.", [](const auto& status) {
         return status.repairs.empty() ? 0 : static_cast<double>(status.repairs.back().programmed_us) / kMicros;
       });
}

// By severity, which is always there, and by kind, which is not. Muted and acknowledged ones are counted, and told apart.
void render_alarms(const control::ClusterState& state, PrometheusText& text) {
  std::array<std::uint64_t, 2> alarms{};
  std::map<std::tuple<std::string_view, control::AlarmSeverity, bool>, std::uint64_t> kinds;
  for (const auto& [id, alarm] : *state.alarms) {
    ++alarms[static_cast<std::size_t>(alarm.severity)];
    const auto* mute = state.mute(id);
    const bool quiet = alarm.acknowledged() || (mute != nullptr && mute->severity >= alarm.severity);
    ++kinds[{alarm.kind, alarm.severity, quiet}];
  }
  text.family("railweave_alarms", Type::gauge, "Present alarms.");
  for (const auto severity : {control::AlarmSeverity::warning, control::AlarmSeverity::critical}) {
    text.sample({{"severity", to_string(severity)}}, alarms[static_cast<std::size_t>(severity)]);
  }
  text.family("railweave_alarms_by_kind", Type::gauge,
              "Present alarms by kind; quiet: a person has acknowledged or muted them.");
  for (const auto& [key, count] : kinds) {
    const auto& [kind, severity, quiet] = key;
    text.sample({{"kind", kind}, {"severity", to_string(severity)}, {"quiet", quiet ? "true" : "false"}}, count);
  }
}

}  // namespace

void render_live(const ControlPlane& plane, PrometheusText& text) {
  render_subnets(plane.live.subnets(), text);
  const auto state = plane.loop.state();
  render_alarms(*state, text);
  std::array<std::uint64_t, 3> drains{};
  for (const auto& [target, drain] : *state->drains) ++drains[static_cast<std::size_t>(drain.state)];
  text.family("railweave_drains", Type::gauge, "Links, switches and nodes with a drain, by its state.");
  for (const auto reached :
       {control::DrainState::requested, control::DrainState::rerouting, control::DrainState::drained}) {
    text.sample({{"state", control::to_string(reached)}}, drains[static_cast<std::size_t>(reached)]);
  }
}

void render_links(const ControlPlane& plane, PrometheusText& text) {
  const auto state = plane.loop.state();
  const auto& topology = state->topology();
  struct Port {
    std::string link, port;
    control::PortCounters counters;
  };
  std::vector<Port> ports;
  std::size_t shown = 0;
  std::uint64_t left_out = 0;
  for (const auto link : topology.links()) {
    bool read = false;
    for (const auto port : {topology.a(link), topology.b(link)}) {
      auto counters = plane.live.counters(topology, port);
      if (!counters) continue;
      read = true;
      if (shown < kMaxMetricLinks) ports.push_back({topology.link_text(link), topology.port_text(port), *counters});
    }
    if (read) ++(shown < kMaxMetricLinks ? shown : left_out);
  }
  const auto each = [&](std::string_view name, Type type, std::string_view help, auto value) {
    text.family(name, type, help);
    for (const auto& port : ports) text.sample({{"link", port.link}, {"port", port.port}}, value(port.counters));
  };
  each("railweave_port_sent_bytes_total", Type::counter, "Bytes that a port sent.",
       [](const auto& counters) { return counters.sent_bytes; });
  each("railweave_port_symbol_errors_total", Type::counter, "Symbol errors that a port saw.",
       [](const auto& counters) { return counters.symbol_errors; });
  text.family("railweave_port_utilisation_ratio", Type::gauge, "Share of a link's rate that a port sent or received.");
  for (const auto& port : ports) {
    if (port.counters.utilisation) {
      text.sample({{"link", port.link}, {"port", port.port}}, *port.counters.utilisation);
    }
  }
  text.single("railweave_links_left_out", Type::gauge, "Links beyond the limit of what is shown here.", left_out);
}

}  // namespace railweave::api
