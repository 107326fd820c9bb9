#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "scheduler/job/alternative_shapes.h"
#include "scheduler/queue/cycle/wait_reason.h"
#include "services/control/decide/adoption.h"
#include "services/control/decide/commands.h"
#include "services/control/decide/refusal.h"
#include "services/control/decide/submission.h"
#include "services/control/decide/tenant_limit.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/guarantees/job_repair.h"
#include "services/control/guarantees/refused_placement.h"

namespace railweave::control {
namespace {

SubmissionInput input_of(const DecisionInput& in) { return {in.state, in.placers, in.queue, in.now_us, nullptr}; }

// Refuses at once what no state of this fabric can hold or no contract allows; all else waits.
DecisionResult queue_job(const DecisionInput& in, const JobPtr& job) {
  if (const auto terms = job_terms(in.state, job->spec); !terms) {
    return std::unexpected(Rejection{terms.error(), nullptr});
  }
  std::optional<scheduler::PlacementResult> smallest;  // the refusal of its smallest shape
  std::uint64_t fewest = UINT64_MAX;
  for (const auto& shape : scheduler::specs_by_shape(job->spec)) {
    auto result = in.placers.at(in.state).place_or_say_why(shape);
    if (result.outcome != scheduler::Outcome::never) {
      return Decision{{JobQueued{job}}, job->id, false};  // the cycle that follows may start it at once
    }
    const std::uint64_t ranks = scheduler::rank_count(shape.parallelism);
    if (ranks < fewest) smallest = std::move(result);
    fewest = std::min(fewest, ranks);
  }
  return std::unexpected(with_changes(input_of(in), job, refused_placement(std::move(*smallest))));
}

// Of a key that came before keys had owners: a member is answered by it where the job is its tenant's, or, where that is not
// known any more, where the request is the same.
bool may_be_own(const DecisionInput& in, const SubmitJob& command, const UsedKey& unowned) {
  if (!command.by_member) return true;
  if (!unowned.job_kept) return unowned.request_digest == command.request_digest;
  const JobPtr job = in.state.jobs.find(unowned.job);
  return job != nullptr && job->spec.tenant == command.spec.tenant;
}

const UsedKey* earlier_key(const DecisionInput& in, const SubmitJob& command) {
  const IdempotencyTable& keys = in.state.idempotency;
  if (const UsedKey* own = keys.find({command.key_owner, command.idempotency_key}, in.now_us)) return own;
  const UsedKey* unowned = keys.find({{}, command.idempotency_key}, in.now_us);
  return unowned != nullptr && may_be_own(in, command, *unowned) ? unowned : nullptr;
}

// What a request with this Idempotency-Key led to before; none: it is new.
std::optional<DecisionResult> earlier_request(const DecisionInput& in, const SubmitJob& command) {
  if (command.idempotency_key.empty()) return std::nullopt;
  if (const UsedKey* earlier = earlier_key(in, command)) {
    if (earlier->request_digest != command.request_digest) {
      return refuse(
          ErrorKind::impossible, "idempotency.keyReused",
          fmt::format("the Idempotency-Key was used for another request, which created {}", to_string(earlier->job)),
          "use a new key for a new job");
    }
    if (earlier->job_kept) return Decision{{}, earlier->job, true};
    return refuse(ErrorKind::conflict, "idempotency.jobEnded",
                  fmt::format("this request created {} before, which has ended and is not kept any more",
                              to_string(earlier->job)),
                  "the store's table job_history has it; use a new key for a new job");
  }
  const OwnedKey key{command.key_owner, command.idempotency_key};
  if (in.state.idempotency.has_room(key, in.now_us)) return std::nullopt;
  return refuse(ErrorKind::busy, "idempotency.tooManyKeys",
                (key.tenant().empty() ? std::string("callers of no tenant") : "tenant " + std::string(key.tenant())) +
                    " used too many Idempotency-Keys in the last 24 hours for another to be kept",
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
                    fmt::format("{} jobs of tenant {} wait already, the most there may be", waiting, tenant.name),
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
  if (!command.idempotency_key.empty()) job->key_owner = command.key_owner;
  job->request_digest = command.request_digest;
  if (command.launch) job->launch = Launch{.terms = *command.launch, .requeues = command.queue};
  return job;
}

DecisionResult start_now(const DecisionInput& in, const std::shared_ptr<const Job>& job,
                         const scheduler::Placement* place) {
  SubmissionInput input = input_of(in);
  input.place = place;
  auto started = start_job(input, job);
  if (started) return Decision{std::move(started->events), job->id, false};
  if (started.error().placement == nullptr) return std::unexpected(std::move(started.error()));
  return std::unexpected(with_changes(input_of(in), job, std::move(started.error())));
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
  if (auto over = over_priority(*state.queue_rules, tenant->second, command.spec.priority)) {
    return std::unexpected(Rejection{std::move(*over), nullptr});
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
  if (auto over = over_limits(state, command.spec, command.queue)) return std::unexpected(std::move(*over));
  if (command.queue) {
    if (auto full = too_many_wait(in, tenant->second)) return std::unexpected(std::move(*full));
  }
  auto job = new_job(in, command);
  return command.queue ? queue_job(in, job) : start_now(in, job, command.place.get());
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
      events.emplace_back(DrainRequested{target, fmt::format("lost under {}", to_string(command.id)), true});
    }
  };
  if (!repair) {
    if (repair.error().code != "repair.noSpare") return std::unexpected(Rejection{repair.error(), nullptr});
    drain(named_as_lost(state, command));  // no other job must come to them
    add_unrepaired(state, *job, command, repair.error().message, events);
    return Decision{std::move(events), command.id, false, Rejection{repair.error(), nullptr}};
  }
  drain(repair->to_drain);
  events.emplace_back(moved(state, *job, repair->lost, repair->plan, command.reason, in.placers, command.nodes));
  return Decision{std::move(events), command.id, false};
}

DecisionResult decide_command(const DecisionInput& in, const CheckpointJob& command) {
  const ClusterState& state = in.state;
  const JobPtr job = state.jobs.find(command.id);
  if (job == nullptr) return job_not_found(command.id);
  if (!job->holds_gpus()) {
    return refuse(
        ErrorKind::conflict, "jobs.notRunning",
        fmt::format("{} is {}: only placed jobs have checkpoints", to_string(command.id), to_string(job->state)));
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
                  fmt::format("{} is queued: it cannot have completed", to_string(command.id)),
                  fmt::format("cancel it: DELETE /v1/jobs/{}", to_string(command.id)));
  }
  if (job->launch && job->holds_gpus() && job->launch->phase != LaunchPhase::offered && !command.freed) {
    if (job->is_releasing() && job->launch->becomes != JobState::queued) return Decision{{}, command.id, true};
    return Decision{
        {JobReleasing{command.id, command.state, job->launch->in_favour_of, 0, command.reason}}, command.id, false};
  }
  return Decision{{JobEnded{command.id, command.state, command.reason}}, command.id, false};
}

}  // namespace railweave::control
