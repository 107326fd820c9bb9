#include "services/control/live/subnet_controller.h"

#include <algorithm>
#include <utility>

#include "fabric/base/plural.h"
#include "services/control/live/links/link_alarms.h"
#include "services/control/live/ports/lid_check.h"
#include "services/control/state/link_state.h"

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

SubnetController::SubnetController(SubnetOptions options, SubnetSurroundings surroundings)
    : options_(std::move(options)),
      with_(std::move(surroundings)),
      board_(options_.subnet, options_.port, with_.report),
      connection_(options_, with_),
      rounds_(with_.log, options_.subnet, with_.unix_us()),
      context_{.options = options_,
               .with = with_,
               .board = board_,
               .connection = connection_,
               .jobs = jobs_,
               .rounds = rounds_,
               .stop_writing = [this](const Error& error) { stop_writing(error); }},
      watch_(context_, inbox_),
      cabling_(context_),
      keys_(context_),
      administration_(context_),
      audit_(options_.audits),
      walks_(options_.audits),
      quiet_{.balance = BalanceThread(options_.audits), .engines = EngineThread(options_.audits)} {}

SubnetController::Followed::Followed(const SubnetContext& context, const ClusterState& state,
                                     SubnetRoutes::Audits audits, const FabricWatch& watch, const Followed* before)
    : version(state.accepted.version),
      links(state.accepted.topology, context.options.subnet),
      exchanged(state.accepted.intended ? exchanges(links, *state.accepted.intended->topology)
                                        : std::vector<Exchange>()),
      observed(links, context.options.damping),
      ports(context, links),
      routes(context, links, observed, ports, audits, watch.silent(),
             before != nullptr ? before->routes.carried() : SubnetRoutes::Carried()),
      qos(context, links, before != nullptr && before->qos.is_asked()),
      health(before != nullptr && before->version == version ? before->health
             : links.found() ? std::make_shared<SubnetHealth>(links, context.options.archive,
                                                              before != nullptr ? before->health.get() : nullptr)
                             : nullptr) {
  routes.before_writing([this, &watch](const ClusterState& now) {
    return qos.open_for(now, routes_for_qos(), [&watch](Guid device) { return watch.silent().contains(device); });
  });
  routes.ready_lanes_by(
      [this, &watch](const ClusterState& now, const RoutingInput& input, const Routing& routing, std::int64_t for_us) {
        const QosKeeper::Routes of{.input = input,
                                   .routing = routing,
                                   .version = routes.wanted().version(),
                                   .view = routes.wanted().view(),
                                   .are_applied = false};
        return qos.ready_lanes(now, of, [&watch](Guid device) { return watch.silent().contains(device); }, for_us);
      });
}

QosKeeper::Routes SubnetController::Followed::routes_for_qos() const {
  const WantedRoutes& wanted = routes.wanted();
  if (const auto several = routes.waiting_for_lanes()) {
    return {.input = several->input,
            .routing = several->routing,
            .version = UINT64_MAX,
            .view = wanted.view(),
            .are_applied = false};
  }
  return {.input = wanted.base()->input,
          .routing = wanted.routing(),
          .version = wanted.version(),
          .view = wanted.view(),
          .are_applied = !qos.has_lanes() || !routes.have_work()};
}

void SubnetController::step(const ClusterStatePtr& state, std::chrono::milliseconds wait) {
  rounds_.begin_round();
  // 1. The connection, in the mode that the state asks for.
  const SubnetMode mode = with_.mode_now ? with_.mode_now() : state->mode(options_.subnet);
  if (mode != connection_.mode() && connection_.is_open() && !is_blind_) keys_.give_back();
  if (connection_.set_mode(mode)) {
    context_.log().info("mode {}", to_string(mode));
    board_.alarms().clear_of_mode();
    board_.status().problem.clear();
  }
  if (!connection_.is_open()) connect();
  // 2. The subnet itself; a connection that fails is retried later.
  if (connection_.is_open()) {
    if (auto done = round(*state, wait); !done) disconnect(done.error());
  }
  // 3. Whose tables are in force, which what is said of routes rests on.
  report_in_force(*state);
  // 4. Requests of clients.
  answer_requests(*state);
}

