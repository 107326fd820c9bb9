#include "scheduler/collective/routed_traffic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "scheduler/collective/job_flows.h"
#include "scheduler/collective/link_senders.h"
#include "scheduler/collective/role_flows.h"

namespace railweave::scheduler {
namespace {

using fabric::DirectedLink;
using fabric::EndPortPair;
using fabric::GpuId;
using fabric::PortId;

// Bytes and flows by link, sparse: a phase crosses few links of a large fabric.
class LinkSums {
 public:
  void add(std::uint32_t link, double bytes) {
    const auto [at, is_new] = at_.try_emplace(link, static_cast<std::uint32_t>(sums_.size()));
    if (is_new) sums_.push_back({link, 0, 0});
    LinkBytes& sum = sums_[at->second];
    sum.bytes += bytes;
    ++sum.flows;
  }
  std::vector<LinkBytes> take() {
    at_.clear();
    std::ranges::sort(sums_, {}, &LinkBytes::link);
    return std::exchange(sums_, {});
  }

 private:
  std::unordered_map<std::uint32_t, std::uint32_t> at_;
  std::vector<LinkBytes> sums_;
};

class JobWalk {
 public:
  JobWalk(const RoutedTrafficInput& in, std::span<const GpuId> gpus) : in_(in), gpus_(gpus) {
    for (const GpuId gpu : gpus) of_unit_[in.bundles.place(gpu).unit].push_back(gpu);
  }

  bool add(const RankFlow& flow, double efficiency, LinkSums& sums, double& path_us) {
    if (stays(flow)) return true;
    const auto &a = place(flow.from), &b = place(flow.to);
    if (!pairs_between(gpus_[flow.from], gpus_[flow.to])) {
      if (a.site != b.site && add_between_sites(flow, a, b, efficiency, sums)) return true;
      if (!pairs_by_neighbour(flow)) return false;
    }
    const double bytes = flow.bytes / efficiency / static_cast<double>(pairs_.size());
    for (const DirectedLink link : links_) sums.add(link, bytes);
    path_us = std::max(path_us, longest_us_);
    return true;
  }

  void list(const RankFlow& flow, double efficiency, std::vector<PortFlow>& to) {
    if (stays(flow)) return;
    if (!pairs_between(gpus_[flow.from], gpus_[flow.to])) {
      if (place(flow.from).site != place(flow.to).site || !pairs_by_neighbour(flow)) return;
    }
    for (const EndPortPair& pair : pairs_) {
      to.push_back({pair, flow.bytes / efficiency / static_cast<double>(pairs_.size())});
    }
  }

  // No route of a subnet crosses the links between sites: which switch leads to them is not known, so that inside the
  // sites only the adapters carry it.
  bool add_between_sites(const RankFlow& flow, const FabricBundles::Place& a, const FabricBundles::Place& b,
                         double efficiency, LinkSums& sums) {
    const auto& route = in_.bundles.site_route(a.site, b.site);
    const auto out = in_.ports.of(gpus_[flow.from]), in = in_.ports.of(gpus_[flow.to]);
    if (route.bundles.empty() || out.empty() || in.empty()) return false;
    const double bytes = flow.bytes / efficiency;
    for (const PortId port : out) {
      sums.add(fabric::directed_link(in_.topology, port), bytes / static_cast<double>(out.size()));
    }
    for (const PortId port : in) {
      const PortId leaf = in_.topology.peer(port);
      sums.add(fabric::directed_link(in_.topology, leaf), bytes / static_cast<double>(in.size()));
    }
    for (const std::uint32_t bundle : route.bundles)
      sums.add(routed_wan_link(in_.topology, in_.bundles, bundle), bytes);
    return true;
  }

