#include "services/slurm/eligibility.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "fabric/formats/slurm/hostlist.h"

namespace railweave::slurm {
namespace {

enum At { kName, kPartition, kState, kFeatures, kCpus, kMemory, kAllocated, kGres, kGresUsed, kFields };
struct Field {
  const char* name;
  std::size_t width;
};
constexpr auto kColumns = std::to_array<Field>({{"NodeList", 256},
                                                {"PartitionName", 128},
                                                {"StateLong", 64},
                                                {"features_act", 1024},
                                                {"CPUsState", 48},
                                                {"Memory", 24},
                                                {"AllocMem", 24},
                                                {"Gres", 512},
                                                {"GresUsed", 512}});
static_assert(kColumns.size() == kFields);

std::string_view trimmed(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  while (text.starts_with(' ')) text.remove_prefix(1);
  return text;
}

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find_first_of(separators));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

template <class Number>
Number number_of(std::string_view text) {  // 0: it is none
  Number number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool is_unavailable(std::string_view state) {
  for (const std::string_view word :
       {"down", "drain", "fail", "maint", "unknown", "not_responding", "reboot", "inval"}) {
    if (state.contains(word) && !state.starts_with("powered_down") && !state.starts_with("powering_down")) return true;
  }
  return state.ends_with('*');  // it does not answer
}

// By type of "gpu:8(IDX:0-7)", "gpu:h100:4(S:0),nic:1"; without a type "".
std::map<std::string, std::uint64_t, std::less<>> gpus_of(std::string_view text) {
  std::map<std::string, std::uint64_t, std::less<>> gpus;
  while (!text.empty()) {
    // Commas in parentheses are of indices.
    std::size_t end = 0;
    for (int depth = 0; end < text.size() && (depth > 0 || text[end] != ','); ++end) {
      depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    }
    std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(text.size(), end + 1));
    part = part.substr(0, part.find('('));
    if (!part.starts_with("gpu:")) continue;
    part.remove_prefix(4);
    const std::size_t colon = part.rfind(':');
    const std::string_view type = colon == std::string_view::npos ? std::string_view() : part.substr(0, colon);
    gpus[std::string(type)] += number_of<std::uint64_t>(part.substr(type.empty() ? 0 : colon + 1));
  }
  return gpus;
}

std::uint64_t sum_of(const std::map<std::string, std::uint64_t, std::less<>>& gpus) {
  std::uint64_t sum = 0;
  for (const auto& [type, number] : gpus) sum += number;
  return sum;
}

// The value of NAME= in one line of scontrol; "" without.
std::string_view value_of(std::string_view line, std::string_view name) {
  std::size_t at = line.find(name);
  while (at != std::string_view::npos && at != 0 && line[at - 1] != ' ') at = line.find(name, at + 1);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + name.size());
  return line.substr(0, line.find(' '));
}

template <class Visit>
void for_each_line(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (!line.empty()) visit(line);
  }
}

// Names joined by & or by |: what Slurm asks of each node. Counts, brackets and mixtures ask of the job's nodes together.
bool is_plain(std::string_view expression) {
  if (expression.find_first_of("[]()*{}") != std::string_view::npos) return false;
  return !(expression.contains('|') && (expression.contains('&') || expression.contains(',')));
}

// wanted_mb: 0 is all that it has.
bool has_memory(const SlurmNode& node, std::uint64_t wanted_mb) {
  if (wanted_mb == 0) return node.allocated_mb == 0;
  return node.memory_mb >= node.allocated_mb && node.memory_mb - node.allocated_mb >= wanted_mb;
}

bool has_features(const SlurmNode& node, std::string_view expression) {
  if (expression.empty()) return true;
  const auto has = [&](const std::string& name) {
    return std::ranges::find(node.features, name) != node.features.end();
  };
  const auto names = split(expression, "&|,");
  return expression.contains('|') ? std::ranges::any_of(names, has) : std::ranges::all_of(names, has);
}

}  // namespace

std::string sinfo_format() {
  std::string format;
  for (const Field& column : kColumns)
    format += fmt::format("{}{}:{}", format.empty() ? "" : ",", column.name, column.width);
  return format;
}

