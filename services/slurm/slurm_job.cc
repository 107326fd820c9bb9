#include "services/slurm/slurm_job.h"

#include <array>
#include <charconv>

#include "fabric/formats/slurm/hostlist.h"
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
  kTres,
  kAccount,
  kLimit,
  kSubmit,
  kEligible,
  kReason,
  kPinned,
  kRunning,
  kName,
  kMark,
  kComment,
  kFields
};
constexpr auto kColumns = std::to_array<Field>(
    {{"JobArrayID", 32},   {"JobID", 16},        {"StateCompact", 8}, {"RestartCnt", 8},     {"HetJobID", 16},
     {"PriorityLong", 24}, {"OverSubscribe", 8}, {"NumNodes", 16},    {"tres-per-node", 64}, {"tres-per-job", 64},
     {"tres-alloc", 256},  {"Account", 64},      {"TimeLimit", 16},   {"SubmitTime", 24},    {"EligibleTime", 24},
     {"Reason", 64},       {"ReqNodes", 4096},   {"NodeList", 4096},  {"Name", 128},         {"admin_comment", 320},
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
  text = trimmed(text);
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : 0;
}

// "1-02:03:04", "02:03:04", "03:04"; 0 for UNLIMITED and what is none.
std::int64_t seconds_of(std::string_view text) {
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

std::uint64_t gpus_of_tres(std::string_view text) {
  const std::size_t at = text.find("gres/gpu=");
  if (at == std::string_view::npos) return 0;
  text.remove_prefix(at + 9);
  return number_of<std::uint64_t>(text.substr(0, text.find(',')));
}

std::vector<std::string> nodes_of(std::string_view text) {
  auto names = fabric::expand_hostlist(text_of_field(text));
  return names ? std::move(*names) : std::vector<std::string>();
}

}  // namespace

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
    format += (format.empty() ? "" : ",") + std::string(column.name) + ":" + std::to_string(column.width);
  return format;
}

SlurmJobs read_squeue(std::string_view text, std::uint64_t gpus_per_node) {
  std::size_t width = 0;
  for (const Field& column : kColumns) width += column.width;
  SlurmJobs read;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (trimmed(line).empty()) continue;
    if (line.size() != width) {
      ++read.unreadable;
      continue;
    }
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
    job.nodes = number_of<unsigned>(at[kNodes]);
    job.gpus = gpus_of_tres(at[kTres]);
    if (job.gpus == 0) job.gpus = gpus_of(at[kPerNode]) * job.nodes;
    if (job.gpus == 0) job.gpus = gpus_of(at[kPerJob]);
    if (job.gpus == 0) job.gpus = gpus_per_node * job.nodes;
    job.name = text_of_field(at[kName]);
    job.account = text_of_field(at[kAccount]);
    job.time_limit_s = seconds_of(at[kLimit]);
    job.submitted_s = number_of<std::int64_t>(at[kSubmit]);
    job.eligible_s = number_of<std::int64_t>(at[kEligible]);
    job.reason = text_of_field(at[kReason]);
    job.pinned = nodes_of(at[kPinned]);
    job.running = nodes_of(at[kRunning]);
    job.mark = text_of_field(at[kMark]);
    if (job.leads_parts()) job.set_pinned_by_others();
    job.comment = text_of_field(at[kComment]);
    read.jobs.push_back(std::move(job));
  }
  return read;
}

}  // namespace railweave::slurm