 private:
  [[nodiscard]] const FabricBundles::Place& place(std::uint32_t rank) const { return in_.bundles.place(gpus_[rank]); }
  [[nodiscard]] bool stays(const RankFlow& flow) const {
    const auto &a = place(flow.from), &b = place(flow.to);
    return a.unit == b.unit || a.host == b.host || flow.bytes <= 0;
  }
  bool pairs_by_neighbour(const RankFlow& flow) {
    return std::ranges::any_of(of_unit_[place(flow.from).unit],
                               [&](GpuId gpu) { return pairs_between(gpu, gpus_[flow.to]); });
  }

  // The routed pairs of their ports, in pairs_, and their paths, in links_. A port is paired with the first port of the other GPU on
  // its rail, else with the port of the same index.
  bool pairs_between(GpuId from, GpuId to) {
    const auto out = in_.ports.of(from), in = in_.ports.of(to);
    links_.clear();
    pairs_.clear();
    longest_us_ = 0;
    if (out.empty() || in.empty()) return false;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const fabric::RailId rail = in_.topology.rail(out[i]);
      const auto same = std::ranges::find_if(in, [&](PortId p) { return rail && in_.topology.rail(p) == rail; });
      if (same != in.end()) append({out[i], *same});
    }
    for (std::size_t i = 0; i < out.size() && pairs_.empty(); ++i) append({out[i], in[i % in.size()]});
    for (const PortId a : out) {  // any pair that has a route
      for (const PortId b : in) {
        if (pairs_.empty()) append({a, b});
      }
    }
    return !pairs_.empty();
  }

  void append(EndPortPair pair) {
    const std::size_t before = links_.size();
    if (!in_.walker.append(pair, links_)) return;
    pairs_.push_back(pair);
    PathShape shape{.switches = static_cast<unsigned>(links_.size() - before - 1), .cable_m = 0, .network = true};
    for (std::size_t i = before; i < links_.size(); ++i) {
      const float length = in_.topology.spec(fabric::link_of(links_[i])).cable_length_m;
      shape.cable_m += length > 0 ? length : LatencyConstants{}.default_cable_m;
    }
    longest_us_ = std::max(longest_us_, scheduler::path_us(shape));
  }

  const RoutedTrafficInput& in_;
  std::span<const GpuId> gpus_;
  std::map<std::uint32_t, std::vector<GpuId>> of_unit_;
  std::vector<DirectedLink> links_;
  std::vector<EndPortPair> pairs_;
  double longest_us_ = 0;
};

std::vector<RankFlow> rank_flows(const RoutedTrafficInput& in, std::span<const GpuId> gpu_of_rank,
                                 const Parallelism& parallelism, const TrafficSpec& traffic, CommGroup group,
                                 const GpuGeneration& generation) {
  return group == CommGroup::roles ? role_flows(gpu_of_rank.size(), traffic)
                                   : job_flows(in.bundles, gpu_of_rank, parallelism, traffic, group, generation.nvls);
}

}  // namespace

std::uint32_t routed_wan_link(const fabric::Topology& topology, const FabricBundles& bundles, std::uint32_t bundle) {
  return static_cast<std::uint32_t>(fabric::directed_link_count(topology)) + bundle - 2 * bundles.first_wan();
}

std::vector<double> routed_capacities_mbps(const fabric::FabricView& view, const FabricBundles& bundles,
                                           std::span<const double> bundle_mbps) {
  std::vector<double> mbps = fabric::link_capacities_mbps(view);
  const auto wan = bundle_mbps.subspan(2 * std::size_t{bundles.first_wan()});
  mbps.insert(mbps.end(), wan.begin(), wan.end());
  return mbps;
}

