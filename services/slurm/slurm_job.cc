#include "services/slurm/slurm_job.h"

#include <array>
#include <charconv>

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "fabric/formats/slurm/hostlist.h"
#include "services/slurm/ranks/admin_comment.h"
#include "services/slurm/ranks/rank_text.h"

namespace railweave::slurm {
namespace {

struct Field {
  const char* name;
  std::size_t width;
};
enum At {
  kId,
  kNumber,
  kState,
  kRestarts,
  kHet,
  kPriority,
  kShares,
  kNodes,
  kPerNode,
  kPerJob,
  kPerTask,
  kTasks,
  kTres,
  kAccount,
  kLimit,
  kSubmit,
  kEligible,
  kDeadline,
  kReason,
  kPinned,
  kRunning,
  kPartition,
  kFeatures,
  kLicenses,
  kReservation,
  kQos,
  kCpus,
  kMemory,
  kName,
  kMark,
  kComment,
  kFields
};
constexpr auto kColumns = std::to_array<Field>(
    {{"JobArrayID", 32},    {"JobID", 16},        {"StateCompact", 8}, {"RestartCnt", 8},     {"HetJobID", 16},
     {"PriorityLong", 24},  {"OverSubscribe", 8}, {"NumNodes", 16},    {"tres-per-node", 64}, {"tres-per-job", 64},
     {"tres-per-task", 64}, {"NumTasks", 16},     {"tres-alloc", 256}, {"Account", 64},       {"TimeLimit", 16},
     {"SubmitTime", 24},    {"EligibleTime", 24}, {"Deadline", 24},    {"Reason", 64},        {"ReqNodes", 4096},
     {"NodeList", 4096},    {"Partition", 256},   {"Feature", 256},    {"Licenses", 64},      {"Reservation", 64},
     {"QOS", 64},           {"NumCPUs", 16},      {"MinMemory", 24},   {"Name", 128},         {"admin_comment", 320},
     {"Comment", 512}});
static_assert(kColumns.size() == kFields);

std::string_view trimmed(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  while (text.starts_with(' ')) text.remove_prefix(1);
  return text;
}

std::string text_of_field(std::string_view text) {
  text = trimmed(text);
  return text == "(null)" || text == "N/A" ? std::string() : std::string(text);
}

template <class Number>
Number number_of(std::string_view text) {  // 0: it is none
  return whole_number<Number>(trimmed(text)).value_or(0);
}

// Of "gres:gpu:h100:8", "gres/gpu:8", "gres:gpu=8,gres:nic:1"; a GPU without a number is one.
std::uint64_t gpus_of(std::string_view text) {
  std::uint64_t gpus = 0;
  text = trimmed(text);
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.starts_with("gres:") || part.starts_with("gres/")) part.remove_prefix(5);
    if (!part.starts_with("gpu") || (part.size() > 3 && part[3] != ':' && part[3] != '=')) continue;
    const std::size_t last = part.find_last_of(":=");
    const std::uint64_t number = last == std::string_view::npos ? 0 : number_of<std::uint64_t>(part.substr(last + 1));
    gpus += number == 0 ? 1 : number;
  }
  return gpus;
}

// "8G", "4000M", "500Mc" (of each processor), "0": all, or none asked for
void read_memory(std::string_view text, SlurmJob& job) {
  constexpr std::uint64_t kKilo = 1024;
  job.needs.memory_per_cpu = text.ends_with('c');
  if (job.needs.memory_per_cpu || text.ends_with('n')) text.remove_suffix(1);
  double amount = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), amount);
  if (error != std::errc() || amount < 0) return;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double mb = unit == "K"   ? amount / kKilo
                    : unit == "G" ? amount * kKilo
                    : unit == "T" ? amount * kKilo * kKilo
                                  : amount;
  job.needs.memory_mb = static_cast<std::uint64_t>(mb);
}

// "h100" of "gres:gpu:h100:8"; "": it names none, or several.
std::string gpu_type_of(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with("gres:") || text.starts_with("gres/")) text.remove_prefix(5);
  if (!text.starts_with("gpu:") || text.contains(',')) return {};
  text.remove_prefix(4);
  text = text.substr(0, text.find_first_of(":="));
  return text.find_first_not_of("0123456789") == std::string_view::npos ? std::string() : std::string(text);
}

// The number after name= in "cpu=16,mem=200M,node=2,gres/gpu=16"; 0 without.
std::uint64_t value_of_tres(std::string_view text, std::string_view name) {
  text = trimmed(text);
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.size() > name.size() && part.starts_with(name) && part[name.size()] == '=')
      return number_of<std::uint64_t>(part.substr(name.size() + 1));
  }
  return 0;
}

// Of the whole job. A job that waits and may have a range of nodes has in tres-alloc what it needs on the fewest of them.
void read_gpus(std::string_view per_node, std::string_view per_job, std::string_view per_task, std::uint64_t tasks,
               std::string_view tres, SlurmJob& job) {
  job.needs.least_nodes = static_cast<unsigned>(value_of_tres(tres, "node"));
  job.needs.gpus_per_node = gpus_of(per_node);
  if (job.pending() && job.needs.least_nodes > 0) job.gpus = job.needs.gpus_per_node * job.nodes;
  if (job.gpus == 0) job.gpus = value_of_tres(tres, "gres/gpu");
  if (job.gpus == 0) job.gpus = job.needs.gpus_per_node * job.nodes;
  if (job.gpus == 0) job.gpus = gpus_of(per_job);
  if (job.gpus == 0) job.gpus = gpus_of(per_task) * tasks;
  for (const std::string_view text : {per_node, per_job, per_task}) {
    if (job.needs.gpu_type.empty()) job.needs.gpu_type = gpu_type_of(text);
  }
}

