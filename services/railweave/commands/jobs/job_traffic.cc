// railweave jobs traffic: which GPUs of a job send to which others, as predicted.
#include <algorithm>
#include <functional>
#include <vector>

#include <fmt/core.h>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/jobs/job_commands.h"
#include "services/railweave/commands/jobs/job_name.h"
#include "services/railweave/terminal/formatted.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kPairsShown = 40;
constexpr double kGigabyte = 1e9;

std::string end_of(const Json& answer, const Json& pair, FieldName side) {
  const Json& at = field(pair, side);
  const Json& ends = list(answer, "ends");
  const bool is_end = at.is_number_unsigned() && at.get<std::size_t>() < ends.size();
  return is_end ? ends[at.get<std::size_t>()].get<std::string>() : "switches";
}

double bytes_of(const Json& pair) { return field(pair, "bytes").is_number() ? field(pair, "bytes").get<double>() : 0; }

void print_roles(Output& output, const Json& roles) {
  Table table({{"ROLE"}, {"JOB"}, {"TRAFFIC"}, {"GB A STEP", Align::right}, {"GBPS", Align::right}, {"OVER"}});
  for (const Json& role : roles) {
    const Json& gbps = field(role, "gbps");
    table.add({text_of(role, "role"), text_of(role, "job"),
               field(role, "sends") == true ? "sent to it" : "received from it",
               formatted("%.3f", bytes_of(role) / kGigabyte),
               gbps.is_number() ? formatted("%.2f", gbps.get<double>()) : "-", text_of(role, "over")});
  }
  output.text("\n" + table.text(output.terminal()));
}

void print_traffic(Session& session, const std::string& id) {
  Output& output = session.output;
  const Json answer = session.service().get(Target("/v1/jobs").segment(id).path("/traffic"));
  if (output.is_document()) return output.document(answer);
  std::vector<Json> pairs(list(answer, "pairs").begin(), list(answer, "pairs").end());
  if (pairs.empty() && list(answer, "roles").empty()) return output.note("no GPUs of it send to others");
  std::ranges::stable_sort(pairs, std::ranges::greater{}, bytes_of);
  Table table({{"FROM"}, {"TO"}, {"GB A STEP", Align::right}, {"GBPS", Align::right}, {"OVER"}, {"GROUPS"}});
  for (std::size_t i = 0; i < std::min(pairs.size(), kPairsShown); ++i) {
    const Json& gbps = field(pairs[i], "gbps");
    table.add({end_of(answer, pairs[i], "from"), end_of(answer, pairs[i], "to"),
               formatted("%.3f", bytes_of(pairs[i]) / kGigabyte),
               gbps.is_number() ? formatted("%.2f", gbps.get<double>()) : "-", text_of(pairs[i], "over"),
               joined(list(pairs[i], "groups"), 3)});
  }
  if (!pairs.empty()) output.text(table.text(output.terminal()));
  if (!list(answer, "roles").empty()) print_roles(output, list(answer, "roles"));
  if (pairs.size() <= kPairsShown) return;
  output.flush();
  output.note(
      fmt::format("the first {} of {} pairs, those that send most; -o json has all", kPairsShown, pairs.size()));
}

}  // namespace

void add_job_traffic_command(CLI::App& jobs, Session& session) {
  auto id = std::make_shared<std::string>();
  CLI::App& command = add_command(jobs, "traffic", "Show which GPUs of a job send to which others, as predicted",
                                  {"railweave jobs traffic job-000123", "railweave jobs traffic job-000123 -o json"});
  command.add_option("JOB", *id, kJobMeaning)->required();
  on_run(command, session, [&session, id] { print_traffic(session, job_id_of(session, *id)); });
}

}  // namespace railweave::cli
