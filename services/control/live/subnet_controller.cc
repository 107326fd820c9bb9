#include "services/control/live/subnet_controller.h"

#include <algorithm>
#include <utility>

#include "services/control/live/links/link_alarms.h"
#include "services/control/live/ports/lid_check.h"
#include "services/control/state/link_state.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

std::string plural(std::size_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

// "2 links down, 1 back"
std::string text_of(const ObservedLinks::Change& change) {
  if (change.lost == 0) return plural(change.back, "link", "links") + " back";
  return plural(change.lost, "link", "links") + " down" +
         (change.back == 0 ? std::string() : ", " + std::to_string(change.back) + " back");
}

}  // namespace

SubnetController::SubnetController(SubnetOptions options, SubnetSurroundings surroundings)
    : options_(std::move(options)),
      with_(std::move(surroundings)),
      board_(options_.subnet, options_.port, with_.report),
      connection_(options_, with_),
      context_{.options = options_,
               .with = with_,
               .board = board_,
               .connection = connection_,
               .jobs = jobs_,
               .stop_writing = [this](const Error& error) { stop_writing(error); }},
      watch_(context_, inbox_),
      cabling_(context_),
      audit_(options_.audits),
      walks_(options_.audits) {}

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
                             : nullptr) {}

void SubnetController::step(const ClusterStatePtr& state, std::chrono::milliseconds wait) {
  // 1. The connection, in the mode that the state asks for.
  if (connection_.set_mode(with_.mode_now ? with_.mode_now() : state->mode(options_.subnet))) {
    board_.alarms().clear_of_mode();
    board_.status().problem.clear();
  }
  if (!connection_.is_open()) connect();
  // 2. The subnet itself; a connection that fails is retried later.
  if (connection_.is_open()) {
    if (auto done = round(*state, wait); !done) disconnect(done.error());
  }
  // 3. Requests of clients.
  answer_requests(*state);
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
  board_.status().phase = SubnetPhase::discovering;
  board_.status().problem.clear();
  board_.publish();
}

// Switches keep their tables, so traffic goes on. The tables are read again when the connection is back.
void SubnetController::disconnect(const Error& error) {
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
  followed_->ports.forget();
  followed_->routes.forget_applied();
  followed_->qos.forget_all();
  board_.status().phase = SubnetPhase::programming;
  board_.status().problem = error.text();
  board_.alarms().set_subnet("subnet.notWritable", AlarmSeverity::critical,
                             context_.name() + " cannot be programmed: " + error.text());
}

Result<void> SubnetController::follow_topology(const ClusterState& state) {
  followed_ =
      std::make_unique<Followed>(context_, state, SubnetRoutes::Audits{audit_, walks_}, watch_, followed_.get());
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
  board_.alarms().set_subnet("subnet.offline", AlarmSeverity::critical, "");
  followed_->ports.forget();
  return handle(state, std::move(*found));
}

