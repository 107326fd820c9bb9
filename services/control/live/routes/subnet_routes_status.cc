// What SubnetRoutes shows: repairs, what switches hold, and the phase that follows from it.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "services/control/live/routes/subnet_routes.h"
#include "services/control/live/routes/table_reading.h"

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

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
  context_.log().info("programmed: {}; {} entries in {} blocks, {} datagrams, {} us since it was noticed", repair.cause,
                      repair.changed_entries, repair.blocks, repair.mads, repair.programmed_us);
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
  const std::vector<SwitchId> waiting = unknown_present();
  status.applied = status.wanted;
  status.applied_digest = waiting.empty() ? status.wanted_digest : std::nullopt;
  status.blocks_differing = waiting.empty() ? 0 : block_count(wanted_.base()->scope(), waiting);
  std::erase_if(status.isolated,
                [&](const IsolatedDevice& device) { return !unknown.contains(t.find_switch(device.guid)); });
  for (const SwitchId sw : unknown) {
    const auto reason = applied_.isolated().find(sw);
    const std::string text = presences_.is_gone(sw)                ? "is not in the subnet"
                             : reason == applied_.isolated().end() ? "does not answer"
                                                                   : reason->second;
    const auto shown = std::ranges::find(status.isolated, t.guid(sw), &IsolatedDevice::guid);
    if (shown != status.isolated.end()) {
      shown->reason = text;
    } else {
      status.isolated.push_back({t.guid(sw), std::string(t.name(sw)), text, context_.with.unix_us()});
    }
  }
}

std::vector<SwitchId> SubnetRoutes::unknown_present() const {
  std::vector<SwitchId> present;
  for (const SwitchId sw : applied_.unknown()) {
    if (!presences_.is_gone(sw)) present.push_back(sw);
  }
  return present;
}

std::string SubnetRoutes::missing_text() const {
  const std::string all = fmt::format(" of {} switches", links_.switches().size());
  if (const auto waiting = unknown_present().size(); waiting != 0) {
    return fmt::format("{}{} do not answer; their tables are written when they do", waiting, all);
  }
  std::size_t unreached = 0;
  std::size_t unseen = 0;
  const std::int64_t recent_us =
      2 * context_.options.look_every.count() * 1000 + context_.options.sweep_every.count() * 3000;
  for (const SwitchId sw : links_.switches()) {
    if (presences_.is_gone(sw)) continue;
    if (!presences_.is_present(sw)) ++unreached;
    if (context_.now() - std::max(applied_.read_us(sw), probe_.seen_us(sw)) > recent_us) ++unseen;
  }
  if (unreached != 0) return fmt::format("{}{} do not answer", unreached, all);
  if (unseen != 0) {
    return fmt::format("the tables of {}{} were not read for more than {} s", unseen, all, recent_us / 1'000'000);
  }
  if (verdict_ && !verdict_->text.empty()) return verdict_->text;
  return {};
}

// Devices that are there and have no service, as they are not accepted.
std::string SubnetRoutes::changes_text() const {
  const SubnetStatus& status = context_.status();
  if (status.discovery.changes == nullptr || status.discovery.changes->items.empty()) return {};
  const std::size_t count = status.discovery.changes->items.size();
  return status.discovery.changes->items.front().text + (count == 1 ? "" : fmt::format(", and {} more", count - 1)) +
         "; it has no service until it is accepted: railweave subnets changes " + context_.options.subnet;
}

// Called when everything else is done: the phase is what is known now, not what was done last.
void SubnetRoutes::show_phase() {
  SubnetStatus& status = context_.status();
  if (!links_.found() || !wanted_.base() || observed_.empty()) return;
  SubnetPhase phase = SubnetPhase::watching;
  std::string problem;
  if (context_.writes() && !ports_.is_done()) {
    return;  // writing was refused, which the status says
  }
  if (context_.writes()) {
    if (!are_cleared()) {
      phase = SubnetPhase::partial;
      problem = status.problem;
    } else if (context_.mode() == SubnetMode::opensm && !opensm_.matches()) {
      phase = SubnetPhase::partial;
      problem = status.problem;
    } else if (context_.mode() == SubnetMode::opensm && ahead_.is_begun(wanted_.version())) {
      phase = SubnetPhase::programming;
      problem = "OpenSM's sweep is awaited: its tables are those from before it, but for what was written ahead";
    } else if (have_work() && unknown_present().empty()) {
      phase = SubnetPhase::programming;
      problem = "tables are being written";
    } else {
      problem = missing_text();
      if (problem.empty()) problem = observed_.held_text();
      if (problem.empty()) problem = changes_text();
      phase = problem.empty() ? SubnetPhase::synced : SubnetPhase::partial;
    }
  }
  if (status.phase == phase && status.problem == problem) return;
  context_.log().info("phase {}{}{}", to_string(phase), problem.empty() ? "" : ": ", problem);
  status.phase = phase;
  status.problem = std::move(problem);
  context_.board.publish();
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
    context_.log().debug("audit of all pairs: {}", wanted_.fault().empty() ? "no loop, no hole" : wanted_.fault());
    const bool are_applied = applied_.are_known() && same_tables(applied_.routing().tables, wanted_.routing().tables);
    if (!status.repairs.empty() && are_applied) status.repairs.back().unreachable_pairs = wanted_.unreachable_pairs();
    status.wanted_digest = audited.digest;
    if (applied_.are_known() && applied_.unknown().empty()) {
      status.applied_digest = are_applied ? audited.digest : digest_of(applied_.routing(), links_.switches());
    }
    context_.board.publish();
  };
  if (const auto audited = wanted_.take_audit()) show(*audited);
  if (!are_quiet() || !wanted_.start_audit()) return;
  context_.status().blocks_wanted = block_count(wanted_.base()->scope(), links_.switches());
  if (const auto audited = wanted_.take_audit()) show(*audited);
}

