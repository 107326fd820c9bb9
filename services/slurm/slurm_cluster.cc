#include "services/slurm/slurm_cluster.h"

#include <algorithm>

#include "services/slurm/process.h"

namespace railweave::slurm {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 29U;
constexpr std::size_t kMostJobsOfACall = 1000;

bool is_unavailable(std::string_view state) {
  for (const std::string_view word :
       {"down", "drain", "fail", "maint", "unknown", "not_responding", "reboot", "power", "inval", "planned_down"}) {
    if (state.contains(word)) return true;
  }
  return state.ends_with('*');  // it does not answer
}

}  // namespace

Result<std::string> SlurmCluster::run(const std::vector<std::string>& arguments) {
  ++calls_;
  return run_process(arguments, timeout_, kMostBytes);
}

Result<std::string> SlurmCluster::name() {
  const auto text = run({"scontrol", "show", "config"});
  if (!text) return text;
  const std::size_t at = text->find("\nClusterName");
  const std::size_t equals = at == std::string::npos ? at : text->find('=', at);
  if (equals == std::string::npos)
    return fail(ErrorKind::malformed, "slurm.noName", "scontrol show config does not tell ClusterName");
  const std::size_t begin = text->find_first_not_of(' ', equals + 1);
  return text->substr(begin, text->find_first_of(" \n", begin) - begin);
}

Result<SlurmJobs> SlurmCluster::jobs() {
  const auto text = run({"squeue", "-a", "-r", "-h", "-S", "-p,i", "-O", squeue_format()});
  if (!text) return std::unexpected(text.error());
  return read_squeue(*text, gpus_per_node_);
}

Result<SlurmNodes> SlurmCluster::nodes() {
  const auto text = run({"sinfo", "-a", "-h", "-N", "-O", "NodeList:256,StateLong:64"});
  if (!text) return std::unexpected(text.error());
  SlurmNodes nodes;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.size() < 256) continue;
    const std::string_view name = line.substr(0, line.find(' '));
    const std::string_view state = line.substr(256, line.find(' ', 256) - 256);
    if (is_unavailable(state)) nodes.unavailable.emplace_back(name);
    if (state.starts_with("alloc")) nodes.full.emplace_back(name);
  }
  std::ranges::sort(nodes.unavailable);
  std::ranges::sort(nodes.full);
  return nodes;
}

Result<void> SlurmCluster::update(std::span<const std::string> jobs, const std::vector<std::string>& changes) {
  while (!jobs.empty()) {
    const auto now = jobs.first(std::min(jobs.size(), kMostJobsOfACall));
    jobs = jobs.subspan(now.size());
    std::string ids;
    for (const std::string& id : now) ids += (ids.empty() ? "" : ",") + id;
    std::vector<std::string> arguments{"scontrol", "update", "jobid=" + ids};
    arguments.insert(arguments.end(), changes.begin(), changes.end());
    if (const auto done = run(arguments); !done) return std::unexpected(done.error());
  }
  return {};
}

}  // namespace railweave::slurm