void SubnetController::report_in_force(const ClusterState& state) {
  constexpr std::int64_t kEveryUs = 200'000;
  if (followed_ == nullptr || !context_.mode_holds() || followed_->version != state.accepted.version) return;
  const std::int64_t now_us = with_.monotonic_us();
  if (in_force_at_us_ != 0 && now_us - in_force_at_us_ < kEveryUs) return;
  in_force_at_us_ = now_us;
  const bool is_seen = connection_.is_open() && !is_blind_;
  followed_->routes.report_in_force(state, is_seen ? std::string() : board_.status().problem);
}

Result<void> SubnetController::round(const ClusterState& state, std::chrono::milliseconds wait) {
  // 1. The accepted topology: what is about another one, or was learnt through another connection, is replaced.
  const bool is_new = connection_.phase() == SubnetConnection::Phase::opened;
  if (is_new || followed_->version != state.accepted.version) {
    if (auto done = follow_topology(state); !done) return done;
  }
  // 2. What is there, read whole once per connection.
  if (is_new) {
    if (auto done = discover(state); !done) return done;
  }
  // 3. What devices report, and what sweeps find: repaired at once.
  if (auto done = listen(state, wait); !done) return done;
  cabling_.report_made();
  if (is_blind_ || !context_.mode_holds()) return {};
  // 4. What the state asks for: drains, links that are calm again.
  if (auto done = follow_state(state); !done) return done;
  // 5. What can wait: audits, reading back, classes and partitions, counters.
  if (auto done = use_idle_time(state); !done) return done;
  if (auto done = keep_qos(state); !done) return done;
  if (auto done = followed_->routes.keep_lanes(state); !done) return done;
  if (auto done = tell_clients(); !done) return done;
  constexpr std::int64_t kShowPhaseUs = 200'000;
  if (context_.now() - phase_shown_us_ >= kShowPhaseUs) {
    phase_shown_us_ = context_.now();
    followed_->routes.show_phase();
  }
  return poll_counters(state);
}

void SubnetController::connect() {
  board_.status().mode = connection_.mode();
  if (!connection_.is_due()) return;
  if (auto opened = connection_.open(); !opened) return disconnect(opened.error());
  if (connection_.mode() == SubnetMode::opensm) {
    connection_.driver().yield_when([this] { return inbox_.opensm_is_writing(); });
  }
  context_.log().info("connected through {}", options_.port);
  board_.status().phase = SubnetPhase::discovering;
  board_.status().problem.clear();
  board_.publish();
}

// Switches keep their tables, so traffic goes on. The tables are read again when the connection is back.
void SubnetController::disconnect(const Error& error) {
  const bool is_new = board_.status().phase != SubnetPhase::offline || board_.status().problem != error.text();
  context_.log().write(is_new ? log::Level::warn : log::Level::debug, "cannot be reached: {}", error.text());
  connection_.close();
  leave_blindness();
  if (followed_) followed_->routes.forget_applied();
  board_.status().phase = SubnetPhase::offline;
  board_.status().problem = error.text();
  board_.alarms().set_subnet("subnet.offline", AlarmSeverity::critical,
                             context_.name() + " cannot be reached: " + error.text());
  board_.publish();
}

// What switches hold may be changed by another subnet manager from now on, and is read again when it is gone.
void SubnetController::stop_writing(const Error& error) {
  administration_.distrust();
  const bool is_new = board_.status().problem != error.text();
  context_.log().write(is_new ? log::Level::warn : log::Level::debug, "is not written to: {}", error.text());
  followed_->ports.forget();
  followed_->routes.forget_applied();
  followed_->qos.forget_all();
  board_.status().phase = SubnetPhase::programming;
  board_.status().problem = error.text();
  board_.alarms().set_subnet("subnet.notWritable", AlarmSeverity::critical,
                             context_.name() + " cannot be programmed: " + error.text());
}

Result<void> SubnetController::follow_topology(const ClusterState& state) {
  administration_.distrust();
  followed_ = std::make_unique<Followed>(context_, state, SubnetRoutes::Audits{audit_, walks_, quiet_}, watch_,
                                         followed_.get());
  board_.status().qos.reset();
  board_.publish_ports({});
  {
    const std::lock_guard lock(health_mutex_);
    health_ = followed_->health;
  }
  if (connection_.phase() != SubnetConnection::Phase::read || is_blind_) return {};
  // What was found last is compared with it at once.
  if (followed_->links.found()) return follow_links(state, {.text = "another topology", .start_us = context_.now()});
  show_differences(state);
  return {};
}

