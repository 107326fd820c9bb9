#include "services/control/live/ports/qos_keeper.h"

#include <set>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "services/control/live/ports/opensm_offer.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr std::int64_t kRepeatEveryUs = 10'000'000;  // what OpenSM is asked for again
constexpr std::size_t kMaxChangedAlarms = 64;
constexpr std::int64_t kShowEveryUs = 250'000;  // while ports are written
constexpr std::int64_t kOpenForUs = 250'000;    // at most, while routes wait

}  // namespace

void QosKeeper::forget(const SubnetLinks::Cable& cable) {
  qos_.ports().forget(cable.a);
  qos_.ports().forget(cable.b);
  qos_.reread_limits();
}

void QosKeeper::plan(const ClusterState& state, const Routes& routes) {
  const bool is_same = seq_ == state.seq && routing_version_ == routes.version && are_applied_ == routes.are_applied;
  if (!is_same) plan_again(state, routes);
  show_progress();
}

Result<void> QosKeeper::open_for(const ClusterState& state, const Routes& routes,
                                 const std::function<bool(Guid)>& is_silent) {
  if (context_.mode() != SubnetMode::direct || qos_.lanes().empty()) return {};
  PortKeeper& ports = qos_.ports();
  const std::int64_t start = context_.now();
  qos_.open_for(basis_of(state, routes, {}));
  are_applied_ = false;
  while (ports.are_maps_due() && context_.now() - start < kOpenForUs) {
    const auto done = ports.write_some(context_.driver(), [this] { return context_.now(); }, is_silent);
    if (!done) return context_.not_written(done.error());
  }
  show();
  return {};
}

Result<LanesOnPorts> QosKeeper::ready_lanes(const ClusterState& state, const Routes& routes,
                                            const std::function<bool(Guid)>& is_silent, std::int64_t for_us) {
  if (!qos_.has_lanes_of(routes.routing.lanes)) {
    qos_.reread_limits();
    plan_again(state, routes);
  }
  if (!qos_.has_lanes_of(routes.routing.lanes)) {
    return LanesOnPorts{false, qos_.error() ? qos_.error()->text() : "ports have other tables"};
  }
  // Packets that wait for others are between switches: what leaves and reaches adapters waits for no circle.
  std::set<PortRef> between;
  for (const SubnetLinks::Cable& cable : links_.cables()) {
    if (!links_.topology()->joins_switches(cable.link)) continue;
    for (const auto& [device, port] : {std::pair(cable.a, cable.a_port), std::pair(cable.b, cable.b_port)}) {
      if (!context_.driver().is_present(device) || is_silent(device)) continue;
      if (context_.driver().read_link(device, port).up) between.insert({device, static_cast<std::uint8_t>(port)});
    }
  }
  PortKeeper& ports = qos_.ports();
  const std::int64_t start = context_.now();
  if (for_us > 0) ports.try_again(start);
  while (true) {
    const auto tables = ports.lane_tables([&](PortRef port) { return between.contains(port); });
    if (tables.due == 0) return LanesOnPorts{.are_held = true};
    if (!ports.is_due(context_.now()) || context_.now() - start >= for_us) {
      return LanesOnPorts{false, tables.refused_by ? name_of(*tables.refused_by) + ": " + tables.reason : ""};
    }
    const auto done = ports.write_some(context_.driver(), [this] { return context_.now(); }, is_silent);
    if (done) continue;
    if (auto stopped = context_.not_written(done.error()); !stopped) return std::unexpected(stopped.error());
    return LanesOnPorts{false, done.error().text()};
  }
}

SubnetQos::Basis QosKeeper::basis_of(const ClusterState& state, const Routes& routes,
                                     const ReservedLoads& reserved) const {
  return {.state = state,
          .links = links_,
          .routing_input = routes.input,
          .routing = routes.routing,
          .routing_version = routes.version,
          .view = routes.view,
          .are_applied = routes.are_applied,
          .driver = context_.driver(),
          .is_opensm = context_.mode() == SubnetMode::opensm,
          .opensm_takes_ports = opensm_takes_ports_,
          .filtering = context_.options.ingress,
          .reserved = reserved};
}

