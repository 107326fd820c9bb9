#include "services/control/views/job_pairs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>

#include "scheduler/collective/job_flows.h"
#include "scheduler/collective/role_flows.h"
#include "scheduler/collective/routed_traffic.h"
#include "scheduler/placement/score/job_traffic.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/peer_places.h"

namespace railweave::control {
namespace {

using scheduler::CommGroup;
using scheduler::FabricBundles;
using scheduler::RankFlow;

PairReach reach_between(const FabricBundles::Place& a, const FabricBundles::Place& b) {
  if (a.host == b.host && a.domain == FabricBundles::kNone) return PairReach::host;
  if (a.unit == b.unit) return PairReach::nvlink;
  if (a.host == b.host) return PairReach::host;
  if (a.site != b.site) return PairReach::sites;
  return a.leaf == b.leaf ? PairReach::leaf : PairReach::network;
}

class PairSums {
 public:
  PairSums(const fabric::Topology& topology, std::span<const fabric::GpuId> gpus) {
    result_.by_node = gpus.size() > JobPairs::kMaxGpus;
    std::unordered_map<std::size_t, std::uint32_t> of_host;
    for (const auto gpu : gpus) {
      const auto host = topology.host(gpu);
      const auto next = static_cast<std::uint32_t>(result_.ends.size());
      const auto end = result_.by_node ? of_host.try_emplace(host.index(), next).first->second : next;
      end_of_.push_back(end);
      if (end < next) continue;
      std::string name(topology.name(host));
      if (!result_.by_node) name += fmt::format("/{}", topology.local_index(gpu));
      result_.ends.push_back(std::move(name));
    }
  }

  void add(const RankFlow& flow, CommGroup group, PairReach over) {
    const std::uint32_t to = flow.to == RankFlow::kNetwork ? JobPair::kSwitches : end_of_[flow.to];
    JobPair& pair = sums_[{end_of_[flow.from], to}];
    pair.bytes += flow.bytes;
    pair.groups |= 1U << static_cast<unsigned>(group);
    pair.over = std::max(pair.over, over);
  }

  JobPairs take() {
    for (auto& [ends, pair] : sums_) {
      std::tie(pair.from, pair.to) = ends;
      result_.pairs.push_back(pair);
    }
    auto& pairs = result_.pairs;
    if (pairs.size() <= JobPairs::kMaxPairs) return std::move(result_);
    result_.is_incomplete = true;
    std::ranges::stable_sort(pairs, std::ranges::greater{}, &JobPair::bytes);
    pairs.resize(JobPairs::kMaxPairs);
    std::ranges::sort(pairs, {}, [](const JobPair& pair) { return std::pair(pair.from, pair.to); });
    return std::move(result_);
  }

  JobPairs& result() { return result_; }

 private:
  JobPairs result_;
  std::vector<std::uint32_t> end_of_;  // by rank
  std::map<std::pair<std::uint32_t, std::uint32_t>, JobPair> sums_;
};

std::vector<RolePair> role_pairs(const ClusterState& state, const Job& job) {
  const auto& bundles = state.placement_fabric->bundles();
  const auto peers = peer_places(std::make_shared<const JobTable>(state.jobs));
  auto exchanged = scheduler::traffic_of_job(job.spec, peers, scheduler::PeersOf::all).traffic;
  std::vector<RolePair> pairs;
  for (auto& with : exchanged.peers) {
    scheduler::TrafficSpec one;
    one.peers = {std::move(with)};
    const auto& peer = one.peers.front().peer;
    RolePair pair{JobId(peer.job), peer.role, peer.sends, peer.bytes, PairReach::nvlink, peer.counted};
    const auto gpus = scheduler::gpus_with_peers(job.placement.gpu_of_rank, one);
    for (const RankFlow& flow : scheduler::role_flows(job.placement.gpu_of_rank.size(), one)) {
      pair.over = std::max(pair.over, reach_between(bundles.place(gpus[flow.from]), bundles.place(gpus[flow.to])));
    }
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace

JobPairs job_pairs(const ClusterState& state, const Job& job) {
  const auto& fabric = *state.placement_fabric;
  const auto& gpus = job.placement.gpu_of_rank;
  const auto traffic = scheduler::traffic_of_job(job.spec);
  PairSums sums(state.topology(), gpus);
  sums.result().is_assumed = traffic.assumed;
  sums.result().roles = role_pairs(state, job);
  if (gpus.empty() || scheduler::flow_count(job.spec.parallelism, traffic.traffic) > JobPairs::kMaxFlows) {
    sums.result().is_incomplete = !gpus.empty();
    return sums.take();
  }
  const auto& bundles = fabric.bundles();
  const bool nvls = scheduler::generation_of(fabric, gpus).nvls;
  for (std::size_t g = 0; g < scheduler::kCommGroups; ++g) {
    const auto group = static_cast<CommGroup>(g);
    if (scheduler::traffic_of_group(traffic.traffic, group).bytes <= 0) continue;
    for (const RankFlow& flow :
         scheduler::job_flows(bundles, gpus, job.spec.parallelism, traffic.traffic, group, nvls)) {
      const auto& from = bundles.place(gpus[flow.from]);
      const bool reduced = flow.to == RankFlow::kNetwork;
      sums.add(flow, group, reduced ? PairReach::network : reach_between(from, bundles.place(gpus[flow.to])));
    }
  }
  return sums.take();
}

}  // namespace railweave::control