Result<void> SubnetController::discover(const ClusterState& state) {
  auto found = watch_.discover();
  if (!found) return std::unexpected(found.error());
  connection_.set_read();
  keys_.distrust();
  board_.alarms().set_subnet("subnet.offline", AlarmSeverity::critical, "");
  followed_->ports.forget();
  return handle(state, std::move(*found));
}

Result<void> SubnetController::listen(const ClusterState& state, std::chrono::milliseconds wait) {
  // Ports are written in the time in which nothing happens.
  const bool is_busy = connection_.mode() == SubnetMode::direct && followed_->ports.is_done() &&
                       followed_->routes.are_quiet() && followed_->qos.is_due();
  const bool owes_attempt = followed_->routes.owe_attempt() && !is_blind_;
  auto found = watch_.listen(is_busy ? std::chrono::milliseconds(0) : owes_attempt ? options_.coalesce : wait);
  if (!found) return std::unexpected(found.error());
  if (!*found && owes_attempt && context_.mode_holds()) return followed_->routes.ask_unanswered(state);
  // What is found now is found again by the connection of the new mode.
  if (!*found || !context_.mode_holds()) return {};
  if ((*found)->is_whole && !(*found)->sweep.blind) {
    if (auto done = check_in_charge(); !done) return done;
  }
  if (auto done = handle(state, std::move(**found)); !done) return done;
  // What their neighbours reported may have been lost with them: not left to the next sweep, which waits for each of them.
  const std::vector<Guid> unanswered = followed_->routes.take_unanswered();
  if (unanswered.empty() || !context_.mode_holds()) return {};
  auto more = watch_.read_neighbours(unanswered);
  if (!more) return std::unexpected(more.error());
  return *more ? handle(state, std::move(**more)) : Result<void>();
}

// Another subnet manager may have taken over meanwhile: checked with every sweep, even when there is nothing to write.
Result<void> SubnetController::check_in_charge() {
  if (connection_.mode() != SubnetMode::direct || !followed_->ports.is_done()) return {};
  const auto allowed = connection_.driver().may_write();
  return allowed ? Result<void>() : context_.not_written(allowed.error());
}

Result<void> SubnetController::handle(const ClusterState& state, FabricWatch::Finding finding) {
  SubnetStatus& status = board_.status();
  finding.cause.swept_us = context_.now() - finding.cause.start_us;
  finding.cause.mads += finding.sweep.asked;
  watch_.note(finding);
  board_.alarms().repeat_lost(*state.alarms);
  if (finding.sweep.blind) {
    go_blind();
    return {};
  }
  status.discovery.at_us = with_.unix_us();
  administration_.distrust();
  leave_blindness();
  // Ports that hold another key take nothing else: first, where nothing is written yet; a repair does not wait for it.
  if (finding.sweep.changed) keys_.distrust();
  if (!followed_->ports.is_done()) {
    if (auto kept = keys_.keep(state); !kept) return kept;
  }
  if (!followed_->observed.empty()) report_links(state);
  followed_->qos.report_limits(state);
  seq_ = kNoSeq;  // reports of drains that were lost are made again
  if (finding.is_whole && followed_->links.found()) cabling_.saw(state, followed_->links);
  // Whether or not it says that something changed: what differs is found by comparing.
  if (followed_->links.found()) return follow_links(state, std::move(finding.cause));
  status.phase = SubnetPhase::unaccepted;
  status.problem = state.accepted.digest.empty()
                       ? "no topology is accepted yet: railweave fabric discover --accept, or import one"
                       : "the accepted topology has no subnet '" + options_.subnet +
                             "': accept what was discovered, or name the subnet as it is called there";
  show_differences(state);
  board_.publish();
  return {};
}

// In direct mode: every port that has a peer passes packets, and answers to its own LID.
Result<void> SubnetController::keep_ports_active() {
  Followed& f = *followed_;
  const FabricRoutesPtr& base = f.routes.wanted().base();
  const bool is_direct = connection_.mode() == SubnetMode::direct;
  LidFindings lids = check_lids(context_, f.links, is_direct && base ? &base->scope() : nullptr);
  // What another subnet manager set while it was in charge is set again without an alarm.
  if (!is_direct || f.ports.is_done()) board_.alarms().set("lid.conflict", std::move(lids.alarms));
  if (!is_direct || !base) return {};
  const bool are_active = f.ports.phase() == PortActivation::Phase::active;
  if (are_active && !lids.differ && !f.links.need_activation(connection_.driver())) return {};
  return f.routes.bring_up_ports();
}

