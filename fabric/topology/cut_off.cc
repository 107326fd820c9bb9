#include "fabric/topology/cut_off.h"

#include <algorithm>
#include <tuple>

#include "fabric/topology/joined_switches.h"

namespace railweave::fabric {

CutOffSwitches::CutOffSwitches(const FabricView& view) {
  const Topology& t = view.topology();
  DisjointSets cabled = joined_switches(t, [](LinkId) { return true; });
  DisjointSets joined = joined_switches(view);
  struct Part {
    std::uint64_t ends = 0, switches = 0;
  };
  std::vector<Part> parts(t.switches().size());  // by the smallest of their switches
  std::vector<bool> is_up(parts.size());         // of what is cabled, by the smallest switch: some end port is
  for (const SwitchId sw : t.switches()) ++parts[joined.find(sw.index())].switches;
  for (const PortId port : t.hca_ports()) {
    const LinkId link = t.link(port);
    const SwitchId sw = link ? t.switch_of(t.peer(port)) : SwitchId();
    if (!sw || t.kind(t.hca_of(port)) == HcaKind::aggregation) continue;
    ++parts[joined.find(sw.index())].ends;
    if (view.alive(link)) is_up[cabled.find(sw.index())] = true;
  }
  std::vector<std::uint32_t> rest(parts.size(), UINT32_MAX);  // of what is cabled, by the smallest switch
  const auto size = [&](std::uint32_t part) { return std::tuple(parts[part].ends, parts[part].switches); };
  for (const SwitchId sw : t.switches()) {
    const std::uint32_t part = joined.find(sw.index());
    std::uint32_t& largest = rest[cabled.find(sw.index())];
    if (view.drained(sw)) continue;  // nothing passes it, so nothing is joined to what is behind it
    if (largest == UINT32_MAX || size(part) > size(largest)) largest = part;
  }
  std::vector<std::uint32_t> number(parts.size());
  for (const SwitchId sw : t.switches()) {
    const std::uint32_t part = joined.find(sw.index());
    const std::uint32_t whole = cabled.find(sw.index());
    if (part == rest[whole] || parts[part].ends == 0 || !is_up[whole]) continue;
    if (number[part] == 0) number[part] = ++parts_;
    if (part_of_.empty()) part_of_.resize(parts.size());
    part_of_[sw.index()] = number[part];
  }
}

}  // namespace railweave::fabric
