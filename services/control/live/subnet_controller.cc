#include "services/control/live/subnet_controller.h"

#include <algorithm>
#include <utility>

#include "services/control/state/link_state.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr std::size_t kMaxAsked = 64;
constexpr std::size_t kMaxNoticed = 4096;
constexpr std::size_t kMostLinkAlarms = 64;  // further links that are down share one

std::int64_t us(std::chrono::milliseconds time) { return time.count() * 1000; }

std::string plural(std::size_t n, const char* one, const char* many) {
  return std::to_string(n) + " " + (n == 1 ? one : many);
}

}  // namespace

SubnetController::SubnetController(SubnetOptions options, SubnetSurroundings surroundings)
    : options_(std::move(options)),
      with_(std::move(surroundings)),
      alarms_(options_.subnet, with_.report),
      audit_(options_.audits) {
  status_.subnet = options_.subnet;
  status_.port = options_.port;
  status_.problem = "not connected yet";
  publish();
}

SubnetStatusPtr SubnetController::status() const {
  const std::lock_guard lock(mutex_);
  return published_;
}

void SubnetController::publish() {
  auto copy = std::make_shared<const SubnetStatus>(status_);
  const std::lock_guard lock(mutex_);
  published_ = std::move(copy);
}

void SubnetController::ask(LiveFabric::Request request, LiveFabric::Completion done) {
  {
    const std::lock_guard lock(mutex_);
    if (asked_.size() < kMaxAsked) {
      asked_.push_back({request, std::move(done)});
      return;
    }
  }
  done(fail(ErrorKind::busy, "subnets.busy", "too many requests to subnet " + options_.subnet + " are waiting", {},
            "try again in a second"));
}

void SubnetController::refuse_requests() {
  std::deque<Asked> asked;
  {
    const std::lock_guard lock(mutex_);
    asked.swap(asked_);
  }
  for (auto& one : asked) one.done(fail(ErrorKind::unavailable, "service.stopping", "the service is stopping"));
}

void SubnetController::notice(std::vector<Guid> switches) {
  const std::lock_guard lock(mutex_);
  noticed_.insert(noticed_.end(), switches.begin(), switches.end());
  if (noticed_.size() > kMaxNoticed) noticed_ = {Guid()};  // too many to name: sweep
}

void SubnetController::opensm_connected(bool connected) {
  const std::lock_guard lock(mutex_);
  opensm_is_there_ = connected;
}

void SubnetController::opensm_settled() {
  const std::lock_guard lock(mutex_);
  opensm_settled_ = true;
  opensm_refusal_.clear();
}

void SubnetController::opensm_refused(const std::string& why) {
  const std::lock_guard lock(mutex_);
  opensm_refusal_ = why;
}

void SubnetController::step(const ClusterStatePtr& state, std::chrono::milliseconds wait) {
  if (state->mode(options_.subnet) != mode_) {
    mode_ = state->mode(options_.subnet);
    alarms_.clear();
    status_.problem.clear();
    driver_.reset();
    retry_at_us_ = 0;
  }
  if (!driver_) {
    connect();
    if (!driver_) return answer_requests(*state);
  }
  if (state->accepted.version != topology_version_) take_topology(*state);
  if (swept_at_us_ == 0) look_everywhere(*state);
  // What is to be written to ports is written in the time in which nothing happens.
  const bool is_busy = mode_ == SubnetMode::direct && brought_up_ && is_quiet() && qos_.ports().is_due(now());
  if (driver_) listen(*state, is_busy ? std::chrono::milliseconds(0) : wait);
  if (driver_ && state->view_version != view_version_) {
    const std::int64_t start = now();
    bring_to_wanted(*state, {.text = "drains or link states changed", .start_us = start});
  }
  if (driver_ && damping_ && !link_states_.empty() && !damping_->take_reusable(now()).empty()) {
    follow_links(*state, {.text = "links are calm again", .start_us = now()});
  }
  if (driver_ && state->seq != seq_) advance_drains(*state);
  seq_ = state->seq;
  if (driver_) check_idle(*state);
  if (driver_) keep_qos(*state);
  if (driver_) poll_counters(*state);
  answer_requests(*state);
}