void QosKeeper::plan_again(const ClusterState& state, const Routes& routes) {
  seq_ = state.seq;
  routing_version_ = routes.version;
  are_applied_ = routes.are_applied;
  const bool is_opensm = context_.mode() == SubnetMode::opensm;
  ReservedLoads reserved;
  if (context_.with.reserved) {
    if (const auto loads = context_.with.reserved(state)) reserved = *loads;
  }
  const SubnetQos::Basis basis = basis_of(state, routes, reserved);
  const bool is_new = qos_.plan(basis);
  qos_.ports().only_read(is_opensm);
  raise_changed();  // some may be wanted no more
  report_limits(state);
  if (!is_new) return;
  context_.alarms().set_subnet(
      "qos.impossible", AlarmSeverity::critical,
      qos_.error() ? context_.name() + " runs without its classes: " + qos_.error()->text() : std::string());
  if (is_opensm) {
    offer(basis);
    plan_opensm_ports();
  }
  show();
}

// Routes whose lanes OpenSM's engine alone knows leave nothing to say of ports.
void QosKeeper::plan_opensm_ports() {
  if (qos_.error() || !opensm_takes_ports_) return;
  auto ports = qos_.opensm_writes() ? opensm::port_policy(qos_.made().ports) : opensm::PortPolicy();
  if (auto checked = opensm::make_canonical(ports); !checked) {
    offer_problem_ = checked.error().text();
    return;
  }
  if (opensm_ports_ != nullptr && *opensm_ports_ == ports) return;
  opensm_ports_ = std::make_shared<const opensm::PortPolicy>(std::move(ports));
}

void QosKeeper::hear(const SubnetInbox::OpensmNews& news) {
  if (news.takes_ports && (*news.takes_ports != opensm_takes_ports_ || news.no_ports != no_opensm_ports_)) {
    opensm_takes_ports_ = *news.takes_ports;
    no_opensm_ports_ = news.no_ports;
    seq_ = UINT64_MAX;  // planned again
    qos_.reread_limits();
    show();
  }
  if (!opensm_writes()) return;
  if (news.has_written) qos_.ports().try_again(context_.now());
  if (news.may_differ) qos_.ports().look_at_all();
}

void QosKeeper::report_limits(const ClusterState& state) const {
  const auto limits = qos_.limits();
  if (!limits) return;
  const auto known = state.port_limits->find(context_.options.subnet);
  if (known != state.port_limits->end() && known->second == *limits) return;
  context_.with.report(ReportPortLimits{{context_.options.subnet, *limits}});
}

Result<void> QosKeeper::write_some(const std::function<bool(Guid)>& is_silent) {
  PortKeeper& ports = qos_.ports();
  if (!qos_.keeps_ports() || !is_due()) return {};
  const auto done = ports.write_some(context_.driver(), [this] { return context_.now(); }, is_silent);
  if (!done) {
    if (auto stopped = context_.not_written(done.error()); !stopped) return stopped;
    context_.board.publish();
    return {};
  }
  if (!is_due()) {
    report_written();
    const auto failure = ports.failure();
    if (failure.ports > 0 && opensm_writes() && context_.now() - repeated_us_ >= kRepeatEveryUs) {
      ++opensm_repeat_;
      repeated_us_ = context_.now();
    }
    context_.alarms().set_subnet("qos.notWritten", AlarmSeverity::warning,
                                 failure.ports == 0 ? std::string() : context_.name() + ": " + text_of(failure));
  } else if (context_.now() - shown_us_ < kShowEveryUs) {
    return {};
  }
  show();
  show_progress();
  return {};
}

Result<void> QosKeeper::look_some(const std::function<bool(Guid)>& is_silent) {
  if (!qos_.keeps_ports() || is_due()) return {};
  const auto has_news = qos_.ports().look_some(
      context_.driver(), [this] { return context_.now(); }, context_.options.look_every.count() * 1000, is_silent);
  if (!has_news) return std::unexpected(has_news.error());
  if (!*has_news) return {};
  if (opensm_writes() && qos_.ports().changed_ports() > 0 && context_.now() - repeated_us_ >= kRepeatEveryUs) {
    ++opensm_repeat_;
    repeated_us_ = context_.now();
  }
  raise_changed();
  show();
  show_progress();
  return {};
}

void QosKeeper::raise_changed() {
  std::vector<Alarm> alarms;
  const char* then = context_.mode() == SubnetMode::direct
                         ? "; another program has changed it, and it is written again"
                         : "; another program has changed it, and OpenSM is asked to write it again";
  for (const PortKeeper::Change& change : qos_.ports().changes()) {
    if (alarms.size() == kMaxChangedAlarms) break;
    alarms.push_back({.subject_kind = "port",
                      .subject_id = fmt::format("{}/{}", to_string(change.port.device), change.port.port),
                      .severity = AlarmSeverity::critical,
                      .text = name_of(change.port) + ": " + change.text + then});
  }
  context_.alarms().set("qos.changed", std::move(alarms));
}

