#include "services/control/views/job_reach.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/core.h>

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

JobReach::JobReach(const ClusterState& state) : JobReach(state, state.view) {}

JobReach::JobReach(const ClusterState& state, fabric::FabricView view)
    : fabric_(state.placement_fabric), view_(std::move(view)), parts_(view_), view_version_(state.view_version) {}

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

struct JobReach::JobParts {
  std::map<GpuId, std::vector<std::uint32_t>> of_gpu;
  std::map<std::uint32_t, std::vector<std::uint32_t>> of_unit;
};

JobReach::JobParts JobReach::parts_of_job(std::span<const GpuId> gpu_of_rank) const {
  JobParts parts;
  for (const GpuId gpu : gpu_of_rank) {
    auto own = parts_of(gpu);
    auto& unit = parts.of_unit[fabric_->bundles().place(gpu).unit];
    unit.insert(unit.end(), own.begin(), own.end());
    parts.of_gpu.emplace(gpu, std::move(own));
  }
  for (auto& [unit, all] : parts.of_unit) {
    std::ranges::sort(all);
    const auto repeated = std::ranges::unique(all);
    all.erase(repeated.begin(), repeated.end());
  }
  return parts;
}

bool JobReach::reaches(const JobParts& parts, GpuId from, GpuId to) const {
  const auto& a = fabric_->bundles().place(from);
  const auto& b = fabric_->bundles().place(to);
  if (a.unit == b.unit || a.host == b.host) return true;
  const auto& nics = fabric_->gpu_nics();
  if (nics.nics(from).empty() || nics.nics(to).empty()) return true;
  return meet(parts.of_unit.at(a.unit), parts.of_gpu.at(to)) || same_site_or_joined(from, to);
}

namespace {

// Calls visit(flow) for every flow of the job's groups until it returns false.
template <class Visit>
void visit_flows(const scheduler::PlacementFabric& fabric, const scheduler::JobSpec& spec,
                 std::span<const GpuId> gpu_of_rank, Visit visit) {
  const auto traffic = scheduler::traffic_of_job(spec).traffic;
  const bool nvls = scheduler::generation_of(fabric).nvls;
  for (const auto group : {CommGroup::tensor, CommGroup::context, CommGroup::expert, CommGroup::data,
                           CommGroup::expert_data, CommGroup::pipeline}) {
    for (const RankFlow& flow :
         scheduler::job_flows(fabric.bundles(), gpu_of_rank, spec.parallelism, traffic, group, nvls)) {
      if (!visit(flow)) return;
    }
  }
}

// Whether packets arrive by tables, from any port of a GPU's NVLink domain in the job to any port of another GPU.
class TableWalk {
 public:
  TableWalk(const FabricRoutes& routes, const scheduler::PlacementFabric& fabric, std::span<const GpuId> gpus)
      : routes_(routes), fabric_(fabric), walker_(routes.input.view, routes.routing.tables) {
    for (const GpuId gpu : gpus) of_unit_[fabric.bundles().place(gpu).unit].push_back(gpu);
  }

  // True too: no port of theirs is in a plane whose tables were seen, so that cables decide.
  bool arrives(GpuId from, GpuId to) {
    bool is_seen = false;
    for (const auto& in : fabric_.gpu_nics().nics(to)) {
      const auto destination = routes_.scope().find(in.port);
      is_seen = is_seen || (destination && routes_.is_seen(routes_.scope().plane_of(destination)));
    }
    if (!is_seen || any_arrives(from, to)) return true;
    const auto& unit = of_unit_[fabric_.bundles().place(from).unit];
    return std::ranges::any_of(unit, [&](GpuId gpu) { return gpu != from && any_arrives(gpu, to); });
  }

 private:
  bool any_arrives(GpuId from, GpuId to) {
    for (const auto& out : fabric_.gpu_nics().nics(from)) {
      for (const auto& in : fabric_.gpu_nics().nics(to)) {
        const auto [known, is_new] = arrives_.try_emplace({out.port, in.port}, false);
        if (is_new) {
          links_.clear();
          known->second = walker_.append({out.port, in.port}, links_);
        }
        if (known->second) return true;
      }
    }
    return false;
  }

