#include "services/control/decide/drain_preview.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "fabric/topology/site_link_name.h"
#include "services/control/guarantees/recheck.h"
#include "services/control/views/changed_paths.h"
#include "services/control/views/host_jobs.h"
#include "services/control/views/reachable_parts.h"
#include "services/control/views/site_link_jobs.h"

namespace railweave::control {
namespace {

using fabric::DestinationId;
using fabric::HostId;
using fabric::PlaneId;
using fabric::PortId;
using fabric::SwitchId;
using fabric::Topology;

HostId host_of(const Topology& topology, PortId port) {
  const auto hca = topology.hca_of(port);
  return hca ? topology.host(hca) : HostId();
}

double residual_share(const fabric::RoutingScope& scope, const fabric::FabricView& view) {
  struct Rates {
    double cabled = 0, residual = 0;
  };
  std::map<std::tuple<PlaneId, std::uint8_t, std::uint8_t>, Rates> by_tiers;
  const auto& topology = view.topology();
  for (const auto link : topology.links()) {
    if (!topology.joins_switches(link)) continue;
    const SwitchId a = topology.switch_of(topology.a(link));
    const SwitchId b = topology.switch_of(topology.b(link));
    const auto [low, high] = std::minmax({topology.tier(a), topology.tier(b)});
    auto& rates = by_tiers[{scope.plane_of(a), low, high}];
    rates.cabled += std::max<double>(1, static_cast<double>(topology.rate(link).value()));
    if (view.carries_transit(link)) rates.residual += std::max<double>(1, static_cast<double>(view.rate(link).value()));
  }
  double least = 1;
  for (const auto& [tiers, rates] : by_tiers) least = std::min(least, rates.residual / rates.cabled);
  return least;
}

std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > kNamed ? fmt::format("{} and {} more", text, names.size() - kNamed) : text;
}

std::string end_port_text(const Topology& topology, PortId port) {
  const HostId host = host_of(topology, port);
  if (!host) return topology.port_text(port);
  return fmt::format("{}/{}", topology.name(host), topology.device(topology.hca_of(port)));
}

// The node whose cable the target is; none: the target is not a node's cable.
HostId host_at(const Topology& topology, const DrainTarget& target) {
  if (target.kind != DrainKind::link) return {};
  const auto link = topology.find_link(target.id);
  if (!link) return {};
  const HostId a = host_of(topology, topology.a(link));
  return a ? a : host_of(topology, topology.b(link));
}

// All end ports of the host that are in use now are cut off.
bool is_left_alone(const DrainPreview& preview, const ClusterState& state, HostId host) {
  const Topology& topology = state.topology();
  for (const auto hca : topology.hcas(host)) {
    for (const PortId port : topology.ports(hca)) {
      const auto link = topology.link(port);
      if (!link || !state.view.carries_transit(link) || !topology.switch_of(topology.peer(port))) continue;
      if (std::ranges::find(preview.cut_off, port) == preview.cut_off.end()) return false;
    }
  }
  return true;
}

// What would be cut off, the nodes that nothing joins to the rest then, and the jobs there.
std::string cut_off_text(const DrainPreview& preview, const ClusterState& state, const std::vector<PortId>& cut) {
  const Topology& topology = state.topology();
  std::set<HostId> hosts;
  std::vector<std::string> ports, alone, jobs;
  for (const PortId port : cut) {
    ports.push_back(end_port_text(topology, port));
    const HostId host = host_of(topology, port);
    if (host && hosts.insert(host).second && is_left_alone(preview, state, host)) {
      alone.emplace_back(topology.name(host));
    }
  }
  for (const AffectedJob& job : preview.jobs) {
    if (job.cut_off) jobs.push_back(to_string(job.id));
  }
  std::string text = fmt::format("it cuts off {}{}{}", cut.size(),
                                 cut.size() == 1 ? " end port: " : " end ports: ", first_names(ports));
  if (!alone.empty()) text += "; nothing else joins to the rest: " + first_names(alone);
  if (!jobs.empty()) text += "; jobs there: " + first_names(jobs);
  return text;
}

void add_objections(DrainPreview& preview, const ClusterState& state) {
  const Topology& topology = state.topology();
  const HostId own = host_at(topology, preview.target);
  // No objection: the node of a drained cable loses that cable as requested; a drained node expects no traffic.
  std::vector<PortId> cut;
  for (const PortId port : preview.cut_off) {
    const HostId host = host_of(topology, port);
    if (host && (host == own || state.view.drained(host))) continue;
    cut.push_back(port);
  }
  if (!cut.empty()) preview.objections.push_back(cut_off_text(preview, state, cut));
  if (own && state.allocations[own.index()].used != 0 && !state.view.drained(own)) {
    preview.objections.push_back(fmt::format("jobs run on {}, which the cable connects", topology.name(own)));
  }
  if (preview.tables && !preview.tables->verified) {
    preview.objections.emplace_back(
        "the tables for the remaining fabric are not verified: some connected ports are unreachable, or packets can "
        "deadlock");
  }
}

template <class Visit>
void for_each_running(const ClusterState& state, Visit visit) {
  state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (job->holds_gpus()) visit(*job);
    return true;
  });
}

}  // namespace

DrainPreview preview_node_drain(const ClusterState& state, const DrainTarget& target) {
  DrainPreview preview{.target = target, .view_version = state.view_version};
  const HostId host = state.topology().find_host(node_of(target));
  if (!host) return preview;
  const HostJobs jobs(state);
  const auto gpu = target.kind == DrainKind::gpu ? find_gpu(state.topology(), target.id) : fabric::GpuId();
  for (const JobPtr& job : jobs.on(host)) {
    if (gpu && std::ranges::find(job->placement.gpu_of_rank, gpu) == job->placement.gpu_of_rank.end()) continue;
    preview.jobs.push_back({.id = job->id, .name = job->spec.name, .tenant = job->spec.tenant, .on_it = true});
  }
  return preview;
}

