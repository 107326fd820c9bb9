#include "services/rest/handlers/fabric/drain_state.h"

#include <fmt/core.h>

#include "fabric/topology/site_link_name.h"
#include "services/control/views/site_link_jobs.h"

namespace railweave::api {
namespace {

using control::ClusterState;
using control::Drain;
using control::DrainKind;
using control::DrainState;
using control::DrainTarget;

fabric::SubnetId subnet_of(const fabric::Topology& topology, const DrainTarget& target) {
  if (target.kind == DrainKind::network_switch) {
    const auto sw = topology.find_switch(target.id);
    return sw ? topology.subnet(sw) : fabric::SubnetId();
  }
  const auto link = topology.find_link(target.id);
  return link ? topology.subnet(topology.a(link)) : fabric::SubnetId();
}

std::string jobs_on(const ClusterState& state, const DrainTarget& target) {
  const auto host = state.topology().find_host(control::node_of(target));
  if (!host) return "the topology has no such node";
  const auto only = target.kind == DrainKind::gpu ? control::find_gpu(state.topology(), target.id) : fabric::GpuId();
  if (const auto left = control::jobs_that_left(*state.left_gpus, target.id); !left.empty()) {
    return fmt::format(
        "{0} was repaired, and its processes there may still run: its launcher has to free the GPUs (railweave jobs "
        "freed {0} "
        "--node {1})",
        to_string(*left.begin()), control::node_of(target));
  }
  if (state.allocations[host.index()].used == 0) return {};
  std::string jobs;
  std::size_t count = 0;
  state.jobs.visit_after(control::JobId(0), [&](const control::JobPtr& job) {
    if (!job->holds_gpus()) return true;
    for (const auto gpu : job->placement.held_gpus()) {
      if (state.topology().host(gpu) != host || (only && gpu != only)) continue;
      if (count++ < 5) jobs += fmt::format("{}{}", jobs.empty() ? "" : ", ", to_string(job->id));
      break;
    }
    return true;
  });
  if (count == 0) return {};
  return "jobs run on it: " + jobs + (count > 5 ? fmt::format(" and {} more", count - 5) : "") +
         "; railweave jobs repair JOB " + (only ? "--gpu " : "--node ") + target.id + " moves a job away";
}

}  // namespace

std::string waits_for(const control::LiveFabric& live, const ClusterState& state, const Drain& drain) {
  if (drain.state == DrainState::drained) return {};
  if (drain.target.kind == DrainKind::node || drain.target.kind == DrainKind::gpu) return jobs_on(state, drain.target);
  if (drain.target.kind == DrainKind::site_link) {
    const auto link = fabric::find_site_link(state.topology(), drain.target.id);
    const std::string jobs = link ? control::needing(control::jobs_over(state, link)).whole_text() : std::string();
    if (jobs.empty()) return {};
    return "jobs have no other route between their sites: " + jobs + "; railweave jobs repair JOB moves a job into one";
  }
  const auto subnet = subnet_of(state.topology(), drain.target);
  if (!subnet) return "the topology has no such " + std::string(to_string(drain.target.kind));
  const std::string name(state.topology().name(subnet));
  const auto status = live.subnet(name);
  if (status == nullptr) {
    return "there is no live connection to subnet '" + name + "': its own subnet manager must move the traffic";
  }
  if (state.mode(name) == control::SubnetMode::observe) {
    return "subnet '" + name + "' is in observe mode: its own subnet manager must move the traffic";
  }
  return status->problem.empty() ? "new tables are being written" : status->problem;
}

ShownDrain shown_drain(const ControlPlane& plane, const ClusterState& state, const DrainTarget& target) {
  const auto drain = state.drains->find(target);
  if (drain == state.drains->end()) return {};
  return {&drain->second, waits_for(plane.live, state, drain->second)};
}

ShownDrain shown_drain(const ControlPlane& plane, const ClusterState& state, DrainKind kind, const std::string& name) {
  const auto target = control::resolve(state.topology(), kind, name);
  return target ? shown_drain(plane, state, *target) : ShownDrain{};
}

}  // namespace railweave::api
