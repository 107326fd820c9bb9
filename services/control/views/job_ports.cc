#include "services/control/views/job_ports.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "scheduler/collective/job_flows.h"
#include "scheduler/placement/score/job_traffic.h"

namespace railweave::control {
namespace {

using fabric::GpuId;
using fabric::PlaneId;
using fabric::PortId;
using scheduler::CommGroup;
using scheduler::PlacementFabric;

PlaneId plane_of(const fabric::RoutingScope& scope, PortId port) {
  const auto id = scope.find(port);
  return id ? scope.plane_of(id) : PlaneId();
}

// The ports that a flow between two GPUs uses.
std::optional<std::pair<PortId, PortId>> flow_ports(const PlacementFabric& fabric, const fabric::RoutingScope& scope,
                                                    GpuId from, GpuId to) {
  const auto& nics = fabric.gpu_nics();
  // As collectives choose them: the first pair on one rail, else the first pair on one plane.
  for (const bool on_rail : {true, false}) {
    for (const auto& a : nics.nics(from)) {
      for (const auto& b : nics.nics(to)) {
        if (on_rail && (!a.rail || a.rail != b.rail)) continue;
        const PlaneId plane = plane_of(scope, a.port);
        if (plane && plane == plane_of(scope, b.port)) return std::pair(a.port, b.port);
      }
    }
  }
  return std::nullopt;
}

bool between_joined_sites(const PlacementFabric& fabric, GpuId from, GpuId to) {
  const auto &a = fabric.bundles().place(from), &b = fabric.bundles().place(to);
  return a.site != b.site && !fabric.bundles().site_route(a.site, b.site).bundles.empty();
}

}  // namespace

bool spans_sites(const PlacementFabric& fabric, std::span<const GpuId> gpu_of_rank) {
  return std::ranges::any_of(gpu_of_rank,
                             [&](GpuId gpu) { return between_joined_sites(fabric, gpu_of_rank.front(), gpu); });
}

std::vector<PortId> job_ports(const PlacementFabric& fabric, std::span<const GpuId> gpu_of_rank) {
  std::vector<PortId> ports;
  for (const GpuId gpu : gpu_of_rank) {
    for (const auto& nic : fabric.gpu_nics().nics(gpu)) ports.push_back(nic.port);
  }
  std::ranges::sort(ports);
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());
  return ports;
}

std::vector<fabric::PatternFlow> job_pattern(const PlacementFabric& fabric, const fabric::RoutingScope& scope,
                                             const scheduler::JobSpec& spec, std::span<const GpuId> gpu_of_rank,
                                             RateMbps rate) {
  const auto& topology = fabric.topology();
  const auto traffic = scheduler::traffic_of_job(spec).traffic;
  const bool nvls = scheduler::generation_of(fabric, gpu_of_rank).nvls;
  // GPUs of the same unit, through which a GPU reaches planes that it has no port on (NCCL's PXN).
  std::map<std::uint32_t, std::vector<GpuId>> of_unit;
  for (const GpuId gpu : gpu_of_rank) of_unit[fabric.bundles().place(gpu).unit].push_back(gpu);
  std::map<std::pair<PortId, PortId>, double> bytes;
  for (const auto group : {CommGroup::tensor, CommGroup::context, CommGroup::expert, CommGroup::data,
                           CommGroup::expert_data, CommGroup::pipeline}) {
    for (const auto& flow :
         scheduler::job_flows(fabric.bundles(), gpu_of_rank, spec.parallelism, traffic, group, nvls)) {
      const GpuId from = gpu_of_rank[flow.from];
      const GpuId to = gpu_of_rank[flow.to];
      const auto unit = fabric.bundles().place(from).unit;
      if (topology.host(from) == topology.host(to) || unit == fabric.bundles().place(to).unit) continue;
      auto pair = flow_ports(fabric, scope, from, to);
      for (const GpuId neighbour : of_unit[unit]) {
        if (pair) break;
        pair = flow_ports(fabric, scope, neighbour, to);
      }
      if (!pair && between_joined_sites(fabric, from, to)) continue;  // no switch of a subnet carries it
      if (!pair) {  // no common plane: a flow that cannot arrive, which admission reports
        const auto out = fabric.gpu_nics().nics(from);
        const auto in = fabric.gpu_nics().nics(to);
        if (out.empty() || in.empty()) continue;
        pair = std::pair(out.front().port, in.front().port);
      }
      bytes[*pair] += flow.bytes;
    }
  }
  std::map<PortId, double> sent;
  std::map<PortId, double> received;
  for (const auto& [pair, sum] : bytes) {
    sent[pair.first] += sum;
    received[pair.second] += sum;
  }
  std::vector<fabric::PatternFlow> flows;
  for (const auto& [pair, sum] : bytes) {
    const double share = sum / std::max(sent[pair.first], received[pair.second]);
    // Up: rounded down, 67 flows of a port would be promised 433 of 500 Mb/s.
    const auto mbps = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(rate.value()) - 1e-6));
    flows.push_back({{pair.first, pair.second}, mbps});
  }
  return flows;
}

}  // namespace railweave::control
