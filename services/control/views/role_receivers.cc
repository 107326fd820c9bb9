#include "services/control/views/role_receivers.h"

#include <algorithm>
#include <map>
#include <set>

#include "services/control/views/job_ports.h"

namespace railweave::control {
namespace {

using fabric::PlaneId;
using fabric::PortId;

std::set<PlaneId> planes_of(const fabric::RoutingScope& scope, std::span<const PortId> ports) {
  std::set<PlaneId> planes;
  for (const PortId port : ports) {
    if (const auto id = scope.find(port)) planes.insert(scope.plane_of(id));
  }
  return planes;
}

std::vector<PortId> ports_met(const scheduler::PlacementFabric& fabric, const fabric::RoutingScope& scope,
                              const std::set<PlaneId>& planes, std::span<const fabric::GpuId> gpus) {
  std::vector<PortId> ports = job_ports(fabric, gpus);
  std::erase_if(ports, [&](PortId port) {
    const auto id = scope.find(port);
    return !id || !planes.contains(scope.plane_of(id));
  });
  return ports;
}

std::span<const fabric::GpuId> place_of(const JobPtr& job) {
  if (job == nullptr || !job->holds_gpus()) return {};
  return job->placement.gpu_of_rank;
}

}  // namespace

std::int64_t between_roles_mbps(const scheduler::JobSpec& spec) {
  return spec.bandwidth && spec.bandwidth->between_roles ? spec.bandwidth->between_roles->value() : 0;
}

bool sends_to_roles(const scheduler::JobSpec& spec) {
  return std::ranges::any_of(spec.peers, &scheduler::RolePeer::sends);
}

bool receives_from_roles(const scheduler::JobSpec& spec) {
  return !std::ranges::all_of(spec.peers, &scheduler::RolePeer::sends);
}

std::vector<fabric::HosePort> receiving_ports(const scheduler::PlacementFabric& fabric,
                                              const fabric::RoutingScope& scope, const JobTable& jobs,
                                              const scheduler::JobSpec& spec,
                                              std::span<const fabric::GpuId> gpu_of_rank, const JobAt* receiver) {
  const std::int64_t mbps = between_roles_mbps(spec);
  if (mbps <= 0) return {};
  const auto planes = planes_of(scope, job_ports(fabric, gpu_of_rank));
  std::map<PortId, std::int64_t> received;
  const auto add = [&](std::span<const fabric::GpuId> gpus) {
    for (const PortId port : ports_met(fabric, scope, planes, gpus)) received[port] += mbps;
  };
  std::set<std::uint64_t> seen;
  if (receiver != nullptr) {
    add(receiver->gpus);
    seen.insert(receiver->job.number());
  }
  for (const auto& peer : spec.peers) {
    if (!peer.sends || !seen.insert(peer.job).second) continue;
    const JobPtr job = jobs.find(JobId(peer.job));
    add(place_of(job));
  }
  std::vector<fabric::HosePort> ports;
  for (const auto& [port, sum] : received) ports.push_back({port, 0, sum});
  return ports;
}

std::vector<RoleReceiver> role_receivers(const scheduler::PlacementFabric& fabric, const fabric::RoutingScope& scope,
                                         const JobTable& jobs, const scheduler::JobSpec& spec,
                                         std::span<const fabric::GpuId> gpu_of_rank) {
  std::vector<RoleReceiver> receivers;
  if (between_roles_mbps(spec) <= 0) return receivers;
  const auto planes = planes_of(scope, job_ports(fabric, gpu_of_rank));
  for (const auto& peer : spec.peers) {
    if (!peer.sends || std::ranges::find(receivers, JobId(peer.job), &RoleReceiver::job) != receivers.end()) continue;
    const JobPtr job = jobs.find(JobId(peer.job));
    receivers.push_back({JobId(peer.job), peer.role, ports_met(fabric, scope, planes, place_of(job)).size()});
  }
  return receivers;
}

}  // namespace railweave::control
