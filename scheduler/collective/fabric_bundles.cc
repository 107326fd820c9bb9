#include "scheduler/collective/fabric_bundles.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "fabric/topology/disjoint_sets.h"

namespace railweave::scheduler {

namespace {

using fabric::DirectedLink;
using fabric::GpuId;
using fabric::HostId;
using fabric::PortId;
using fabric::SwitchId;
using fabric::Topology;
constexpr std::uint32_t kNone = FabricBundles::kNone;

// By switch: the number of its connected part of the fabric.
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

// By switch: its pod; none: it belongs to no pod, or to several.
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

// Numbers the bundles of a fabric, kind by kind, and says for each GPU which ones it uses.
class FabricBundles::Builder {
 public:
  Builder(const Topology& topology, const fabric::Locality& locality, const GpuPorts& ports, FabricBundles& into)
      : topology_(topology),
        ports_(ports),
        leaf_groups_(locality.find(fabric::LevelKind::leaf_group)),
        pods_(locality.find(fabric::LevelKind::pod)),
        network_(connected_parts(topology)),
        reduces_(topology.switches().size(), 0),
        into_(into) {
    for (const fabric::HcaId hca : topology.hcas()) {
      if (topology.kind(hca) != fabric::HcaKind::aggregation) continue;
      for (const PortId port : topology.ports(hca)) {
        if (const SwitchId sw = switch_behind(port)) reduces_[network_[sw.index()]] = 1;
      }
    }
  }

  void build() {
    into_.unit_count_ = topology_.nvlink_domains().size() + topology_.hosts().size();
    if (leaf_groups_ != nullptr) into_.leaf_group_count_ = leaf_groups_->group_count;
    into_.places_.resize(topology_.gpus().size());
    add_nvlink();
    into_.first_nic_ = pair_count();
    add_adapters();
    into_.first_leaf_ = pair_count();
    add_leaves();
    into_.first_pod_ = pair_count();
    add_pods();
    into_.first_wan_ = pair_count();
    find_lone_leaves();
    store_links();
    into_.join_sites(topology_, {});
  }

 private:
  [[nodiscard]] std::uint32_t pair_count() const { return static_cast<std::uint32_t>(links_of_pair_.size()); }
  BundlePair new_pair() {
    links_of_pair_.emplace_back();
    return pair_count() - 1;
  }
  void add_link(BundlePair pair, PortId port) {
    links_of_pair_[pair].push_back(fabric::directed_link(topology_, port));
  }
  [[nodiscard]] SwitchId switch_behind(PortId port) const {
    const PortId peer = topology_.peer(port);
    return peer ? topology_.switch_of(peer) : SwitchId();
  }
  Place& place(GpuId gpu) { return into_.places_[gpu.index()]; }

  void add_nvlink();
  void add_adapters();
  void add_leaves();
  void add_pods();
  void find_lone_leaves();
  void store_links();

