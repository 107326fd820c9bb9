#include "scheduler/collective/path_model.h"

#include <algorithm>

namespace railweave::scheduler {

namespace {

using fabric::GpuId;
using fabric::PortId;

// The GPU's NVLink cables, outwards or inwards; false: it has none.
bool append_nvlink(const fabric::Topology& topology, GpuId gpu, bool outward, std::vector<std::uint32_t>& links) {
  for (const PortId port : topology.ports(gpu)) {
    const PortId peer = topology.peer(port);
    if (!peer) continue;
    links.push_back(fabric::directed_link(topology, outward ? port : peer));
    return true;
  }
  return false;
}

fabric::EndPortPair pair_of(const fabric::Topology& topology, std::span<const PortId> from,
                            std::span<const PortId> to) {
  for (const PortId a : from) {
    const fabric::RailId rail = topology.rail(a);
    const auto same = std::ranges::find_if(to, [&](PortId b) { return rail && topology.rail(b) == rail; });
    if (same != to.end()) return {a, *same};
  }
  return {from.front(), to.front()};
}

}  // namespace

bool RoutedPaths::append(GpuId from, GpuId to, std::vector<std::uint32_t>& links, PathShape& shape) const {
  const fabric::Topology& t = *topology_;
  shape = {};
  if (from == to) return true;
  if (t.nvlink_domain(from) && t.nvlink_domain(from) == t.nvlink_domain(to)) {
    const std::size_t before = links.size();
    if (append_nvlink(t, from, true, links) && append_nvlink(t, to, false, links)) return true;
    links.resize(before);
  }
  if (t.host(from) == t.host(to)) return true;
  const auto out = ports_->of(from), in = ports_->of(to);
  if (out.empty() || in.empty()) return false;
  const std::size_t before = links.size();
  if (!of_pairs_->append(pair_of(t, out, in), links)) return false;
  shape.network = true;
  shape.switches = static_cast<unsigned>(links.size() - before - 1);
  for (std::size_t i = before; i < links.size(); ++i) {
    const float length = t.spec(fabric::link_of(links[i])).cable_length_m;
    shape.cable_m += length > 0 ? length : LatencyConstants{}.default_cable_m;
  }
  return true;
}

bool RoutedPaths::append_end(GpuId gpu, bool outward, bool inside, std::vector<std::uint32_t>& links) const {
  if (inside) return append_nvlink(*topology_, gpu, outward, links);
  const auto ports = ports_->of(gpu);
  if (ports.empty()) return false;
  links.push_back(fabric::directed_link(*topology_, outward ? ports.front() : topology_->peer(ports.front())));
  return true;
}

}  // namespace railweave::scheduler
