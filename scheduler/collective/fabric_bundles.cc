#include "scheduler/collective/fabric_bundles.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace railweave::scheduler {

namespace {

using fabric::DirectedLink;
using fabric::GpuId;
using fabric::HostId;
using fabric::PortId;
using fabric::SwitchId;
using fabric::Topology;
constexpr std::uint32_t kNone = FabricBundles::kNone;

// The switches that cables join, directly or not: by switch, the number of its part.
std::vector<std::uint32_t> connected_parts(const Topology& topology) {
  std::vector<std::uint32_t> part(topology.switches().size(), kNone);
  std::vector<SwitchId> open;
  std::uint32_t parts = 0;
  for (const SwitchId from : topology.switches()) {
    if (part[from.index()] != kNone) continue;
    part[from.index()] = parts;
    open.assign(1, from);
    while (!open.empty()) {
      const SwitchId at = open.back();
      open.pop_back();
      for (const PortId port : topology.ports(at)) {
        const PortId peer = topology.peer(port);
        const SwitchId next = peer ? topology.switch_of(peer) : SwitchId();
        if (!next || part[next.index()] != kNone) continue;
        part[next.index()] = parts;
        open.push_back(next);
      }
    }
    ++parts;
  }
  return part;
}

// By switch: its pod; none: in none, or between several.
std::vector<std::uint32_t> pods_of_switches(const Topology& topology, const std::vector<std::uint32_t>& pod_of_host) {
  constexpr std::uint32_t kSeveral = kNone - 1;
  std::vector<std::uint32_t> pod(topology.switches().size(), kNone);
  const auto join = [&](SwitchId sw, std::uint32_t other) {
    std::uint32_t& own = pod[sw.index()];
    if (other != kNone) own = own == kNone || own == other ? other : kSeveral;
  };
  const auto host_of = [&](PortId peer) {
    const auto hca = peer ? topology.hca_of(peer) : fabric::HcaId();
    return hca ? topology.host(hca) : HostId();
  };
  for (const SwitchId sw : topology.switches()) {
    if (topology.tier(sw) != 0) continue;
    for (const PortId port : topology.ports(sw)) {
      if (const HostId host = host_of(topology.peer(port))) join(sw, pod_of_host[host.index()]);
    }
  }
  for (const SwitchId sw : topology.switches()) {
    if (topology.tier(sw) != 1) continue;
    for (const PortId port : topology.ports(sw)) {
      const PortId peer = topology.peer(port);
      const SwitchId leaf = peer ? topology.switch_of(peer) : SwitchId();
      if (leaf && topology.tier(leaf) == 0) join(sw, pod[leaf.index()]);
    }
  }
  std::ranges::replace(pod, kSeveral, kNone);
  return pod;
}

}  // namespace

