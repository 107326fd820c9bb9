#include "services/railweave/commands/jobs/job_name.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

constexpr std::string_view kIdStart = "job-";
constexpr std::size_t kNamed = 8;  // of several jobs of a name, in the message

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_id(std::string_view name) { return name.starts_with(kIdStart) && is_number(name.substr(kIdStart.size())); }

// "job-000005" for 5.
std::string id_of_number(const std::string& number) {
  constexpr std::size_t kDigits = 6;
  return fmt::format("{}{}{}", kIdStart, std::string(kDigits - std::min(kDigits, number.size()), '0'), number);
}

bool has_ended(const Json& job) { return text_of(job, "state") != "placed" && text_of(job, "state") != "queued"; }

[[noreturn]] void fail_ambiguous(const std::string& name, const std::vector<Json>& jobs) {
  std::string text;
  for (std::size_t i = 0; i < std::min(jobs.size(), kNamed); ++i) {
    text += (i == 0 ? "" : ", ") + text_of(jobs[i], "id") + " (" + text_of(jobs[i], "tenant") + ", " +
            text_of(jobs[i], "state") + ")";
  }
  if (jobs.size() > kNamed) text += fmt::format(" and {} more", jobs.size() - kNamed);
  throw CommandFailure({ErrorKind::conflict,
                        "cli.ambiguousName",
                        fmt::format("{} jobs are called '{}': {}", jobs.size(), name, text),
                        {},
                        "give the id of one; railweave jobs list --name '" + name + "' lists them"});
}

}  // namespace

std::string job_id_of(Session& session, const std::string& name) {
  if (is_id(name)) return name;
  std::vector<Json> jobs;
  const auto list = [&](std::string_view by) {
    session.service().each_item(
        Target("/v1/jobs").query(by, name), 0, [&](const Json& job) { jobs.push_back(job); }, [&] { jobs.clear(); });
  };
  list("name");
  if (jobs.empty() && name.find('/') != std::string::npos) list("external");
  if (std::ranges::any_of(jobs, [](const Json& job) { return !has_ended(job); })) std::erase_if(jobs, has_ended);
  if (jobs.size() == 1) return text_of(jobs.front(), "id");
  if (!jobs.empty()) fail_ambiguous(name, jobs);
  throw CommandFailure({ErrorKind::notFound,
                        "jobs.notFound",
                        "there is no job with the id or the name '" + name + "'",
                        {},
                        is_number(name) ? "did you mean " + id_of_number(name) + "? railweave jobs list lists them"
                                        : "railweave jobs list lists them"});
}

}  // namespace railweave::cli
