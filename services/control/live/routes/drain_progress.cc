#include "services/control/live/routes/drain_progress.h"

#include <utility>

#include "services/control/state/cluster_state.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

// An adapter has one link: nothing routes around it, so it is in use while jobs run on its node.
bool has_jobs(const ClusterState& state, const Topology& t, PortId end) {
  const HcaId hca = t.hca_of(end);
  const HostId host = hca ? t.host(hca) : HostId();
  return host && state.allocations[host.index()].used != 0;
}

// Entries for other destinations than those at `home` leave by the port, for all that is known.
bool carries(const AppliedTables& applied, const Topology& t, PortId out, SwitchId home) {
  const SwitchId sw = t.switch_of(out);
  return sw &&
         (applied.unknown().contains(sw) || entries_by_port(applied.routing().tables, sw, t.number(out), home) != 0);
}

bool link_is_used(const ClusterState& state, const Topology& t, const AppliedTables& applied, LinkId link) {
  const PortId a = t.a(link);
  const PortId b = t.b(link);
  if (!t.joins_switches(link)) return has_jobs(state, t, a) || has_jobs(state, t, b);
  return carries(applied, t, a, {}) || carries(applied, t, b, {});
}

bool switch_is_used(const ClusterState& state, const Topology& t, const AppliedTables& applied, SwitchId sw) {
  for (const PortId port : t.ports(sw)) {
    const PortId peer = t.peer(port);
    if (!peer) continue;
    if (t.is_switch_port(peer) ? carries(applied, t, peer, sw) : has_jobs(state, t, peer)) return true;
  }
  return false;
}

}  // namespace

void report_drains(const SubnetContext& context, const ClusterState& state, const SubnetLinks& links,
                   const AppliedTables* applied) {
  if (state.drains->empty() || !links.found()) return;
  ReportDrains report;
  const Topology& t = *links.topology();
  const auto is_ours = [&](SwitchId sw) { return sw && t.subnet(sw) == links.subnet(); };
  for (const auto& [target, drain] : *state.drains) {
    if (!changes_routes(target.kind) || drain.state == DrainState::drained) continue;
    const LinkId link = target.kind == DrainKind::link ? t.find_link(target.id) : LinkId();
    const SwitchId sw = target.kind == DrainKind::link ? SwitchId() : t.find_switch(target.id);
    if (!is_ours(sw) && !(link && (is_ours(t.switch_of(t.a(link))) || is_ours(t.switch_of(t.b(link)))))) continue;
    const bool is_used =
        !applied || (link ? link_is_used(state, t, *applied, link) : switch_is_used(state, t, *applied, sw));
    if (!is_used) {
      report.drains.push_back({target, DrainState::drained});
    } else if (context.writes() && drain.state == DrainState::requested) {
      report.drains.push_back({target, DrainState::rerouting});
    }
  }
  if (!report.drains.empty()) context.with.report(std::move(report));
}

}  // namespace railweave::control