FabricBundles::FabricBundles(const Topology& topology, const fabric::Locality& locality, const GpuPorts& ports) {
  const fabric::Level* leaf_groups = locality.find(fabric::LevelKind::leaf_group);
  const fabric::Level* pods = locality.find(fabric::LevelKind::pod);
  const std::vector<std::uint32_t> network = connected_parts(topology);
  std::vector<std::uint32_t> pod_of_switch(topology.switches().size(), kNone);
  if (pods != nullptr && pods->group_count > 1) pod_of_switch = pods_of_switches(topology, pods->group_of_host);

  std::vector<std::vector<DirectedLink>> of_pair;  // outwards; the other directions follow
  const auto new_pair = [&] {
    of_pair.emplace_back();
    return static_cast<BundlePair>(of_pair.size() - 1);
  };
  unit_count_ = topology.nvlink_domains().size() + topology.hosts().size();
  if (leaf_groups != nullptr) leaf_group_count_ = leaf_groups->group_count;
  places_.resize(topology.gpus().size());
  for (const GpuId gpu : topology.gpus()) {
    Place& place = places_[gpu.index()];
    const HostId host = topology.host(gpu);
    place.host = host.value();
    place.leaf_group = leaf_groups != nullptr ? leaf_groups->group_of_host[host.index()] : 0;
    place.nvlink = new_pair();
    if (topology.site(host)) place.site = topology.site(host).value();
    place.unit = static_cast<std::uint32_t>(topology.nvlink_domains().size() + host.index());
    if (topology.nvlink_domain(gpu)) place.unit = place.domain = topology.nvlink_domain(gpu).value();
    for (const PortId port : topology.ports(gpu)) {
      if (topology.peer(port)) of_pair[place.nvlink].push_back(fabric::directed_link(topology, port));
    }
  }
  first_nic_ = static_cast<std::uint32_t>(of_pair.size());
  std::map<PortId, BundlePair> nic_of_port;
  for (const GpuId gpu : topology.gpus()) {
    const auto own = ports.of(gpu);
    if (own.empty()) continue;
    Place& place = places_[gpu.index()];
    const auto [at, is_new] = nic_of_port.try_emplace(own.front(), 0);
    if (is_new) {
      at->second = new_pair();
      for (const PortId port : own) of_pair[at->second].push_back(fabric::directed_link(topology, port));
    }
    place.nic = at->second;
    if (topology.rail(own.front())) place.rail = topology.rail(own.front()).value();
  }
  first_leaf_ = static_cast<std::uint32_t>(of_pair.size());
  std::vector<BundlePair> leaf_of_switch(topology.switches().size(), kNone);
  for (const GpuId gpu : topology.gpus()) {
    const auto own = ports.of(gpu);
    const SwitchId leaf = own.empty() ? SwitchId() : topology.switch_of(topology.peer(own.front()));
    if (!leaf) continue;
    Place& place = places_[gpu.index()];
    place.network = network[leaf.index()];
    if (leaf_of_switch[leaf.index()] == kNone) {
      const BundlePair pair = leaf_of_switch[leaf.index()] = new_pair();
      for (const PortId port : topology.ports(leaf)) {
        if (topology.peer(port) && topology.switch_of(topology.peer(port))) {
          of_pair[pair].push_back(fabric::directed_link(topology, port));
        }
      }
    }
    place.leaf = leaf_of_switch[leaf.index()];
  }
  first_pod_ = static_cast<std::uint32_t>(of_pair.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, BundlePair> pod_pairs;  // (pod, network)
  for (const SwitchId sw : topology.switches()) {
    if (pod_of_switch[sw.index()] == kNone) continue;
    const auto [at, is_new] = pod_pairs.try_emplace({pod_of_switch[sw.index()], network[sw.index()]}, 0);
    if (is_new) at->second = new_pair();
    for (const PortId port : topology.ports(sw)) {
      const SwitchId next = topology.peer(port) ? topology.switch_of(topology.peer(port)) : SwitchId();
      if (next && pod_of_switch[next.index()] != pod_of_switch[sw.index()]) {
        of_pair[at->second].push_back(fabric::directed_link(topology, port));
      }
    }
  }
  for (const GpuId gpu : topology.gpus()) {
    Place& place = places_[gpu.index()];
    if (pods == nullptr || place.network == kNone || pod_pairs.empty()) continue;
    const auto at = pod_pairs.find({pods->group_of_host[place.host], place.network});
    // Across sites a pod that is all of its site has no way out that could be narrow.
    const bool all_of_site = !topology.sites().empty() && at != pod_pairs.end() && of_pair[at->second].empty();
    if (at != pod_pairs.end() && !all_of_site) place.pod = at->second;
  }

  first_wan_ = static_cast<std::uint32_t>(of_pair.size());
  join_sites(topology);
  of_pair.resize(of_pair.size() + wan_mbps_.size());

  first_link_.push_back(0);
  for (const auto& out : of_pair) {
    links_.insert(links_.end(), out.begin(), out.end());
    first_link_.push_back(static_cast<std::uint32_t>(links_.size()));
    for (const DirectedLink link : out) links_.push_back(link ^ 1U);
    first_link_.push_back(static_cast<std::uint32_t>(links_.size()));
  }
}

FabricBundles::Kind FabricBundles::kind(std::uint32_t bundle) const {
  const BundlePair pair = bundle / 2;
  return pair < first_nic_    ? Kind::nvlink
         : pair < first_leaf_ ? Kind::adapter
         : pair < first_pod_  ? Kind::leaf
         : pair < first_wan_  ? Kind::pod
                              : Kind::wan;
}

std::vector<double> FabricBundles::capacities(std::span<const double> link_mbps) const {
  std::vector<double> sum(bundle_count(), 0);
  for (std::uint32_t b = 0; b < sum.size(); ++b) {
    for (const DirectedLink link : links(b)) sum[b] += link_mbps[link];
  }
  for (std::size_t w = 0; w < wan_mbps_.size(); ++w) {
    sum[2 * (first_wan_ + w)] = sum[2 * (first_wan_ + w) + 1] = wan_mbps_[w];
  }
  return sum;
}

bool BundledPaths::append(GpuId from, GpuId to, std::vector<std::uint32_t>& links, PathShape& shape) const {
  const FabricBundles::Place &a = bundles_->place(from), &b = bundles_->place(to);
  shape = {};
  if (from == to) return true;
  if (a.domain != kNone && a.domain == b.domain) {
    links.push_back(2 * a.nvlink);
    links.push_back(2 * b.nvlink + 1);
    return true;
  }
  if (a.host == b.host) return true;
  if (a.nic == kNone || b.nic == kNone || a.leaf == kNone || b.leaf == kNone) return false;
  const std::size_t before = links.size();
  double wan_us = 0;
  shape = {.switches = 1, .cable_m = 2 * LatencyConstants{}.default_cable_m, .network = true};
  links.push_back(2 * a.nic);
  const bool met = a.leaf == b.leaf || (a.network != b.network && a.leaf_group == b.leaf_group);
  if (!met) {
    const bool far = a.site != b.site;
    const bool pods = a.pod != b.pod && (far || (a.pod != kNone && b.pod != kNone));
    links.push_back(2 * a.leaf);
    if (pods && a.pod != kNone) links.push_back(2 * a.pod);
    if (far) {
      const FabricBundles::SiteRoute& route = bundles_->site_route(a.site, b.site);
      if (route.bundles.empty()) {
        links.resize(before);
        return false;
      }
      links.insert(links.end(), route.bundles.begin(), route.bundles.end());
      wan_us = route.latency_us;
    }
    if (pods && b.pod != kNone) links.push_back(2 * b.pod + 1);
    links.push_back(2 * b.leaf + 1);
    shape.switches = pods ? 5 : 3;
    shape.cable_m *= pods ? 3 : 2;
    shape.cable_m += wan_us / LatencyConstants{}.cable_us_per_m;
  }
  links.push_back(2 * b.nic + 1);
  return true;
}

bool BundledPaths::append_end(GpuId gpu, bool outward, bool inside, std::vector<std::uint32_t>& links) const {
  const FabricBundles::Place& place = bundles_->place(gpu);
  const BundlePair pair = inside ? place.nvlink : place.nic;
  if (pair == kNone) return false;
  links.push_back(2 * pair + (outward ? 0 : 1));
  return true;
}

}  // namespace railweave::scheduler
