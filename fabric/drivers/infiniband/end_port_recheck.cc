#include "fabric/drivers/infiniband/end_port_recheck.h"

#include <algorithm>

#include "fabric/drivers/infiniband/port_writer.h"

namespace railweave::fabric::infiniband {

Result<void> EndPortRecheck::run() {
  const auto adapters = static_cast<std::size_t>(
      std::ranges::count_if(map_.nodes, [](const SubnetNode& node) { return node.present && !node.is_switch(); }));
  const std::size_t turns = adapters / kMaxPerSweep + 1;
  for (std::uint32_t n = 0; n < map_.nodes.size(); ++n) {
    const SubnetNode& node = map_.nodes[n];
    if (!node.present || node.is_switch() || n % turns != map_.sweep % turns) continue;
    for (std::size_t port = 1; port < node.ports.size(); ++port) {
      const SubnetPort& at = node.ports[port];
      // What this sweep read is new; a port without a cable has no LID that matters.
      if (at.read && at.peer != kNoNode && at.read_in != map_.sweep) read(n, static_cast<std::uint8_t>(port));
    }
  }
  return exchange_.run();
}

void EndPortRecheck::read(std::uint32_t node, std::uint8_t port) {
  exchange_.submit(node + std::uint64_t{1}, MadAddress::directed(),
                   directed_smp(route_to_port(map_, node, port), MadMethod::get, Attribute::portInfo, port),
                   [this, node, port](const MadReply& reply) {
                     if (!reply.ok()) return;
                     const PortInfo info = read_port_info(attribute_bytes(*reply.mad));
                     PortInfo& before = map_.nodes[node].ports[port].info;
                     changed_ = changed_ || before != info;
                     before = info;
                   });
}

}  // namespace railweave::fabric::infiniband
