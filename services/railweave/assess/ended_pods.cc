// Reads jobs that have ended from `kubectl get pods -A -o json`: pods stay listed until they are collected or their job is deleted,
// so how far back this goes is the cluster's choice. A job is the pods of one owner; it began when the last of them did.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "services/railweave/assess/pod_fields.h"
#include "services/railweave/assess/running_jobs.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

struct EndedGroup {
  PastJob job;
  bool all_ended = true;
  std::string unreadable;  // the first pod that does not tell its times
};

std::optional<std::int64_t> pod_time(const Json& value) {
  const auto time = parse_time_us(string_of(value));
  return time ? std::optional(*time / 1'000'000) : std::nullopt;
}

// When the last of its containers ended.
std::optional<std::int64_t> end_of_pod(const Json& status) {
  std::optional<std::int64_t> end;
  for (const Json& container : list(status, foreign("containerStatuses"))) {
    end =
        std::max(end, pod_time(field(field(field(container, "state"), foreign("terminated")), foreign("finishedAt"))));
  }
  return end;
}

void add_pod(const Json& pod, std::uint32_t gpus, EndedGroup& group) {
  const Json& status = field(pod, "status");
  const Json& metadata = field(pod, foreign("metadata"));
  const std::string phase = string_of(field(status, "phase"));
  group.all_ended = group.all_ended && (phase == "Succeeded" || phase == "Failed");
  const std::string node = string_of(field(field(pod, "spec"), foreign("nodeName")));
  const auto submitted = pod_time(field(metadata, foreign("creationTimestamp"))),
             started = pod_time(field(status, foreign("startTime"))), ended = end_of_pod(status);
  if (node.empty() || !submitted || !started || !ended) {
    if (group.unreadable.empty()) group.unreadable = string_of(field(metadata, "name"));
    return;
  }
  PastJob& job = group.job;
  job.submitted_s = job.nodes == 0 ? *submitted : std::min(job.submitted_s, *submitted);
  job.started_s = std::max(job.started_s, *started);
  job.ended_s = std::max(job.ended_s, *ended);
  job.gpus += gpus;
  if (std::ranges::find(job.hosts, node) == job.hosts.end()) job.hosts.push_back(node);
  job.nodes = static_cast<std::uint32_t>(job.hosts.size());
}

}  // namespace

void read_ended_pods(const SiteFile& file, JobList<PastJob>& past) {
  const Json document = value_or_fail(parse_json(file.text, file.name));
  std::map<std::pair<std::string, std::string>, EndedGroup> groups;
  for (const Json& pod : list(document, "items")) {
    const std::uint32_t gpus = gpus_of_pod(pod);
    if (gpus == 0) continue;
    const Json& metadata = field(pod, foreign("metadata"));
    const std::string space = string_of(field(metadata, foreign("namespace"))), owner = owner_of_pod(metadata);
    EndedGroup& group = groups[{space, owner}];
    group.job.id = fmt::format("{}/{}", space, owner);
    group.job.user = space;
    add_pod(pod, gpus, group);
  }
  for (auto& [key, group] : groups) {
    if (!group.all_ended) continue;
    if (!group.unreadable.empty()) {
      past.leave_out(fmt::format("{}: job {}: pod {} does not tell where and when it ran", file.name, group.job.id,
                                 group.unreadable));
    } else if (group.job.ended_s > group.job.started_s) {
      past.jobs.push_back(std::move(group.job));
    }
  }
}

}  // namespace railweave::cli
