// SubnetController: from link states to tables on switches.
#include <algorithm>
#include <utility>

#include "fabric/routing/audit/changed_routes.h"
#include "services/control/live/subnet_controller.h"
#include "services/control/live/table_reading.h"

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

void SubnetController::bring_up() {
  if (!base_) return;                 // LIDs come from the scope: bring_to_wanted() comes back here
  if (mode_ == SubnetMode::opensm) {  // LIDs and port states are OpenSM's
    brought_up_ = true;
    return;
  }
  const RoutingScope& scope = base_->scope();
  const Topology& t = *links_.topology();
  std::vector<LidAssignment> lids;
  for (const SwitchId sw : links_.switches()) {
    if (driver_->is_present(t.guid(sw))) lids.push_back({t.guid(sw), 0, scope.lid(sw), t.lmc(sw)});
  }
  for (const PortId port : t.hca_ports()) {
    const DestinationId id = scope.find(port);
    if (!id || t.subnet(scope.destination(id).home) != links_.subnet()) continue;
    if (!driver_->is_present(t.guid(t.hca_of(port)))) continue;
    lids.push_back({t.guid(t.hca_of(port)), static_cast<std::uint8_t>(t.number(port)), scope.lid(id), t.lmc(port)});
  }
  auto report = driver_->bring_up(lids, 0);
  if (!report) {
    // Another subnet manager, or no right to write: the fabric is left as it is, and we say so.
    if (report.error().kind == ErrorKind::conflict) return stop_writing(report.error());
    return disconnect(report.error());
  }
  alarms_.set_subnet("subnet.notWritable", AlarmSeverity::critical, "");
  brought_up_ = true;
  ports_left_ = !report->failed.empty();
  std::vector<Alarm> alarms;
  for (std::size_t i = 0; i < report->failed.size() && i < 64; ++i) {
    const std::string& text = report->failed[i];
    alarms.push_back({.subject_kind = "port", .subject_id = text.substr(0, text.find(':')), .text = "port " + text});
  }
  alarms_.set("port.notActive", std::move(alarms));
}

// Routes for what is there now, and tables to match.
void SubnetController::bring_to_wanted(const ClusterState& state, Cause cause) {
  if (!links_.found() || link_states_.empty()) {
    view_version_ = state.view_version;
    return;
  }
  const std::int64_t start = now();
  const bool first = !base_;
  if (first) {
    auto routes = (mode_ == SubnetMode::opensm ? with_.host_routes : with_.routes)(state);
    if (!routes) {
      status_.problem = routes.error().text();
      status_.phase = SubnetPhase::watching;
      return publish();
    }
    base_ = *routes;
    wanted_.reset();
    if (writes()) bring_up();
    if (!driver_) return;
  }
  FabricView view = state.view;
  for (std::size_t i = 0; i < link_states_.size(); ++i) {
    const LinkId link = links_.cables()[i].link;
    if (view.state(link) != link_states_[i]) view.set_state(link, link_states_[i]);
  }
  RoutingInput input = base_->input;
  input.view = view;
  auto routing = base_->choice.engine->reroute(wanted_ ? *wanted_ : base_->routing, input);
  if (!routing) {
    status_.problem = routing.error().text();
    alarms_.set_subnet("routes.impossible", AlarmSeverity::critical,
                       "no routes for subnet " + options_.subnet + ": " + routing.error().text());
    return publish();
  }
  alarms_.set_subnet("routes.impossible", AlarmSeverity::critical, "");
  view_ = std::move(view);
  view_version_ = state.view_version;

  const bool sound = is_sound(*routing);
  const bool same = wanted_ && same_tables(wanted_->tables, routing->tables);
  wanted_ = std::move(*routing);
  status_.wanted = std::make_shared<const Routing>(*wanted_);
  if (!same) {
    status_.wanted_digest.reset();
    ++wanted_version_;
    unreachable_pairs_.reset();
    audited_ = false;
  }
  quiet_since_us_ = now();
  const std::string refusal = sound ? "" : "the new routes do not pass the audit and are not programmed: " + unsound_;
  alarms_.set_subnet("routes.unsound", AlarmSeverity::critical,
                     sound || !writes() ? "" : "subnet " + options_.subnet + ": " + refusal);
  if (!sound && writes()) {
    status_.problem = refusal;
    return publish();
  }
  // Packets need the service level of their path, which a subnet administration hands out: alone we have none.
  const unsigned lanes = mode_ == SubnetMode::direct ? wanted_->lanes.used() : 1;
  if (lanes > 1) {
    status_.problem = std::string(wanted_->engine) + " routes need " + std::to_string(lanes) +
                      " lanes, and service levels from a subnet administration: use opensm mode";
  } else if (brought_up_ || !writes()) {
    status_.problem.clear();  // else it is why we may not write
  }
  alarms_.set_subnet("routes.needLanes", AlarmSeverity::critical,
                     lanes <= 1 ? "" : "subnet " + options_.subnet + ": " + status_.problem);
  if (lanes > 1) return publish();
  if (writes()) {
    if (brought_up_) program(state, cause, now() - start);
  } else {
    status_.phase = SubnetPhase::watching;
    status_.problem.clear();
    advance_drains(state);
  }
  publish();
}