double flow_count(const Parallelism& parallelism, const TrafficSpec& traffic) {
  const auto ranks = static_cast<double>(rank_count(parallelism));
  double count = role_flow_count(static_cast<std::size_t>(ranks), traffic);
  for (std::size_t g = 0; g < kCommGroups; ++g) {
    const auto group = static_cast<CommGroup>(g);
    const GroupTraffic& own = traffic_of_group(traffic, group);
    const auto size = static_cast<double>(group_size(parallelism, group));
    if (own.bytes <= 0 || size < 2) continue;
    const bool pushes = group != CommGroup::pipeline && there_and_back(group, own);
    count += ranks * (group == CommGroup::expert ? size - 1 : pushes ? 2.0 * std::min<double>(own.servers, size) : 2);
  }
  return count;
}

std::uint64_t mean_kbps(const PortFlow& flow, double period_us) {
  constexpr double kKilobitsPerByteAndUs = 8000;  // bytes a microsecond, as kb/s
  return static_cast<std::uint64_t>(std::llround(kKilobitsPerByteAndUs * flow.bytes / period_us));
}

std::vector<PortFlow> port_flows(const RoutedTrafficInput& in, std::span<const GpuId> gpu_of_rank,
                                 const Parallelism& parallelism, const TrafficSpec& traffic,
                                 const GpuGeneration& generation, const LinkTraffic& bundled) {
  std::vector<PortFlow> ports;
  const std::vector<GpuId> all = gpus_with_peers(gpu_of_rank, traffic);
  JobWalk walk(in, gpu_of_rank), walk_with_peers(in, all);
  for (std::size_t g = 0; g < kCommGroups; ++g) {
    const auto group = static_cast<CommGroup>(g);
    if (traffic_of_group(traffic, group).bytes <= 0 || bundled.groups[g].domains < 2) continue;
    const bool roles = group == CommGroup::roles;
    for (const RankFlow& flow : rank_flows(in, gpu_of_rank, parallelism, traffic, group, generation)) {
      (roles ? walk_with_peers : walk).list(flow, generation.constants.network_efficiency, ports);
    }
  }
  return ports;
}

LinkTraffic routed_traffic(const RoutedTrafficInput& in, std::span<const GpuId> gpu_of_rank,
                           const Parallelism& parallelism, const TrafficSpec& traffic, const GpuGeneration& generation,
                           const LinkTraffic& bundled) {
  LinkTraffic routed;
  JobWalk walk(in, gpu_of_rank);
  const std::vector<GpuId> all = gpus_with_peers(gpu_of_rank, traffic);
  JobWalk walk_with_peers(in, all);
  for (std::size_t g = 0; g < kCommGroups; ++g) {
    const auto group = static_cast<CommGroup>(g);
    const GroupTraffic& own = traffic_of_group(traffic, group);
    GroupLoad& load = routed.groups[g];
    load.domains = bundled.groups[g].domains;
    load.far_us = bundled.groups[g].far_us;
    if (own.bytes <= 0 || load.domains == 0) continue;
    GroupLoad nvlink = bundled.groups[g];
    for (auto& phase : nvlink.phases) {
      std::erase_if(phase,
                    [&](const LinkBytes& on) { return in.bundles.kind(on.link) != FabricBundles::Kind::nvlink; });
    }
    load.floor_us = phases_time(nvlink, in.bundle_mbps, nullptr).us;
    if (load.domains == 1) {  // nothing leaves an NVLink domain
      load.phases.resize(1);
      continue;
    }
    // The transfers of both directions follow each other; also for a pipeline, as in training_step.h.
    const bool turns = there_and_back(group, own);
    LinkSums there, back;
    bool second = false;
    const bool roles = group == CommGroup::roles;
    JobWalk& walks = roles ? walk_with_peers : walk;
    for (const RankFlow& flow : rank_flows(in, gpu_of_rank, parallelism, traffic, group, generation)) {
      if (!walks.add(flow, generation.constants.network_efficiency, second ? back : there, load.path_us)) {
        load.floor_us = std::numeric_limits<double>::infinity();
      }
      second = turns && !second;
    }
    load.phases.push_back(there.take());
    if (turns) load.phases.push_back(back.take());
  }
  return routed;
}

}  // namespace railweave::scheduler
