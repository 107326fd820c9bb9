#include "services/control/live/routes/subnet_routes.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "services/control/live/routes/drain_progress.h"
#include "services/control/live/routes/table_reading.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr std::int64_t kUsPerMilli = 1000;

}  // namespace

SubnetRoutes::SubnetRoutes(const SubnetContext& context, const SubnetLinks& links, const ObservedLinks& observed,
                           PortActivation& ports, RouteAudit& audit, const std::set<Guid>& silent, Carried carried)
    : context_(context),
      links_(links),
      observed_(observed),
      ports_(ports),
      silent_(silent),
      wanted_(audit, carried.version),
      opensm_(context, links),
      read_back_at_us_(carried.read_back_at_us) {}

Result<void> SubnetRoutes::bring_up_ports() {
  if (!wanted_.base()) return {};
  return ports_.bring_up(wanted_.base()->scope());
}

// Nothing where there are no routes at all, which the status says.
Result<void> SubnetRoutes::choose_base(const ClusterState& state) {
  const auto& routes_of = context_.mode() == SubnetMode::opensm ? context_.with.host_routes : context_.with.routes;
  auto routes = routes_of(state);
  if (!routes) {
    context_.status().problem = routes.error().text();
    context_.status().phase = SubnetPhase::watching;
    return {};
  }
  wanted_.set_base(std::move(*routes));
  if (!context_.writes()) return {};
  return bring_up_ports();
}

// Drains as the state has them, links as observed: the state may not have them yet.
FabricView SubnetRoutes::view_of(const ClusterState& state) const {
  FabricView view = state.view;
  for (std::size_t i = 0; i < observed_.states().size(); ++i) {
    const LinkId link = links_.cables()[i].link;
    if (view.state(link) != observed_.states()[i]) view.set_state(link, observed_.states()[i]);
  }
  return view;
}

Result<void> SubnetRoutes::bring_to_wanted(const ClusterState& state, const RepairCause& cause) {
  if (!links_.found() || observed_.empty()) {
    wanted_.skip(state.view_version);
    return {};
  }
  const std::int64_t start = context_.now();
  if (!wanted_.base()) {
    if (auto chosen = choose_base(state); !chosen) return chosen;
    if (!wanted_.base()) {
      context_.board.publish();
      return {};
    }
  }
  const auto update = wanted_.compute(view_of(state), state.view_version, context_.now());
  context_.alarms().set_subnet("routes.impossible", AlarmSeverity::critical,
                               update ? "" : "no routes for " + context_.name() + ": " + update.error().text());
  if (!update) {
    context_.status().problem = update.error().text();
  } else if (show_wanted(*update)) {
    if (!context_.writes()) {
      context_.status().phase = SubnetPhase::watching;
      report_drains(state);
    } else if (ports_.is_done()) {
      if (auto done = program(state, cause, context_.now() - start); !done) return done;
    }
  }
  context_.board.publish();
  return {};
}

// False: they are not to be programmed, which the status and alarms explain.
bool SubnetRoutes::show_wanted(WantedRoutes::Update update) {
  SubnetStatus& status = context_.status();
  const Routing& routing = wanted_.routing();
  const bool writes = context_.writes();
  status.wanted = std::make_shared<const Routing>(routing);
  if (!update.is_same) status.wanted_digest.reset();
  const std::string refusal =
      update.is_verified ? "" : "the new routes do not pass the audit and are not programmed: " + wanted_.fault();
  context_.alarms().set_subnet("routes.unsound", AlarmSeverity::critical,
                               update.is_verified || !writes ? "" : context_.name() + ": " + refusal);
  if (!update.is_verified && writes) {
    status.problem = refusal;
    return false;
  }
  // Packets need the service level of their path, which a subnet administration provides: in direct mode there is none.
  const unsigned lanes = context_.mode() == SubnetMode::direct ? routing.lanes.used() : 1;
  if (lanes > 1) {
    status.problem = std::string(routing.engine) + " routes need " + std::to_string(lanes) +
                     " lanes, and service levels from a subnet administration: use opensm mode";
  } else if (ports_.is_done() || !writes) {
    status.problem.clear();  // else it is why nothing may be written
  }
  context_.alarms().set_subnet("routes.needLanes", AlarmSeverity::critical,
                               lanes <= 1 ? "" : context_.name() + ": " + status.problem);
  return lanes <= 1;
}