  const Topology& topology_;
  const GpuPorts& ports_;
  const fabric::Level* leaf_groups_;
  const fabric::Level* pods_;
  std::vector<std::uint32_t> network_;  // by switch
  std::vector<std::uint8_t> reduces_;   // by network: some of its switches have aggregation nodes
  FabricBundles& into_;
  std::vector<std::vector<DirectedLink>> links_of_pair_;  // outwards; the other directions follow
};

// A pair for the NVLink of each GPU, and where the GPU is.
void FabricBundles::Builder::add_nvlink() {
  for (const GpuId gpu : topology_.gpus()) {
    Place& of = place(gpu);
    const HostId host = topology_.host(gpu);
    of.host = host.value();
    of.leaf_group = leaf_groups_ != nullptr ? leaf_groups_->group_of_host[host.index()] : 0;
    of.nvlink = new_pair();
    if (topology_.site(host)) of.site = topology_.site(host).value();
    of.unit = static_cast<std::uint32_t>(topology_.nvlink_domains().size() + host.index());
    if (topology_.nvlink_domain(gpu)) of.unit = of.domain = topology_.nvlink_domain(gpu).value();
    for (const PortId port : topology_.ports(gpu)) {
      if (topology_.peer(port)) add_link(of.nvlink, port);
    }
  }
}

// A pair for the adapter ports of each GPU. GPUs that have ports in common share one: what they send is spread over all.
void FabricBundles::Builder::add_adapters() {
  const std::size_t first = topology_.switch_ports().size();
  fabric::DisjointSets sets(topology_.hca_ports().size());
  for (const GpuId gpu : topology_.gpus()) {
    const auto own = ports_.of(gpu);
    for (const PortId port : own) sets.unite(own.front().index() - first, port.index() - first);
  }
  std::map<std::uint32_t, BundlePair> nic_of_set;
  std::vector<std::uint8_t> added(topology_.hca_ports().size(), 0);
  for (const GpuId gpu : topology_.gpus()) {
    const auto own = ports_.of(gpu);
    if (own.empty()) continue;
    const auto [at, is_new] = nic_of_set.try_emplace(sets.find(own.front().index() - first), 0);
    if (is_new) at->second = new_pair();
    for (const PortId port : own) {
      if (std::exchange(added[port.index() - first], std::uint8_t{1}) == 0) add_link(at->second, port);
    }
    place(gpu).nic = at->second;
    if (topology_.rail(own.front())) place(gpu).rail = topology_.rail(own.front()).value();
  }
}

// A pair for the uplinks of each leaf that GPUs send through; one for several leaves where a GPU sends through each.
void FabricBundles::Builder::add_leaves() {
  fabric::DisjointSets sets(topology_.switches().size());
  const auto leaf_of = [&](PortId port) { return topology_.switch_of(topology_.peer(port)); };
  for (const GpuId gpu : topology_.gpus()) {
    SwitchId first;
    for (const PortId port : ports_.of(gpu)) {
      const SwitchId leaf = leaf_of(port);
      if (!leaf) continue;
      if (!first) first = leaf;
      sets.unite(first.index(), leaf.index());
    }
  }
  std::vector<BundlePair> pair_of_set(topology_.switches().size(), kNone);
  std::vector<std::uint8_t> added(topology_.switches().size(), 0);
  for (const GpuId gpu : topology_.gpus()) {
    for (const PortId port : ports_.of(gpu)) {
      const SwitchId leaf = leaf_of(port);
      if (!leaf) continue;
      BundlePair& pair = pair_of_set[sets.find(leaf.index())];
      if (pair == kNone) pair = new_pair();
      if (place(gpu).leaf == kNone) {
        place(gpu).network = network_[leaf.index()];
        place(gpu).leaf = pair;
        place(gpu).reduces = reduces_[network_[leaf.index()]] != 0;
      }
      if (std::exchange(added[leaf.index()], std::uint8_t{1}) != 0) continue;
      for (const PortId up : topology_.ports(leaf)) {
        if (switch_behind(up)) add_link(pair, up);
      }
    }
  }
}

// A pair for the links of each pod to the rest of its network, where there are several pods.
void FabricBundles::Builder::add_pods() {
  if (pods_ == nullptr || pods_->group_count <= 1) return;
  const std::vector<std::uint32_t> pod_of_switch = pods_of_switches(topology_, pods_->group_of_host);
  std::map<std::pair<std::uint32_t, std::uint32_t>, BundlePair> pair_of;  // (pod, network)
  for (const SwitchId sw : topology_.switches()) {
    if (pod_of_switch[sw.index()] == kNone) continue;
    const auto [at, is_new] = pair_of.try_emplace({pod_of_switch[sw.index()], network_[sw.index()]}, 0);
    if (is_new) at->second = new_pair();
    for (const PortId port : topology_.ports(sw)) {
      const SwitchId next = switch_behind(port);
      if (next && pod_of_switch[next.index()] != pod_of_switch[sw.index()]) add_link(at->second, port);
    }
  }
  for (const GpuId gpu : topology_.gpus()) {
    Place& of = place(gpu);
    if (of.network == kNone) continue;
    const auto at = pair_of.find({pods_->group_of_host[of.host], of.network});
    if (at == pair_of.end()) continue;
    // A pod that is the whole of its site has no links to other pods that could be a bottleneck.
    const bool all_of_site = !topology_.sites().empty() && links_of_pair_[at->second].empty();
    if (!all_of_site) of.pod = at->second;
  }
}

// A leaf that is the whole of its site has no uplinks: what leaves it leaves the site.
void FabricBundles::Builder::find_lone_leaves() {
  if (topology_.site_links().empty()) return;
  std::map<std::uint32_t, BundlePair> leaf_of_site;  // kNone: several
  for (const GpuId gpu : topology_.gpus()) {
    const Place& of = place(gpu);
    if (of.site == kNone || of.leaf == kNone) continue;
    const auto [at, is_new] = leaf_of_site.try_emplace(of.site, of.leaf);
    if (!is_new && at->second != of.leaf) at->second = kNone;
  }
  for (const auto& [site, leaf] : leaf_of_site) {
    if (leaf != kNone && links_of_pair_[leaf].empty()) into_.lone_leaves_.emplace_back(leaf, site);
  }
}

void FabricBundles::Builder::store_links() {
  into_.first_link_.push_back(0);
  const auto end_bundle = [&] { into_.first_link_.push_back(static_cast<std::uint32_t>(into_.links_.size())); };
  for (const auto& out : links_of_pair_) {
    into_.links_.insert(into_.links_.end(), out.begin(), out.end());
    end_bundle();
    for (const DirectedLink link : out) into_.links_.push_back(link ^ 1U);
    end_bundle();
  }
}

FabricBundles::FabricBundles(const Topology& topology, const fabric::Locality& locality, const GpuPorts& ports)
    : parts_(topology, ports) {
  Builder(topology, locality, ports, *this).build();
}

FabricBundles::FabricBundles(FabricBundles whole, const Topology& topology, std::span<const std::uint32_t> in_use)
    : FabricBundles(std::move(whole)) {
  join_sites(topology, in_use);
}

void FabricBundles::join_sites(const Topology& topology, std::span<const std::uint32_t> in_use) {
  site_routes_ = SiteRoutes(topology, in_use, first_wan_);
  first_link_.resize(2 * std::size_t{first_wan_} + 1);
  first_link_.resize(first_link_.size() + 2 * site_routes_.pair_mbps().size(), first_link_.back());
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
  for (const auto& [leaf, site] : lone_leaves_) {
    const std::size_t up = std::size_t{2} * leaf;
    sum[up] = sum[up + 1] = site_routes_.mbps_of_site(site);
  }
  const auto wan_mbps = site_routes_.pair_mbps();
  for (std::size_t w = 0; w < wan_mbps.size(); ++w) {
    sum[2 * (first_wan_ + w)] = sum[2 * (first_wan_ + w) + 1] = wan_mbps[w];
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
