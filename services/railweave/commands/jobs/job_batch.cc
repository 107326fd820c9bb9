#include "services/railweave/commands/jobs/job_batch.h"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/printable.h"
#include "services/railweave/views/job.h"
#include "services/railweave/views/placement.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kBatch = 1'000;

std::string fresh_key() {
  std::random_device device;
  std::string key = "submit-";
  for (int i = 0; i < 4; ++i) {
    char text[9];
    std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(device()));
    key += text;
  }
  return key;
}

ExitCode exit_code_of_item(const Json& item, const std::string& server) {
  const Json& problem = field(item, "problem");
  if (!problem.is_object()) return ExitCode::ok;
  if (field(problem, "outcome").is_string()) return exit_code_of_outcome(text_of(problem, "outcome"));
  return exit_code_of(problem_error(static_cast<int>(count_of(item, "status")), problem.dump(), server));
}

}  // namespace

void submit_batch(Session& session, const std::vector<NamedJob>& jobs, const std::string& key, const Json& gang) {
  if (!gang.is_null() && jobs.size() > kBatch) fail_usage(fmt::format("a gang has at most {} jobs", kBatch));
  const std::string first = key.empty() ? fresh_key() : key;
  Output& output = session.output;
  Json answers = Json::array();
  Table table({{"FILE"}, {"JOB"}, {"OUTCOME"}, {"REASON"}});
  for (std::size_t from = 0; from < jobs.size(); from += kBatch) {
    Json items = Json::array();
    const std::size_t to = std::min(jobs.size(), from + kBatch);
    for (std::size_t i = from; i < to; ++i) {
      items.push_back(jobs[i].body);
      items.back()["key"] = fmt::format("{}-{}", first, i);
    }
    Json body{{"items", std::move(items)}};
    if (!gang.is_null()) body["gang"] = gang;
    const Json answer = session.service().post(Target("/v1/jobs/batch"), body);
    std::size_t at = from;
    for (const auto& item : list(answer, "items")) {
      const Json& job = field(item, "job");
      const Json& problem = field(item, "problem");
      const ExitCode code = exit_code_of_item(item, session.service().url());
      if (session.exit_code == ExitCode::ok) session.exit_code = code;
      const std::string source = at < jobs.size() ? jobs[at++].source : "-";
      if (job.is_object()) {
        const Json& waits = field(job, "waits");
        table.add({printable(source), text_of(job, "id"), job_state_cell(job),
                   waits.is_object() ? text_of(waits, "reason") : std::string("-")});
      } else {
        table.add({printable(source), "-", {"refused", Tone::bad}, text_of(problem, "detail")});
      }
      answers.push_back(item);
    }
  }
  if (output.is_document()) return output.document(Json{{"items", std::move(answers)}});
  output.text(table.text(output.terminal()));
}

void ask_batch(Session& session, const std::vector<NamedJob>& jobs, const Json& gang) {
  if (jobs.size() > kBatch) fail_usage(fmt::format("at most {} jobs can be asked about at once", kBatch));
  Output& output = session.output;
  Json items = Json::array();
  for (const NamedJob& job : jobs) items.push_back(job.body);
  Json body{{"items", std::move(items)}};
  if (!gang.is_null()) body["gang"] = gang;
  Target target("/v1/placements/query/batch");
  target.query("ranks", "true");
  const Json answer = session.service().post(target, body);
  Table table(
      {{"FILE"}, {"OUTCOME"}, {"COMMUNICATION", Align::right}, {"WITH ROLES", Align::right}, {"NODES"}, {"REASON"}});
  std::size_t at = 0;
  for (const auto& item : list(answer, "items")) {
    const Json& placed = field(item, "placement");
    const Json& predicted = field(placed, "predicted");
    const std::string outcome = placed.is_object() ? text_of(placed, "outcome") : "refused";
    ExitCode code =
        placed.is_object() ? exit_code_of_outcome(outcome) : exit_code_of_item(item, session.service().url());
    if (session.exit_code == ExitCode::ok) session.exit_code = code;
    std::vector<std::string> nodes;
    for (const auto& rank : list(field(placed, "ranks"), "items")) {
      const std::string node = text_of(rank, "node");
      if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
    }
    const std::string names = fmt::format("{}", fmt::join(nodes, ", "));
    const std::string reason =
        placed.is_object() ? text_of(placed, "reason") : text_of(field(item, "problem"), "detail");
    table.add({printable(at < jobs.size() ? jobs[at++].source : "-"),
               {outcome == "placed" ? "can be placed" : outcome_text(outcome),
                outcome == "placed" ? Tone::good : Tone::warning},
               milliseconds(field(predicted, "communicationMs")),
               milliseconds(field(field(predicted, "byGroup"), "roles")),
               names.empty() ? "-" : names,
               reason});
  }
  if (output.is_document()) return output.document(answer);
  output.text(table.text(output.terminal()));
}

}  // namespace railweave::cli
