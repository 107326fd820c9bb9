#include <optional>
#include <utility>

#include "fabric/base/text/time_text.h"
#include "scheduler/queue/cycle/wait_reason.h"
#include "services/control/decide/adoption.h"
#include "services/control/decide/commands.h"
#include "services/control/decide/refusal.h"
#include "services/control/decide/refused_placement.h"
#include "services/control/decide/tenant_limit.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/guarantees/job_repair.h"

namespace railweave::control {
namespace {

std::unexpected<Rejection> refuse_placement(scheduler::PlacementResult result) {
  return std::unexpected(refused_placement(std::move(result)));
}

// A job that is queued waits for its tenant's other jobs to end; only an absolute excess refuses it.
std::optional<Rejection> over_limit(const ClusterState& state, const Tenant& tenant, std::uint64_t gpus, bool queued) {
  auto over = over_gpu_limit(state, tenant, gpus);
  if (!over || (queued && over->kind != ErrorKind::impossible)) return std::nullopt;
  return Rejection{std::move(*over), nullptr};
}

// Refuses at once what no state of this fabric can hold or no contract allows; all else waits.
DecisionResult queue_job(const DecisionInput& in, const JobPtr& job) {
  if (const auto terms = job_terms(in.state, job->spec); !terms) {
    return std::unexpected(Rejection{terms.error(), nullptr});
  }
  auto result = in.placers.at(in.state).place(job->spec);
  if (result.outcome == scheduler::Outcome::never) return refuse_placement(std::move(result));
  return Decision{{JobQueued{job}}, job->id, false};  // the cycle that follows may start it at once
}

// A job that does not queue, while others do or GPUs are reserved: it starts if it delays none of them.
DecisionResult start_beside_queue(const DecisionInput& in, const JobPtr& job) {
  auto verdict = in.queue.try_start(in.state, job, in.now_us);
  if (!verdict.events.empty()) return Decision{std::move(verdict.events), job->id, false};
  if (verdict.reason.placement && verdict.reason.placement->outcome != scheduler::Outcome::placed) {
    return refuse_placement(*verdict.reason.placement);
  }
  if (const auto placed = admitted_placement(in.state, job->spec, in.placers, in.now_us); !placed) {
    return std::unexpected(placed.error());
  }
  return refuse(ErrorKind::conflict, "jobs.mustWait",
                "GPUs are free, but the job would have to wait: " + scheduler::text(verdict.reason),
                "submit it with \"queue\": true to wait in the queue");
}

// What a request with this Idempotency-Key led to before; none: it is new.
std::optional<DecisionResult> earlier_request(const DecisionInput& in, const SubmitJob& command) {
  const IdempotencyTable& keys = in.state.idempotency;
  if (command.idempotency_key.empty()) return std::nullopt;
  if (const UsedKey* earlier = keys.find(command.idempotency_key, in.now_us)) {
    if (earlier->request_digest != command.request_digest) {
      return refuse(ErrorKind::impossible, "idempotency.keyReused",
                    "the Idempotency-Key was used for another request, which created " + to_string(earlier->job),
                    "use a new key for a new job");
    }
    if (earlier->job_kept) return Decision{{}, earlier->job, true};
    return refuse(
        ErrorKind::conflict, "idempotency.jobEnded",
        "this request created " + to_string(earlier->job) + " before, which has ended and is not kept any more",
        "the store's table job_history has it; use a new key for a new job");
  }
  if (keys.has_room(command.idempotency_key, in.now_us)) return std::nullopt;
  return refuse(ErrorKind::busy, "idempotency.tooManyKeys",
                "too many Idempotency-Keys were used in the last 24 hours for another to be kept",
                "submit without a key, or try again later");
}

std::optional<Rejection> too_many_wait(const DecisionInput& in, const Tenant& tenant) {
  const std::uint64_t most = in.queue.max_waiting_of_tenant();
  if (in.state.jobs.queued() < most) return std::nullopt;
  std::uint64_t waiting = 0;
  in.state.jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    waiting += job->state == JobState::queued && job->spec.tenant == tenant.name ? 1 : 0;
    return true;
  });
  if (waiting < most) return std::nullopt;
  return Rejection{{ErrorKind::busy,
                    "tenants.tooManyWaiting",
                    std::to_string(waiting) + " jobs of tenant " + tenant.name + " wait already, the most there may be",
                    {},
                    "submit it again when some have started"},
                   nullptr};
}

std::shared_ptr<Job> new_job(const DecisionInput& in, const SubmitJob& command) {
  auto job = std::make_shared<Job>();
  job->id = in.state.jobs.next_id();
  job->spec = command.spec;
  job->submitted_us = in.now_us;
  job->not_before_us = command.not_before_us;
  job->idempotency_key = command.idempotency_key;
  job->request_digest = command.request_digest;
  if (command.launch) job->launch = Launch{.terms = *command.launch, .requeues = command.queue};
  return job;
}

DecisionResult start_now(const DecisionInput& in, const Tenant& tenant, std::shared_ptr<Job> job) {
  auto placed = admitted_placement(in.state, job->spec, in.placers, in.now_us);
  if (!placed) return std::unexpected(std::move(placed.error()));
  // The limit counts the GPUs that the placement holds idle, too.
  if (auto over = over_limit(in.state, tenant, placed->result.placement.held_gpus().size(), false)) {
    return std::unexpected(std::move(*over));
  }
  const JobId id = job->id;
  job->state = JobState::placed;
  job->placement = std::move(placed->result.placement);
  job->guarantee = std::move(placed->guarantee);
  job->nodes = node_names(in.state.topology(), job->placement.gpu_of_rank);
  return Decision{{JobPlaced{std::move(job), ""}}, id, false};
}

}  // namespace