void SubnetController::connect() {
  status_.mode = mode_;
  if (now() < retry_at_us_) return;
  auto driver = with_.connect(mode_);
  if (!driver) return disconnect(driver.error());
  driver_ = std::move(*driver);
  retry_wait_us_ = 0;
  swept_at_us_ = 0;
  topology_version_ = UINT64_MAX;
  status_.phase = SubnetPhase::discovering;
  status_.problem.clear();
  publish();
}

// The tables that switches hold stay as they are: traffic goes on. What they hold is read again when they are back.
void SubnetController::disconnect(const Error& error) {
  driver_.reset();
  applied_.reset();
  read_back_next_ = 0;
  retry_wait_us_ = std::clamp(retry_wait_us_ * 2, us(options_.retry_first), us(options_.retry_most));
  retry_at_us_ = now() + retry_wait_us_;
  status_.phase = SubnetPhase::offline;
  status_.problem = error.text();
  alarms_.set_subnet("subnet.offline", AlarmSeverity::critical,
                     "subnet " + options_.subnet + " cannot be reached: " + error.text());
  publish();
}

void SubnetController::take_topology(const ClusterState& state) {
  links_ = SubnetLinks(state.accepted.topology, options_.subnet);
  topology_version_ = state.accepted.version;
  view_version_ = UINT64_MAX;
  base_.reset();
  wanted_.reset();
  unsound_.clear();
  applied_.reset();
  raw_.clear();
  matches_opensm_ = false;
  read_back_next_ = 0;
  unsynced_.clear();
  isolated_.clear();
  link_states_.clear();
  found_states_.clear();
  damping_.reset();
  brought_up_ = false;
  qos_.reset();
  qos_seq_ = UINT64_MAX;
  status_.qos.reset();
  offer_problem_.clear();
  std::shared_ptr<SubnetHealth> health;
  if (links_.found()) {
    damping_.emplace(links_.topology()->links().size(), options_.damping);
    health = std::make_shared<SubnetHealth>(links_);
  }
  {
    const std::lock_guard lock(mutex_);
    health_ = std::move(health);
  }
  if (swept_at_us_ != 0) find_differences(state);
}

void SubnetController::look_everywhere(const ClusterState& state) {
  const std::int64_t start = now();
  auto found = driver_->discover(true);
  if (!found) return disconnect(found.error());
  status_.discovered = found->topology;
  status_.discovery_took_us = now() - start;
  status_.discovery_mads = found->asked;
  alarms_.set_subnet("subnet.offline", AlarmSeverity::critical, "");
  brought_up_ = false;
  took_sweep(state, {.changed = true, .asked = found->asked, .silent = found->silent},
             {.text = "first look", .start_us = start});
}

void SubnetController::listen(const ClusterState& state, std::chrono::milliseconds wait) {
  std::vector<Guid> reporting;
  {
    const std::lock_guard lock(mutex_);
    reporting = std::exchange(noticed_, {});
  }
  const bool asked = !reporting.empty();
  auto observed = driver_->observe(asked ? std::chrono::milliseconds(0) : wait);
  if (!observed) return disconnect(observed.error());
  const std::int64_t start = now();
  Cause cause{.text = "links changed", .start_us = start};
  bool lost = false;
  const auto take = [&](const std::vector<Observation>& observations) {
    for (const auto& observation : observations) {
      lost = lost || observation.kind != Observation::Kind::linkStateChange;
      if (std::ranges::find(reporting, observation.device) == reporting.end()) reporting.push_back(observation.device);
    }
  };
  take(*observed);
  if (reporting.empty() && !lost) {
    if (start - swept_at_us_ < us(options_.sweep_every)) return;
    cause.text = "found by a sweep";
    return sweep(state, std::move(cause));
  }
  // A cable has two ends, a switch has many cables: what comes with the first report is repaired with it.
  for (std::int64_t until = start + us(options_.coalesce_most); now() < until;) {
    auto more = driver_->observe(options_.coalesce);
    if (!more) return disconnect(more.error());
    if (more->empty()) break;
    take(*more);
  }
  cause.noticed_us = now() - start;
  if (!lost && std::ranges::find(reporting, Guid()) == reporting.end()) {
    auto rechecked = driver_->recheck(reporting);
    if (!rechecked) return disconnect(rechecked.error());
    if (*rechecked) return took_sweep(state, **rechecked, std::move(cause));
  }
  sweep(state, std::move(cause));
}

