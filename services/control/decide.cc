#include "services/control/decide.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "services/control/admitted_placement.h"
#include "services/control/apply.h"
#include "services/control/decide_contracts.h"
#include "services/control/guarantee_recheck.h"

namespace railweave::control {
namespace {

std::unexpected<Rejection> refuse(ErrorKind kind, std::string code, std::string message, std::string hint = {}) {
  return std::unexpected(Rejection{{kind, std::move(code), std::move(message), {}, std::move(hint)}, nullptr});
}

std::unexpected<Rejection> refuse_version(const char* what, std::uint64_t asked, std::uint64_t present) {
  return refuse(
      ErrorKind::precondition, "precondition.versionDiffers",
      std::string(what) + " has changed: its version is " + std::to_string(present) + ", not " + std::to_string(asked),
      "read it again, then repeat the change");
}

struct Decide {
  const ClusterState& state;
  std::int64_t now_us;
  PlacerCache& placers;

  using Outcome = std::expected<Decision, Rejection>;

  Outcome operator()(const SubmitJob& command) const {
    if (!command.idempotency_key.empty()) {
      if (const auto earlier = state.idempotency.find(command.idempotency_key)) {
        const JobPtr job = state.jobs.find(*earlier);
        if (job != nullptr && job->request_digest == command.request_digest) return Decision{{}, *earlier, true};
        return refuse(ErrorKind::impossible, "idempotency.keyReused",
                      "the Idempotency-Key was used for another request, which made " + to_string(*earlier),
                      "use a new key for a new job");
      }
    }
    if (const auto checked = scheduler::check_job_spec(command.spec); !checked) {
      return std::unexpected(Rejection{checked.error(), nullptr});
    }
    const auto tenant = state.tenants->find(command.spec.tenant);
    if (tenant == state.tenants->end()) {
      return refuse(ErrorKind::invalid, "tenants.unknown", "there is no tenant '" + command.spec.tenant + "'",
                    "create it first: PUT /v1/tenants/" + command.spec.tenant);
    }
    const std::uint64_t gpus = scheduler::rank_count(command.spec.parallelism);
    if (tenant->second.max_gpus) {
      const auto held = state.gpus_held->find(command.spec.tenant);
      const std::uint64_t held_gpus = held == state.gpus_held->end() ? 0 : held->second;
      const std::uint64_t limit = *tenant->second.max_gpus;
      if (held_gpus + gpus > limit) {
        const bool never = gpus > limit;
        return refuse(never ? ErrorKind::impossible : ErrorKind::conflict, "tenants.gpuLimit",
                      "tenant " + command.spec.tenant + " may hold " + std::to_string(limit) + " GPUs, holds " +
                          std::to_string(held_gpus) + ", and the job needs " + std::to_string(gpus),
                      never ? "raise the tenant's maxGpus or ask for fewer" : "wait for the tenant's jobs to end");
      }
    }
    auto placed = admitted_placement(state, command.spec, placers);
    if (!placed) return std::unexpected(std::move(placed.error()));
    auto job = std::make_shared<Job>();
    job->id = JobId(state.next_job);
    job->spec = command.spec;
    job->submitted_us = now_us;
    job->idempotency_key = command.idempotency_key;
    job->request_digest = command.request_digest;
    job->placement = std::move(placed->result.placement);
    job->guarantee = std::move(placed->guarantee);
    job->nodes = node_names(state.topology(), job->placement.gpu_of_rank);
    const JobId id = job->id;
    return Decision{{JobPlaced{std::move(job)}}, id, false};
  }

  Outcome operator()(const EndJob& command) const {
    const JobPtr job = state.jobs.find(command.id);
    if (job == nullptr) return refuse(ErrorKind::notFound, "jobs.notFound", "there is no " + to_string(command.id));
    if (command.if_version && *command.if_version != job->version) {
      return refuse_version("the job", *command.if_version, job->version);
    }
    if (!job->holds_gpus()) return Decision{{}, command.id, true};  // ending twice is ending once
    std::vector<EventBody> events{JobEnded{command.id, command.state, command.reason}};
    add_emptied_nodes(*job, events);
    return Decision{std::move(events), command.id, false};
  }

