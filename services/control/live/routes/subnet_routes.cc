#include "services/control/live/routes/subnet_routes.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/routing/delta/held_back.h"
#include "services/control/live/routes/drain_progress.h"
#include "services/control/live/routes/table_reading.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr std::int64_t kUsPerMilli = 1000;
constexpr unsigned kEarlyAttempts = 3;

}  // namespace

SubnetRoutes::SubnetRoutes(const SubnetContext& context, const SubnetLinks& links, const ObservedLinks& observed,
                           PortActivation& ports, Audits audits, const std::set<Guid>& silent, Carried carried)
    : context_(context),
      links_(links),
      observed_(observed),
      ports_(ports),
      silent_(silent),
      wanted_(audits.wanted, carried.version),
      opensm_(context, links),
      ahead_(context.options.sweep_every.count() * kUsPerMilli),
      audits_(audits),
      opensm_rewrite_(carried.opensm_rewrite),
      probe_(context, links, audits.seen),
      in_force_(context, links),
      read_back_at_us_(carried.read_back_at_us) {}

Result<void> SubnetRoutes::bring_up_ports() {
  if (!wanted_.base()) return {};
  return ports_.bring_up(wanted_.base()->scope());
}

// Drains as the state has them, links and their rates as observed: the state may not have them yet.
FabricView SubnetRoutes::view_of(const ClusterState& state) const {
  FabricView view = state.view;
  for (std::size_t i = 0; i < observed_.states().size(); ++i) {
    const LinkId link = links_.cables()[i].link;
    if (view.state(link) != observed_.states()[i]) view.set_state(link, observed_.states()[i]);
    if (view.rate_seen(link) != observed_.rates().of(i)) view.set_rate_seen(link, observed_.rates().of(i));
  }
  return view;
}

Result<void> SubnetRoutes::bring_to_wanted(const ClusterState& state, const RepairCause& cause) {
  if (!links_.found() || observed_.empty()) {
    wanted_.skip(state.view_version);
    return {};
  }
  const std::int64_t start = context_.now();
  if (!wanted_.base() || taken_engine(state) != taking_.asked) {
    if (auto chosen = choose_base(state); !chosen) return chosen;
    if (!wanted_.base()) {
      context_.board.publish();
      return {};
    }
  }
  const FabricView view = view_of(state);
  // Other routes on the same fabric can wait, and are written in steps; whatever else has changed cannot.
  const bool is_other_basis = wanted_.exist() && applied_.are_known() && !view.is_based_alike(wanted_.view());
  const auto update = compute_wanted(state, view);
  if (update && !update->is_same)
    steps_.are_under_way = is_other_basis && (context_.options.rebalance || context_.options.follow_jobs) &&
                           context_.mode() == SubnetMode::direct;
  context_.alarms().set_subnet("routes.impossible", AlarmSeverity::critical,
                               update ? "" : "no routes for " + context_.name() + ": " + update.error().text());
  if (!update) {
    context_.log().error("no routes: {}", update.error().text());
    context_.status().problem = update.error().text();
  } else {
    context_.log().debug("routes: {} by {} in {} us ({})", update->is_same ? "the same" : "others",
                         wanted_.routing().engine, context_.now() - start, cause.text);
    show_wanted(*update);
    if (!context_.writes()) {
      report_drains(state);
    } else if (ports_.is_done() && !steps_.are_under_way) {
      if (auto done = program(state, cause, context_.now() - start); !done) return done;
    }
  }
  show_phase();
  context_.board.publish();
  return {};
}

std::optional<ClearedRoutes> SubnetRoutes::cleared() const {
  return wanted_.cleared(lanes_.are_lacking() ? 1 : kMaxDataLanes);
}

// In the other modes another subnet manager routes by what it finds itself.
std::vector<LinkId> SubnetRoutes::misled() const {
  return context_.mode() == SubnetMode::direct ? observed_.misled() : std::vector<LinkId>();
}

bool SubnetRoutes::have_work() const {
  if (!wanted_.exist() || !links_.found() || wanted_.misled() != misled()) return true;
  for (std::size_t i = 0; i < observed_.states().size(); ++i) {
    const LinkId link = links_.cables()[i].link;
    if (wanted_.view().state(link) != observed_.states()[i]) return true;
    if (wanted_.view().rate_seen(link) != observed_.rates().of(i)) return true;
  }
  return context_.writes() && are_cleared() && (differs_from_wanted() || !unknown_present().empty());
}