// A list of all that is pending takes a pass over all ports, so while many are written it is made a few times a second.
void QosKeeper::show_progress() {
  if (context_.mode() != SubnetMode::direct && !opensm_writes()) return;
  const PortKeeper& ports = qos_.ports();
  const bool is_new_state = progress_seq_ != seq_;
  if (!is_new_state && progress_revision_ == ports.revision()) return;
  PortProgress progress{.seq = seq_, .problem = qos_.error() ? qos_.error()->text() : std::string(), .pending = {}};
  if (progress_revision_ == ports.revision()) {
    progress.pending = pending_;
  } else if (is_new_state || !is_due() || context_.now() - progress_us_ >= kShowEveryUs) {
    auto pending = ports.pending();
    if (!pending.empty()) progress.pending = std::make_shared<const std::vector<PendingPort>>(std::move(pending));
    progress_us_ = context_.now();
  } else {
    return;
  }
  progress_seq_ = seq_;
  progress_revision_ = ports.revision();
  pending_ = progress.pending;
  context_.board.publish_ports(std::move(progress));
}

void QosKeeper::report_written() {
  const auto written = qos_.ports().take_written();
  if (written.blocks == 0) return;
  context_.with.report(ReportQos{{.subnet = context_.options.subnet,
                                  .where = QosProgrammed::Where::ports,
                                  .classes = qos_.made().classes(),
                                  .partitions = qos_.partitions(),
                                  .ports = written.ports,
                                  .blocks = written.blocks}});
}

std::string QosKeeper::text_of(const PortKeeper::Failure& failure) const {
  if (failure.ports == 0) return {};
  return fmt::format("{}{} not have the tables for classes and partitions, first {}: {}", failure.ports,
                     failure.ports == 1 ? " port does" : " ports do", name_of(failure.port), failure.reason);
}

std::string QosKeeper::name_of(PortRef port) const {
  const Topology& t = *links_.topology();
  const SwitchId sw = t.find_switch(port.device);
  const HcaId hca = sw ? HcaId() : t.find_hca(port.device);
  const std::string device = sw    ? std::string(t.name(sw))
                             : hca ? std::string(t.description(hca))
                                   : to_string(port.device);
  return fmt::format("{} port {}", device, port.port);
}

void QosKeeper::show() {
  if (!qos_.is_asked()) return;
  shown_us_ = context_.now();
  const PortKeeper& ports = qos_.ports();
  std::optional<QosStatus>& before = context_.status().qos;
  QosStatus shown{.partitions = qos_.partitions()};
  if (before) shown.files_written_us = before->files_written_us;
  const bool is_known = context_.mode() == SubnetMode::direct || opensm_writes();
  if (is_known) {
    shown.ports_programmed = ports.written_ports();
    shown.ports_pending = ports.ports() - ports.written_ports();
    shown.ports_changed = ports.changed_ports();
  }
  if (qos_.error()) {
    shown.problem = qos_.error()->text();
  } else {
    shown.classes = qos_.made().classes();
    shown.lanes = qos_.lanes();
    shown.is_filtered = qos_.is_filtered();
    shown.by_opensm = opensm_writes();
    shown.problem = is_known ? text_of(ports.failure()) : offer_problem_;
    if (context_.mode() == SubnetMode::opensm) shown.not_by_opensm = no_opensm_ports_;
  }
  if (before == shown) return;
  before = std::move(shown);
  context_.board.publish();
}

void QosKeeper::offer(const SubnetQos::Basis& basis) {
  offer_problem_.clear();
  if (qos_.error()) return;
  if (context_.options.opensm_files.empty()) {
    offer_problem_ = "classes and partitions are not passed to OpenSM: set opensm_files, the folder for its files";
    return;
  }
  const auto policy = qos_.opensm_policy(basis);
  const auto written = policy ? offer_opensm_files(*policy, context_.options.opensm_files)
                              : Result<std::vector<std::string>>(std::unexpected(policy.error()));
  if (!written) offer_problem_ = written.error().text();
  context_.alarms().set_subnet("qos.notWritten", AlarmSeverity::warning,
                               written ? std::string() : context_.name() + ": OpenSM's files: " + offer_problem_);
  if (!written || written->empty()) return;
  std::optional<QosStatus>& shown = context_.status().qos;
  if (!shown) shown.emplace();
  shown->files_written_us = context_.with.unix_us();
  context_.with.report(ReportQos{{.subnet = context_.options.subnet,
                                  .where = QosProgrammed::Where::opensmFiles,
                                  .classes = qos_.made().classes(),
                                  .partitions = qos_.partitions(),
                                  .ports = qos_.made().ports.size(),
                                  .blocks = written->size()}});
}

}  // namespace railweave::control
