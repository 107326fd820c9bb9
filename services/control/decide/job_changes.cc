// The decision about ChangeJob: what its user may change of a job in its present state.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "services/control/decide/commands.h"
#include "services/control/decide/refusal.h"
#include "services/control/decide/tenant_limit.h"
#include "services/control/guarantees/refused_placement.h"

namespace railweave::control {
namespace {

std::unexpected<Rejection> refuse_state(const Job& job, const std::string& what) {
  return refuse(ErrorKind::conflict, job.has_ended() ? "jobs.ended" : "jobs.notQueued",
                fmt::format("{} is {}: {}", to_string(job.id), to_string(job.state), what));
}

// The name of a field that a job which has its GPUs cannot be given any more; "": none.
std::string only_while_queued(const ChangeJob& command) {
  if (command.priority) return "priority";
  if (command.hold) return "hold";
  if (command.not_before_us) return "notBefore";
  if (command.exclude_nodes) return "excludeNodes";
  if (command.beside) return command.beside->before ? "before" : "after";
  return {};
}

void add_part(std::string& text, const std::string& part) { text += (text.empty() ? "" : ", ") + part; }

std::string duration_part(const char* name, const std::optional<std::int64_t>& seconds) {
  return seconds ? fmt::format("{} {}", name, duration_text(*seconds)) : "no " + std::string(name);
}

// The job's fields as they are to be; text says what differs, "" nothing.
JobChanged changed(const Job& job, const ChangeJob& command) {
  JobChanged change{job.id,
                    command.priority.value_or(job.spec.priority),
                    command.not_before_us.value_or(job.not_before_us),
                    command.expected_duration_s.value_or(job.spec.expected_duration_s),
                    command.min_runtime_s.value_or(job.spec.min_runtime_s),
                    command.exclude_nodes.value_or(job.spec.exclude_nodes),
                    {}};
  std::string text;
  if (change.priority != job.spec.priority) add_part(text, "priority " + change.priority);
  if (change.not_before_us != job.not_before_us) {
    add_part(text, change.not_before_us == 0 ? "may start at any time"
                                             : "not before " + whole_second_text(change.not_before_us));
  }
  if (change.expected_duration_s != job.spec.expected_duration_s) {
    add_part(text, duration_part("expected duration", change.expected_duration_s));
  }
  if (change.min_runtime_s != job.spec.min_runtime_s) {
    add_part(text, duration_part("least runtime", change.min_runtime_s));
  }
  if (change.exclude_nodes != job.spec.exclude_nodes) {
    const std::size_t nodes = change.exclude_nodes.size();
    add_part(text,
             nodes == 0 ? "excludes no node" : fmt::format("excludes {}{}", nodes, nodes == 1 ? " node" : " nodes"));
  }
  if (!text.empty() && !command.reason.empty()) text += ": " + command.reason;
  if (!text.empty()) change.text = Message("job.changed", {std::move(text)});
  return change;
}

// What a submission with these fields would be refused for.
std::optional<Rejection> check_change(const DecisionInput& in, const Job& job, const ChangeJob& command,
                                      const JobChanged& change) {
  if (command.priority) {
    if (auto unknown = unknown_priority(*in.state.queue_rules, change.priority)) {
      return Rejection{std::move(*unknown), nullptr};
    }
  }
  const auto tenant = in.state.tenants->find(job.spec.tenant);
  if (change.priority != job.spec.priority && tenant != in.state.tenants->end()) {
    if (auto over = over_priority(*in.state.queue_rules, tenant->second, change.priority)) {
      return Rejection{std::move(*over), nullptr};
    }
  }
  scheduler::JobSpec spec = job.spec;
  spec.priority = change.priority;
  spec.expected_duration_s = change.expected_duration_s;
  spec.min_runtime_s = change.min_runtime_s;
  spec.exclude_nodes = change.exclude_nodes;
  if (const auto checked = scheduler::check_job_spec(spec); !checked) return Rejection{checked.error(), nullptr};
  if (command.min_runtime_s) {
    if (auto over = over_min_runtime(*in.state.queue_rules, spec, command.by_member)) {
      return Rejection{std::move(*over), nullptr};
    }
  }
  if (job.state == JobState::queued && change.exclude_nodes != job.spec.exclude_nodes) {
    auto result = in.placers.at(in.state).place(spec);
    if (result.outcome == scheduler::Outcome::never) return refused_placement(std::move(result));
  }
  return std::nullopt;
}

std::optional<Rejection> check_order(const ClusterState& state, const Job& job, const ChangeJob& command,
                                     const std::string& priority) {
  if (!command.beside) return std::nullopt;
  const JobPtr other = state.jobs.find(command.beside->job);
  if (other == nullptr || (command.by_member && other->spec.tenant != job.spec.tenant)) {
    return job_not_found(command.beside->job).error();
  }
  const auto cannot = [&](const std::string& why) -> Rejection {
    return refuse(ErrorKind::conflict, "jobs.cannotGoThere",
                  fmt::format("{} cannot go {}{}: {}", to_string(job.id), command.beside->before ? "before " : "after ",
                              to_string(other->id), why))
        .error();
  };
  if (other->id == job.id) return cannot("it is the same job");
  if (other->spec.tenant != job.spec.tenant) return cannot("that is a job of another tenant");
  if (other->state != JobState::queued) return cannot("that is " + std::string(to_string(other->state)));
  if (other->spec.priority != priority) {
    return cannot("that has priority " + other->spec.priority + ", not " + priority);
  }
  return std::nullopt;
}

}  // namespace

DecisionResult decide_command(const DecisionInput& in, const ChangeJob& command) {
  const JobPtr job = in.state.jobs.find(command.id);
  if (job == nullptr) return job_not_found(command.id);
  if (command.if_version && *command.if_version != job->version) {
    return refuse_version("the job", *command.if_version, job->version);
  }
  if (job->has_ended()) return refuse_state(*job, "nothing of it can be changed");
  if (job->state != JobState::queued) {
    if (const auto field = only_while_queued(command); !field.empty()) {
      return refuse_state(*job, "'" + field + "' can be changed only while it waits");
    }
  }
  const JobChanged change = changed(*job, command);
  if (auto refused = check_change(in, *job, command, change)) return std::unexpected(std::move(*refused));
  if (auto refused = check_order(in.state, *job, command, change.priority)) return std::unexpected(std::move(*refused));
  const auto& present = job->queue.hold;
  if (command.hold && present && present->by_operator && command.by_member) {
    // Held again by its member it stays the operator's.
    if (*command.hold) return Decision{{}, job->id, true};
    return refuse(
        ErrorKind::conflict, "jobs.heldByOperator",
        fmt::format("{} is {}; members do not release what an operator holds", to_string(job->id), present->text()),
        "ask an operator to release it");
  }
  std::vector<EventBody> events;
  if (!change.text.empty()) events.emplace_back(change);
  if (command.beside) {
    events.emplace_back(JobReordered{job->id, command.beside->job, command.beside->before, command.reason});
  }
  if (command.hold && *command.hold) {
    const bool same = present && present->by_operator == !command.by_member && present->reason == command.reason;
    if (!same) events.emplace_back(JobHeld{job->id, true, !command.by_member, command.reason});
  } else if (command.hold && present) {
    events.emplace_back(JobHeld{job->id, false, false, command.reason});
  }
  const bool nothing = events.empty();
  return Decision{std::move(events), job->id, nothing};
}

}  // namespace railweave::control
