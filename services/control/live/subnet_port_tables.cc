// SubnetController: classes of traffic and partitions. Nothing here is done before it is quiet, and little at a time: a
// link that fails is repaired first.
#include <algorithm>
#include <utility>

#include "services/control/live/opensm_offer.h"
#include "services/control/live/subnet_controller.h"

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

void SubnetController::keep_qos(const ClusterState& state) {
  if (!writes() || !is_quiet() || state.accepted.version != topology_version_) return;
  if (mode_ == SubnetMode::direct && (!brought_up_ || !applied_)) return;
  if (qos_seq_ != state.seq || qos_routing_version_ != wanted_version_) plan_qos(state);
  if (driver_ && mode_ == SubnetMode::direct) write_qos();
}

void SubnetController::plan_qos(const ClusterState& state) {
  qos_seq_ = state.seq;
  qos_routing_version_ = wanted_version_;
  ReservedLoads reserved;
  // OpenSM has one table for all ports: what is reserved where cannot be said to it.
  if (with_.reserved && mode_ == SubnetMode::direct) {
    if (const auto loads = with_.reserved(state)) reserved = *loads;
  }
  const SubnetQos::Basis basis{.state = state,
                               .jobs = host_jobs(state),
                               .links = links_,
                               .routing_input = base_->input,
                               .routing = *wanted_,
                               .routing_version = wanted_version_,
                               .driver = *driver_,
                               .may_set_lanes = mode_ == SubnetMode::opensm,
                               .reserved = reserved};
  if (!qos_.plan(basis)) return;
  alarms_.set_subnet("qos.impossible", AlarmSeverity::critical,
                     qos_.error() ? "subnet " + options_.subnet + " runs without its classes: " + qos_.error()->text()
                                  : std::string());
  if (mode_ == SubnetMode::opensm) offer_qos(basis);
  report_qos();
}

void SubnetController::write_qos() {
  PortKeeper& ports = qos_.ports();
  if (!qos_.is_asked() || !ports.is_due(now())) return;
  const auto done =
      ports.write_some(*driver_, [this] { return now(); }, [this](Guid device) { return silent_.contains(device); });
  if (!done) {
    if (done.error().kind != ErrorKind::conflict) return disconnect(done.error());
    stop_writing(done.error());
    return publish();
  }
  if (!ports.is_due(now())) {
    if (const auto written = ports.take_written(); written.blocks != 0) {
      with_.report(ReportQos{{.subnet = options_.subnet,
                              .where = QosProgrammed::Where::ports,
                              .classes = qos_.made().classes,
                              .partitions = qos_.partitions(),
                              .ports = written.ports,
                              .blocks = written.blocks}});
    }
    const auto failure = ports.failure();
    alarms_.set_subnet("qos.notWritten", AlarmSeverity::warning,
                       failure.ports == 0 ? std::string() : "subnet " + options_.subnet + ": " + status_of(failure));
  } else if (now() - qos_shown_us_ < 250'000) {
    return;
  }
  report_qos();
}

std::string SubnetController::status_of(const PortKeeper::Failure& failure) const {
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

void SubnetController::report_qos() {
  if (!qos_.is_asked()) return;
  qos_shown_us_ = now();
  const PortKeeper& ports = qos_.ports();
  QosStatus shown{.partitions = qos_.partitions()};
  if (status_.qos) shown.files_written_us = status_.qos->files_written_us;
  if (mode_ == SubnetMode::direct) {
    shown.ports_programmed = ports.written_ports();
    shown.ports_pending = ports.ports() - ports.written_ports();
  }
  if (qos_.error()) {
    shown.problem = qos_.error()->text();
  } else {
    shown.classes = qos_.made().classes;
    shown.problem = mode_ == SubnetMode::direct ? status_of(ports.failure()) : offer_problem_;
    if (shown.problem.empty() && !qos_.made().not_as_asked.empty()) shown.problem = qos_.made().not_as_asked.front();
  }
  if (status_.qos == shown) return;
  status_.qos = std::move(shown);
  publish();
}

void SubnetController::offer_qos(const SubnetQos::Basis& basis) {
  offer_problem_.clear();
  if (qos_.error() || options_.opensm_files.empty()) {
    if (!qos_.error())
      offer_problem_ = "no folder for OpenSM's files is configured (opensm_files): it does not know them";
    return;
  }
  auto policy = qos_.opensm_policy(basis);
  auto written = policy ? offer_opensm_files(*policy, options_.opensm_files)
                        : Result<std::vector<std::string>>(std::unexpected(policy.error()));
  if (!written) offer_problem_ = written.error().text();
  alarms_.set_subnet("qos.notWritten", AlarmSeverity::warning,
                     written ? std::string() : "subnet " + options_.subnet + ": OpenSM's files: " + offer_problem_);
  if (!written || written->empty()) return;
  if (!status_.qos) status_.qos.emplace();
  status_.qos->files_written_us = with_.unix_us();
  with_.report(ReportQos{{.subnet = options_.subnet,
                          .where = QosProgrammed::Where::opensmFiles,
                          .classes = qos_.made().classes,
                          .partitions = qos_.partitions(),
                          .ports = qos_.made().ports.size(),
                          .blocks = written->size()}});
}

}  // namespace railweave::control