bool SubnetRoutes::differs_from_wanted() const {
  if (!applied_.are_known()) return true;
  if (context_.mode() == SubnetMode::opensm) {
    if (!opensm_.matches()) return false;
    if (ahead_.is_begun(wanted_.version())) return ahead_.is_rest_due(wanted_.version(), context_.now());
  }
  if (context_.mode() == SubnetMode::direct && !applied_.foreign().empty()) return true;
  return !same_tables(applied_.routing().tables, wanted_.routing().tables);
}

// Why they are not to be programmed, where they are not cleared.
void SubnetRoutes::show_wanted(WantedRoutes::Update update) {
  SubnetStatus& status = context_.status();
  const Routing& routing = wanted_.routing();
  const bool writes = context_.writes();
  status.wanted = std::make_shared<const Routing>(routing);
  if (!update.is_same) status.wanted_digest.reset();
  const std::string refusal =
      update.is_verified ? "" : "the new routes do not pass the audit and are not programmed: " + wanted_.fault();
  context_.alarms().set_subnet("routes.unsound", AlarmSeverity::critical,
                               update.is_verified || !writes ? "" : context_.name() + ": " + refusal);
  if (!update.is_same) {
    context_.log().write(update.is_verified ? log::Level::debug : log::Level::error, "audit: {}",
                         update.is_verified ? "passed" : wanted_.fault());
  }
  if (!update.is_same && update.is_verified && writes && wanted_.old_levels()) {
    lanes_.levels_at_us = context_.with.unix_us();
    context_.log().write(wanted_.old_levels()->loop_lanes > 0 ? log::Level::warn : log::Level::info, "levels: {}",
                         wanted_.old_levels()->text());
  }
  if (!update.is_verified && writes) {
    status.problem = refusal;
    return;
  }
  const auto other_levels = std::ranges::find(routing.findings, "levelsChanged", &Finding::code);
  context_.alarms().set_subnet(
      "routes.levelsChanged", AlarmSeverity::warning,
      other_levels == routing.findings.end() || !writes ? "" : context_.name() + ": " + other_levels->message);
  const unsigned lanes = lanes_.are_lacking() ? wanted_.lanes_used() : 1;
  if (lanes > 1) {
    status.problem = fmt::format("{} routes need {} lanes: {}", routing.engine, lanes, lanes_.why);
  } else if (ports_.is_done() || !writes) {
    status.problem.clear();  // else it is why nothing may be written
  }
  context_.alarms().set_subnet("routes.needLanes", AlarmSeverity::critical,
                               lanes <= 1 ? "" : context_.name() + ": " + status.problem);
  show_lanes();
}

// Railweave's own LIDs are the scope's, and what differs from them is an alarm.
std::vector<Lid> SubnetRoutes::lids() const {
  if (context_.mode() != SubnetMode::observe) return {};
  return lids_seen(wanted_.base()->scope(), links_.subnet(), context_.driver());
}

void SubnetRoutes::forget_applied() {
  applied_.forget();
  probe_.touch_all();
}

void SubnetRoutes::touch_ends_of(LinkId link) {
  restless_until_us_ = context_.now() + context_.options.look_every.count() * kUsPerMilli;
  const Topology& t = *links_.topology();
  for (const PortId port : {t.a(link), t.b(link)}) {
    if (const SwitchId sw = t.switch_of(port)) probe_.touch(sw);
  }
}

void SubnetRoutes::doubt_ends_of(LinkId link) {
  const Topology& t = *links_.topology();
  for (const PortId port : {t.a(link), t.b(link)}) {
    if (const SwitchId sw = t.switch_of(port)) applied_.doubt(sw);
  }
  unknown_.retry_us = 0;
}

Lid SubnetRoutes::top_to_read() const {
  Lid top = top_lid(wanted_.base()->scope());
  for (const Lid lid : lids()) top = std::max(top, lid);
  if (context_.mode() != SubnetMode::opensm) return top;
  for (const SwitchId sw : links_.switches()) {
    top = std::max(top, context_.driver().read_lid(links_.topology()->guid(sw), 0));
  }
  return top;
}