void SubnetRoutes::show_read() {
  SubnetStatus& status = context_.status();
  status.tables_seen.read_back_us = context_.with.unix_us();
  const bool are_equal = same_tables(applied_.routing().tables, wanted_.routing().tables);
  const std::vector<SwitchId> waiting = unknown_present();
  status.blocks_differing = waiting.empty() ? 0 : block_count(wanted_.base()->scope(), waiting);
  if (!are_equal) {
    status.blocks_differing += differing_blocks(applied_.routing().tables, wanted_.routing().tables, links_.switches());
  }
  const bool are_shown = status.applied && same_tables(status.applied->tables, applied_.routing().tables);
  if (are_equal) {
    status.applied_digest = waiting.empty() ? status.wanted_digest : std::nullopt;
  } else if (!are_shown || !status.applied_digest) {
    status.applied_digest = digest_of(applied_.routing(), links_.switches());
  }
  if (!are_shown) status.applied = std::make_shared<const Routing>(applied_.routing());
}

// True: the walk over what switches hold differs from what was found of them.
bool SubnetRoutes::show_walk() {
  auto verdict = probe_.take_walk(wanted_);
  if (!verdict) return false;
  SubnetStatus& status = context_.status();
  status.discovery.walk = {.at_us = context_.with.unix_us(),
                           .seen_since_us = verdict->since_us,
                           .pairs = verdict->pairs,
                           .lost_pairs = verdict->lost};
  verdict_ = std::move(verdict);
  // Observers claim nothing of tables that another subnet manager writes, or will write.
  const bool claims = context_.writes() && (context_.mode() == SubnetMode::direct || opensm_.matches());
  context_.alarms().set_subnet("routes.blackHole", AlarmSeverity::critical,
                               claims && !verdict_->text.empty() ? context_.name() + ": " + verdict_->text : "");
  context_.board.publish();
  return claims && !verdict_->text.empty();
}

// Silence is the sweeps' to judge, and switches that could not be written are read when they are tried again.
void SubnetRoutes::take_tables(std::vector<SwitchSight> sights) {
  const bool writes = context_.writes();
  if (writes && !applied_.are_known()) return;  // program() reads all of them before it writes
  if (!applied_.are_known()) {
    for (const SwitchId sw : links_.switches()) applied_.doubt(sw);
  }
  std::vector<TableReading> readings;
  for (SwitchSight& sight : sights) {
    const bool waits = writes && applied_.unknown().contains(sight.table.sw);
    if (sight.table.answered && !waits) readings.push_back(std::move(sight.table));
  }
  const std::optional<ForwardingTables> before =
      applied_.are_known() ? std::optional(applied_.routing().tables) : std::nullopt;
  applied_.take(readings, wanted_.routing(), lids(), context_.now());
  if (context_.mode() == SubnetMode::opensm) opensm_.keep(std::move(readings));
  // Where one table has changed, others may: all are read again.
  const bool is_changed = before && !same_tables(*before, applied_.routing().tables);
  if (was_read_whole_ && is_changed && context_.mode() == SubnetMode::observe) {
    restless_until_us_ = context_.now() + context_.options.look_every.count() * 1000;
    probe_.touch_all();
  }
}

Result<bool> SubnetRoutes::look_some(const ClusterState& state) {
  if (!wanted_.exist()) return false;
  const Topology& t = *links_.topology();
  const bool writes = context_.writes();
  if (show_walk()) {
    probe_.touch_all();
    return true;
  }
  if (probe_.has_news()) probe_.start_walk(wanted_, observed_);
  const bool drains_wait = !writes && std::ranges::any_of(*state.drains, [](const auto& entry) {
    return entry.second.state != DrainState::drained && changes_routes(entry.first.kind);
  });
  const bool is_restless = !writes && context_.now() < restless_until_us_;
  const auto every = drains_wait || is_restless ? std::min(context_.options.sweep_every, context_.options.look_every)
                                                : context_.options.look_every;
  const Lid top = top_to_read();
  const auto due =
      probe_.due(context_.now(), every.count() * 1000, top, [this](SwitchId sw) { return presences_.is_present(sw); });
  if (due.empty()) return false;
  auto sights = context_.driver().look(t, due, top);
  if (!sights) return std::unexpected(sights.error());
  probe_.take(*sights, wanted_.routing(), lids(), context_.now());
  take_tables(std::move(*sights));
  if (!applied_.are_known()) return false;
  show_read();
  show_ages();
  // What steps have not come to yet differs, too.
  if (writes && ports_.is_done() && !steps_.are_under_way && differs_from_wanted()) {
    const RepairCause cause{.text = "tables were written by another subnet manager", .start_us = context_.now()};
    if (auto done = program(state, cause, 0); !done) return std::unexpected(done.error());
  } else if (!writes) {
    report_drains(state);
  }
  context_.board.publish();
  return false;
}

