// What launchers say of the jobs that they start and end.
#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "services/control/decide/commands.h"
#include "services/control/decide/launch_deadlines.h"
#include "services/control/decide/refusal.h"

namespace railweave::control {
namespace {

// Where it may have processes on GPUs that are to pass on. Ascending where it goes on running.
std::vector<std::string> nodes_to_free(const Job& job) {
  std::vector<std::string> nodes;
  if (job.is_releasing()) nodes = job.nodes;
  for (const auto& gpu : job.launch->left) {
    std::string node = gpu.substr(0, gpu.rfind(':'));
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(std::move(node));
  }
  return nodes;
}

}  // namespace

DecisionResult decide_command(const DecisionInput& in, const AdvanceLaunch& command) {
  const JobPtr job = in.state.jobs.find(command.id);
  if (job == nullptr) return job_not_found(command.id);
  const std::string id = to_string(job->id);
  if (job->has_ended()) {
    return refuse(ErrorKind::conflict, "jobs.ended", fmt::format("{} is {}", id, to_string(job->state)),
                  "start nothing for it");
  }
  if (job->state == JobState::queued) {
    return refuse(ErrorKind::conflict, "jobs.notOffered", id + " is queued: its offer is over",
                  "start nothing for it; the event job.placed tells of its next offer");
  }
  if (!job->launch) return Decision{{}, job->id, true};  // it runs since it was placed
  if (job->launch->phase == LaunchPhase::releasing) {
    return refuse_saying(ErrorKind::conflict, "jobs.releasing", id + " is to free its GPUs: " + job->launch->reason,
                         "end its processes, then POST /v1/jobs/" + id + "/freed");
  }
  if (job->launch->phase >= command.phase) return Decision{{}, job->id, true};
  if (command.phase == LaunchPhase::accepted) return Decision{{JobAccepted{job->id}}, job->id, false};
  return Decision{{JobRunning{job->id}}, job->id, false};
}

DecisionResult decide_command(const DecisionInput& in, const FreeJob& command) {
  const JobPtr job = in.state.jobs.find(command.id);
  if (job == nullptr) return job_not_found(command.id);
  const std::string id = to_string(job->id);
  if (command.if_version && *command.if_version != job->version) {
    return refuse_version("the job", *command.if_version, job->version);
  }
  if (!job->holds_gpus()) return Decision{{}, job->id, true};
  if (!job->is_releasing() && (!job->launch || job->launch->left.empty())) {
    return refuse(ErrorKind::conflict, "jobs.notReleasing", id + " was not told to free its GPUs",
                  "if its processes have ended: POST /v1/jobs/" + id + "/complete?freed=true");
  }
  const Launch& launch = *job->launch;
  const std::vector<std::string> to_free = nodes_to_free(*job);
  if (command.by_node && !launch.overdue) {
    return refuse(ErrorKind::conflict, "jobs.launcherFirst",
                  "what nodes say of " + id + " counts when its launcher has not answered until " +
                      whole_second_text(launch.deadline_us));
  }
  std::vector<std::string> nodes;  // that are free now, and were not before
  const auto add = [&](const std::string& node) {
    if (std::ranges::find(launch.freed, node) == launch.freed.end() && std::ranges::find(nodes, node) == nodes.end()) {
      nodes.push_back(node);
    }
  };
  for (const auto& node : command.nodes) {
    if (std::ranges::find(to_free, node) == to_free.end()) {
      return refuse(ErrorKind::impossible, "jobs.notItsNode", "'" + node + "' is no node that " + id + " is to free",
                    "GET /v1/jobs/" + id + " has " +
                        (job->is_releasing() ? "them in nodeList" : "the GPUs that its ranks left in launcher.left"));
    }
    add(node);
  }
  if (command.nodes.empty()) std::ranges::for_each(to_free, add);
  if (nodes.empty()) return Decision{{}, job->id, true};
  const auto is_free = [&](const std::string& node) {
    return std::ranges::find(launch.freed, node) != launch.freed.end() || std::ranges::find(nodes, node) != nodes.end();
  };
  const bool all = std::ranges::all_of(to_free, is_free);
  Decision decision{{JobFreed{job->id, std::move(nodes)}}, job->id, false};
  if (!all || !job->is_releasing()) return decision;
  if (launch.becomes == JobState::queued && launch.reason.code() == kNotRunning) {
    // At once it would take GPUs, run nothing and make way again, without end.
    decision.events.emplace_back(offer_expired(*job, launch.reason, in.now_us));
  } else if (launch.becomes == JobState::queued) {
    decision.events.emplace_back(JobEvicted{job->id, launch.in_favour_of, launch.lost_gpu_s, launch.reason});
  } else {
    decision.events.emplace_back(JobEnded{job->id, launch.becomes, launch.reason});
  }
  return decision;
}

}  // namespace railweave::control