std::vector<SlurmNode> read_sinfo(std::string_view text) {
  std::size_t width = 0;
  for (const Field& column : kColumns) width += column.width;
  std::map<std::string, SlurmNode> nodes;
  for_each_line(text, [&](std::string_view line) {
    if (line.size() < width - kColumns.back().width) return;
    std::array<std::string_view, kFields> at;
    for (std::size_t i = 0, begin = 0; i < kFields; begin += kColumns[i++].width)
      at[i] = trimmed(line.substr(std::min(begin, line.size()), kColumns[i].width));
    SlurmNode& node = nodes[std::string(at[kName])];
    node.name = at[kName];
    if (!at[kPartition].empty()) node.partitions.emplace_back(at[kPartition]);
    if (at[kFeatures] != "(null)") node.features = split(at[kFeatures], ",");
    node.unavailable = is_unavailable(at[kState]);
    node.full = at[kState].starts_with("alloc");
    const auto cpus = split(at[kCpus], "/");  // allocated/idle/other/total
    if (cpus.size() == 4) {
      node.idle_cpus = number_of<unsigned>(cpus[1]);
      node.cpus = number_of<unsigned>(cpus[3]);
    }
    node.memory_mb = number_of<std::uint64_t>(at[kMemory]);
    node.allocated_mb = number_of<std::uint64_t>(at[kAllocated]);
    node.gpus_by_type = gpus_of(at[kGres]);
    node.gpus = sum_of(node.gpus_by_type);
    node.gpus_used = sum_of(gpus_of(at[kGresUsed]));
  });
  std::vector<SlurmNode> list;
  list.reserve(nodes.size());
  for (auto& [name, node] : nodes) list.push_back(std::move(node));
  return list;
}

std::vector<SlurmWindow> read_reservations(std::string_view text) {
  std::vector<SlurmWindow> windows;
  for_each_line(text, [&](std::string_view line) {
    if (!line.starts_with("ReservationName=")) return;  // "No reservations in the system"
    auto nodes = fabric::expand_hostlist(value_of(line, "Nodes="));
    if (!nodes || nodes->empty()) return;
    windows.push_back({std::string(value_of(line, "ReservationName=")), std::move(*nodes),
                       number_of<std::int64_t>(value_of(line, "StartTime=")),
                       number_of<std::int64_t>(value_of(line, "EndTime="))});
  });
  return windows;
}

std::vector<SlurmPartition> read_partitions(std::string_view text) {
  std::vector<SlurmPartition> partitions;
  for_each_line(text, [&](std::string_view line) {
    if (!line.starts_with("PartitionName=")) return;
    partitions.push_back(
        {std::string(value_of(line, "PartitionName=")),
         std::max(1U, number_of<unsigned>(value_of(line, "PriorityTier="))), value_of(line, "ExclusiveUser=") == "YES",
         value_of(line, "State=") == "UP", number_of<unsigned>(value_of(line, "MinNodes=")),
         number_of<unsigned>(value_of(line, "MaxNodes=")), seconds_of_limit(value_of(line, "MaxTime=")),
         number_of<std::uint64_t>(value_of(line, "MaxMemPerNode="))});
  });
  return partitions;
}

Eligibility::Eligibility(std::vector<SlurmNode> nodes, std::vector<SlurmWindow> windows,
                         std::vector<SlurmPartition> partitions, const std::map<std::string, std::uint64_t>& fabric,
                         bool counts_memory)
    : nodes_(std::move(nodes)), windows_(std::move(windows)), counts_memory_(counts_memory), fabric_(fabric) {
  for (auto& partition : partitions) {
    std::string name = partition.name;
    partitions_.emplace(std::move(name), std::move(partition));
  }
  std::set<std::string_view> known;
  for (const auto& node : nodes_) known.insert(node.name);
  declares_gpus_ = std::ranges::any_of(nodes_, [](const SlurmNode& node) { return node.gpus > 0; });
  for (const auto& [name, gpus] : fabric) {
    if (!known.contains(name)) unknown_.push_back(name);
  }
}

std::optional<std::string> Eligibility::left_to_slurm(const SlurmJob& job) const {
  if (!is_plain(job.needs.features)) return "it asks for features of its nodes together: " + job.needs.features;
  if (!job.needs.licenses.empty()) return "it waits for licences";
  if (job.deadline_s != 0) return "it has a deadline";
  if (!job.needs.reservation.empty()) return "it has a reservation";
  for (const auto& name : split(job.needs.partition, ",")) {
    const auto partition = partitions_.find(name);
    if (partition != partitions_.end() && partition->second.one_user_per_node) {
      return "its partition " + name + " gives each node to one user at a time";
    }
  }
  return std::nullopt;
}

// Where Slurm has fewer GPUs of a node than the fabric, those in use are not told by what Railweave knows to be free.
bool Eligibility::has_gpus(const SlurmNode& node, std::string_view type, std::uint64_t wanted) const {
  const auto typed = node.gpus_by_type.find(type);
  const bool any_type = type.empty() || (node.gpus_by_type.size() == 1 && node.gpus_by_type.contains(""));
  const std::uint64_t gpus = any_type ? node.gpus : typed == node.gpus_by_type.end() ? 0 : typed->second;
  if (!declares_gpus_) return true;
  if (gpus < wanted) return false;
  const auto fabric = fabric_.find(node.name);
  const bool is_smaller = fabric != fabric_.end() && node.gpus < fabric->second;
  return !is_smaller || node.gpus_used + wanted <= node.gpus;
}

