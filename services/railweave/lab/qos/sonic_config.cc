#include "services/railweave/lab/qos/sonic_config.h"

#include <algorithm>
#include <utility>

#include "fabric/flow/directed_link.h"
#include "fabric/formats/sonic/sonic_qos.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

constexpr double kRoundTripS = 8e-6;  // of a loaded fabric of three tiers; sets where ECN marking begins
constexpr double kUnknownCableM = 5;
constexpr std::size_t kMostLossless = 2;  // SonicQos takes no more

// Whole percent that sum to 100, each at least 1, nearest to the shares.
std::vector<unsigned> percents(const fabric::QosClasses& classes) {
  double all = 0;
  for (const auto& one : classes) all += one.share_permille;
  std::vector<unsigned> result;
  std::vector<std::pair<double, std::size_t>> remainders;
  int missing = 100;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const double exact = 100.0 * classes[c].share_permille / all;
    result.push_back(std::max(1U, static_cast<unsigned>(exact)));
    missing -= static_cast<int>(result.back());
    remainders.emplace_back(exact - result.back(), c);
  }
  std::ranges::sort(remainders, std::ranges::greater{});
  for (std::size_t i = 0; missing > 0; --missing, ++i) ++result[remainders[i % remainders.size()].second];
  for (; missing < 0; ++missing) --*std::ranges::max_element(result);
  return result;
}

// Adds the cabled ports of the switch and their cables; returns the rate of the fastest.
double add_ports(const fabric::TopologyPtr& cabled, fabric::SwitchId sw, const SonicOptions& options,
                 fabric::SonicQos& qos) {
  const fabric::Topology& topology = *cabled;
  const auto capacity = fabric::link_capacities_mbps(fabric::FabricView(cabled));
  qos.buffers->asic.memory_bytes = options.buffer_mib << 20U;
  double rate = 0;
  for (const fabric::PortId port : topology.ports(sw)) {
    if (!topology.peer(port)) continue;
    const auto spec = topology.spec(topology.link(port));
    const std::string name = "Ethernet" + std::to_string((topology.number(port) - 1) * options.port_step);
    const auto mbps = static_cast<std::int64_t>(capacity[fabric::directed_link(topology, port)]);
    qos.ports.push_back(name);
    qos.buffers->cables.push_back(
        {name, RateMbps(mbps), spec.cable_length_m > 0 ? spec.cable_length_m : kUnknownCableM});
    rate = std::max(rate, static_cast<double>(mbps));
  }
  return rate;
}

// The classes that are lossless on the switch: its buffers hold two, those of the largest shares.
std::vector<std::size_t> lossless_classes(const fabric::QosClasses& classes, std::vector<std::string>& notes) {
  std::vector<std::size_t> lossless;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes[c].lossless) lossless.push_back(c);
  }
  std::ranges::stable_sort(lossless, std::ranges::greater{}, [&](std::size_t c) { return classes[c].share_permille; });
  for (std::size_t i = kMostLossless; i < lossless.size(); ++i) {
    notes.push_back("class " + classes[lossless[i]].name +
                    " is not lossless on the switch, whose buffers hold only two such classes");
  }
  lossless.resize(std::min(lossless.size(), kMostLossless));
  return lossless;
}

}  // namespace

std::string sonic_config(const fabric::TopologyPtr& cabled, fabric::SwitchId sw, const fabric::QosClasses& classes,
                         const SonicOptions& options, std::vector<std::string>& notes) {
  if (classes.size() > 8) fail_usage("an Ethernet switch has 8 traffic classes", "give fewer by --classes");
  fabric::SonicQos qos;
  qos.buffers.emplace();
  const double rate = add_ports(cabled, sw, options, qos);
  const auto lossless = lossless_classes(classes, notes);
  const auto weights = percents(classes);
  const auto window = static_cast<std::uint64_t>(rate * 1e6 / 8 * kRoundTripS);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    fabric::SonicClass one{
        .dscp = classes[c].dscp, .traffic_class = static_cast<std::uint8_t>(c), .weight = weights[c]};
    one.lossless = std::ranges::find(lossless, c) != lossless.end();
    if (one.lossless) {  // ECN before PFC: marks from one window of a link on
      one.ecn_min_bytes = window;
      one.ecn_max_bytes = 4 * window;
    }
    qos.classes.push_back(one);
  }
  qos.other_class = static_cast<std::uint8_t>(classes.size() - 1);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes[c].priority > classes[qos.other_class].priority) qos.other_class = static_cast<std::uint8_t>(c);
  }
  notes.push_back("ports are named Ethernet0, Ethernet" + std::to_string(options.port_step) + ", ...; buffers assume " +
                  std::to_string(options.buffer_mib) + " MiB of packet memory");
  return value_or_fail(fabric::write_sonic_qos(qos));
}

}  // namespace railweave::cli