void read_admin_comment(std::string_view field, SlurmJob& job) {
  const std::string text = text_of_field(field);
  AdminComment parts = split_admin_comment(text);
  job.mark = parts.mark;
  job.others = std::move(parts.others);
  job.is_cut = text.size() == field.size();
}

std::vector<std::string> nodes_of(std::string_view text) {
  auto names = fabric::expand_hostlist(text_of_field(text));
  return names ? std::move(*names) : std::vector<std::string>();
}

}  // namespace

std::int64_t seconds_of_limit(std::string_view text) {
  text = trimmed(text);
  std::int64_t days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    days = number_of<std::int64_t>(text.substr(0, dash));
    text.remove_prefix(dash + 1);
  }
  std::int64_t seconds = 0;
  while (true) {
    const std::size_t colon = text.find(':');
    seconds = seconds * 60 + number_of<std::int64_t>(text.substr(0, colon));
    if (colon == std::string_view::npos) break;
    text.remove_prefix(colon + 1);
  }
  return days * 86'400 + seconds;
}

std::vector<std::string> SlurmJob::marked_nodes() const {
  auto ranks = read_job_ranks(mark.substr(0, mark.find(';')));
  return ranks ? std::move(ranks->nodes) : std::vector<std::string>();
}

// squeue does not tell which nodes it must not have.
void SlurmJob::set_pinned_by_others() {
  pinned_by_others = true;
  pinned = marked_nodes();
}

bool SlurmJob::runs_where_marked() const {
  auto wanted = marked_nodes();
  auto given = running;
  std::ranges::sort(wanted);
  std::ranges::sort(given);
  return !wanted.empty() && wanted == given;
}

std::string squeue_format() {
  std::string format;
  for (const Field& column : kColumns)
    format += fmt::format("{}{}:{}", format.empty() ? "" : ",", column.name, column.width);
  return format;
}

SlurmJobs read_squeue(std::string_view text, std::uint64_t gpus_per_node) {
  std::size_t width = 0;
  for (const Field& column : kColumns) width += column.width;
  SlurmJobs read;
  while (!text.empty()) {
    // A record is as long as its fields and ends with a line end; names and comments may have others.
    if (text.size() < width || (text.size() > width && text[width] != '\n')) {
      ++read.unreadable;
      text.remove_prefix(
          std::min(text.size(), text.find('\n') == std::string_view::npos ? text.size() : text.find('\n') + 1));
      continue;
    }
    const std::string_view line = text.substr(0, width);
    text.remove_prefix(std::min(text.size(), width + 1));
    std::array<std::string_view, kFields> at;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < kFields; ++i) {
      at[i] = line.substr(begin, kColumns[i].width);
      begin += kColumns[i].width;
    }
    SlurmJob job;
    job.id = text_of_field(at[kId]);
    job.number = text_of_field(at[kNumber]);
    job.state = text_of_field(at[kState]);
    job.restarts = number_of<unsigned>(at[kRestarts]);
    job.het = number_of<unsigned>(at[kHet]);
    job.exclusive = trimmed(at[kShares]) == "NO";
    job.held = trimmed(at[kPriority]) == "0";
    job.nodes = job.needs.most_nodes = number_of<unsigned>(at[kNodes]);
    read_gpus(at[kPerNode], at[kPerJob], at[kPerTask], number_of<std::uint64_t>(at[kTasks]), at[kTres], job);
    if (job.gpus == 0) job.gpus = gpus_per_node * job.nodes;
    job.needs.partition = text_of_field(at[kPartition]);
    job.needs.features = text_of_field(at[kFeatures]);
    job.needs.licenses = text_of_field(at[kLicenses]);
    job.needs.reservation = text_of_field(at[kReservation]);
    job.qos = text_of_field(at[kQos]);
    job.needs.cpus = number_of<unsigned>(at[kCpus]);
    read_memory(trimmed(at[kMemory]), job);
    job.name = text_of_field(at[kName]);
    job.account = text_of_field(at[kAccount]);
    job.time_limit_s = seconds_of_limit(at[kLimit]);
    job.submitted_s = number_of<std::int64_t>(at[kSubmit]);
    job.eligible_s = number_of<std::int64_t>(at[kEligible]);
    job.deadline_s = number_of<std::int64_t>(at[kDeadline]);
    job.reason = text_of_field(at[kReason]);
    job.pinned = nodes_of(at[kPinned]);
    job.running = nodes_of(at[kRunning]);
    read_admin_comment(at[kMark], job);
    if (job.leads_parts()) job.set_pinned_by_others();
    job.comment = text_of_field(at[kComment]);
    read.jobs.push_back(std::move(job));
  }
  return read;
}

}  // namespace railweave::slurm