Result<void> SubnetController::listen(const ClusterState& state, std::chrono::milliseconds wait) {
  // Ports are written in the time in which nothing happens.
  const bool is_busy = connection_.mode() == SubnetMode::direct && followed_->ports.is_done() &&
                       followed_->routes.are_quiet() && followed_->qos.is_due();
  auto found = watch_.listen(is_busy ? std::chrono::milliseconds(0) : wait);
  if (!found) return std::unexpected(found.error());
  // What is found now is found again by the connection of the new mode.
  if (!*found || !context_.mode_holds()) return {};
  if ((*found)->is_whole && !(*found)->sweep.blind) {
    if (auto done = check_in_charge(); !done) return done;
  }
  return handle(state, std::move(**found));
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
  status.discovery.at_us = with_.unix_us();
  watch_.note(finding);
  board_.alarms().repeat_lost(*state.alarms);
  if (finding.sweep.blind) {
    go_blind();
    return {};
  }
  leave_blindness();
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

// Through the local port nothing is seen any more. That says nothing of switches, which keep what they have; what they
// hold, and which ports are active, is read again when they are back.
void SubnetController::go_blind() {
  is_blind_ = true;
  followed_->ports.forget();
  followed_->routes.forget_applied();
  followed_->qos.forget_all();
  board_.status().phase = SubnetPhase::blind;
  board_.status().problem =
      context_.name() + " cannot be seen: the local port has no link, or what is behind it does not answer";
  board_.alarms().set_subnet("subnet.blind", AlarmSeverity::critical,
                             board_.status().problem + "; switches keep their tables, and nothing is repaired");
  board_.publish();
}

void SubnetController::leave_blindness() {
  if (!is_blind_) return;
  is_blind_ = false;
  board_.status().problem.clear();
  board_.status().phase = SubnetPhase::discovering;
  board_.alarms().set_subnet("subnet.blind", AlarmSeverity::critical, "");
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
Result<void> SubnetController::follow_links(const ClusterState& state, RepairCause cause) {
  Followed& f = *followed_;
  if (auto done = keep_ports_active(); !done) return done;
  // A port that is to be activated counts as up before that, and as what it is afterwards.
  const bool is_activated = connection_.mode() == SubnetMode::direct && f.ports.is_done();
  const auto change =
      f.observed.observe(connection_.driver(), connection_.writes() && !is_activated, context_.now(), state.view);
  f.routes.set_presences(SwitchPresences(f.links, connection_.driver(), watch_.silent()));
  raise_flapping(context_, f.links, f.observed);
  board_.status().links_damped = f.observed.damped().size();
  board_.status().links_up = f.observed.up();
  board_.status().links_down = f.observed.states().size() - f.observed.up();
  for (const std::size_t cable : change.differing) f.routes.touch_ends_of(f.links.cables()[cable].link);
  for (const std::size_t cable : change.returned) {
    f.routes.doubt_ends_of(f.links.cables()[cable].link);
    f.qos.forget(f.links.cables()[cable]);
  }
  if (!change.is_first && change.lost + change.back > 0) cause.text = text_of(change);
  auto repaired = change.is_first || !change.differing.empty() || f.routes.have_work()
                      ? f.routes.bring_to_wanted(state, cause)
                      : Result<void>();
  report_links(state);
  if (!repaired) return repaired;
  show_differences(state);
  board_.publish();
  return {};
}

// Whatever the control loop does not know yet: a report that was lost is made again with the next sweep.
void SubnetController::report_links(const ClusterState& state) {
  const SubnetLinks& links = followed_->links;
  if (state.view.topology_ptr() != links.topology()) return;
  const auto states = followed_->observed.states();
  ReportLinks report{options_.subnet, {}};
  for (std::size_t i = 0; i < states.size(); ++i) {
    const LinkId link = links.cables()[i].link;
    if (state.view.state(link) != states[i]) report.links.push_back({links.topology()->link_text(link), states[i]});
  }
  if (!report.links.empty()) with_.report(std::move(report));
}

void SubnetController::show_differences(const ClusterState& state) {
  control::show_differences(context_, state, followed_->links, followed_->observed,
                            followed_->routes.applied().isolated(), followed_->routes.presences());
  if (followed_->links.found()) show_exchanges(context_, followed_->exchanged);
}

Result<void> SubnetController::follow_state(const ClusterState& state) {
  Followed& f = *followed_;
  if (state.view_version != f.routes.wanted().view_version()) {
    if (waits_for_ports(state)) return {};
    waits_for_ports_us_.reset();
    const RepairCause cause{.text = "drains or link states changed", .start_us = context_.now()};
    if (auto done = f.routes.bring_to_wanted(state, cause); !done) return done;
  }
  if (!f.observed.empty() && f.observed.take_calm(context_.now())) {
    if (auto done = follow_links(state, {.text = "links are calm again", .start_us = context_.now()}); !done)
      return done;
  }
  if (state.seq != seq_) f.routes.report_drains(state);
  seq_ = state.seq;
  return {};
}

bool SubnetController::waits_for_ports(const ClusterState& state) {
  constexpr std::int64_t kMostUs = 1'000'000;
  const WantedRoutes& wanted = followed_->routes.wanted();
  const FabricView& before = wanted.view();
  if (connection_.mode() != SubnetMode::direct || !followed_->qos.has_lanes() || !wanted.exist()) return false;
  if (before.topology_ptr() != state.view.topology_ptr()) return false;
  bool is_drain = false, is_failure = false;
  state.view.for_each_touched_switch(
      before, [&](fabric::SwitchId sw) { is_drain = is_drain || (state.view.drained(sw) && !before.drained(sw)); });
  state.view.for_each_touched_link(before, [&](LinkId link) {
    is_drain = is_drain || (state.view.drained(link) && !before.drained(link));
    is_failure = is_failure || (!state.view.alive(link) && before.alive(link));
  });
  if (!is_drain || is_failure) return false;
  if (!waits_for_ports_us_) waits_for_ports_us_ = context_.now();
  const bool is_done = planned_seq_ == state.seq && !followed_->qos.is_due();
  return !is_done && context_.now() - *waits_for_ports_us_ < kMostUs;
}

Result<void> SubnetController::use_idle_time(const ClusterState& state) {
  Followed& f = *followed_;
  f.routes.audit();
  if (!f.routes.are_quiet()) return {};
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
  const auto differs = f.routes.look_some(state);
  if (!differs) return std::unexpected(differs.error());
  if (*differs) watch_.distrust();
  if (ports_checked_us_ == 0) ports_checked_us_ = context_.now();
  if (context_.now() - ports_checked_us_ >= options_.check_ports_every.count() * 1000) {
    f.qos.check_all();
    ports_checked_us_ = context_.now();
  }
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
  f.qos.plan(state, {.input = wanted.base()->input, .routing = wanted.routing(), .version = wanted.version()});
  planned_seq_ = state.seq;
  if (!is_direct && !f.qos.opensm_writes()) return {};
  return f.qos.write_some([this](Guid device) { return watch_.silent().contains(device); });
}

Result<void> SubnetController::poll_counters(const ClusterState& state) {
  SubnetHealth* const health = followed_->health.get();
  if (!health) return {};
  constexpr std::int64_t kUsPerMs = 1000;
  const auto has_news =
      health->poll(connection_.driver(), context_.now(), with_.unix_us(), options_.counters_every.count() * kUsPerMs);
  if (!has_news) return std::unexpected(has_news.error());
  if (!*has_news) return {};
  auto alarms = health->alarms([&](LinkId link) { return jobs_.at(state, *followed_->links.topology(), link); });
  for (auto& [kind, list] : alarms) board_.alarms().set(kind, std::move(list));
  return {};
}

std::shared_ptr<const SubnetHealth> SubnetController::health() const {
  const std::lock_guard lock(health_mutex_);
  return health_;
}

std::optional<PortCounters> SubnetController::counters(const Topology& topology, PortId port) const {
  const auto known = health();
  return known ? known->counters(topology, port) : std::nullopt;
}

std::optional<PastCounters> SubnetController::counters_at(const Topology& topology, PortId port,
                                                          std::int64_t at_us) const {
  const auto known = health();
  return known ? known->counters_at(topology, port, at_us, with_.unix_us()) : std::nullopt;
}

void SubnetController::archive(const Topology& topology, std::span<const PortId> ports, health::ArchiveRing ring,
                               ArchivedPorts& ranges) const {
  if (const auto known = health()) known->archive(topology, ports, ring, with_.unix_us(), ranges);
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