// When each switch's tables were last seen.
void SubnetRoutes::show_ages() {
  TablesSeen seen{.read_back_us = context_.status().tables_seen.read_back_us};
  std::vector<std::int64_t> by_switch(links_.topology()->switches().size(), 0);
  const std::int64_t unix_offset_us = context_.with.unix_us() - context_.now();
  for (const SwitchId sw : links_.switches()) {
    const std::int64_t at_us = std::max(applied_.read_us(sw), probe_.seen_us(sw));
    if (at_us == 0 || presences_.is_gone(sw)) continue;
    const std::int64_t unix_us = by_switch[sw.index()] = at_us + unix_offset_us;
    seen.oldest_us = seen.oldest_us == 0 ? unix_us : std::min(seen.oldest_us, unix_us);
    seen.newest_us = std::max(seen.newest_us, unix_us);
  }
  seen.by_switch = std::make_shared<const std::vector<std::int64_t>>(std::move(by_switch));
  context_.status().tables_seen = std::move(seen);
}

// OpenSM's, where they are not ours: of all LIDs, switches' own among them.
const Routing* SubnetRoutes::opensm_tables(const ClusterState& state) {
  auto& [routing, version] = opensm_tables_;
  if (routing && version == opensm_.version()) return &*routing;
  const auto like = context_.with.routes(state);
  if (!like) return nullptr;
  const auto& scope = (*like)->scope();
  routing = with_readings(routing ? *routing : (*like)->routing, opensm_.readings(),
                          lids_seen(scope, links_.subnet(), context_.driver()));
  version = opensm_.version();
  return &*routing;
}

KnownTables SubnetRoutes::known_tables(const ClusterState& state) {
  const std::string& problem = context_.status().problem;
  if (!wanted_.exist() || !applied_.are_known()) {
    return {.reason = problem.empty() ? "the tables of its switches were not read yet" : problem,
            .levels = levels_told(state)};
  }
  const auto unread = static_cast<std::uint64_t>(unknown_present().size());
  const std::string all = fmt::format(" of {} switches", links_.switches().size());
  was_read_whole_ = was_read_whole_ || unread == 0;
  if (!was_read_whole_) {
    return {
        .unread = unread, .reason = fmt::format("{}{} were not read yet", unread, all), .levels = levels_told(state)};
  }
  KnownTables known{
      .routing = &applied_.routing(), .unread = unread, .lost_pairs = verdict_ ? verdict_->lost : std::uint64_t{0}};
  known.levels = levels_told(state);
  switch (context_.mode()) {
    case SubnetMode::direct:
      known.are_wanted = !lanes_.are_lacking() && same_tables(known.routing->tables, wanted_.routing().tables);
      if (lanes_.are_lacking()) {
        known.reason = fmt::format("they are on one lane, where Railweave would use {}", lanes_.needed);
      } else if (!known.are_wanted)
        known.reason = problem.empty() ? "they are not written yet" : problem;
      break;
    case SubnetMode::opensm:
      known.are_wanted = opensm_.matches();
      if (!known.are_wanted) {
        known.routing = opensm_tables(state);
        known.reason = "OpenSM's are not those that Railweave computes";
      }
      break;
    case SubnetMode::observe:
      known.are_wanted = known.routing->tables == wanted_.routing().tables;
      if (!known.are_wanted) known.reason = "another subnet manager computes them";
      break;
  }
  if (unread != 0) {
    known.reason += fmt::format("{}{}{} do not answer, and what they hold is not known",
                                known.reason.empty() ? "" : "; ", unread, all);
  }
  return known;
}

void SubnetRoutes::report_in_force(const ClusterState& state, const std::string& unknown) {
  constexpr std::int64_t kRepairUs = 1'000'000;  // tables that are being written are not worth a report
  if (!links_.found() || state.view.topology_ptr() != links_.topology()) return;
  if (!unknown.empty()) return in_force_.report_unknown(state, unknown, levels_told(state));
  KnownTables known = known_tables(state);
  const bool is_under_way = context_.writes() && known.routing != nullptr && !known.are_wanted;
  if (!is_under_way) {
    differ_since_us_ = 0;
  } else if (differ_since_us_ == 0) {
    differ_since_us_ = context_.now();
  }
  if (is_under_way && context_.now() - differ_since_us_ < kRepairUs) return;
  in_force_.report(state, std::move(known));
}

}  // namespace railweave::control
