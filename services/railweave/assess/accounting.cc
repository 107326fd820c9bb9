// Reads what sacct tells of jobs that have ended: `sacct -a -X -P -S now-31days --format=JobID,User,Submit,Start,End,
// State,AllocTRES,NNodes,NodeList`, or `sacct --json`. Times of the first form are local and without a zone: only
// differences between them count.
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/lower_case.h"
#include "fabric/base/text/time_text.h"
#include "fabric/base/whole_number.h"
#include "fabric/formats/slurm/hostlist.h"
#include "services/railweave/assess/running_jobs.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kMaxPastJobs = 2'000'000;
constexpr std::size_t kMaxHostsOfJob = 100'000;
constexpr std::int64_t kMicroseconds = 1'000'000;

std::vector<std::string_view> cells_of_row(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const auto bar = line.find('|');
    cells.push_back(line.substr(0, bar));
    if (bar == std::string_view::npos) return cells;
    line.remove_prefix(bar + 1);
  }
}

// "2026-11-02T10:00:00", or seconds since 1970.
std::optional<std::int64_t> accounting_time(std::string_view text) {
  if (const auto seconds = whole_number<std::int64_t>(text)) return seconds;
  const auto time = parse_time_us(std::string(text) + "Z");
  return time ? std::optional(*time / kMicroseconds) : std::nullopt;
}

class AccountingTable {
 public:
  AccountingTable(const SiteFile& file, JobList<PastJob>& jobs) : file_(file), jobs_(jobs) {}

  void read() {
    std::string_view text = file_.text;
    for (std::size_t number = 1; !text.empty(); ++number) {
      const auto end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line.empty()) continue;
      const auto cells = cells_of_row(line);
      if (columns_.empty()) {
        set_columns(cells);
      } else if (jobs_.jobs.size() < kMaxPastJobs) {
        read_row(cells, number);
      } else {
        jobs_.leave_out(fmt::format("{}, line {}: more than two million jobs", file_.name, number));
      }
    }
  }

 private:
  void set_columns(const std::vector<std::string_view>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) columns_.emplace(lower_case(cells[i]), i);
    for (const char* name : {"jobid", "submit", "start", "end"}) {
      if (columns_.contains(name)) continue;
      throw CommandFailure(Error{
          ErrorKind::malformed, "sacct.column", fmt::format("there is no column '{}'", name), file_.name + ": line 1",
          "sacct -a -X -P --format=JobID,User,Submit,Start,End,State,AllocTRES,NNodes,NodeList"});
    }
  }

  void read_row(const std::vector<std::string_view>& cells, std::size_t number) {
    const auto cell = [&](const char* name) {
      const auto found = columns_.find(name);
      return found == columns_.end() || found->second >= cells.size() ? std::string_view() : cells[found->second];
    };
    const std::string_view id = cell("jobid");
    if (id.find('.') != std::string_view::npos) return;  // a step of a job
    const auto submitted = accounting_time(cell("submit")), started = accounting_time(cell("start")),
               ended = accounting_time(cell("end"));
    if (!submitted || !started || !ended || *ended <= *started || *started < *submitted) {
      const bool never_ran = cell("start") == "None" || cell("start") == "Unknown" || cell("end") == "Unknown" ||
                             (started && ended && *started == *ended);
      if (!never_ran) {
        jobs_.leave_out(fmt::format("{}, line {}: its times are not in order, or no times", file_.name, number));
      }
      return;
    }
    PastJob job{.id = std::string(id),
                .user = std::string(cell("user")),
                .submitted_s = *submitted,
                .started_s = *started,
                .ended_s = *ended,
                .hosts = {}};
    job.gpus = gpus_of_tres(std::string(cell(columns_.contains("alloctres") ? "alloctres" : "reqtres")));
    if (auto hosts = fabric::expand_hostlist(cell("nodelist"), kMaxHostsOfJob)) job.hosts = std::move(*hosts);
    job.nodes = static_cast<std::uint32_t>(job.hosts.size());
    jobs_.jobs.push_back(std::move(job));
  }

  const SiteFile& file_;
  JobList<PastJob>& jobs_;
  std::map<std::string, std::size_t> columns_;
};

std::uint32_t gpus_of_list(const Json& tres) {
  std::uint64_t typed = 0;
  for (const Json& one : tres) {
    if (text_of(one, "type") != "gres") continue;
    const std::string name = text_of(one, "name");
    if (name == "gpu") return static_cast<std::uint32_t>(count_of(one, "count"));
    if (name.starts_with("gpu:")) typed += count_of(one, "count");
  }
  return static_cast<std::uint32_t>(typed);
}

// 7, or {"set": true, "infinite": false, "number": 7}, by version and field; 0: not told.
std::int64_t slurm_time(const Json& value) {
  const Json& number = value.is_object() && flag_of(value, foreign("set")) ? field(value, foreign("number")) : value;
  return number.is_number_unsigned() ? number.get<std::int64_t>() : 0;
}

void read_accounting_json(const SiteFile& file, JobList<PastJob>& jobs) {
  const Json document = value_or_fail(parse_json(file.text, file.name));
  std::size_t row = 0;
  for (const Json& one : list(document, "jobs")) {
    ++row;
    const auto leave_out = [&](const char* why) { jobs.leave_out(fmt::format("{}, row {}: {}", file.name, row, why)); };
    const Json& time = field(one, "time");
    if (!time.is_object()) {
      leave_out("it tells no times of a job");
      continue;
    }
    PastJob job{.id = text_of(one, foreign("job_id")), .user = text_of(one, foreign("user")), .hosts = {}};
    job.submitted_s = slurm_time(field(time, foreign("submission")));
    job.started_s = slurm_time(field(time, foreign("start")));
    job.ended_s = slurm_time(field(time, foreign("end")));
    if (job.started_s == 0 || job.ended_s == 0 || job.ended_s == job.started_s) continue;  // it never ran, or runs yet
    if (job.ended_s < job.started_s || job.started_s < job.submitted_s) {
      leave_out("its times are not in order");
      continue;
    }
    job.gpus = gpus_of_list(list(field(one, foreign("tres")), foreign("allocated")));
    const Json& nodes = field(one, "nodes");
    if (nodes.is_string()) {
      if (auto hosts = fabric::expand_hostlist(nodes.get<std::string>(), kMaxHostsOfJob)) job.hosts = std::move(*hosts);
    }
    job.nodes = static_cast<std::uint32_t>(job.hosts.size());
    if (jobs.jobs.size() < kMaxPastJobs) {
      jobs.jobs.push_back(std::move(job));
    } else {
      leave_out("more than two million jobs");
    }
  }
}

}  // namespace

void read_accounting(const SiteFile& file, JobList<PastJob>& list) {
  if (file.text.find_first_not_of(" \t\r\n") != std::string::npos &&
      file.text[file.text.find_first_not_of(" \t\r\n")] == '{') {
    return read_accounting_json(file, list);
  }
  AccountingTable(file, list).read();
}

}  // namespace railweave::cli
