// railweave jobs hold|release|change|move.
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/jobs/job_commands.h"
#include "services/railweave/commands/jobs/job_name.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/views/job.h"

namespace railweave::cli {
namespace {

constexpr ResourceKind kChangedJob{"/v1/jobs", "job", "JOB", kJobMeaning, print_job};

Json change_job(Session& session, const std::string& id, const Json& body) {
  return session.service()
      .send(json_request(api::Method::patch, Target(kChangedJob.path).segment(job_id_of(session, id)), body))
      .body;
}

void hold_job(Session& session, const std::string& id, bool hold, const std::string& reason) {
  Json body{{"hold", hold}};
  if (!reason.empty()) body["reason"] = reason;
  const Json job = change_job(session, id, body);
  Output& output = session.output;
  if (output.is_document()) return output.document(job);
  Sheet sheet;
  sheet.add(id, {hold ? "held" : text_of(job, "state"), Tone::plain});
  output.text(sheet.text(output.terminal()));
}

void add_hold_command(CLI::App& jobs, Session& session, bool hold) {
  auto reason = std::make_shared<std::string>();
  CLI::App& command =
      hold ? add_command(jobs, "hold", "Hold a job that waits: it keeps its place and does not start",
                         {"railweave jobs hold job-000003 --reason 'data set is being copied'"})
           : add_command(jobs, "release", "Release a job that is held", {"railweave jobs release job-000003"});
  auto names = add_names(command, kChangedJob);
  command.add_option("--reason", *reason, "Reason for the job's history")->type_name("TEXT");
  on_run(command, session, [&session, names, reason, hold] {
    for_each_name(session, *names, [&](const std::string& id) { hold_job(session, id, hold, *reason); });
  });
}

struct ChangeOptions {
  std::string id, priority, not_before, duration, min_runtime, reason;
  std::vector<std::string> exclude;
  bool any_node = false;
};

// "none" takes a field back.
void put_or_null(Json& body, const char* name, const std::string& value) {
  if (!value.empty()) body[name] = value == "none" ? Json(nullptr) : Json(value);
}

void change(Session& session, const ChangeOptions& options) {
  Json body = Json::object();
  if (!options.priority.empty()) body["priority"] = options.priority;
  put_or_null(body, "notBefore", options.not_before);
  put_or_null(body, "expectedDuration", options.duration);
  put_or_null(body, "minRuntime", options.min_runtime);
  if (!options.exclude.empty()) body["excludeNodes"] = options.exclude;
  if (options.any_node) body["excludeNodes"] = nullptr;
  if (body.empty()) fail_usage("nothing is to be changed", "give --priority, --not-before, --duration, --exclude, ...");
  if (!options.reason.empty()) body["reason"] = options.reason;
  print_resource(session, kChangedJob, change_job(session, options.id, body));
}

void add_change_command(CLI::App& jobs, Session& session) {
  auto options = std::make_shared<ChangeOptions>();
  CLI::App& command = add_command(jobs, "change", "Change a job; one that runs in its durations only",
                                  {"railweave jobs change job-000003 --priority high",
                                   "railweave jobs change job-000003 --not-before none --exclude dgx-017"});
  command.add_option("JOB", options->id, kJobMeaning)->required();
  command.add_option("--priority", options->priority, "Priority class")->type_name("NAME");
  command.add_option("--not-before", options->not_before, "Start no earlier than this (RFC 3339); none: at any time")
      ->type_name("TIME");
  command.add_option("--duration", options->duration, "Expected duration, such as PT36H; none: not known")
      ->type_name("DURATION");
  command
      .add_option("--min-runtime", options->min_runtime,
                  "Run at least this long before eviction; none: as the queue's policy says")
      ->type_name("DURATION");
  CLI::Option* exclude =
      command
          .add_option("--exclude", options->exclude, "Not on this node, instead of those excluded so far; repeatable")
          ->type_name("NODE")
          ->allow_extra_args(false);
  command.add_flag("--exclude-none", options->any_node, "Exclude no node any more")->excludes(exclude);
  command.add_option("--reason", options->reason, "Reason for the job's history")->type_name("TEXT");
  on_run(command, session, [&session, options] { change(session, *options); });
}

struct MoveOptions {
  std::string id, before, after, reason;
};

void add_move_command(CLI::App& jobs, Session& session) {
  auto options = std::make_shared<MoveOptions>();
  CLI::App& command = add_command(
      jobs, "move", "Put a job that waits next to another of its tenant and priority",
      {"railweave jobs move job-000012 --before job-000007", "railweave jobs move job-000007 --after job-000012"});
  command.add_option("JOB", options->id, kJobMeaning)->required();
  CLI::Option* before = command.add_option("--before", options->before, "Directly before this job")->type_name("JOB");
  command.add_option("--after", options->after, "Directly after this job")->type_name("JOB")->excludes(before);
  command.add_option("--reason", options->reason, "Reason for the job's history")->type_name("TEXT");
  on_run(command, session, [&session, options] {
    if (options->before.empty() && options->after.empty()) fail_usage("say where to: --before or --after another job");
    Json body = Json::object();
    const bool after = options->before.empty();
    body[after ? "after" : "before"] = job_id_of(session, after ? options->after : options->before);
    if (!options->reason.empty()) body["reason"] = options->reason;
    print_resource(session, kChangedJob, change_job(session, options->id, body));
  });
}

}  // namespace

void add_job_change_commands(CLI::App& jobs, Session& session) {
  add_hold_command(jobs, session, true);
  add_hold_command(jobs, session, false);
  add_change_command(jobs, session);
  add_move_command(jobs, session);
}

}  // namespace railweave::cli
