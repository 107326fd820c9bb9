#include "services/control/views/job_reach.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "scheduler/collective/job_flows.h"
#include "scheduler/collective/routed_traffic.h"
#include "scheduler/placement/score/job_traffic.h"

namespace railweave::control {
namespace {

using fabric::GpuId;
using scheduler::CommGroup;
using scheduler::RankFlow;

constexpr double kMaxFlowsWalked = 4e6;  // larger jobs are not checked

bool meet(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  return std::ranges::any_of(a, [&](std::uint32_t part) { return std::ranges::binary_search(b, part); });
}

}  // namespace

JobReach::JobReach(const ClusterState& state)
    : fabric_(state.placement_fabric), view_(state.view), parts_(view_), view_version_(state.view_version) {}

std::vector<std::uint32_t> JobReach::parts_of(GpuId gpu) const {
  std::vector<std::uint32_t> parts;
  for (const auto& nic : fabric_->gpu_nics().nics(gpu)) {
    if (parts_.usable(nic.port)) parts.push_back(parts_.part(nic.port));
  }
  std::ranges::sort(parts);
  return parts;
}

bool JobReach::same_site_or_joined(GpuId a, GpuId b) const {
  const auto& topology = fabric_->topology();
  const auto from = topology.site(topology.host(a));
  const auto to = topology.site(topology.host(b));
  return from && to && from != to && std::isfinite(fabric_->bundles().site_route(from.value(), to.value()).latency_us);
}

// The common case, without looking at flows: every GPU has a port in the same part of the network.
bool JobReach::in_one_part(std::span<const GpuId> gpu_of_rank) const {
  const auto& nics = fabric_->gpu_nics();
  if (gpu_of_rank.empty()) return true;
  return std::ranges::any_of(nics.nics(gpu_of_rank.front()), [&](const auto& first) {
    if (!parts_.usable(first.port)) return false;
    const std::uint32_t part = parts_.part(first.port);
    return std::ranges::all_of(gpu_of_rank, [&](GpuId gpu) {
      return std::ranges::any_of(
          nics.nics(gpu), [&](const auto& nic) { return parts_.usable(nic.port) && parts_.part(nic.port) == part; });
    });
  });
}

std::optional<std::string> JobReach::cut_off(const scheduler::JobSpec& spec, std::span<const GpuId> gpu_of_rank) const {
  if (in_one_part(gpu_of_rank)) return std::nullopt;
  const auto& topology = fabric_->topology();
  const auto& bundles = fabric_->bundles();
  std::map<GpuId, std::vector<std::uint32_t>> parts;
  std::map<std::uint32_t, std::vector<std::uint32_t>> of_unit;
  for (const GpuId gpu : gpu_of_rank) {
    auto own = parts_of(gpu);
    auto& unit = of_unit[bundles.place(gpu).unit];
    unit.insert(unit.end(), own.begin(), own.end());
    parts.emplace(gpu, std::move(own));
  }
  for (auto& [unit, all] : of_unit) {
    std::ranges::sort(all);
    const auto repeated = std::ranges::unique(all);
    all.erase(repeated.begin(), repeated.end());
  }
  const auto reaches = [&](GpuId from, GpuId to) {
    const auto& a = bundles.place(from);
    const auto& b = bundles.place(to);
    if (a.unit == b.unit || a.host == b.host) return true;
    const auto& nics = fabric_->gpu_nics();
    if (nics.nics(from).empty() || nics.nics(to).empty()) return true;
    return meet(of_unit.at(a.unit), parts.at(to)) || same_site_or_joined(from, to);
  };
  const auto text = [&](std::uint32_t rank) {
    return "rank " + std::to_string(rank) + " (" + std::string(topology.name(topology.host(gpu_of_rank[rank]))) +
           ", GPU " + std::to_string(topology.local_index(gpu_of_rank[rank])) + ")";
  };
  const auto traffic = scheduler::traffic_of_job(spec).traffic;
  const bool nvls = scheduler::generation_of(*fabric_).nvls;
  if (scheduler::flow_count(spec.parallelism, traffic) > kMaxFlowsWalked) return std::nullopt;
  for (const auto group : {CommGroup::tensor, CommGroup::context, CommGroup::expert, CommGroup::data,
                           CommGroup::expert_data, CommGroup::pipeline}) {
    for (const RankFlow& flow : scheduler::job_flows(bundles, gpu_of_rank, spec.parallelism, traffic, group, nvls)) {
      if (reaches(gpu_of_rank[flow.from], gpu_of_rank[flow.to])) continue;
      return "no route from " + text(flow.from) + " to " + text(flow.to) +
             ": their adapters are in parts of the network that no link joins";
    }
  }
  return std::nullopt;
}

}  // namespace railweave::control
