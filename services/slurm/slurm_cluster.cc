#include "services/slurm/slurm_cluster.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/process/program.h"

namespace railweave::slurm {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 29U;
constexpr std::size_t kMaxErrorBytes = 500;
constexpr std::size_t kMaxOrdersBytes = 60'000;  // so that a call ends within its time

// The value of a line of scontrol show config; "" without.
std::string setting(std::string_view text, const std::string& name) {
  const std::size_t at = text.find("\n" + name + " ");
  const std::size_t equals = at == std::string_view::npos ? at : text.find('=', at);
  if (equals == std::string_view::npos) return {};
  const std::size_t begin = text.find_first_not_of(' ', equals + 1);
  return std::string(text.substr(begin, text.find_first_of(" \n", begin) - begin));
}

}  // namespace

Result<std::string> SlurmCluster::run(const std::vector<std::string>& arguments, const std::string& input) {
  ++calls_;
  auto end = run_program({.arguments = arguments, .input = input, .timeout = timeout_, .max_output = kMaxBytes});
  if (!end) return std::unexpected(end.error());
  if (end->is_success()) return std::move(end->output);
  while (end->errors.ends_with('\n')) end->errors.pop_back();
  return fail(ErrorKind::unavailable, "slurm.failed",
              fmt::format("{} {}: {}", arguments.front(), end->how(), end->errors.substr(0, kMaxErrorBytes)));
}

Result<SlurmSettings> SlurmCluster::settings() {
  const auto text = run({"scontrol", "show", "config"});
  if (!text) return std::unexpected(text.error());
  SlurmSettings settings{.name = setting(*text, "ClusterName")};
  if (settings.name.empty())
    return fail(ErrorKind::malformed, "slurm.noName", "scontrol show config does not tell ClusterName");
  const std::string preempts = setting(*text, "PreemptType");
  settings.preempts = !preempts.empty() && preempts != "preempt/none" && preempts != "(null)";
  settings.counts_memory = setting(*text, "SelectTypeParameters").contains("MEMORY");
  settings.tracks_gpus = setting(*text, "AccountingStorageTRES").contains("gres/gpu");
  return settings;
}

Result<SlurmJobs> SlurmCluster::jobs() {
  const auto text = run({"squeue", "-a", "-r", "-h", "-S", "-p,i", "-O", squeue_format()});
  if (!text) return std::unexpected(text.error());
  return read_squeue(*text, gpus_per_node_);
}

Result<std::optional<SlurmJob>> SlurmCluster::job(const std::string& number) {
  const auto text = run({"squeue", "-a", "-r", "-h", "-j", number, "-O", squeue_format()});
  if (!text) return std::unexpected(text.error());
  SlurmJobs read = read_squeue(*text, gpus_per_node_);
  if (read.jobs.empty()) return std::nullopt;
  return std::move(read.jobs.front());
}

Result<std::vector<SlurmNode>> SlurmCluster::nodes() {
  const auto text = run({"sinfo", "-a", "-h", "-N", "-O", sinfo_format()});
  if (!text) return std::unexpected(text.error());
  return read_sinfo(*text);
}

Result<std::vector<SlurmWindow>> SlurmCluster::reservations() {
  const auto text = run({"scontrol", "-o", "show", "reservation"});
  if (!text) return std::unexpected(text.error());
  return read_reservations(*text);
}

Result<std::vector<SlurmPartition>> SlurmCluster::partitions() {
  const auto text = run({"scontrol", "-o", "show", "partition"});
  if (!text) return std::unexpected(text.error());
  return read_partitions(*text);
}

Result<Blocks> SlurmCluster::blocks() {
  const auto text = run({"scontrol", "show", "topology"});
  if (!text) return std::unexpected(text.error());
  return read_blocks(*text);
}

Result<std::vector<SlurmNodeState>> SlurmCluster::node_states() {
  constexpr std::size_t kName = 256;
  constexpr std::size_t kState = 64;
  const auto text = run({"sinfo", "-a", "-h", "-N", "-O", "NodeList:256,StateLong:64,Reason:256"});
  if (!text) return std::unexpected(text.error());
  std::vector<SlurmNodeState> nodes;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.size() < kName + kState) continue;
    std::string_view reason = line.substr(kName + kState);
    while (reason.ends_with(' ')) reason.remove_suffix(1);
    std::string name(line.substr(0, line.find(' ')));
    // A node of several partitions has several lines.
    if (nodes.empty() || nodes.back().name != name)
      nodes.push_back(
          {std::move(name), std::string(line.substr(kName, line.find(' ', kName) - kName)), std::string(reason)});
  }
  return nodes;
}

Result<JobDetail> SlurmCluster::detail(const std::string& job) {
  const auto text = run({"scontrol", "-d", "show", "job", job});
  if (!text) return std::unexpected(text.error());
  return read_job_detail(*text);
}

Result<void> SlurmCluster::order(const std::vector<std::string>& arguments, const std::string& input) {
  if (const auto done = run(arguments, input); !done) return std::unexpected(done.error());
  return {};
}

Result<void> SlurmCluster::set_node(const std::string& node, const std::string& state, const std::string& reason) {
  std::vector<std::string> arguments{"scontrol", "update", "nodename=" + node, "state=" + state};
  if (!reason.empty()) arguments.push_back("reason=" + reason);
  return order(arguments);
}

Result<void> SlurmCluster::update(const std::string& job, const std::vector<std::string>& changes) {
  std::vector<std::string> arguments{"scontrol", "update", "jobid=" + job};
  arguments.insert(arguments.end(), changes.begin(), changes.end());
  return order(arguments);
}

Result<void> SlurmCluster::requeue(const std::string& job) { return order({"scontrol", "requeue", job}); }

Result<void> SlurmCluster::cancel(const std::string& job) { return order({"scancel", job}); }

Result<void> SlurmCluster::signal(const std::string& job, const std::string& signal) {
  return order({"scancel", "--full", "--signal=" + signal, job});
}

Result<void> SlurmCluster::delay(std::span<const std::string> jobs, std::int64_t seconds) {
  std::string lines;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    lines += fmt::format("update jobid={} StartTime=now+{}\n", jobs[i], seconds);
    if (lines.size() + 200 < kMaxOrdersBytes && i + 1 < jobs.size()) continue;
    if (const auto done = order({"scontrol"}, lines); !done) return done;
    lines.clear();
  }
  return {};
}

}  // namespace railweave::slurm