std::size_t Eligibility::nodes_free(const SlurmJob& job, const std::vector<std::string>& allowed) const {
  return static_cast<std::size_t>(std::ranges::count_if(nodes_, [&](const SlurmNode& node) {
    return node.gpus_used + job.needs.gpus_per_node <= node.gpus && std::ranges::binary_search(allowed, node.name);
  }));
}

std::uint64_t Eligibility::gpus_free(const std::vector<std::string>& allowed) const {
  std::uint64_t free = 0;
  for (const auto& node : nodes_) {
    if (std::ranges::binary_search(allowed, node.name)) free += node.gpus - std::min(node.gpus, node.gpus_used);
  }
  return free;
}

std::vector<std::string> Eligibility::excluded(const SlurmJob& job, std::int64_t now_s) const {
  const bool has_several = job.needs.partition.contains(',');
  return excluded_in(has_several ? partition_for(job, now_s) : job.needs.partition, job, now_s);
}

std::string Eligibility::partition_for(const SlurmJob& job, std::int64_t now_s) const {
  const auto allows = [&](const SlurmPartition& partition) {
    return partition.is_up && (partition.most_nodes == 0 || job.nodes <= partition.most_nodes) &&
           job.nodes >= partition.least_nodes &&
           (partition.most_time_s == 0 || job.time_limit_s <= partition.most_time_s) &&
           // All of a node's memory is what a job has that does not say how much.
           (partition.most_memory_mb == 0 ||
            (job.needs.memory_mb > 0 && !job.needs.memory_per_cpu && job.needs.memory_mb <= partition.most_memory_mb));
  };
  auto names = split(job.needs.partition, ",");
  const auto tier_of = [&](const std::string& name) {
    const auto known = partitions_.find(name);
    return known == partitions_.end() ? 0U : known->second.tier;
  };
  std::ranges::stable_sort(names, std::greater<>(), tier_of);
  std::string best = names.front();
  std::size_t most = 0;
  for (const auto& name : names) {
    const auto known = partitions_.find(name);
    if (known != partitions_.end() && !allows(known->second)) continue;
    const auto excluded = excluded_in(name, job, now_s);
    const auto free = static_cast<std::size_t>(std::ranges::count_if(nodes_, [&](const SlurmNode& node) {
      return !std::ranges::binary_search(excluded, node.name) && !node.unavailable &&
             node.gpus_used + (job.nodes == 0 ? 0 : job.gpus / job.nodes) <= node.gpus;
    }));
    if (free >= job.nodes) return name;
    if (free > most) {
      most = free;
      best = name;
    }
  }
  return best;
}

std::vector<std::string> Eligibility::excluded_in(std::string_view partition, const SlurmJob& job,
                                                  std::int64_t now_s) const {
  const unsigned cpus = job.nodes == 0 ? 0 : (job.needs.cpus + job.nodes - 1) / job.nodes;
  const std::uint64_t memory_mb = job.needs.memory_per_cpu ? job.needs.memory_mb * cpus : job.needs.memory_mb;
  const std::uint64_t gpus = job.nodes == 0 ? 0 : job.gpus / job.nodes;
  std::set<std::string_view> reserved;
  for (const auto& window : windows_) {
    const bool meets =
        job.time_limit_s == 0 ? window.to_s > now_s : window.from_s < now_s + job.time_limit_s && window.to_s > now_s;
    if (meets) reserved.insert(window.nodes.begin(), window.nodes.end());
  }
  std::vector<std::string> excluded = unknown_;
  for (const auto& node : nodes_) {
    const bool is_in_partition =
        partition.empty() || std::ranges::find(node.partitions, partition) != node.partitions.end();
    // Where all of its GPUs are in use Railweave knows of the jobs that use them, and says so better.
    const bool fits = node.cpus >= cpus && node.memory_mb >= memory_mb &&
                      ((node.gpus > 0 && node.gpus_used >= node.gpus) ||
                       (node.idle_cpus >= cpus && (!counts_memory_ || has_memory(node, memory_mb))));
    if (!is_in_partition || !fits || !has_gpus(node, job.needs.gpu_type, gpus) ||
        !has_features(node, job.needs.features) || reserved.contains(node.name)) {
      excluded.push_back(node.name);
    }
  }
  std::ranges::sort(excluded);
  return excluded;
}

unsigned Eligibility::tier(const SlurmJob& job) const {
  unsigned tier = 0;
  for (const auto& name : split(job.needs.partition, ",")) {
    const auto partition = partitions_.find(name);
    if (partition != partitions_.end()) tier = std::max(tier, partition->second.tier);
  }
  return tier;
}

}  // namespace railweave::slurm