void SubnetController::sweep(const ClusterState& state, Cause cause) {
  auto swept = driver_->sweep();
  if (!swept) return disconnect(swept.error());
  swept_at_us_ = now();
  // Another subnet manager may have taken over meanwhile: it is looked for even when there is nothing to write.
  if (mode_ == SubnetMode::direct && brought_up_) {
    if (auto allowed = driver_->may_write(); !allowed) {
      if (allowed.error().kind != ErrorKind::conflict) return disconnect(allowed.error());
      stop_writing(allowed.error());
    }
  }
  took_sweep(state, *swept, std::move(cause));
}

// Somebody else is in charge. What switches hold is theirs from now on, and read again when they have gone.
void SubnetController::stop_writing(const Error& error) {
  brought_up_ = false;
  applied_.reset();
  qos_.ports().forget_all();
  status_.phase = SubnetPhase::programming;
  status_.problem = error.text();
  alarms_.set_subnet("subnet.notWritable", AlarmSeverity::critical,
                     "subnet " + options_.subnet + " cannot be programmed: " + error.text());
}

void SubnetController::took_sweep(const ClusterState& state, const Sweep& swept, Cause cause) {
  if (swept_at_us_ == 0) swept_at_us_ = now();
  cause.swept_us = now() - cause.start_us;
  cause.mads += swept.asked;
  status_.discovered_us = with_.unix_us();
  silent_ = std::set<Guid>(swept.silent.begin(), swept.silent.end());
  rediscover_ = rediscover_ || swept.changed;
  alarms_.repeat_lost(*state.alarms);
  if (!link_states_.empty()) report_links(state);
  const bool settled = !writes() || (unsynced_.empty() && brought_up_ && !ports_left_);
  if (!swept.changed && !link_states_.empty() && settled) return publish();
  if (!links_.found()) {
    status_.phase = SubnetPhase::unaccepted;
    status_.problem = state.accepted.digest.empty()
                          ? "no topology is accepted yet: railweave fabric discover --accept, or import one"
                          : "the accepted topology has no subnet '" + options_.subnet +
                                "': accept what was discovered, or name the subnet as it is called there";
    find_differences(state);
    return publish();
  }
  follow_links(state, std::move(cause));
}