  Outcome operator()(const PutTenant& command) const {
    const auto present = state.tenants->find(command.tenant.name);
    const std::uint64_t version = present == state.tenants->end() ? 0 : present->second.version;
    if (command.if_version && *command.if_version != version) {
      return refuse_version("the tenant", *command.if_version, version);
    }
    if (version != 0 && present->second.description == command.tenant.description &&
        present->second.max_gpus == command.tenant.max_gpus) {
      return Decision{};
    }
    return Decision{{TenantPut{command.tenant}}, {}, false};
  }

  Outcome operator()(const RemoveTenant& command) const {
    const auto present = state.tenants->find(command.name);
    if (present == state.tenants->end()) {
      return refuse(ErrorKind::notFound, "tenants.notFound", "there is no tenant '" + command.name + "'");
    }
    if (command.if_version && *command.if_version != present->second.version) {
      return refuse_version("the tenant", *command.if_version, present->second.version);
    }
    if (const auto held = state.gpus_held->find(command.name); held != state.gpus_held->end()) {
      return refuse(ErrorKind::conflict, "tenants.holdsGpus",
                    "tenant " + command.name + " holds " + std::to_string(held->second) + " GPUs",
                    "end its jobs first");
    }
    if (state.contracts->contains(command.name)) {
      return refuse(ErrorKind::conflict, "tenants.hasContract", "tenant " + command.name + " has a contract",
                    "remove that first: DELETE /v1/contracts/" + command.name);
    }
    return Decision{{TenantRemoved{command.name}}, {}, false};
  }

  Outcome operator()(const AcceptTopology& command) const {
    if (command.if_version && *command.if_version != state.accepted.version) {
      return refuse_version("the topology", *command.if_version, state.accepted.version);
    }
    if (command.digest == state.accepted.digest) return Decision{};
    std::vector<EventBody> events;
    std::string homeless;
    state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
      if (!job->holds_gpus()) return true;
      if (map_gpus(state.topology(), *command.topology, job->placement.gpu_of_rank)) return true;
      if (events.size() < 5) homeless += (homeless.empty() ? "" : ", ") + to_string(job->id);
      events.emplace_back(JobEnded{job->id, JobState::lost, "its nodes are not in the new topology"});
      return true;
    });
    if (!events.empty() && !command.force) {
      return refuse(ErrorKind::conflict, "topology.losesJobs",
                    std::to_string(events.size()) + " running job(s) use GPUs that are not in the new topology: " +
                        homeless + (events.size() > 5 ? "..." : ""),
                    "end them first, or force the import, which ends them as lost");
    }
    events.emplace_back(TopologyAccepted{command.topology, command.document, command.digest, command.source});
    return Decision{std::move(events), {}, false};
  }

  Outcome operator()(const SetSubnetMode& command) const {
    const auto present = state.subnet_policies->find(command.subnet);
    const bool known = present != state.subnet_policies->end();
    const std::uint64_t version = known ? present->second.version : 0;
    if (command.if_version && *command.if_version != version) {
      return refuse_version("the subnet's mode", *command.if_version, version);
    }
    if (state.mode(command.subnet) == command.mode) return Decision{};
    return Decision{{SubnetModeSet{command.subnet, command.mode, command.reason}}, {}, false};
  }

  Outcome operator()(const RequestDrain& command) const {
    if (state.drains->contains(command.target)) return Decision{};
    if (command.view_version != state.view_version) {
      return refuse(ErrorKind::conflict, "drains.viewChanged",
                    "the fabric changed while the drain of " + to_string(command.target) + " was looked at",
                    "ask again");
    }
    if (!command.objections.empty() && !command.force) {
      std::string all;
      for (const auto& objection : command.objections) all += (all.empty() ? "" : "; ") + objection;
      return refuse(ErrorKind::conflict, std::string(drain_area(command.target.kind)) + ".drainRefused",
                    "draining " + to_string(command.target) + " is not safe: " + all,
                    "mend that first, or repeat it with force");
    }
    std::vector<EventBody> events{DrainRequested{command.target, command.reason, command.force}};
    if (command.target.kind == DrainKind::node && is_empty(command.target.id, nullptr)) {
      events.emplace_back(DrainAdvanced{command.target, DrainState::drained});
    }
    return Decision{std::move(events), {}, false};
  }