void SubnetRoutes::doubt_ends_of(LinkId link) {
  const Topology& t = *links_.topology();
  for (const PortId port : {t.a(link), t.b(link)}) {
    if (const SwitchId sw = t.switch_of(port)) applied_.doubt(sw);
  }
  retry_unknown_us_ = 0;
}

Result<void> SubnetRoutes::read_back(std::span<const SwitchId> switches) {
  const Topology& t = *links_.topology();
  const bool is_opensm = context_.mode() == SubnetMode::opensm;
  Lid top = top_lid(wanted_.base()->scope());
  if (is_opensm) {
    for (const SwitchId sw : links_.switches()) top = std::max(top, context_.driver().read_lid(t.guid(sw), 0));
  }
  auto readings = context_.driver().read_tables(t, switches, top);
  if (!readings) return std::unexpected(readings.error());
  applied_.take(*readings, wanted_.routing());
  if (is_opensm) opensm_.keep(std::move(*readings));
  return {};
}

Result<void> SubnetRoutes::read_all() {
  applied_.start_over();
  if (auto read = read_back(links_.switches()); !read) return read;
  read_back_at_us_ = context_.now();
  context_.status().read_back_us = context_.with.unix_us();
  return {};
}

// Switches that are back, or answer again.
Result<void> SubnetRoutes::read_returned() {
  if (applied_.unknown().empty() || context_.now() < retry_unknown_us_) return {};
  const Topology& t = *links_.topology();
  std::vector<SwitchId> back;
  for (const SwitchId sw : applied_.unknown()) {
    if (context_.driver().is_present(t.guid(sw)) && !silent_.contains(t.guid(sw))) back.push_back(sw);
  }
  if (!back.empty()) {
    if (auto read = read_back(back); !read) return read;
  }
  retry_unknown_us_ = context_.now() + context_.options.retry_first.count() * kUsPerMilli;
  return {};
}

Result<void> SubnetRoutes::program(const ClusterState& state, const RepairCause& cause, std::int64_t computed_us) {
  // 1. What switches hold, where it is not known.
  const bool took_over = !applied_.are_known();
  if (auto read = took_over ? read_all() : read_returned(); !read) return read;
  // 2. In opensm mode nothing is written before OpenSM's tables are ours: check_opensm() compares them again.
  if (context_.mode() == SubnetMode::opensm) {
    if (took_over) opensm_.compare(applied_.routing(), wanted_.routing());
    if (!opensm_.matches()) {
      context_.board.publish();
      return {};
    }
  }
  // 3. What differs, in an order that is safe to write.
  const std::int64_t began = context_.now();
  const ForwardingDelta delta = delta_to_wanted(state, took_over);
  const std::int64_t delta_us = context_.now() - began;
  // 4. Writing it.
  if (!delta.blocks.empty()) {
    const auto written = write(delta, cause, computed_us + delta_us);
    if (!written) return std::unexpected(written.error());
    if (!*written) return {};
  }
  // 5. What switches hold now.
  applied_.set(wanted_.routing());
  show_applied();
  report_drains(state);
  return {};
}

std::vector<std::uint8_t> SubnetRoutes::urgent(const ClusterState& state) const {
  const RoutingScope& scope = wanted_.base()->scope();
  const Topology& t = scope.topology();
  std::vector<std::uint8_t> urgent(scope.destinations().size(), 0);
  for (const DestinationId id : scope.destinations()) {
    const PortId port = scope.destination(id).port;
    const HostId host = port ? t.host(t.hca_of(port)) : HostId();
    if (host && state.allocations[host.index()].used != 0) urgent[id.index()] = 1;
  }
  return urgent;
}