DecisionResult decide_command(const DecisionInput& in, const SubmitJob& command) {
  const ClusterState& state = in.state;
  if (const auto earlier = earlier_request(in, command)) return *earlier;
  if (const auto checked = scheduler::check_job_spec(command.spec); !checked) {
    return std::unexpected(Rejection{checked.error(), nullptr});
  }
  const auto tenant = state.tenants->find(command.spec.tenant);
  if (tenant == state.tenants->end()) {
    return std::unexpected(Rejection{unknown_tenant(command.spec.tenant), nullptr});
  }
  if (auto unknown = unknown_priority(*state.queue_rules, command.spec.priority)) {
    return std::unexpected(Rejection{std::move(*unknown), nullptr});
  }
  if (auto over = over_min_runtime(*state.queue_rules, command.spec, command.by_member)) {
    return std::unexpected(Rejection{std::move(*over), nullptr});
  }
  if (command.adopt) {
    if (command.by_member) {
      return refuse(ErrorKind::impossible, "adopt.operatorsOnly",
                    "only operators say where a job runs; members submit it and are given a place");
    }
    return adopt_job(in, *command.adopt, new_job(in, command));
  }
  const std::uint64_t gpus = scheduler::rank_count(command.spec.parallelism);
  if (auto over = over_limit(state, tenant->second, gpus, command.queue)) return std::unexpected(std::move(*over));
  if (auto never = never_in_quota(state, tenant->second, gpus)) {
    return std::unexpected(Rejection{std::move(*never), nullptr});
  }
  if (command.queue) {
    if (auto full = too_many_wait(in, tenant->second)) return std::unexpected(std::move(*full));
  }
  auto job = new_job(in, command);
  if (command.queue) return queue_job(in, job);
  if (state.jobs.queued() != 0 || !state.reservations->empty() || tenant->second.quota_gpus) {
    return start_beside_queue(in, job);
  }
  return start_now(in, tenant->second, std::move(job));
}

DecisionResult decide_command(const DecisionInput&, const SubmitJobs&) {
  return refuse(ErrorKind::internal, "jobs.batch", "a batch is decided item by item");
}

DecisionResult decide_command(const DecisionInput& in, const RepairJob& command) {
  const ClusterState& state = in.state;
  const JobPtr job = state.jobs.find(command.id);
  if (job == nullptr) return job_not_found(command.id);
  if (command.if_version && *command.if_version != job->version) {
    return refuse_version("the job", *command.if_version, job->version);
  }
  const auto repair = plan_requested_repair(state, command, in.placers, in.now_us);
  std::vector<EventBody> events;
  const auto drain = [&](const std::vector<DrainTarget>& targets) {
    for (const auto& target : targets) {
      events.emplace_back(DrainRequested{target, "lost under " + to_string(command.id), true});
    }
  };
  if (!repair) {
    if (repair.error().code != "repair.noSpare") return std::unexpected(Rejection{repair.error(), nullptr});
    drain(named_as_lost(state, command));  // no other job must come to them
    return Decision{std::move(events), command.id, false, Rejection{repair.error(), nullptr}};
  }
  drain(repair->to_drain);
  events.emplace_back(moved(state, *job, repair->lost, repair->plan, command.reason, in.placers));
  return Decision{std::move(events), command.id, false};
}

DecisionResult decide_command(const DecisionInput& in, const CheckpointJob& command) {
  const ClusterState& state = in.state;
  const JobPtr job = state.jobs.find(command.id);
  if (job == nullptr) return job_not_found(command.id);
  if (!job->holds_gpus()) {
    return refuse(
        ErrorKind::conflict, "jobs.notRunning",
        to_string(command.id) + " is " + std::string(to_string(job->state)) + ": only placed jobs have checkpoints");
  }
  const std::int64_t saved_us = command.saved_us == 0 ? in.now_us : command.saved_us;
  if (saved_us > in.now_us || saved_us < job->started_us) {
    return refuse(ErrorKind::impossible, "jobs.badCheckpoint",
                  "the time of a checkpoint must lie between the job's start, " + whole_second_text(job->started_us) +
                      ", and now");
  }
  if (saved_us <= job->saved_us) return Decision{{}, command.id, true};
  return Decision{{JobCheckpointed{command.id, saved_us}}, command.id, false};
}

DecisionResult decide_command(const DecisionInput& in, const EndJob& command) {
  const ClusterState& state = in.state;
  const JobPtr job = state.jobs.find(command.id);
  if (job == nullptr) return job_not_found(command.id);
  if (command.if_version && *command.if_version != job->version) {
    return refuse_version("the job", *command.if_version, job->version);
  }
  if (job->has_ended()) return Decision{{}, command.id, true};  // a repeated request changes nothing
  if (job->state == JobState::queued && command.state == JobState::completed) {
    return refuse(ErrorKind::conflict, "jobs.notRunning",
                  to_string(command.id) + " is queued: it cannot have completed",
                  "cancel it: DELETE /v1/jobs/" + to_string(command.id));
  }
  if (job->launch && job->holds_gpus() && job->launch->phase != LaunchPhase::offered && !command.freed) {
    if (job->is_releasing() && job->launch->becomes != JobState::queued) return Decision{{}, command.id, true};
    return Decision{
        {JobReleasing{command.id, command.state, job->launch->in_favour_of, 0, command.reason}}, command.id, false};
  }
  return Decision{{JobEnded{command.id, command.state, command.reason}}, command.id, false};
}

}  // namespace railweave::control