  Outcome operator()(const ClearDrain& command) const {
    if (!state.drains->contains(command.target)) {
      return refuse(ErrorKind::notFound, "drains.notFound", to_string(command.target) + " is not drained",
                    "GET /v1/drains lists the drains");
    }
    return Decision{{DrainCleared{command.target, command.reason}}, {}, false};
  }

  Outcome operator()(const ReportLinks& command) const {
    std::vector<EventBody> events;
    LinksChanged changed{command.subnet, {}};
    for (const auto& report : command.links) {
      const auto link = state.topology().find_link(report.link);
      if (!link || state.view.state(link) == report.state) continue;
      changed.links.push_back(report);
      if (changed.links.size() < LinksChanged::kMaxLinks) continue;
      events.emplace_back(std::exchange(changed, {command.subnet, {}}));
    }
    if (!changed.links.empty()) events.emplace_back(std::move(changed));
    return Decision{std::move(events), {}, false};
  }

  Outcome operator()(const ReportDrains& command) const {
    std::vector<EventBody> events;
    for (const auto& report : command.drains) {
      const auto drain = state.drains->find(report.target);
      if (drain != state.drains->end() && drain->second.state != report.state) events.emplace_back(report);
    }
    return Decision{std::move(events), {}, false};
  }

  Outcome operator()(const ReportAlarms& command) const {
    std::vector<EventBody> events;
    for (const auto& alarm : command.raised) {
      const auto present = state.alarms->find(alarm.id());
      const bool same = present != state.alarms->end() && present->second.severity == alarm.severity &&
                        present->second.text == alarm.text;
      if (!same) events.emplace_back(AlarmRaised{alarm});
    }
    for (const auto& id : command.cleared) {
      if (state.alarms->contains(id)) events.emplace_back(AlarmCleared{id});
    }
    return Decision{std::move(events), {}, false};
  }

  Outcome operator()(const ReportProgramming& command) const { return Decision{{command.report}, {}, false}; }

  Outcome operator()(const PutContract& command) const { return decide_contract(state, command, placers); }
  Outcome operator()(const RemoveContract& command) const { return decide_contract(state, command); }
  Outcome operator()(const PutQosClasses& command) const { return decide_contract(state, command, placers); }

  static std::string_view drain_area(DrainKind kind) {
    constexpr std::array<std::string_view, 3> areas = {"links", "switches", "nodes"};
    return areas[static_cast<std::size_t>(kind)];
  }

  // No job holds a GPU of the node, not counting `ending`.
  [[nodiscard]] bool is_empty(const std::string& node, const Job* ending) const {
    const auto host = state.topology().find_host(node);
    if (!host) return true;
    std::uint64_t used = state.allocations[host.index()].used;
    if (ending != nullptr) {
      for (const auto gpu : ending->placement.gpu_of_rank) {
        if (state.topology().host(gpu) == host) used &= ~(std::uint64_t{1} << state.topology().local_index(gpu));
      }
    }
    return used == 0;
  }

  // Nodes that wait for their last job to end are drained with it.
  void add_emptied_nodes(const Job& ending, std::vector<EventBody>& events) const {
    for (const auto& [target, drain] : *state.drains) {
      if (target.kind == DrainKind::node && drain.state != DrainState::drained && is_empty(target.id, &ending)) {
        events.emplace_back(DrainAdvanced{target, DrainState::drained});
      }
    }
  }
};

}  // namespace

std::expected<Decision, Rejection> decide(const ClusterState& state, const Command& command, std::int64_t now_us,
                                          PlacerCache& placers) {
  auto decision = std::visit(Decide{state, now_us, placers}, command.body);
  if (decision) add_guarantee_changes(state, decision->events, placers.guarantees(), now_us);
  return decision;
}

}  // namespace railweave::control