// Without switches that are gone or do not answer: their tables are read and written when they are back.
ForwardingDelta SubnetRoutes::delta_to_wanted(const ClusterState& state, bool took_over) {
  const Topology& t = *links_.topology();
  const bool are_empty = took_over && carry_nothing(applied_.routing().tables, links_.switches());
  ForwardingDelta delta =
      are_empty ? first_delta(wanted_.routing())
                : compute_delta(wanted_.view(), applied_.routing(), wanted_.routing(), {.urgent = urgent(state)});
  std::set<SwitchId> left_out;
  std::erase_if(delta.blocks, [&](const LftBlock& block) {
    if (t.subnet(block.sw) != links_.subnet()) return true;
    const bool is_out = applied_.unknown().contains(block.sw) || !context_.driver().is_present(t.guid(block.sw));
    if (is_out) left_out.insert(block.sw);
    return is_out;
  });
  for (const SwitchId sw : left_out) applied_.doubt(sw);
  if (context_.mode() == SubnetMode::opensm) opensm_.restore_foreign_entries(delta, wanted_.base()->scope());
  return delta;
}

// False: another subnet manager is in charge; the next sweep tries again.
Result<bool> SubnetRoutes::write(const ForwardingDelta& delta, const RepairCause& cause, std::int64_t computed_us) {
  context_.status().phase = SubnetPhase::programming;
  const auto report = context_.driver().program(*links_.topology(), delta);
  if (!report) {
    if (auto stopped = context_.not_written(report.error()); !stopped) return std::unexpected(stopped.error());
    context_.board.publish();
    return false;
  }
  for (const auto& isolated : report->isolated) applied_.isolate(isolated.sw, isolated.reason);
  for (std::size_t i = 0; i < delta.blocks.size(); ++i) {
    if (report->blocks[i] != WriteOutcome::applied) applied_.doubt(delta.blocks[i].sw);
  }
  record(delta, *report, cause, computed_us);
  return true;
}

void SubnetRoutes::record(const ForwardingDelta& delta, const ProgramReport& report, const RepairCause& cause,
                          std::int64_t computed_us) {
  SubnetStatus& status = context_.status();
  Repair repair{.cause = cause.text,
                .at_us = context_.with.unix_us(),
                .noticed_us = cause.noticed_us,
                .swept_us = cause.swept_us,
                .computed_us = cause.swept_us + computed_us,
                .programmed_us = context_.now() - cause.start_us,
                .changed_entries = delta.changed_entries,
                .blocks = delta.blocks.size(),
                .mads = cause.mads + report.asked,
                .isolated = report.isolated.size(),
                .unreachable_pairs = wanted_.unreachable_pairs()};
  ReportProgramming event{{.subnet = context_.options.subnet,
                           .cause = repair.cause,
                           .entries = repair.changed_entries,
                           .blocks = repair.blocks,
                           .mads = repair.mads,
                           .isolated = repair.isolated,
                           .compute_us = computed_us,
                           .total_us = repair.programmed_us}};
  status.repairs.push_back(std::move(repair));
  if (status.repairs.size() > SubnetStatus::kMaxRepairs) status.repairs.erase(status.repairs.begin());
  ++status.repairs_total;
  context_.with.report(std::move(event));
}

void SubnetRoutes::show_applied() {
  SubnetStatus& status = context_.status();
  const Topology& t = *links_.topology();
  const auto& unknown = applied_.unknown();
  const bool is_synced = unknown.empty();
  status.applied = status.wanted;
  status.applied_digest = is_synced ? status.wanted_digest : std::nullopt;
  status.phase = is_synced ? SubnetPhase::synced : SubnetPhase::programming;
  status.blocks_differing = 0;
  status.problem.clear();
  if (!is_synced) {
    status.blocks_differing =
        block_count(wanted_.base()->scope(), std::vector<SwitchId>(unknown.begin(), unknown.end()));
    status.problem = std::to_string(unknown.size()) + " of " + std::to_string(links_.switches().size()) +
                     " switches are gone or do not answer; their tables are written when they are back";
  }
  std::erase_if(status.isolated,
                [&](const IsolatedDevice& device) { return !unknown.contains(t.find_switch(device.guid)); });
  for (const SwitchId sw : unknown) {
    if (std::ranges::find(status.isolated, t.guid(sw), &IsolatedDevice::guid) != status.isolated.end()) continue;
    const auto reason = applied_.isolated().find(sw);
    status.isolated.push_back({t.guid(sw), std::string(t.name(sw)),
                               reason == applied_.isolated().end() ? "is not in the subnet" : reason->second,
                               context_.with.unix_us()});
  }
}