// Nothing is programmed that has not been looked at: what changed, where the rest is known to be sound, else all of it.
bool SubnetController::is_sound(const Routing& routing) {
  if (wanted_ && unsound_.empty()) {
    const auto checked = check_changed_routes(view_, *wanted_, routing);
    if (!checked.changed.verified()) {
      unsound_ = checked.changed.example.empty() ? "what changed has no route" : checked.changed.example;
      return false;
    }
    if (checked.complete) return true;
  }
  const AuditReport report = audit(view_, routing.tables, routing.lanes, AuditOptions::on_all_cores());
  unsound_ = fault_of(report);
  return report.verified();
}

bool SubnetController::read_back(std::span<const SwitchId> switches) {
  Lid top = top_lid(base_->scope());
  if (mode_ == SubnetMode::opensm) {
    for (const SwitchId sw : links_.switches()) top = std::max(top, driver_->read_lid(links_.topology()->guid(sw), 0));
  }
  auto readings = driver_->read_tables(*links_.topology(), switches, top);
  if (!readings) {
    disconnect(readings.error());
    return false;
  }
  for (const TableReading& reading : *readings) {
    if (reading.answered) {
      unsynced_.erase(reading.sw);
      isolated_.erase(reading.sw);
    } else {
      keep_in_mind_isolated(reading.sw, "does not answer");
    }
  }
  applied_ = with_readings(applied_ ? *applied_ : *wanted_, *readings);
  if (mode_ != SubnetMode::opensm) return true;
  for (TableReading& reading : *readings) {
    if (reading.answered) raw_[reading.sw] = std::move(reading.ports);
  }
  return true;
}

void SubnetController::keep_in_mind_isolated(SwitchId sw, const std::string& reason) {
  unsynced_.insert(sw);
  isolated_.try_emplace(sw, reason);
}

std::vector<std::uint8_t> SubnetController::urgent(const ClusterState& state) const {
  const RoutingScope& scope = base_->scope();
  const Topology& t = scope.topology();
  std::vector<std::uint8_t> urgent(scope.destinations().size(), 0);
  for (const DestinationId id : scope.destinations()) {
    const PortId port = scope.destination(id).port;
    const HostId host = port ? t.host(t.hca_of(port)) : HostId();
    if (host && state.allocations[host.index()].used != 0) urgent[id.index()] = 1;
  }
  return urgent;
}