// New link states: repaired first, reported after it.
void SubnetController::follow_links(const ClusterState& state, Cause cause) {
  auto states = links_.states(*driver_, writes(), found_states_);
  damp(states);
  std::size_t lost = 0;
  std::size_t back = 0;
  status_.links_up = status_.links_down = 0;
  bool activates = false;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const LinkState before = link_states_.empty() ? state.view.state(links_.cables()[i].link) : link_states_[i];
    const bool up = states[i] != LinkState::down;
    (up ? status_.links_up : status_.links_down) += 1;
    if (before == states[i] && !link_states_.empty()) continue;
    if (up && (before == LinkState::down || link_states_.empty())) activates = true;
    if (before == states[i]) continue;
    if (up && !link_states_.empty()) {
      // A switch that was off may have forgotten its tables.
      const Topology& t = *links_.topology();
      for (const PortId port : {t.a(links_.cables()[i].link), t.b(links_.cables()[i].link)}) {
        if (const SwitchId sw = t.switch_of(port)) unsynced_.insert(sw);
      }
      qos_.ports().forget(links_.cables()[i].a);
      qos_.ports().forget(links_.cables()[i].b);
      qos_.reread_limits();
      retry_isolated_us_ = 0;
    }
    (up ? back : lost) += 1;
  }
  const bool first = link_states_.empty();
  link_states_ = states;
  if (!first && (lost > 0 || back > 0)) {
    cause.text = lost == 0   ? plural(back, "link", "links") + " back"
                 : back == 0 ? plural(lost, "link", "links") + " down"
                             : plural(lost, "link", "links") + " down, " + std::to_string(back) + " back";
  }
  if (writes() && (activates || !brought_up_ || ports_left_)) bring_up();
  if (!driver_) return;
  bring_to_wanted(state, std::move(cause));
  report_links(state);
  if (driver_) find_differences(state);
  publish();
}

// Whatever the control loop does not know yet: a report that was lost is made again with the next sweep.
void SubnetController::report_links(const ClusterState& state) {
  if (state.view.topology_ptr() != links_.topology()) return;
  ReportLinks report{options_.subnet, {}};
  for (std::size_t i = 0; i < link_states_.size(); ++i) {
    const LinkId link = links_.cables()[i].link;
    if (state.view.state(link) == link_states_[i]) continue;
    report.links.push_back({links_.topology()->link_text(link), link_states_[i]});
  }
  if (!report.links.empty()) with_.report(std::move(report));
}

const HostJobs& SubnetController::host_jobs(const ClusterState& state) {
  if (!host_jobs_ || host_jobs_seq_ != state.seq) {
    host_jobs_.emplace(state);
    host_jobs_seq_ = state.seq;
  }
  return *host_jobs_;
}

std::vector<std::string> SubnetController::jobs_at(const ClusterState& state, LinkId link) {
  std::vector<std::string> jobs;
  if (state.view.topology_ptr() != links_.topology()) return jobs;
  const HostJobs& at = host_jobs(state);
  const Topology& t = *links_.topology();
  for (const PortId port : {t.a(link), t.b(link)}) {
    const HcaId hca = t.hca_of(port);
    const HostId host = hca ? t.host(hca) : HostId();
    if (!host) continue;
    for (const JobPtr& job : at.on(host)) {
      if (jobs.size() == Alarm::kMaxJobs) return jobs;
      jobs.push_back(to_string(job->id));
    }
  }
  return jobs;
}

std::optional<PortCounters> SubnetController::counters(const Topology& topology, PortId port) const {
  std::shared_ptr<SubnetHealth> health;
  {
    const std::lock_guard lock(mutex_);
    health = health_;
  }
  return health ? health->counters(topology, port) : std::nullopt;
}

void SubnetController::poll_counters(const ClusterState& state) {
  if (!health_) return;
  auto polled = health_->poll(*driver_, now(), with_.unix_us(), us(options_.counters_every));
  if (!polled) return disconnect(polled.error());
  if (!*polled) return;
  auto alarms = health_->alarms([&](LinkId link) { return jobs_at(state, link); });
  for (auto& [kind, list] : alarms) alarms_.set(kind, std::move(list));
}

// Links that flap stay down until they are calm.
void SubnetController::damp(std::vector<LinkState>& states) {
  std::vector<Alarm> flapping;
  status_.links_damped = 0;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const LinkId link = links_.cables()[i].link;
    const bool was_up = i < found_states_.size() && found_states_[i] != LinkState::down;
    if (was_up && states[i] == LinkState::down) damping_->flap(link, now());
  }
  found_states_ = states;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const LinkId link = links_.cables()[i].link;
    if (!damping_->suppressed(link, now())) continue;
    states[i] = LinkState::down;
    ++status_.links_damped;
    const std::string name = links_.topology()->link_text(link);
    flapping.push_back({.subject_kind = "link",
                        .subject_id = name,
                        .text = "link " + name + " goes up and down; it is not used until it is calm"});
  }
  alarms_.set("link.flapping", std::move(flapping));
}