void SubnetRoutes::report_drains(const ClusterState& state) const {
  if (!wanted_.exist()) return;
  const bool are_current = applied_.are_known() && wanted_.view_version() == state.view_version;
  control::report_drains(context_, state, links_, are_current ? &applied_ : nullptr);
}

void SubnetRoutes::audit() {
  if (!wanted_.exist()) return;
  const auto show = [this](const AuditedRoutes& audited) {
    SubnetStatus& status = context_.status();
    context_.alarms().set_subnet(
        "routes.unsound", AlarmSeverity::critical,
        wanted_.fault().empty() || !context_.writes()
            ? ""
            : "the routes of " + context_.name() + " do not pass the audit: " + wanted_.fault());
    const bool are_applied = applied_.are_known() && same_tables(applied_.routing().tables, wanted_.routing().tables);
    if (!status.repairs.empty() && are_applied) status.repairs.back().unreachable_pairs = wanted_.unreachable_pairs();
    status.wanted_digest = audited.digest;
    if (applied_.are_known() && applied_.unknown().empty()) {
      status.applied_digest = are_applied ? audited.digest : digest_of(applied_.routing(), links_.switches());
    }
    context_.board.publish();
  };
  if (const auto audited = wanted_.take_audit()) show(*audited);
  if (!are_quiet() || !wanted_.start_audit(links_)) return;
  context_.status().blocks_wanted = block_count(wanted_.base()->scope(), links_.switches());
  if (const auto audited = wanted_.take_audit()) show(*audited);
}

Result<void> SubnetRoutes::check_opensm(const ClusterState& state, const SubnetInbox::OpensmNews& news) {
  opensm_.raise_alarms(news);
  const bool is_due =
      !opensm_.matches() && context_.now() - read_back_at_us_ > context_.options.sweep_every.count() * kUsPerMilli;
  if (!news.has_settled && !is_due) return {};
  if (auto read = read_back(links_.switches()); !read) return read;
  read_back_at_us_ = context_.now();
  context_.status().read_back_us = context_.with.unix_us();
  if (opensm_.compare(applied_.routing(), wanted_.routing())) applied_.set(wanted_.routing());
  report_drains(state);
  context_.board.publish();
  return {};
}

void SubnetRoutes::show_read() {
  SubnetStatus& status = context_.status();
  status.read_back_us = context_.with.unix_us();
  status.blocks_differing = differing_blocks(applied_.routing().tables, wanted_.routing().tables, links_.switches());
  status.applied_digest = digest_of(applied_.routing(), links_.switches());
  status.applied = std::make_shared<const Routing>(applied_.routing());
}

// Observers need what switches hold to see a drain through; else they read it once.
Result<SubnetRoutes::ReadBack> SubnetRoutes::read_back_some(const ClusterState& state) {
  constexpr std::size_t kSlice = 16;  // switches: a repair may have to come in between
  const std::span<const SwitchId> all = links_.switches();
  const bool writes = context_.writes();
  if (!applied_.is_reading()) {
    const bool drains_wait = !writes && std::ranges::any_of(*state.drains, [](const auto& entry) {
      return entry.second.state != DrainState::drained && entry.first.kind != DrainKind::node;
    });
    const auto every = writes ? context_.options.read_back_every : context_.options.sweep_every;
    const bool is_due = context_.now() - read_back_at_us_ >= every.count() * kUsPerMilli;
    if (!is_due || !(writes || drains_wait || read_back_at_us_ == 0)) return ReadBack::not_complete;
    if (!applied_.are_known()) {
      for (const SwitchId sw : all) applied_.doubt(sw);
    }
  }
  const auto slice = applied_.next(all, kSlice);
  if (auto read = read_back(slice); !read) return std::unexpected(read.error());
  if (!applied_.advance(slice.size(), all.size())) return ReadBack::not_complete;
  read_back_at_us_ = context_.now();
  show_read();
  if (writes && ports_.is_done() && context_.status().blocks_differing != 0) {
    const RepairCause cause{.text = "tables were written by another subnet manager", .start_us = context_.now()};
    if (auto done = program(state, cause, 0); !done) return std::unexpected(done.error());
  } else if (!writes) {
    report_drains(state);
  }
  context_.board.publish();
  return ReadBack::complete;
}

}  // namespace railweave::control