DrainPreview preview_site_link_drain(const ClusterState& state, const DrainTarget& target) {
  DrainPreview preview{.target = target, .view_version = state.view_version};
  const auto link = fabric::find_site_link(state.topology(), target.id);
  if (!link || state.view.links_in_use(link) == 0) return preview;  // nothing uses it now
  const auto jobs = jobs_over(state, link);
  for (const auto& one : jobs) {
    preview.jobs.push_back({.id = one.job->id,
                            .name = one.job->spec.name,
                            .tenant = one.job->spec.tenant,
                            .cut_off = one.needs_it,
                            .rerouted = !one.needs_it});
  }
  if (const auto needing = railweave::control::needing(jobs).whole_text(); !needing.empty()) {
    preview.objections.push_back("no other route joins the sites of jobs that run across it: " + needing);
  }
  return preview;
}

namespace {

// The tables after a drain: those that Railweave computes. Of other tables it is not known what their subnet manager makes of
// it: what leads over the target now is to change.
fabric::ForwardingTables tables_after(const FabricRoutes& in_force, const FabricRoutes& wanted_after) {
  fabric::ForwardingTables after = wanted_after.routing.tables;
  const Topology& topology = after.scope().topology();
  for (const PlaneId id : after.scope().planes()) {
    if (!in_force.is_seen(id)) continue;
    const auto& plane = after.scope().plane(id);
    fabric::PlaneTables tables = in_force.routing.tables.plane(id);
    {
      fabric::PlaneTables::Editor editor(tables);
      for (std::size_t s = 0; s < plane.switches.size(); ++s) {
        const auto ports = topology.ports(plane.switches[s]);
        for (std::size_t d = 0; d < plane.destination_count(); ++d) {
          const auto out = tables.at(s, d);
          if (out == fabric::kPortZero || out > ports.size()) continue;
          const auto link = topology.link(ports[out - 1]);
          if (!link || !topology.joins_switches(link) || wanted_after.input.view.carries_transit(link)) continue;
          editor.set(s, d, fabric::kNoPort);
        }
      }
    }
    after.set_plane(id, std::move(tables));
  }
  return after;
}

}  // namespace

Result<DrainPreview> preview_drain(const ClusterState& state, const FabricRoutes& before, const DrainTarget& target) {
  if (target.kind == DrainKind::node || target.kind == DrainKind::gpu) return preview_node_drain(state, target);
  if (target.kind == DrainKind::site_link) return preview_site_link_drain(state, target);
  const Topology& topology = state.topology();
  fabric::FabricView view = state.view;
  mark_drained(view, target, true);
  const auto after = reroute(before, view);
  if (!after) return std::unexpected(after.error());

  DrainPreview preview{.target = target, .view_version = state.view_version};
  preview.cut_off = find_cut_off(state.view, view);
  const auto next = tables_after(before, **after);
  const ChangedPaths changed(before.routing.tables, next);
  const auto& audit = (*after)->audit(&before.wanted());
  preview.tables = DrainPreview::Tables{.changed_entries = changed.entries(),
                                        .changed_switches = changed.switches(),
                                        .max_link_load_before = before.audit().max_link_load,
                                        .max_link_load_after = audit.max_link_load,
                                        .verified = audit.verified()};
  preview.residual_capacity = residual_share(before.scope(), view);

  std::set<HostId> cut_hosts;
  for (const PortId port : preview.cut_off) {
    if (const HostId host = host_of(topology, port)) cut_hosts.insert(host);
  }
  for_each_running(state, [&](const Job& job) {
    const auto hosts = hosts_of(topology, job);
    AffectedJob affected{.id = job.id, .name = job.spec.name, .tenant = job.spec.tenant};
    affected.cut_off = std::ranges::any_of(hosts, [&](HostId host) { return cut_hosts.contains(host); });
    affected.rerouted = changed.concern(hosts);
    if (affected.cut_off || affected.rerouted) preview.jobs.push_back(std::move(affected));
  });
  add_objections(preview, state);
  return preview;
}

void preview_guarantees(const ClusterState& state, GuaranteeBook& book, DrainPreview& preview) {
  if (state.guaranteed->empty() || preview.target.kind == DrainKind::node || preview.target.kind == DrainKind::gpu) {
    return;
  }
  ClusterState after = state;
  if (preview.target.kind == DrainKind::site_link) {
    after.mark(preview.target, true);
  } else {
    mark_drained(after.view, preview.target, true);
  }
  after.view_version = state.seq + 1;
  for (const auto& body : guarantee_changes(state, after, book, 1)) {
    const auto* changed = std::get_if<GuaranteeChanged>(&body);
    if (changed == nullptr || changed->change != GuaranteeChange::at_risk) continue;
    const JobGuarantee& lost = *changed->guarantee;
    preview.guarantees_at_risk.push_back({changed->job, changed->tenant, lost.qos_class, lost.reason, lost.links});
  }
  std::vector<std::string> jobs;
  for (const auto& one : preview.guarantees_at_risk) jobs.push_back(to_string(one.job));
  if (!jobs.empty()) {
    preview.objections.push_back(fmt::format("it breaks {}{}{}", jobs.size(),
                                             jobs.size() == 1 ? " guarantee: " : " guarantees: ", first_names(jobs)));
  }
}

}  // namespace railweave::control