// New link states: repaired first, reported afterwards.
Result<void> SubnetController::follow_links(const ClusterState& state, RepairCause cause, bool recompute) {
  Followed& f = *followed_;
  if (auto done = keep_ports_active(); !done) return done;
  // A port that is to be activated counts as up before that, and as what it is afterwards.
  const bool is_activated = connection_.mode() == SubnetMode::direct && f.ports.is_done();
  const auto change =
      f.observed.observe(connection_.driver(), connection_.writes() && !is_activated, {context_.now(), with_.unix_us()},
                         state.view, connection_.mode() == SubnetMode::direct);
  f.routes.set_presences(SwitchPresences(f.links, connection_.driver(), watch_.silent()));
  show_links(context_, f.links, f.observed);
  tell_links(change, cause);
  for (const std::size_t cable : change.differing) f.routes.touch_ends_of(f.links.cables()[cable].link);
  if (!change.differing.empty()) f.routes.note_changed_links();
  for (const std::size_t cable : change.returned) {
    f.routes.doubt_ends_of(f.links.cables()[cable].link);
    f.qos.forget(f.links.cables()[cable]);
  }
  if (!change.is_first && change.lost + change.back > 0) cause.text = change.text();
  if (!change.other_rate.empty() && change.lost + change.back == 0 && !change.is_first) {
    cause.text = plural(change.other_rate.size(), "link", "links") + " at another speed";
  }
  recompute =
      recompute || change.is_first || !change.differing.empty() || !change.other_rate.empty() || f.routes.have_work();
  auto repaired = recompute ? f.routes.bring_to_wanted(state, cause) : Result<void>();
  if (!repaired) {
    report_links(state);
    return repaired;
  }
  // What is held was not needed by the cables; where the engine needs it all the same, it is used.
  if (f.observed.held() > 0 && connection_.writes() && !f.routes.are_cleared()) {
    f.observed.use_all();
    return follow_links(state, {.text = "links that flap are needed", .start_us = context_.now()});
  }
  report_links(state);
  show_differences(state);
  board_.publish();
  return {};
}

Result<void> SubnetController::follow_state(const ClusterState& state) {
  Followed& f = *followed_;
  if (state.view_version != f.routes.wanted().view_version()) {
    const RepairCause cause{.text = "drains or link states changed", .start_us = context_.now()};
    // A link that is held may be the last one now.
    auto done =
        f.observed.is_any_flapping() ? follow_links(state, cause, true) : f.routes.bring_to_wanted(state, cause);
    if (!done) return done;
  }
  if (auto done = follow_flaps(state); !done) return done;
  if (state.seq != seq_) f.routes.report_drains(state);
  seq_ = state.seq;
  return {};
}

// Links that became calm, or that an operator released.
Result<void> SubnetController::follow_flaps(const ClusterState& state) {
  ObservedLinks& observed = followed_->observed;
  const auto released = inbox_.take_released();
  if (observed.empty()) return {};
  RepairCause cause{.text = released.empty() ? "links are calm again" : "links were released",
                    .start_us = context_.now()};
  for (const std::string& name : released) {
    if (const LinkId link = followed_->links.topology()->find_link(name)) observed.release(link);
  }
  if (released.empty() && !observed.is_calm(context_.now())) return {};
  return follow_links(state, std::move(cause));
}

