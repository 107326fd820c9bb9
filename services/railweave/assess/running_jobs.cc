#include "services/railweave/assess/running_jobs.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "fabric/base/natural_order.h"
#include "fabric/formats/slurm/gres.h"
#include "fabric/formats/slurm/hostlist.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kMostRunning = 200'000;

Json document_of_file(const SiteFile& file) { return value_or_fail(parse_json(file.text, file.name)); }

std::string shown(const Json& value) { return value.is_string() ? value.get<std::string>() : std::string(); }

// Of an allocation; without accounting of GPUs Slurm tells them as GRES alone.
std::uint32_t gpus_of_slurm_job(const Json& job, std::size_t hosts) {
  if (const std::uint32_t gpus = gpus_of_tres(shown(field(job, "tres_alloc_str"))); gpus > 0) return gpus;
  std::uint32_t gpus = 0;
  for (const Json& node : list(job, "gres_detail")) gpus += fabric::gpus_of_gres(shown(node)).count;
  if (gpus > 0) return gpus;
  std::string per_node = shown(field(job, "tres_per_node"));
  if (per_node.starts_with("gres:") || per_node.starts_with("gres/")) per_node.erase(0, 5);
  return fabric::gpus_of_gres(per_node).count * static_cast<std::uint32_t>(hosts);
}

// "RUNNING", or ["RUNNING", ...].
bool is_running(const Json& state) {
  if (state.is_string()) return state == "RUNNING";
  return state.is_array() && std::ranges::any_of(state, [](const Json& one) { return one == "RUNNING"; });
}

std::uint32_t gpus_of_pod(const Json& pod) {
  std::uint64_t gpus = 0;
  for (const Json& container : list(field(pod, "spec"), "containers")) {
    const Json& limits = field(field(container, "resources"), "limits");
    for (const char* name : {"nvidia.com/gpu", "amd.com/gpu"}) {
      const Json& count = field(limits, name);
      if (count.is_number_unsigned()) gpus += count.get<std::uint64_t>();
      if (!count.is_string()) continue;
      std::uint64_t value = 0;
      const std::string text = count.get<std::string>();
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error == std::errc() && end == text.data() + text.size()) gpus += value;
    }
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(gpus, UINT16_MAX));
}

// Pods of one job by who made them, and their index in it.
struct PodGroup {
  std::string name, space;
  std::uint32_t gpus = 0;
  bool indexed = true;
  std::map<std::string, std::string, NaturalLess> host_of_index;  // in order of ranks
};

std::string owner_of(const Json& metadata) {
  const Json& labels = field(metadata, "labels");
  for (const char* name :
       {"leaderworkerset.sigs.k8s.io/name", "jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name",
        "volcano.sh/job-name", "batch.kubernetes.io/job-name", "ray.io/cluster"}) {
    if (field(labels, name).is_string()) return field(labels, name).get<std::string>();
  }
  const Json& owners = list(metadata, "ownerReferences");
  return owners.empty() ? shown(field(metadata, "name")) : shown(field(owners.front(), "name"));
}

std::string index_of(const Json& metadata) {
  for (const char* name : {"batch.kubernetes.io/job-completion-index", "training.kubeflow.org/replica-index",
                           "leaderworkerset.sigs.k8s.io/worker-index"}) {
    for (const char* part : {"annotations", "labels"}) {
      const Json& value = field(field(metadata, part), name);
      if (value.is_string()) return value.get<std::string>();
    }
  }
  return {};
}

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
    std::uint32_t count = 0;
    const auto [end, error] = std::from_chars(item.data() + equals + 1, item.data() + item.size(), count);
    if (error != std::errc()) continue;
    if (item.starts_with(kKey)) return count;
    typed += count;
  }
  return typed;
}

void read_slurm_jobs(const SiteFile& file, JobList<RunningJob>& list_of_jobs) {
  const Json document = document_of_file(file);
  std::size_t row = 0;
  for (const Json& job : list(document, "jobs")) {
    ++row;
    if (!is_running(field(job, "job_state")) || list_of_jobs.jobs.size() >= kMostRunning) continue;
    RunningJob running;
    running.id = text_of(job, "job_id");
    running.name = shown(field(job, "name"));
    running.user = shown(field(job, "user_name"));
    auto hosts = fabric::expand_hostlist(shown(field(job, "nodes")));
    if (!hosts || hosts->empty()) {
      list_of_jobs.leave_out(file.name + ", row " + std::to_string(row) + ": job " + running.id +
                             " runs on no node that can be read");
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
    const std::string node = shown(field(field(pod, "spec"), "nodeName"));
    const Json& metadata = field(pod, "metadata");
    if (node.empty()) {
      list_of_jobs.leave_out(file.name + ", item " + std::to_string(row) + ": a running pod without a node");
      continue;
    }
    const std::string space = shown(field(metadata, "namespace"));
    PodGroup& group = groups[{space, owner_of(metadata)}];
    group.name = owner_of(metadata);
    group.space = space;
    group.gpus += gpus;
    const std::string index = index_of(metadata);
    group.indexed = group.indexed && !index.empty();
    group.host_of_index[index.empty() ? shown(field(metadata, "name")) : index] = node;
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
