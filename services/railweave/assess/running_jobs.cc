#include "services/railweave/assess/running_jobs.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/natural_order.h"
#include "fabric/base/whole_number.h"
#include "fabric/formats/slurm/gres.h"
#include "fabric/formats/slurm/hostlist.h"
#include "services/railweave/assess/pod_fields.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kMaxRunning = 200'000;

Json document_of_file(const SiteFile& file) { return value_or_fail(parse_json(file.text, file.name)); }

// Of an allocation; without accounting of GPUs Slurm tells them as GRES alone.
std::uint32_t gpus_of_slurm_job(const Json& job, std::size_t hosts) {
  if (const std::uint32_t gpus = gpus_of_tres(string_of(field(job, foreign("tres_alloc_str")))); gpus > 0) return gpus;
  std::uint32_t gpus = 0;
  for (const Json& node : list(job, foreign("gres_detail"))) gpus += fabric::gpus_of_gres(string_of(node)).count;
  if (gpus > 0) return gpus;
  std::string per_node = string_of(field(job, foreign("tres_per_node")));
  if (per_node.starts_with("gres:") || per_node.starts_with("gres/")) per_node.erase(0, 5);
  return fabric::gpus_of_gres(per_node).count * static_cast<std::uint32_t>(hosts);
}

// "RUNNING", or ["RUNNING", ...].
bool is_running(const Json& state) {
  if (state.is_string()) return state == "RUNNING";
  return state.is_array() && std::ranges::any_of(state, [](const Json& one) { return one == "RUNNING"; });
}

// Pods of one job by who made them, and their index in it.
struct PodGroup {
  std::string name, space;
  std::uint32_t gpus = 0;
  bool indexed = true;
  std::map<std::string, std::string, NaturalLess> host_of_index;  // in order of ranks
};

}  // namespace

std::uint32_t gpus_of_tres(const std::string& tres) {
  static constexpr std::string_view kKey = "gres/gpu=";
  std::uint32_t typed = 0;
  std::string_view rest = tres;
  while (!rest.empty()) {
    const auto comma = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    const auto equals = item.find('=');
    if (equals == std::string_view::npos || !item.starts_with("gres/gpu")) continue;
    const auto count = whole_number<std::uint32_t>(item.substr(equals + 1));
    if (!count) continue;
    if (item.starts_with(kKey)) return *count;
    typed += *count;
  }
  return typed;
}

void read_slurm_jobs(const SiteFile& file, JobList<RunningJob>& list_of_jobs) {
  const Json document = document_of_file(file);
  std::size_t row = 0;
  for (const Json& job : list(document, "jobs")) {
    ++row;
    const Json& state = field(job, foreign("job_state"));
    if (!state.is_string() && !state.is_array()) {
      list_of_jobs.leave_out(fmt::format("{}, row {}: it tells no state of a job", file.name, row));
      continue;
    }
    if (!is_running(state)) continue;
    if (list_of_jobs.jobs.size() >= kMaxRunning) {
      list_of_jobs.leave_out(fmt::format("{}, row {}: more than {} running jobs", file.name, row, kMaxRunning));
      continue;
    }
    RunningJob running;
    running.id = text_of(job, foreign("job_id"));
    running.name = string_of(field(job, "name"));
    running.user = string_of(field(job, foreign("user_name")));
    auto hosts = fabric::expand_hostlist(string_of(field(job, "nodes")));
    if (!hosts || hosts->empty()) {
      list_of_jobs.leave_out(
          fmt::format("{}, row {}: job {} runs on no node that can be read", file.name, row, running.id));
      continue;
    }
    running.hosts = std::move(*hosts);
    running.order_known = true;  // tasks go to nodes in the order of the list, unless the job says otherwise
    running.gpus = gpus_of_slurm_job(job, running.hosts.size());
    list_of_jobs.jobs.push_back(std::move(running));
  }
}

void read_pods(const SiteFile& file, JobList<RunningJob>& list_of_jobs) {
  const Json document = document_of_file(file);
  std::map<std::pair<std::string, std::string>, PodGroup> groups;
  std::size_t row = 0;
  for (const Json& pod : list(document, "items")) {
    ++row;
    const std::uint32_t gpus = gpus_of_pod(pod);
    if (gpus == 0 || field(field(pod, "status"), "phase") != "Running") continue;
    const std::string node = string_of(field(field(pod, "spec"), foreign("nodeName")));
    const Json& metadata = field(pod, foreign("metadata"));
    if (node.empty()) {
      list_of_jobs.leave_out(fmt::format("{}, item {}: a running pod without a node", file.name, row));
      continue;
    }
    const std::string space = string_of(field(metadata, foreign("namespace")));
    PodGroup& group = groups[{space, owner_of_pod(metadata)}];
    group.name = owner_of_pod(metadata);
    group.space = space;
    group.gpus += gpus;
    const std::string index = index_of_pod(metadata);
    group.indexed = group.indexed && !index.empty();
    group.host_of_index[index.empty() ? string_of(field(metadata, "name")) : index] = node;
  }
  for (auto& [key, group] : groups) {
    RunningJob running{.id = group.space + "/" + group.name, .name = group.name, .user = group.space, .hosts = {}};
    for (const auto& [index, node] : group.host_of_index) {
      if (std::ranges::find(running.hosts, node) == running.hosts.end()) running.hosts.push_back(node);
    }
    running.gpus = group.gpus;
    running.order_known = group.indexed;
    list_of_jobs.jobs.push_back(std::move(running));
  }
}

}  // namespace railweave::cli
