#include "services/railweave/lab/qos/sonic_config.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/flow/directed_link.h"
#include "fabric/formats/sonic/sonic_qos.h"
#include "services/railweave/lab/qos/class_percents.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

constexpr double kRoundTripS = 8e-6;  // of a loaded fabric of three tiers; sets where ECN marking begins
constexpr double kUnknownCableM = 5;

// Adds the cabled ports of the switch and their cables; returns the rates of the slowest and the fastest.
std::pair<double, double> add_ports(const fabric::TopologyPtr& cabled, fabric::SwitchId sw, const SonicOptions& options,
                                    fabric::SonicQos& qos) {
  const fabric::Topology& topology = *cabled;
  const auto capacity = fabric::link_capacities_mbps(fabric::FabricView(cabled));
  qos.buffers->asic.memory_bytes = options.buffer_mib << 20U;
  double slowest = 0, rate = 0;
  for (const fabric::PortId port : topology.ports(sw)) {
    if (!topology.peer(port)) continue;
    const auto spec = topology.spec(topology.link(port));
    const std::string name = fmt::format("Ethernet{}", (topology.number(port) - 1) * options.port_step);
    const auto mbps = static_cast<std::int64_t>(capacity[fabric::directed_link(topology, port)]);
    qos.ports.push_back(name);
    qos.buffers->cables.push_back(
        {name, RateMbps(mbps), spec.cable_length_m > 0 ? spec.cable_length_m : kUnknownCableM});
    if (mbps > 0) slowest = slowest == 0 ? static_cast<double>(mbps) : std::min(slowest, static_cast<double>(mbps));
    rate = std::max(rate, static_cast<double>(mbps));
  }
  return {slowest, rate};
}

}  // namespace

std::string sonic_config(const fabric::TopologyPtr& cabled, fabric::SwitchId sw, const fabric::QosClasses& classes,
                         const SonicOptions& options, std::vector<std::string>& notes) {
  if (classes.size() > 8) fail_usage("an Ethernet switch has 8 traffic classes", "give fewer by --classes");
  fabric::SonicQos qos;
  qos.buffers.emplace();
  const auto [slowest, rate] = add_ports(cabled, sw, options, qos);
  const auto lossless = lossless_classes(classes, notes);
  const auto weights = class_percents(classes);
  const auto window = static_cast<std::uint64_t>(rate * 1e6 / 8 * kRoundTripS);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    fabric::SonicClass one{
        .dscp = classes[c].dscp, .traffic_class = fabric::class_number(classes, c), .weight = weights[c]};
    if (one.dscp == kCongestionDscp) {
      one.strict = true;
      one.most_bytes_per_s = static_cast<std::uint64_t>(slowest * 1e6 / 8 * classes[c].share_permille / 1000);
    }
    one.lossless = std::ranges::find(lossless, c) != lossless.end();
    if (one.lossless) {  // ECN before PFC: marks from one window of a link on
      one.ecn_min_bytes = window;
      one.ecn_max_bytes = 4 * window;
    }
    qos.classes.push_back(one);
  }
  const bool has_notifications =
      std::ranges::any_of(classes, [](const auto& one) { return one.dscp == kCongestionDscp; });
  if (!has_notifications && classes.size() < 8) {
    // A queue of their own, for a hundredth of the slowest port.
    qos.classes.push_back({.dscp = kCongestionDscp,
                           .traffic_class = static_cast<std::uint8_t>(classes.size()),
                           .strict = true,
                           .most_bytes_per_s = static_cast<std::uint64_t>(slowest * 1e6 / 8 / 100)});
  } else if (!has_notifications) {
    notes.push_back("congestion notifications (DSCP 48) have no queue of their own: there are 8 classes already");
  }
  qos.other_class = fabric::class_number(classes, fabric::lowest_class(classes));
  notes.push_back(fmt::format("ports are named Ethernet0, Ethernet{}, ...; buffers assume {} MiB of packet memory",
                              options.port_step, options.buffer_mib));
  return value_or_fail(fabric::write_sonic_qos(qos));
}

}  // namespace railweave::cli
