#include "services/railweave/lab/qos/tc_config.h"

#include <algorithm>
#include <functional>

#include <fmt/core.h>

#include "fabric/drivers/linux_tc/tc_commands.h"
#include "fabric/flow/directed_link.h"
#include "services/railweave/lab/qos/class_percents.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

using Commands = std::function<std::vector<std::string>(std::string_view interface, std::int64_t mbps)>;

// The commands for every cabled Ethernet port, after a line that sets $IFACE: fabric files have the adapter's RDMA name,
// tc and dcb want the name of its network interface.
std::string for_each_port(const fabric::TopologyPtr& cabled, fabric::HostId host, const Commands& commands_for) {
  std::string text;
  const fabric::Topology& topology = *cabled;
  const auto capacity = fabric::link_capacities_mbps(fabric::FabricView(cabled));
  bool has_infiniband = false;
  for (const fabric::HcaId hca : topology.hcas(host)) {
    for (const fabric::PortId port : topology.ports(hca)) {
      if (!topology.peer(port)) continue;
      if (topology.kind(topology.link(port)) != fabric::LinkKind::ethernet) {
        has_infiniband = true;
        continue;
      }
      const auto mbps = static_cast<std::int64_t>(capacity[fabric::directed_link(topology, port)]);
      const std::string device(topology.device(hca));
      text += "# " + topology.port_text(port) + "\n";
      text += device.empty() ? "IFACE=${IFACE:?the network interface of this port}\n"
                             : "IFACE=$(ls /sys/class/infiniband/" + device + "/device/net | head -n 1)\n";
      for (const auto& command : commands_for(fabric::linux_tc::kInterfaceVariable, mbps)) text += command + "\n";
    }
  }
  if (!text.empty()) return text;
  const std::string name = fmt::format("host '{}' has no cabled Ethernet adapter", topology.name(host));
  if (has_infiniband)
    fail_usage(name, "its adapters are InfiniBand, which the subnet's lanes serve: --to infiniband or opensm");
  fail_usage(name);
}

}  // namespace

std::string tc_config(const fabric::TopologyPtr& cabled, fabric::HostId host, const fabric::QosClasses& classes) {
  return "# For what passes the host's kernel. RDMA bypasses it: --to dcb is for that.\n" +
         for_each_port(cabled, host, [&](std::string_view interface, std::int64_t mbps) {
           std::vector<fabric::linux_tc::TcClass> rows;
           for (const auto& one : classes) {
             rows.push_back({one.name, one.dscp, RateMbps(std::max<std::int64_t>(1, mbps * one.share_permille / 1000)),
                             RateMbps(0), static_cast<std::uint8_t>(std::min<unsigned>(one.priority, 7))});
           }
           // The last class of HTB takes packets with any other DSCP.
           std::ranges::stable_sort(rows, {}, &fabric::linux_tc::TcClass::priority);
           std::ranges::stable_partition(
               rows, [&](const auto& row) { return row.dscp != classes[fabric::lowest_class(classes)].dscp; });
           return value_or_fail(fabric::linux_tc::htb_commands(interface, RateMbps(mbps), rows));
         });
}

std::string dcb_config(const fabric::TopologyPtr& cabled, fabric::HostId host, const fabric::QosClasses& classes,
                       std::vector<std::string>& notes) {
  if (classes.size() > 8) fail_usage("an Ethernet adapter has 8 traffic classes", "give fewer by --classes");
  const auto percents = class_percents(classes);
  const auto lossless = lossless_classes(classes, notes);
  std::vector<fabric::linux_tc::DcbClass> rows;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    rows.push_back({.dscp = classes[c].dscp,
                    .traffic_class = fabric::class_number(classes, c),
                    .percent = percents[c],
                    .lossless = std::ranges::find(lossless, c) != lossless.end()});
  }
  return for_each_port(cabled, host, [&](std::string_view interface, std::int64_t) {
    return value_or_fail(fabric::linux_tc::dcb_commands(interface, rows));
  });
}

}  // namespace railweave::cli
