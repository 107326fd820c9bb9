#include "services/railweave/lab/replay/job_trace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <unordered_map>

#include <fmt/core.h>

#include "fabric/base/byte_order_mark.h"
#include "fabric/base/decimal_number.h"
#include "fabric/base/whole_number.h"
#include "scheduler/collective/traffic.h"

namespace railweave::cli {
namespace {

std::unexpected<Error> unreadable(std::string_view source, std::size_t line, std::string message,
                                  std::string hint = {}) {
  return fail(ErrorKind::malformed, "lab.unreadableTrace", std::move(message), fmt::format("{}, line {}", source, line),
              std::move(hint));
}

constexpr std::size_t kMaxColumns = 64;

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (cells.size() < kMaxColumns) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  return cells;
}

// "2017-10-09 07:01:55", a 'T' between and a 'Z' at the end allowed, as seconds since 1970.
std::optional<std::int64_t> time_of(std::string_view text) {
  if (text.ends_with('Z')) text.remove_suffix(1);
  if (text.size() != 19 || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':') return std::nullopt;
  if (text[10] != ' ' && text[10] != 'T') return std::nullopt;
  const auto number = [&](std::size_t at, std::size_t digits) {
    int value = 0;
    for (std::size_t i = at; i < at + digits; ++i) {
      if (text[i] < '0' || text[i] > '9') return -1;
      value = value * 10 + (text[i] - '0');
    }
    return value;
  };
  const int year = number(0, 4), month = number(5, 2), day = number(8, 2);
  const int hour = number(11, 2), minute = number(14, 2), second = number(17, 2);
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31) return std::nullopt;
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return std::nullopt;
  // Howard Hinnant, days_from_civil.
  const std::int64_t y = month <= 2 ? year - 1 : year;
  const std::int64_t era = y / 400;
  const std::int64_t of_era = y - era * 400;
  const std::int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  const std::int64_t days = era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
  return days * 86'400 + std::int64_t{hour} * 3600 + std::int64_t{minute} * 60 + second;
}

}  // namespace

Result<JobTrace> read_philly_trace(std::string_view text, std::string_view source) {
  if (text.starts_with("\x1f\x8b")) {
    return unreadable(source, 1, "this is a gzip file", "gunzip -c FILE | railweave lab replay - ...");
  }
  text = without_byte_order_mark(text);
  enum Column : std::size_t { kTime, kDuration, kGpus, kCluster, kColumns };
  constexpr std::array<std::string_view, kColumns> kNames = {"timestamp", "duration", "num_gpus", "cluster"};
  std::array<std::size_t, kColumns> at{};
  at.fill(SIZE_MAX);
  JobTrace trace;
  std::unordered_map<std::string, std::uint32_t> tenants;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const auto cells = cells_of(line);
    if (at[kTime] == SIZE_MAX) {
      for (std::size_t column = 0; column < kColumns; ++column) {
        const auto found = std::ranges::find(cells, kNames[column]);
        if (found != cells.end()) at[column] = static_cast<std::size_t>(found - cells.begin());
        if (found == cells.end() && column != kCluster) {
          return unreadable(source, number, fmt::format("there is no column '{}'", kNames[column]),
                            "the first line names the columns: timestamp,duration,num_gpus,gpu_time,cluster");
        }
      }
      continue;
    }
    const auto cell = [&](Column column) { return at[column] < cells.size() ? cells[at[column]] : std::string_view(); };
    const auto wrong = [&](Column column, std::string_view expected) {
      return unreadable(source, number,
                        fmt::format("{} '{}' is not {}", kNames[column], cell(column).substr(0, 40), expected));
    };
    TraceJob job;
    const auto time = time_of(cell(kTime));
    if (!time) return wrong(kTime, "a time as 2017-10-09 07:01:55");
    job.submitted_s = *time;
    const auto seconds = decimal_number(cell(kDuration));
    if (!seconds || *seconds < 0 || *seconds > static_cast<double>(scheduler::JobSpec::kMaxDurationS)) {
      return wrong(kDuration, "a number of seconds, at most ten years");
    }
    job.runs_s = std::max<std::int64_t>(1, std::llround(*seconds));
    job.gpus = whole_number<decltype(job.gpus)>(cell(kGpus), scheduler::JobSpec::kMaxRanks).value_or(0);
    if (job.gpus == 0) return wrong(kGpus, "a number of GPUs, at least 1");
    std::string tenant = at[kCluster] == SIZE_MAX ? "all" : std::string(cell(kCluster).substr(0, 64));
    if (tenant.empty()) tenant = "none";
    const auto [known, added] = tenants.emplace(tenant, static_cast<std::uint32_t>(trace.tenants.size()));
    if (added) trace.tenants.push_back(std::move(tenant));
    job.tenant = known->second;
    if (trace.tenants.size() > kMaxTraceTenants || trace.jobs.size() == kMaxTraceJobs) {
      return fail(ErrorKind::tooLarge, "lab.traceTooLarge", "the trace has more than 2,000,000 jobs or 10,000 tenants",
                  fmt::format("{}, line {}", source, number));
    }
    trace.jobs.push_back(job);
  }
  if (trace.jobs.empty()) return unreadable(source, number, "the trace has no jobs");
  std::ranges::stable_sort(trace.jobs, {}, &TraceJob::submitted_s);
  const std::int64_t first = trace.jobs.front().submitted_s;
  for (TraceJob& job : trace.jobs) job.submitted_s -= first;
  return trace;
}

scheduler::JobSpec trace_job_spec(std::uint32_t gpus, std::uint32_t domain_gpus) {
  scheduler::JobSpec spec;
  std::uint32_t tensor = 1;
  while (gpus % (tensor * 2) == 0 && tensor * 2 <= domain_gpus) tensor *= 2;
  spec.parallelism.tensor = tensor;
  spec.parallelism.data = gpus / tensor;
  return spec;
}

scheduler::JobSpec heavy_job_spec(std::uint32_t gpus) {
  scheduler::JobSpec spec;
  spec.parallelism.data = gpus;
  spec.model = scheduler::assumed_model(spec.parallelism);
  spec.model->sharding = scheduler::Sharding::parameters;
  spec.model->global_batch = gpus;
  spec.model->overlap_data = 0;
  return spec;
}

void ask_for_segments(scheduler::JobSpec& spec, std::uint32_t gpus_per_node) {
  const std::uint32_t gpus = spec.parallelism.tensor * spec.parallelism.data;
  for (const std::uint32_t nodes : {16U, 4U, 1U}) {
    if (gpus % (nodes * gpus_per_node) != 0) continue;
    spec.parallelism.tensor = nodes * gpus_per_node;
    spec.parallelism.data = gpus / spec.parallelism.tensor;
    return;
  }
}

}  // namespace railweave::cli