void SubnetController::find_differences(const ClusterState& state) {
  const Topology& found = status_.discovered ? *status_.discovered : *links_.topology();
  status_.switches = found.switches().size();
  status_.adapters = found.hcas().size();
  if (!links_.found()) return;
  status_.differences = links_.differences(*driver_, found, !writes(), status_.difference_count);
  std::vector<Alarm> down;
  std::vector<Alarm> missing;
  for (std::size_t i = 0; i < link_states_.size(); ++i) {
    if (found_states_[i] != LinkState::down) continue;
    const std::string name = links_.topology()->link_text(links_.cables()[i].link);
    down.push_back({.subject_kind = "link", .subject_id = name, .text = "link " + name + " is down"});
    if (down.size() > kMostLinkAlarms) continue;
    down.back().jobs = jobs_at(state, links_.cables()[i].link);
    if (!down.back().jobs.empty()) down.back().severity = AlarmSeverity::critical;
  }
  if (down.size() > kMostLinkAlarms) {
    Alarm all{.subject_kind = "subnet", .subject_id = options_.subnet, .severity = AlarmSeverity::critical};
    all.text = std::to_string(down.size()) + " links of subnet " + options_.subnet + " are down";
    down = {std::move(all)};
  }
  alarms_.set("link.down", std::move(down));
  for (const SwitchId sw : links_.switches()) {
    const Guid guid = links_.topology()->guid(sw);
    const std::string name(links_.topology()->name(sw));
    if (!driver_->is_present(guid)) {
      missing.push_back({.subject_kind = "switch",
                         .subject_id = name,
                         .severity = AlarmSeverity::critical,
                         .text = "switch " + name + " is gone: no cable leads to it"});
    } else if (const auto isolated = isolated_.find(sw); isolated != isolated_.end() || silent_.contains(guid)) {
      missing.push_back({.subject_kind = "switch",
                         .subject_id = name,
                         .severity = AlarmSeverity::critical,
                         .text = "switch " + name + " " +
                                 (isolated != isolated_.end() ? isolated->second : "does not answer") +
                                 "; it is left out until it does"});
    }
  }
  alarms_.set("switch.isolated", std::move(missing));
  const auto others = std::ranges::count_if(status_.differences, [](const FabricDifference& difference) {
    return difference.kind == FabricDifference::Kind::other_link ||
           difference.kind == FabricDifference::Kind::unknown_device;
  });
  alarms_.set_subnet("subnet.differs", AlarmSeverity::warning,
                     others == 0 ? ""
                                 : "subnet " + options_.subnet + " is cabled otherwise than accepted in " +
                                       plural(static_cast<std::size_t>(others), "place", "places") +
                                       ": railweave subnets show " + options_.subnet);
}

void SubnetController::answer_requests(const ClusterState& state) {
  std::deque<Asked> asked;
  {
    const std::lock_guard lock(mutex_);
    asked.swap(asked_);
  }
  for (auto& one : asked) {
    if (driver_) {
      if (one.request == LiveFabric::Request::sync) {
        applied_.reset();
        qos_.ports().forget_all();
      }
      swept_at_us_ = 0;
      link_states_.clear();
      look_everywhere(state);
    }
    if (!driver_) {
      one.done(fail(ErrorKind::unavailable, "subnets.offline",
                    "subnet " + options_.subnet + " is offline: " + status_.problem));
      continue;
    }
    if (writes() && !brought_up_) bring_up();
    publish();
    one.done(status());
  }
}

}  // namespace railweave::control
