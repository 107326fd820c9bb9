#include "services/control/live/ports/qos_keeper.h"

#include <utility>
#include <vector>

#include "services/control/live/ports/opensm_offer.h"

namespace railweave::control {
namespace {

using namespace fabric;  // NOLINT: this file is about its types

constexpr std::int64_t kRepeatEveryUs = 10'000'000;  // what OpenSM is asked for again
constexpr std::int64_t kShowEveryUs = 250'000;       // while ports are written

}  // namespace

void QosKeeper::forget(const SubnetLinks::Cable& cable) {
  qos_.ports().forget(cable.a);
  qos_.ports().forget(cable.b);
  qos_.reread_limits();
}

void QosKeeper::plan(const ClusterState& state, const Routes& routes) {
  if (seq_ != state.seq || routing_version_ != routes.version) plan_again(state, routes);
  show_progress();
}

void QosKeeper::plan_again(const ClusterState& state, const Routes& routes) {
  seq_ = state.seq;
  routing_version_ = routes.version;
  const bool is_opensm = context_.mode() == SubnetMode::opensm;
  ReservedLoads reserved;
  if (context_.with.reserved) {
    if (const auto loads = context_.with.reserved(state)) reserved = *loads;
  }
  const SubnetQos::Basis basis{.state = state,
                               .links = links_,
                               .routing_input = routes.input,
                               .routing = routes.routing,
                               .routing_version = routes.version,
                               .driver = context_.driver(),
                               .is_opensm = is_opensm,
                               .opensm_takes_ports = opensm_takes_ports_,
                               .filtering = context_.options.ingress,
                               .reserved = reserved};
  const bool is_new = qos_.plan(basis);
  qos_.ports().only_read(is_opensm);
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
  if (news.may_differ) qos_.ports().check_all();
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
  if (!qos_.is_asked() || !is_due()) return {};
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
  const Topology& t = *links_.topology();
  const SwitchId sw = t.find_switch(failure.port.device);
  const HcaId hca = sw ? HcaId() : t.find_hca(failure.port.device);
  const std::string device = sw    ? std::string(t.name(sw))
                             : hca ? std::string(t.description(hca))
                                   : to_string(failure.port.device);
  return std::to_string(failure.ports) + (failure.ports == 1 ? " port does" : " ports do") +
         " not have the tables for classes and partitions, first " + device + " port " +
         std::to_string(failure.port.port) + ": " + failure.reason;
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