  const FabricRoutes& routes_;
  const scheduler::PlacementFabric& fabric_;
  const fabric::PathWalker walker_;
  std::map<std::uint32_t, std::vector<GpuId>> of_unit_;
  std::map<std::pair<fabric::PortId, fabric::PortId>, bool> arrives_;
  std::vector<fabric::DirectedLink> links_;
};

bool has_few_flows(const scheduler::JobSpec& spec) {
  return scheduler::flow_count(spec.parallelism, scheduler::traffic_of_job(spec).traffic) <= kMaxFlowsWalked;
}

}  // namespace

std::optional<std::string> JobReach::cut_off(const scheduler::JobSpec& spec, std::span<const GpuId> gpu_of_rank) const {
  if (in_one_part(gpu_of_rank) || !has_few_flows(spec)) return std::nullopt;
  const auto& topology = fabric_->topology();
  const auto text = [&](std::uint32_t rank) {
    return fmt::format("rank {} ({}, GPU {})", rank, topology.name(topology.host(gpu_of_rank[rank])),
                       topology.local_index(gpu_of_rank[rank]));
  };
  const JobParts parts = parts_of_job(gpu_of_rank);
  std::optional<std::string> why;
  visit_flows(*fabric_, spec, gpu_of_rank, [&](const RankFlow& flow) {
    if (reaches(parts, gpu_of_rank[flow.from], gpu_of_rank[flow.to])) return true;
    why = "no route from " + text(flow.from) + " to " + text(flow.to) +
          ": their adapters are in parts of the network that no link joins";
    return false;
  });
  return why;
}

std::vector<GpuId> JobReach::unreached(const scheduler::JobSpec& spec, std::span<const GpuId> gpu_of_rank,
                                       const FabricRoutes* tables) const {
  const bool is_seen = tables != nullptr && !tables->seen().empty();
  if ((!is_seen && in_one_part(gpu_of_rank)) || !has_few_flows(spec)) return {};
  const JobParts parts = parts_of_job(gpu_of_rank);
  std::optional<TableWalk> walk;
  if (is_seen) walk.emplace(*tables, *fabric_, gpu_of_rank);
  // 1. Flows that are cut, and the GPUs that they are to.
  std::set<std::pair<GpuId, GpuId>> cut;
  std::set<GpuId> lost;
  std::set<std::vector<std::uint32_t>> apart;
  visit_flows(*fabric_, spec, gpu_of_rank, [&](const RankFlow& flow) {
    const GpuId from = gpu_of_rank[flow.from], to = gpu_of_rank[flow.to];
    if (cut.contains({from, to})) return true;
    const bool is_apart = !reaches(parts, from, to);
    if (!is_apart && (!walk || walk->arrives(from, to))) return true;
    cut.emplace(from, to);
    lost.insert(to);
    if (is_apart) apart.insert(parts.of_gpu.at(to));
    return true;
  });
  // Whoever is in those parts of the network is no better there.
  for (const GpuId gpu : gpu_of_rank) {
    if (apart.contains(parts.of_gpu.at(gpu))) lost.insert(gpu);
  }
  // 2. Of GPUs alike, the most may stay where they are if the others move.
  std::map<std::vector<std::uint32_t>, std::set<GpuId>> alike;
  for (const GpuId gpu : lost) alike[parts.of_gpu.at(gpu)].insert(gpu);
  const auto most = std::ranges::max_element(alike, {}, [&](const auto& group) {
    return std::ranges::count_if(gpu_of_rank, [&](GpuId gpu) { return parts.of_gpu.at(gpu) == group.first; });
  });
  if (alike.size() > 1) {
    const auto& staying = most->second;
    const bool suffices = std::ranges::all_of(cut, [&](const auto& flow) {
      const auto moves = [&](GpuId gpu) { return lost.contains(gpu) && !staying.contains(gpu); };
      return moves(flow.first) || moves(flow.second);
    });
    if (suffices) {
      for (const GpuId gpu : staying) lost.erase(gpu);
    }
  }
  return {lost.begin(), lost.end()};
}

}  // namespace railweave::control