Result<void> SubnetRoutes::read_back(std::span<const SwitchId> switches) {
  const Topology& t = *links_.topology();
  const std::int64_t began = context_.now();
  auto readings = context_.driver().read_tables(t, switches, top_to_read());
  if (!readings) return std::unexpected(readings.error());
  context_.log().debug("read: the tables of {} switches in {} us", switches.size(), context_.now() - began);
  applied_.take(*readings, wanted_.routing(), lids(), context_.now());
  if (context_.mode() == SubnetMode::opensm) opensm_.keep(std::move(*readings));
  return {};
}

Result<void> SubnetRoutes::read_all() {
  applied_.start_over();
  if (auto read = read_back(links_.switches()); !read) return read;
  read_back_at_us_ = context_.now();
  context_.status().tables_seen.read_back_us = context_.with.unix_us();
  return {};
}

// Switches that are back, or answer again.
Result<void> SubnetRoutes::read_returned() {
  if (applied_.unknown().empty() || context_.now() < unknown_.retry_us) return {};
  const Topology& t = *links_.topology();
  std::vector<SwitchId> back;
  for (const SwitchId sw : applied_.unknown()) {
    if (context_.driver().is_present(t.guid(sw)) && !silent_.contains(t.guid(sw))) back.push_back(sw);
  }
  if (!back.empty()) {
    if (auto read = read_back(back); !read) return read;
  }
  unknown_.retry_us = context_.now() + context_.options.retry_first.count() * kUsPerMilli;
  return {};
}