Result<void> SubnetController::use_idle_time(const ClusterState& state) {
  Followed& f = *followed_;
  f.routes.audit();
  keys_.note(watch_.take_wrong_keys());
  if (!f.routes.are_quiet()) return {};
  if (auto kept = keys_.keep(state); !kept) return kept;
  if (watch_.take_rediscover()) {  // for operators: devices that were not accepted
    auto found = connection_.driver().discover();
    if (!found) return std::unexpected(found.error());
    if (found->blind) return {};  // which the next sweep finds as well
    board_.status().discovered = found->topology;
    // It may be the first to see what changed.
    if (f.links.found()) return follow_links(state, {.text = "found by a sweep", .start_us = context_.now()});
    show_differences(state);
    board_.publish();
  }
  if (connection_.mode() == SubnetMode::opensm) {
    const auto news = inbox_.take_opensm_news();
    f.qos.hear(news);
    if (auto done = f.routes.check_opensm(state, news); !done) return done;
    if (!f.routes.opensm().matches()) return {};
  }
  if (auto done = f.routes.keep_balanced(state); !done) return done;
  f.routes.keep_engines_compared(state);
  const auto differs = f.routes.look_some(state);
  if (!differs) return std::unexpected(differs.error());
  if (*differs) watch_.distrust();
  return {};
}

Result<void> SubnetController::keep_qos(const ClusterState& state) {
  Followed& f = *followed_;
  const bool is_direct = connection_.mode() == SubnetMode::direct;
  if (!connection_.writes() || !f.routes.are_quiet()) return {};
  if (is_direct && (!f.ports.is_done() || !f.routes.applied().are_known())) return {};
  const WantedRoutes& wanted = f.routes.wanted();
  // Lanes of routes that are not to be written are not written either.
  if (wanted.lanes_used() > 1 && !f.routes.are_cleared()) return {};
  f.qos.plan(state, f.routes_for_qos());
  if (!is_direct && !f.qos.opensm_writes()) return {};
  const auto is_silent = [this](Guid device) { return watch_.silent().contains(device); };
  if (auto done = f.qos.write_some(is_silent); !done) return done;
  return f.qos.look_some(is_silent);
}

// Once switches hold routes: before, a path would lead nowhere.
Result<void> SubnetController::tell_clients() {
  Followed& f = *followed_;
  if (connection_.mode() != SubnetMode::direct || !connection_.writes()) return {};
  if (!f.ports.is_done() || !f.routes.applied().are_known()) return {};
  return administration_.keep(f.routes.applied().routing(), f.routes.applied().revision(),
                              {.view = f.routes.wanted().view(), .version = f.routes.wanted().view_version()},
                              f.qos.administered());
}

Result<void> SubnetController::poll_counters(const ClusterState& state) {
  SubnetHealth* const health = followed_->health.get();
  if (!health) return {};
  constexpr std::int64_t kUsPerMs = 1000;
  const auto has_news =
      health->poll(connection_.driver(), context_.now(), with_.unix_us(), options_.counters_every.count() * kUsPerMs);
  if (!has_news) return std::unexpected(has_news.error());
  if (!*has_news) return {};
  show_unread_counters(context_, followed_->links, *health);
  auto alarms = health->alarms([&](LinkId link) { return jobs_.at(state, *followed_->links.topology(), link); });
  for (auto& [kind, list] : alarms) board_.alarms().set(kind, std::move(list));
  return {};
}

void SubnetController::ask(LiveFabric::Request request, LiveFabric::Completion done) {
  if (inbox_.ask(request, done)) return;
  done(fail(ErrorKind::busy, "subnets.busy", "too many requests to " + context_.name() + " are waiting", {},
            "try again in a second"));
}

void SubnetController::refuse_requests() {
  for (auto& asked : inbox_.take_asked()) {
    asked.done(fail(ErrorKind::unavailable, "service.stopping", "the service is stopping"));
  }
}

void SubnetController::answer_requests(const ClusterState& state) {
  for (auto& asked : inbox_.take_asked()) answer(state, asked);
}

// Everything is read again; a sync compares all tables as well.
void SubnetController::answer(const ClusterState& state, SubnetInbox::Asked& asked) {
  if (connection_.is_open()) {
    if (asked.request == LiveFabric::Request::sync) {
      followed_->routes.forget_applied();
      followed_->qos.forget_all();
    }
    followed_->observed.forget();
    connection_.read_again();
    if (auto done = discover(state); !done) disconnect(done.error());
  }
  if (!connection_.is_open()) {
    return asked.done(
        fail(ErrorKind::unavailable, "subnets.offline", context_.name() + " is offline: " + board_.status().problem));
  }
  if (connection_.writes() && !is_blind_ && !followed_->ports.is_done()) {
    if (auto done = followed_->routes.bring_up_ports(); !done) disconnect(done.error());
  }
  board_.publish();
  asked.done(status());
}

}  // namespace railweave::control
