#include "services/control/decide.h"

#include <algorithm>
#include <utility>

#include "services/control/apply.h"

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
    auto result = placers.at(state).place(command.spec);
    if (result.outcome != scheduler::Outcome::placed) {
      const bool never = result.outcome == scheduler::Outcome::never;
      Rejection rejection{{never ? ErrorKind::impossible : ErrorKind::conflict,
                           result.explanation.code,
                           result.explanation.message,
                           {},
                           {}},
                          nullptr};
      rejection.placement = std::make_shared<const scheduler::PlacementResult>(std::move(result));
      return std::unexpected(std::move(rejection));
    }
    auto job = std::make_shared<Job>();
    job->id = JobId(state.next_job);
    job->spec = command.spec;
    job->submitted_us = now_us;
    job->idempotency_key = command.idempotency_key;
    job->request_digest = command.request_digest;
    job->placement = std::move(result.placement);
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
    return Decision{{JobEnded{command.id, command.state, command.reason}}, command.id, false};
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
};

}  // namespace

std::expected<Decision, Rejection> decide(const ClusterState& state, const Command& command, std::int64_t now_us,
                                          PlacerCache& placers) {
  return std::visit(Decide{state, now_us, placers}, command.body);
}

}  // namespace railweave::control