// Nothing is written that is not cleared, whatever led here.
Result<void> SubnetRoutes::program(const ClusterState& state, const RepairCause& cause, std::int64_t computed_us) {
  const auto cleared = this->cleared();
  if (!cleared) return {};
  // 1. What switches hold, where it is not known.
  const bool took_over = !applied_.are_known();
  if (auto read = took_over ? read_all() : read_returned(); !read) return read;
  // 2. In opensm mode nothing is written before OpenSM's tables are ours: check_opensm() compares them again.
  if (context_.mode() == SubnetMode::opensm) {
    if (took_over) compare_with_opensm();
    if (!opensm_.matches()) {
      context_.board.publish();
      return {};
    }
    return program_beside(state, cause, computed_us, *cleared);
  }
  if (wanted_.lanes_used() > 1) {
    const auto ready = ready_lanes(state);
    if (!ready) return std::unexpected(ready.error());
    if (!*ready) return {};
  }
  // 3. What differs, in an order that is safe to write.
  const std::int64_t began = context_.now();
  const ForwardingDelta delta = delta_to(*cleared, state, took_over);
  const std::int64_t delta_us = context_.now() - began;
  // 4. Writing it, unless the subnet was handed over meanwhile.
  if (!context_.mode_holds()) return {};
  if (!delta.blocks.empty()) {
    if (before_writing_) {
      if (auto ready = before_writing_(state); !ready) return ready;
    }
    const auto written = write(delta, cause, computed_us + delta_us);
    if (!written) return std::unexpected(written.error());
    if (!written->has_value()) return {};
    if ((*written)->interrupted) return read_back(switches_of(delta));  // what is left comes with the repair
  }
  // 5. What switches hold now.
  applied_.set(cleared->routing());
  if (!unknown_.held_back.empty()) {
    if (auto read = read_back(unknown_.held_back); !read) return read;
  }
  keep_telling();
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

// Ahead of OpenSM only what a failure broke, and only as far as mixtures with what OpenSM will write are proven; all else
// is OpenSM's to write.
Result<void> SubnetRoutes::program_beside(const ClusterState& state, const RepairCause& cause, std::int64_t computed_us,
                                          const ClearedRoutes& cleared) {
  const std::uint64_t version = wanted_.version();
  if (same_tables(applied_.routing().tables, cleared.routing().tables)) return {};
  const bool is_rest = ahead_.is_rest_due(version, context_.now());
  if (ahead_.is_begun(version) && !is_rest) return {};
  const std::int64_t began = context_.now();
  ForwardingDelta delta = compute_delta(wanted_.view(), applied_.routing(), cleared.routing(),
                                        {.urgent = urgent(state),
                                         .only_broken = !is_rest,
                                         .may_drop = false,
                                         .lanes_stay = true,
                                         .most_waits = is_rest ? 2U : 0U});
  leave_out_unknown(delta);
  opensm_.guard(delta, wanted_.base()->scope());
  if (!context_.mode_holds()) return {};
  if (is_rest) {
    ahead_.rest_done();
  } else {
    ahead_.begin(version, !delta.blocks.empty(), context_.now());
  }
  if (!delta.blocks.empty()) {
    const auto written = write(delta, cause, computed_us + context_.now() - began);
    if (!written) return std::unexpected(written.error());
    if (!written->has_value()) return {};
    applied_.take(opensm_.written(delta, **written), wanted_.routing(), lids(), context_.now());
  }
  show_read();
  report_drains(state);
  return {};
}

// Safe for packets that met tables from before as well. Where those and the present ones wait in a circle already, which links that came
// back can do, the oldest are not regarded while pairs are broken: waiting for them would leave these broken for longer than they are
// still on their way.
ForwardingDelta SubnetRoutes::safe_delta(const Routing& to, DeltaOptions options) const {
  options.earlier = applied_.earlier(context_.now());
  ForwardingDelta delta = compute_delta(wanted_.view(), applied_.routing(), to, options);
  const auto waits_first = [&] { return !delta.waits.empty() && delta.waits.front() == 0; };
  if (!waits_first()) return delta;
  DeltaOptions broken = options;
  broken.only_broken = true;
  if (compute_delta(wanted_.view(), applied_.routing(), to, broken).blocks.empty()) return delta;
  while (waits_first() && options.earlier.size() > 1) {
    options.earlier.erase(options.earlier.begin());
    delta = compute_delta(wanted_.view(), applied_.routing(), to, options);
  }
  return delta;
}

// Without switches that are gone or do not answer: their tables are read and written when they are back.
ForwardingDelta SubnetRoutes::delta_to(const ClearedRoutes& cleared, const ClusterState& state, bool took_over) {
  const bool are_empty = took_over && carry_nothing(applied_.routing().tables, links_.switches());
  // On one lane any levels may be told.
  std::optional<Routing> told;
  if (lanes_.telling.since_us != 0) {
    told = cleared.routing();
    told->lanes = lanes_.telling.levels;
  }
  const Routing& to = told ? *told : cleared.routing();
  ForwardingDelta delta = are_empty ? first_delta(cleared.routing()) : safe_delta(to, {.urgent = urgent(state)});
  add_drops(applied_.foreign(), cleared.routing(), delta);
  leave_out_unknown(delta);
  return delta;
}

void SubnetRoutes::leave_out_unknown(ForwardingDelta& delta) {
  const Topology& t = *links_.topology();
  std::set<SwitchId> left_out;
  std::erase_if(delta.blocks, [&](const LftBlock& block) {
    if (t.subnet(block.sw) != links_.subnet()) return true;
    const bool is_out = applied_.unknown().contains(block.sw) || !context_.driver().is_present(t.guid(block.sw));
    if (is_out) left_out.insert(block.sw);
    return is_out;
  });
  for (const SwitchId sw : left_out) applied_.doubt(sw);
  unknown_.held_back = hold_back(wanted_.view(), applied_.last_held(), wanted_.routing(), applied_.unknown(), delta);
}

// Where another subnet manager is in charge, the next sweep tries again.
Result<std::optional<ProgramReport>> SubnetRoutes::write(const ForwardingDelta& delta, const RepairCause& cause,
                                                         std::int64_t computed_us) {
  context_.status().phase = SubnetPhase::programming;
  context_.log().debug("write: {} entries in {} blocks ({})", delta.changed_entries, delta.blocks.size(), cause.text);
  const auto report = context_.driver().program(*links_.topology(), delta);
  if (!report) {
    if (auto stopped = context_.not_written(report.error()); !stopped) return std::unexpected(stopped.error());
    context_.board.publish();
    return std::nullopt;
  }
  for (const auto& isolated : report->isolated) applied_.isolate(isolated.sw, isolated.reason);
  for (std::size_t i = 0; i < delta.blocks.size(); ++i) {
    probe_.touch(delta.blocks[i].sw);
    if (report->blocks[i] != WriteOutcome::applied) applied_.doubt(delta.blocks[i].sw);
    if (report->blocks[i] == WriteOutcome::silent) note_unanswered(delta.blocks[i].sw);
  }
  if (report->interrupted) context_.log().info("writing stops for a link that failed or came back: {}", cause.text);
  const auto as_written = std::ranges::count(report->blocks, WriteOutcome::applied);
  context_.log().write(as_written == std::ssize(report->blocks) ? log::Level::debug : log::Level::warn,
                       "read back: {} of {} blocks hold what was written, {} switches do not answer", as_written,
                       report->blocks.size(), report->isolated.size());
  const bool is_any = std::ranges::find(report->blocks, WriteOutcome::applied) != report->blocks.end();
  if (is_any || report->interrupted) note_earlier(delta, *report);
  if (is_any || !report->yielded) record(delta, *report, cause, computed_us);
  return std::optional(*report);
}

// Packets from before the last wait have left; later ones have met what was written by then.
void SubnetRoutes::note_earlier(const ForwardingDelta& delta, const ProgramReport& report) {
  std::optional<std::uint16_t> waited;
  for (const LftBlock& block : delta.blocks) {
    for (const std::uint16_t wait : delta.waits) {
      if (block.stage >= wait) waited = std::max(waited.value_or(0), wait);
    }
  }
  const bool are_all_written =
      std::ranges::all_of(report.blocks, [](WriteOutcome one) { return one == WriteOutcome::applied; });
  if (!waited || !are_all_written) return applied_.keep_earlier(applied_.routing(), context_.now());
  applied_.packets_left();
  applied_.keep_earlier(before_stage(applied_.routing(), delta, *waited), context_.now());
}

// Its tables are not asked for at once: that would wait for it a second time, before others are repaired.
void SubnetRoutes::note_unanswered(SwitchId sw) {
  const Guid guid = links_.topology()->guid(sw);
  if (std::ranges::find(unknown_.unanswered, guid) != unknown_.unanswered.end()) return;
  unknown_.unanswered.push_back(guid);
  unknown_.early_attempts = kEarlyAttempts;
  unknown_.retry_us = context_.now() + context_.options.retry_first.count() * kUsPerMilli;
}

void SubnetRoutes::note_changed_links() {
  unknown_.owes_attempt = unknown_.early_attempts > 0 && !unknown_present().empty();
}

Result<void> SubnetRoutes::ask_unanswered(const ClusterState& state) {
  unknown_.owes_attempt = false;
  --unknown_.early_attempts;
  unknown_.retry_us = 0;
  return bring_to_wanted(state, {.text = "switches did not answer", .start_us = context_.now()});
}

void SubnetRoutes::report_drains(const ClusterState& state) const {
  if (!wanted_.exist()) return;
  const bool are_current = applied_.are_known() && wanted_.view_version() == state.view_version;
  control::report_drains(context_, state, links_, are_current ? &applied_ : nullptr);
}

// While its sweep is awaited, other tables are those from before it.
void SubnetRoutes::compare_with_opensm() {
  const std::uint64_t version = wanted_.version();
  const bool are_same = same_tables(applied_.routing().tables, wanted_.routing().tables) ||
                        differing_blocks(applied_.routing().tables, wanted_.routing().tables, links_.switches()) == 0;
  const bool is_its_turn =
      ahead_.awaits(version, context_.now()) || (ahead_.is_begun(version) && !ahead_.has_settled());
  if (!are_same && opensm_.matches() && is_its_turn) return show_read();
  if (opensm_.compare(applied_.routing(), wanted_.routing())) {
    applied_.set(wanted_.routing());
    ahead_.matched();
    return;
  }
  // What was written here may have come after what OpenSM wrote, which it does not see.
  if (ahead_.has_written()) ++opensm_rewrite_;
  ahead_.matched();
}

Result<void> SubnetRoutes::check_opensm(const ClusterState& state, const SubnetInbox::OpensmNews& news) {
  opensm_.raise_alarms(news);
  if (news.is_writing) ahead_.is_writing(context_.now());
  if (news.has_settled) ahead_.settled();
  const std::uint64_t version = wanted_.version();
  const bool is_old = context_.now() - read_back_at_us_ > context_.options.sweep_every.count() * kUsPerMilli;
  if (!news.has_settled && !(is_old && (!opensm_.matches() || ahead_.is_begun(version)))) {
    if (!opensm_.matches() || !ahead_.is_rest_due(version, context_.now())) return {};
    const RepairCause cause{.text = "OpenSM has not routed around it", .start_us = context_.now()};
    return program(state, cause, 0);
  }
  if (auto read = read_back(links_.switches()); !read) return read;
  read_back_at_us_ = context_.now();
  context_.status().tables_seen.read_back_us = context_.with.unix_us();
  compare_with_opensm();
  for (const SwitchId sw : links_.switches()) probe_.touch(sw);
  report_drains(state);
  context_.board.publish();
  return {};
}

}  // namespace railweave::control
