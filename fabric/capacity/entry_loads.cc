#include "fabric/capacity/entry_loads.h"

#include <algorithm>
#include <utility>

namespace railweave::fabric {

void EntryLoads::sum_bundles(const PlaneHose& hose) {
  const FirstHops& first = hose.first_hops();
  const std::size_t ports = hose.port_count();
  bundle_receive_mbps_.assign(first.bundles() * ports, 0);
  for (std::size_t b = 0; b < first.bundles(); ++b) {
    std::int64_t* receive = bundle_receive_mbps_.data() + b * ports;
    for (std::size_t k = 0; k < hose.targets().size(); ++k) {
      const std::uint16_t port = first.port(b, k);
      if (port < ports) receive[port] += hose.targets()[k].receive_mbps;
    }
  }
}

void EntryLoads::append(const PlaneHose& hose, LinkUses& uses, LoadVector& loads) {
  sum_bundles(hose);
  const FirstHops& first = hose.first_hops();
  const std::size_t ports = hose.port_count();
  const auto& targets = hose.targets();
  std::vector<std::pair<std::uint32_t, const FirstHops::Deviation*>> deviations;  // by group
  for (const auto& one : first.deviations()) deviations.emplace_back(one.source, &one);
  std::ranges::sort(deviations);
  auto deviation = deviations.begin();
  std::size_t own = 0;  // targets are in order of groups
  for (std::uint32_t g = 0; g < hose.groups().size(); ++g) {
    const std::uint32_t bundle = first.bundle_of(g);
    const auto of_bundle = bundle_receive_mbps_.begin() + static_cast<std::ptrdiff_t>(bundle * ports);
    receive_mbps_.assign(of_bundle, of_bundle + static_cast<std::ptrdiff_t>(ports));
    const auto add = [&](std::uint16_t port, std::int64_t mbps) {
      if (port < ports) receive_mbps_[port] += mbps;
    };
    for (; own < targets.size() && hose.group_of(own) == g; ++own) {
      add(first.port(bundle, own), -targets[own].receive_mbps);
    }
    for (; deviation != deviations.end() && deviation->first == g; ++deviation) {
      const auto& one = *deviation->second;
      add(first.port(bundle, one.target), -targets[one.target].receive_mbps);
      add(one.port, targets[one.target].receive_mbps);
    }
    for (std::size_t port = 1; port < ports; ++port) {
      if (receive_mbps_[port] == 0) continue;
      const auto next = hose.egress().next_hop(hose.groups()[g].sw, static_cast<std::uint16_t>(port));
      if (next.sw == PlaneHose::kNone) continue;
      const std::int64_t send = hose.groups()[g].digest.send_mbps;
      if (const std::uint32_t use = uses.find(next.link); use != LinkUses::Use::kNone) {
        uses.all()[use].mixed = true;
      } else if (send > 0) {
        loads.push_back({next.link, std::min(send, receive_mbps_[port])});
      }
    }
  }
}

}  // namespace railweave::fabric
