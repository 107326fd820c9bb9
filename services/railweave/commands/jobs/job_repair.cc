// railweave jobs repair|checkpoint.

#include <fmt/core.h>

#include "fabric/base/whole_number.h"
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/jobs/job_commands.h"
#include "services/railweave/commands/jobs/job_name.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/views/job.h"
#include "services/railweave/views/placement.h"

namespace railweave::cli {
namespace {

struct RepairOptions {
  bool guarantee = false;
  std::string id, reason;
  std::vector<std::string> nodes, gpus;
  bool dry_run = false;
};

Json gpu_named(const std::string& text) {
  const auto colon = text.rfind(':');
  const auto number = colon == std::string::npos || colon == 0
                          ? std::nullopt
                          : whole_number<std::uint32_t>(std::string_view(text).substr(colon + 1));
  if (!number) {
    fail_usage("'" + text + "' is not a GPU", "name it as NODE:INDEX, such as dgx-017:3");
  }
  return {{"node", text.substr(0, colon)}, {"gpu", *number}};
}

std::string gpu_text(const Json& gpu) { return text_of(gpu, "node") + ":" + text_of(gpu, "gpu"); }

std::string gpu_hours(const Json& seconds) {
  if (!seconds.is_number()) return "-";
  const auto tenths = static_cast<std::uint64_t>(seconds.get<double>() / 360.0);
  return fmt::format("{}.{}", tenths / 10, tenths % 10);
}

void print_plan(Output& output, const Json& plan) {
  if (output.is_document()) return output.document(plan);
  Sheet sheet;
  sheet.add("Job", text_of(plan, "job"));
  sheet.add("Lost GPUs", std::to_string(list(plan, "lost").size()));
  if (!list(plan, "drains").empty()) sheet.add("Drains", joined(list(plan, "drains"), 6));
  sheet.add("Moves", flag_of(plan, "placedAnew")
                         ? std::string("the whole job: no exchange of GPUs satisfies its requirements")
                         : fmt::format("{} ranks, within one {}", list(plan, "moves").size(),
                                       level_text(text_of(plan, "within"))));
  const auto per_step = [&](FieldName name) { return milliseconds(field(field(plan, name), "communicationMs")); };
  sheet.add("Communication",
            per_step("predictedBefore") + " per step before, " + per_step("predictedAfter") + " after");
  sheet.add("Lost work", gpu_hours(field(plan, "lostGpuSeconds")) + " GPU hours since its last checkpoint");
  sheet.add("Dry run", "nothing was changed");
  Table table({{"RANK", Align::right}, {"FROM"}, {"TO"}});
  for (const auto& move : list(plan, "moves")) {
    table.add({text_of(move, "rank"), gpu_text(field(move, "from")), gpu_text(field(move, "to"))});
  }
  output.text(sheet.text(output.terminal()) + "\n" + table.text(output.terminal()));
}

void repair(Session& session, const RepairOptions& options) {
  Json body = Json::object();
  if (!options.nodes.empty()) body["nodes"] = options.nodes;
  for (const auto& gpu : options.gpus) body["gpus"].push_back(gpu_named(gpu));
  if (options.guarantee) body["guarantee"] = true;
  if (!options.reason.empty()) body["reason"] = options.reason;
  Target target("/v1/jobs");
  target.segment(job_id_of(session, options.id)).path("/repair");
  if (options.dry_run) target.query("dryRun", "true");
  const Json answer = session.service().post(target, body);
  if (options.dry_run) return print_plan(session.output, answer);
  if (session.output.is_document()) return session.output.document(answer);
  print_job(session.output, answer);
}

void checkpoint(Session& session, const std::string& id, const std::string& at) {
  api::ClientRequest request;
  request.method = api::Method::post;
  request.target = Target("/v1/jobs").segment(id).path("/checkpoint").filter("at", at).text();
  const Answer answer = session.service().send(std::move(request));
  if (session.output.is_document()) return session.output.document(answer.body);
  Sheet sheet;
  sheet.add(id, "checkpointed at " + time_of(answer.body, "checkpointedAt"));
  session.output.text(sheet.text(session.output.terminal()));
}

}  // namespace

void add_job_repair_commands(CLI::App& jobs, Session& session) {
  auto options = std::make_shared<RepairOptions>();
  CLI::App& repair_command = add_command(jobs, "repair", "Move a job's ranks away from lost nodes, GPUs and links",
                                         {"railweave jobs repair job-000123 --dry-run",
                                          "railweave jobs repair job-000123 --gpu dgx-017:3 --reason 'Xid 79'"});
  repair_command.add_option("JOB", options->id, kJobMeaning)->required();
  const auto repeated = [&](const char* name, std::vector<std::string>& into, const char* type, const char* about) {
    repair_command.add_option(name, into, about)->type_name(type)->allow_extra_args(false);
  };
  repeated("--node", options->nodes, "NODE", "This node is lost too; it is drained. Repeatable");
  repeated("--gpu", options->gpus, "NODE:INDEX", "This GPU is lost; it is drained, its node is not. Repeatable");
  repair_command.add_option("--reason", options->reason, "Reason for the job's history")->type_name("TEXT");
  repair_command.add_flag("--guarantee", options->guarantee,
                          "Nothing is lost: move ranks away from links too full for the job's guarantee");
  repair_command.add_flag("--dry-run", options->dry_run, "Only show which ranks would move");
  on_run(repair_command, session, [&session, options] { repair(session, *options); });

  struct CheckpointOptions {
    std::string id, at;
  };
  auto checkpoint_options = std::make_shared<CheckpointOptions>();
  CLI::App& checkpoint_command =
      add_command(jobs, "checkpoint", "Report that a job has saved its state, so that eviction loses less",
                  {"railweave jobs checkpoint job-000123"});
  checkpoint_command.add_option("JOB", checkpoint_options->id, kJobMeaning)->required();
  checkpoint_command.add_option("--at", checkpoint_options->at, "Time of the checkpoint (RFC 3339); now by default")
      ->type_name("TIME");
  on_run(checkpoint_command, session, [&session, checkpoint_options] {
    checkpoint(session, job_id_of(session, checkpoint_options->id), checkpoint_options->at);
  });
}

}  // namespace railweave::cli
