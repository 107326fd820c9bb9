#include "fabric/health/link_flaps.h"

#include "fabric/base/check.h"

namespace railweave::fabric::health {

LinkFlaps::LinkFlaps(const Topology& topology, std::span<const LinkId> links, std::int64_t start_us)
    : links_(links.begin(), links.end()),
      ends_(links.size()),
      is_up_(links.size()),
      down_us_(links.size(), kNever),
      devices_(topology.switches().size()),
      start_us_(start_us) {
  // Ports of hosts behind a switch that does not answer are not seen, so cables between switches tell whether it is there.
  std::vector<bool> has_switches(devices_.size());
  for (const LinkId link : links_) {
    if (!topology.joins_switches(link)) continue;
    for (const PortId port : {topology.a(link), topology.b(link)})
      has_switches[topology.switch_of(port).index()] = true;
  }
  for (std::size_t i = 0; i < links_.size(); ++i) {
    SwitchId a = topology.switch_of(topology.a(links_[i]));
    SwitchId b = topology.switch_of(topology.b(links_[i]));
    if (!a) a = b;
    if (!b) b = a;
    RAILWEAVE_CHECK(a.valid(), "a cable of a subnet has a switch");
    ends_[i] = {static_cast<std::uint32_t>(a.index()), static_cast<std::uint32_t>(b.index()),
                a != b || !has_switches[a.index()]};
    if (!ends_[i].counts) continue;
    ++devices_[a.index()].cables;
    if (a != b) ++devices_[b.index()].cables;
  }
}

bool LinkFlaps::was_restart(const Ends& ends, std::int64_t down_us) const {
  const auto was_dark = [&](std::uint32_t device) {
    const std::int64_t dark_us = devices_[device].dark_us;
    return dark_us != kNever && dark_us + start_us_ >= down_us;
  };
  return was_dark(ends.a) || was_dark(ends.b);
}

LinkFlaps::Seen LinkFlaps::see(const std::vector<bool>& is_up, std::int64_t now_us) {
  RAILWEAVE_CHECK(is_up.size() == links_.size(), "one state per link");
  Seen seen;
  for (Device& device : devices_) device.up = 0;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (!is_first_ && is_up_[i] && !is_up[i]) down_us_[i] = now_us;
    if (!is_up[i] || !ends_[i].counts) continue;
    ++devices_[ends_[i].a].up;
    if (ends_[i].a != ends_[i].b) ++devices_[ends_[i].b].up;
  }
  for (const SwitchId sw : IdRange<SwitchId>(0, devices_.size())) {
    Device& device = devices_[sw.index()];
    if (device.cables == 0) continue;
    // One of many cables may have been read just before the others went down.
    const bool is_dark = device.up <= device.cables / 8;
    if (is_dark && !is_first_) device.dark_us = now_us;
    if (device.is_dark && !is_dark && device.dark_us != kNever) seen.restarted.push_back(sw);
    device.is_dark = is_dark;
  }
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (!is_first_ && !is_up_[i] && is_up[i] && down_us_[i] != kNever && !was_restart(ends_[i], down_us_[i])) {
      seen.flapped.push_back(links_[i]);
    }
  }
  is_up_ = is_up;
  is_first_ = false;
  return seen;
}

}  // namespace railweave::fabric::health
