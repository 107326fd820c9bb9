#include "services/rest/json/jobs/job_ports.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "services/control/state/cluster_state.h"
#include "services/control/views/job_ports.h"
#include "services/json/contract_object.h"

namespace railweave::api {
namespace {

using control::ClusterState;
using control::SubnetPhase;

constexpr std::size_t kPortsShown = 100;

// The state from which on tables are as the job needs them: that of the last change of what they are made of.
std::uint64_t wanted_seq(const ClusterState& state, const control::Job& job, const std::string& subnet) {
  std::uint64_t seq = std::max({job.version, state.accepted.version, state.qos_version});
  if (const auto at = state.contracts->find(job.spec.tenant); at != state.contracts->end())
    seq = std::max(seq, at->second.version);
  if (const auto at = state.subnet_policies->find(subnet); at != state.subnet_policies->end())
    seq = std::max(seq, at->second.version);
  return seq;
}

// Of one subnet: what the job waits for there.
struct SubnetPorts {
  std::uint64_t ports = 0, pending = 0;
  bool is_written = false;  // by Railweave, or by OpenSM as Railweave says, and read back
  bool is_ready = true;
  std::string problem;
};

class JobPortsWriter {
 public:
  JobPortsWriter(const ClusterState& state, const control::Job& job, const FindLivePorts& live)
      : state_(state), job_(job), live_(live) {}

  std::string write() {
    const auto ports = job_.holds_gpus() ? control::job_ports(*state_.placement_fabric, job_.placement.gpu_of_rank)
                                         : std::vector<fabric::PortId>();
    for (const fabric::PortId port : ports) {
      add(port);
      add_switch(state_.topology().peer(port));
    }
    Out subnets = Out::array();
    bool ready = job_.holds_gpus();
    for (const auto& [name, of] : subnets_) {
      ready = ready && of.is_ready && of.pending == 0;
      subnets.push_back(object<"JobPorts.subnets">(
          with<"subnet">(name), with<"mode">(control::to_string(state_.mode(name))), with<"ports">(of.ports),
          with<"portsPending">(of.pending),
          with<"plannedSeq">(of.is_written ? Out(known_.at(name).progress.seq) : Out(nullptr)),
          with<"wantedSeq">(of.is_written ? Out(wanted_seq(state_, job_, name)) : Out(nullptr)),
          with<"problem">(of.problem)));
    }
    return dump(object<"JobPorts">(with<"job">(control::to_string(job_.id)), with<"ready">(ready),
                                   with<"subnets">(std::move(subnets)), with<"pending">(std::move(pending_)),
                                   with<"seq">(state_.seq)));
  }

 private:
  SubnetPorts& subnet_of(const std::string& name) {
    const auto [at, is_new] = subnets_.try_emplace(name);
    SubnetPorts& of = at->second;
    if (!is_new) return of;
    const LivePorts& live = known_[name] = live_(name);
    if (live.status == nullptr) return of;
    const auto mode = state_.mode(name);
    const bool by_opensm = mode == control::SubnetMode::opensm && live.status->qos && live.status->qos->by_opensm;
    if (mode != control::SubnetMode::direct && !by_opensm) return of;
    of.is_written = true;
    if (live.status->phase == SubnetPhase::offline || live.status->phase == SubnetPhase::blind) {
      of.problem = live.status->problem;
      of.is_ready = false;
    } else if (live.progress.seq < wanted_seq(state_, job_, name)) {
      of.problem = "its tables are not planned yet";
      of.is_ready = false;
    } else {
      of.problem = live.progress.problem;
    }
    return of;
  }

  // The switch's port to the adapter; where switches filter what comes in, all that it may leave by: the maps that let the
  // job in are theirs.
  void add_switch(fabric::PortId at) {
    const auto& t = state_.topology();
    if (!at) return;
    add(at);
    const auto subnet = t.subnet(at);
    if (!subnet || !t.is_switch_port(at)) return;
    const auto& live = known_.at(std::string(t.name(subnet)));
    if (live.status == nullptr || !live.status->qos || !live.status->qos->is_filtered) return;
    for (const fabric::PortId out : t.ports(t.switch_of(at))) {
      if (t.peer(out)) add(out);
    }
  }

  void add(fabric::PortId port) {
    if (!seen_.insert(port).second) return;
    const auto& t = state_.topology();
    const auto subnet = t.subnet(port);
    if (!subnet) return;
    SubnetPorts& of = subnet_of(std::string(t.name(subnet)));
    ++of.ports;
    if (!of.is_written) return;
    const bool is_switch = t.is_switch_port(port);
    const Guid device = is_switch ? t.guid(t.switch_of(port)) : t.guid(t.hca_of(port));
    const auto number = static_cast<std::uint8_t>(t.number(port));
    const auto* pending = known_.at(std::string(t.name(subnet))).progress.find(device, number);
    if (pending == nullptr) return;
    ++of.pending;
    if (pending_.size() == kPortsShown) return;
    pending_.push_back(object<"JobPorts.pending">(
        with<"port">(t.port_text(port)), with<"subnet">(t.name(subnet)),
        with<"device">(is_switch ? t.name(t.switch_of(port)) : t.name(t.host(t.hca_of(port)))),
        with<"reason">(pending->reason.empty() ? "is not written yet" : pending->reason)));
  }

  const ClusterState& state_;
  const control::Job& job_;
  const FindLivePorts& live_;
  std::map<std::string, SubnetPorts> subnets_;
  std::map<std::string, LivePorts> known_;
  std::set<fabric::PortId> seen_;
  Out pending_ = Out::array();
};

}  // namespace

std::string write_job_ports(const ClusterState& state, const control::Job& job, const FindLivePorts& live) {
  return JobPortsWriter(state, job, live).write();
}

}  // namespace railweave::api