void SubnetController::program(const ClusterState& state, const Cause& cause, std::int64_t computed_us) {
  const Topology& t = *links_.topology();
  const bool took_over = !applied_;
  if (took_over) {
    unsynced_.clear();
    isolated_.clear();
    if (!read_back(links_.switches())) return;
    read_back_at_us_ = now();
    status_.read_back_us = with_.unix_us();
  } else if (!unsynced_.empty() && now() >= retry_isolated_us_) {
    std::vector<SwitchId> back;
    for (const SwitchId sw : unsynced_) {
      if (driver_->is_present(t.guid(sw)) && !silent_.contains(t.guid(sw))) back.push_back(sw);
    }
    if (!back.empty() && !read_back(back)) return;
    retry_isolated_us_ = now() + options_.retry_first.count() * 1000;
  }
  if (mode_ == SubnetMode::opensm) {
    if (took_over && !compare_with_opensm()) return publish();
    if (!matches_opensm_) return publish();  // until OpenSM has settled: check_opensm()
  }
  const std::int64_t began = now();
  const bool empty = took_over && carry_nothing(applied_->tables, links_.switches());
  ForwardingDelta delta =
      empty ? first_delta(*wanted_) : compute_delta(view_, *applied_, *wanted_, {.urgent = urgent(state)});
  // Switches that are gone or do not answer are not waited for; their tables are read and mended when they are back.
  std::set<SwitchId> left_out;
  std::erase_if(delta.blocks, [&](const LftBlock& block) {
    if (t.subnet(block.sw) != links_.subnet()) return true;  // another subnet's
    const bool out = unsynced_.contains(block.sw) || !driver_->is_present(t.guid(block.sw));
    if (out) left_out.insert(block.sw);
    return out;
  });
  unsynced_.insert(left_out.begin(), left_out.end());
  if (mode_ == SubnetMode::opensm) keep_foreign_entries(delta);
  const std::int64_t delta_us = now() - began;
  if (!delta.blocks.empty()) {
    status_.phase = SubnetPhase::programming;
    auto report = driver_->program(t, delta);
    if (!report) {
      if (report.error().kind != ErrorKind::conflict) return disconnect(report.error());
      stop_writing(report.error());  // we look again with the next sweep
      return publish();
    }
    for (const auto& isolated : report->isolated) keep_in_mind_isolated(isolated.sw, isolated.reason);
    for (std::size_t i = 0; i < delta.blocks.size(); ++i) {
      if (report->blocks[i] != WriteOutcome::applied) unsynced_.insert(delta.blocks[i].sw);
    }
    const std::int64_t total = now() - cause.start_us;
    Repair repair{.cause = cause.text,
                  .at_us = with_.unix_us(),
                  .noticed_us = cause.noticed_us,
                  .swept_us = cause.swept_us,
                  .computed_us = cause.swept_us + computed_us + delta_us,
                  .programmed_us = total,
                  .changed_entries = delta.changed_entries,
                  .blocks = delta.blocks.size(),
                  .mads = cause.mads + report->asked,
                  .isolated = report->isolated.size(),
                  .unreachable_pairs = unreachable_pairs_};
    ReportProgramming event{{.subnet = options_.subnet,
                             .cause = cause.text,
                             .entries = repair.changed_entries,
                             .blocks = repair.blocks,
                             .mads = repair.mads,
                             .isolated = repair.isolated,
                             .compute_us = computed_us + delta_us,
                             .total_us = total}};
    status_.repairs.push_back(std::move(repair));
    if (status_.repairs.size() > SubnetStatus::kMaxRepairs) status_.repairs.erase(status_.repairs.begin());
    ++status_.repairs_total;
    with_.report(std::move(event));
  }
  applied_ = *wanted_;  // but for unsynced_, which every delta leaves out
  status_.applied = status_.wanted;
  status_.blocks_differing = 0;
  const bool synced = unsynced_.empty();
  status_.applied_digest = synced ? status_.wanted_digest : std::nullopt;
  status_.phase = synced ? SubnetPhase::synced : SubnetPhase::programming;
  status_.problem.clear();
  if (!synced) {
    status_.blocks_differing = block_count(base_->scope(), std::vector<SwitchId>(unsynced_.begin(), unsynced_.end()));
    status_.problem = std::to_string(unsynced_.size()) + " of " + std::to_string(links_.switches().size()) +
                      " switches are gone or do not answer; their tables are written when they are back";
  }
  std::erase_if(status_.isolated,
                [&](const IsolatedDevice& device) { return !unsynced_.contains(t.find_switch(device.guid)); });
  for (const SwitchId sw : unsynced_) {
    if (std::ranges::find(status_.isolated, t.guid(sw), &IsolatedDevice::guid) != status_.isolated.end()) continue;
    const auto reason = isolated_.find(sw);
    status_.isolated.push_back({t.guid(sw), std::string(t.name(sw)),
                                reason == isolated_.end() ? "is not in the subnet" : reason->second, with_.unix_us()});
  }
  advance_drains(state);
}

// Is it still used by tables as they were read or written, or by jobs that no route leads round?
bool SubnetController::in_use(const ClusterState& state, const Drain& drain) const {
  const Topology& t = *links_.topology();
  const auto busy = [&](PortId end) {  // the adapter of a node with running jobs
    const HcaId hca = t.hca_of(end);
    const HostId host = hca ? t.host(hca) : HostId();
    return host && state.allocations[host.index()].used != 0;
  };
  const auto uses = [&](PortId out, SwitchId but_home) {
    const SwitchId sw = t.switch_of(out);
    return sw && (unsynced_.contains(sw) || entries_by_port(applied_->tables, sw, t.number(out), but_home) != 0);
  };
  if (drain.target.kind == DrainKind::link) {
    const LinkId link = t.find_link(drain.target.id);
    if (!link) return false;
    if (!t.joins_switches(link)) return busy(t.a(link)) || busy(t.b(link));
    return uses(t.a(link), {}) || uses(t.b(link), {});
  }
  const SwitchId sw = t.find_switch(drain.target.id);
  if (!sw) return false;
  for (const PortId port : t.ports(sw)) {
    const PortId peer = t.peer(port);
    if (!peer) continue;
    if (!t.is_switch_port(peer) ? busy(peer) : uses(peer, sw)) return true;
  }
  return false;
}

void SubnetController::advance_drains(const ClusterState& state) {
  if (state.drains->empty() || !links_.found() || !wanted_) return;
  ReportDrains report;
  const Topology& t = *links_.topology();
  for (const auto& [target, drain] : *state.drains) {
    if (target.kind == DrainKind::node || drain.state == DrainState::drained) continue;
    const LinkId link = target.kind == DrainKind::link ? t.find_link(target.id) : LinkId();
    const SwitchId sw = target.kind == DrainKind::link ? SwitchId() : t.find_switch(target.id);
    const auto ours = [&](SwitchId one) { return one && t.subnet(one) == links_.subnet(); };
    if (!ours(sw) && !(link && (ours(t.switch_of(t.a(link))) || ours(t.switch_of(t.b(link)))))) continue;
    if (applied_ && view_version_ == state.view_version && !in_use(state, drain)) {
      report.drains.push_back({target, DrainState::drained});
    } else if (writes() && drain.state == DrainState::requested) {
      report.drains.push_back({target, DrainState::rerouting});
    }
  }
  if (!report.drains.empty()) with_.report(std::move(report));
}

}  // namespace railweave::control
