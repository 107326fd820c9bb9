#include "services/railweave/lab/qos/tc_config.h"

#include <algorithm>

#include "fabric/drivers/linux_tc/tc_commands.h"
#include "fabric/flow/directed_link.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {

std::string tc_config(const fabric::TopologyPtr& cabled, fabric::HostId host, const fabric::QosClasses& classes) {
  std::string text;
  const fabric::Topology& topology = *cabled;
  const auto capacity = fabric::link_capacities_mbps(fabric::FabricView(cabled));
  for (const fabric::HcaId hca : topology.hcas(host)) {
    for (const fabric::PortId port : topology.ports(hca)) {
      if (!topology.peer(port)) continue;
      const auto link = static_cast<std::int64_t>(capacity[fabric::directed_link(topology, port)]);
      std::vector<fabric::linux_tc::TcClass> rows;
      for (const auto& one : classes) {
        rows.push_back({one.name, one.dscp, RateMbps(std::max<std::int64_t>(1, link * one.share_permille / 1000)),
                        RateMbps(0), static_cast<std::uint8_t>(std::min<unsigned>(one.priority, 7))});
      }
      // The last class of HTB takes packets with any other DSCP.
      std::ranges::stable_sort(rows, {}, &fabric::linux_tc::TcClass::priority);
      const std::string interface =
          topology.device(hca).empty() ? "eth" + std::to_string(hca.index()) : std::string(topology.device(hca));
      text += "# " + topology.port_text(port) + "\n";
      for (const auto& command : value_or_fail(fabric::linux_tc::htb_commands(interface, RateMbps(link), rows))) {
        text += command + "\n";
      }
    }
  }
  if (text.empty()) fail_usage("host '" + std::string(topology.name(host)) + "' has no cabled adapter");
  return text;
}

}  // namespace railweave::cli
