// railweave jobs list|show|ranks|cancel|complete; submit is in job_submit.cc, the other changes in job_adopt.cc, job_change.cc, job_repair.cc.
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/jobs/job_commands.h"
#include "services/railweave/commands/jobs/job_name.h"
#include "services/railweave/terminal/printable.h"
#include "services/railweave/views/job.h"
#include "services/railweave/views/placement.h"
#include "services/railweave/views/ranks.h"

namespace railweave::cli {
namespace {

ListView jobs_view() {
  return {
      {text_column("JOB", "id"),
       text_column("NAME", "name"),
       text_column("TENANT", "tenant"),
       {"STATE", [](const Json& job) { return job_state_cell(job); }},
       number_column("GPUS", "gpus"),
       number_column("NODES", "nodes"),
       {"FITS IN", [](const Json& job) { return Cell(level_text(text_of(job, "level"))); }},
       spare_time_column("SUBMITTED", "submittedAt"),
       age_column("submittedAt"),
       time_column("ENDED", "endedAt", true),
       text_column("PRIORITY", "priority", true),
       {"COMES FROM", [](const Json& job) { return Cell(origin_text(field(job, "external"))); }, Align::left, true}},
      "no jobs"};
}

constexpr ResourceKind kJob{"/v1/jobs", "job", "JOB", kJobMeaning, print_job, nullptr, job_id_of};

void print_all_ranks(Session& session, const std::string& id, const RankOptions& options) {
  Output& output = session.output;
  const Json job = session.service().get(Target("/v1/jobs").segment(id));
  const std::uint64_t count = count_of(field(job, "ranks"), "count");
  const std::uint64_t wanted = ranks_shown(output, count, options);
  Json ranks = Json::array();
  const auto end = session.service().each_item(
      Target("/v1/jobs").segment(id).path("/ranks"), wanted == count ? 0 : wanted,
      [&](const Json& rank) { ranks.push_back(rank); }, [&] { ranks.clear(); });
  if (output.is_document()) {
    return output.document(Json{{"items", std::move(ranks)},
                                {"outside", field(end.beside, "outside")},
                                {"nextCursor", end.next_cursor},
                                {"seq", end.seq}});
  }
  print_ranks(output, ranks, count, field(field(job, "spec"), "parallelism"), options);
  note_outside(output, field(end.beside, "outside"));
}

void print_rank_text(Session& session, const std::string& id, const std::string& format, bool with_script) {
  Target target("/v1/jobs");
  target.segment(id).path("/ranks").query("format", format);
  if (with_script) target.query("withScript", "true");
  session.output.text(session.service().get_text(target));
}

struct EndOptions {
  std::string reason;
  bool freed = false;
};

void end_job(Session& session, const std::string& id, bool cancel, const EndOptions& options) {
  api::ClientRequest request;
  request.method = cancel ? api::Method::del : api::Method::post;
  Target target("/v1/jobs");
  target.segment(id);
  if (!cancel) target.path("/complete");
  if (options.freed) target.query("freed", "true");
  request.target = target.filter("reason", options.reason).text();
  const Answer answer = session.service().send(std::move(request));
  Output& output = session.output;
  if (output.is_document()) {
    if (answer.body.is_object()) output.document(answer.body);
    return;
  }
  const std::string state = answer.body.is_object() ? text_of(answer.body, "state") : "ended";
  const std::string wanted = cancel ? "cancelled" : "completed";
  const bool releasing = answer.body.is_object() && text_of(answer.body, "phase") == "releasing";
  Sheet sheet;
  sheet.add(printable(id), {releasing                             ? "releasing: its launcher has to free its GPUs"
                            : state == wanted || state == "ended" ? state
                                                                  : "already " + state,
                            Tone::plain});
  output.text(sheet.text(output.terminal()));
}

// What it holds and what ending it frees.
void show_what_would_end(Session& session, const std::string& id, bool cancel) {
  const Json job = session.service().get(Target("/v1/jobs").segment(id));
  if (session.output.is_document()) return session.output.document(job);
  const bool holds = text_of(job, "state") == "placed";
  Sheet sheet;
  sheet.add(printable(id), text_of(job, "name") + " of " + text_of(job, "tenant") + ", " + text_of(job, "state"));
  sheet.add("Would free", holds ? text_of(job, "gpus") + " GPUs on " + text_of(job, "nodes") + " nodes" : "nothing");
  session.output.text(sheet.text(session.output.terminal()));
  note_dry_run(session, id + (cancel ? " would be cancelled" : " would be completed"));
}

void add_end_command(CLI::App& jobs, Session& session, bool cancel) {
  auto options = std::make_shared<EndOptions>();
  CLI::App& command =
      cancel ? add_command(jobs, "cancel", "Cancel a job and free its GPUs",
                           {"railweave jobs cancel job-000003 --reason 'wrong branch'",
                            "railweave jobs cancel llama-70b --dry-run"})
             : add_command(jobs, "complete", "Report that a job has ended by itself",
                           {"railweave jobs complete job-000003", "railweave jobs complete job-000003 --freed"});
  auto names = add_names(command, kJob);
  command.add_option("--reason", options->reason, "Reason for the job's history")->type_name("TEXT");
  command.add_flag("--freed", options->freed,
                   "Its processes have ended: free its GPUs without waiting for its launcher");
  auto dry_run = add_dry_run(command, "Only show which job would end, and what that would free");
  on_run(command, session, [&session, options, names, cancel, dry_run] {
    for_each_name(session, *names, [&](const std::string& name) {
      const std::string id = job_id_of(session, name);
      *dry_run ? show_what_would_end(session, id, cancel) : end_job(session, id, cancel, *options);
    });
  });
}

void add_ranks_command(CLI::App& jobs, Session& session) {
  struct RanksOptions {
    std::string id, format;
    bool with_script = false;
    RankOptions shown;
  };
  auto options = std::make_shared<RanksOptions>();
  CLI::App& command =
      add_command(jobs, "ranks", "Show where each rank of a job runs: node, GPU, NIC, rail, coordinates",
                  {"railweave jobs ranks job-000001 --all", "railweave jobs ranks job-000001 -o wide",
                   "railweave jobs ranks job-000001 --format script > ranks.sh",
                   "railweave jobs ranks job-000001 --format slurm --with-script > hosts",
                   "SLURM_HOSTFILE=hosts srun --distribution=arbitrary sh ranks.sh python train.py",
                   "railweave jobs ranks job-000001 --format mpi > ranks", "mpirun --rankfile ranks python train.py"});
  command.add_option(kJob.argument, options->id, kJob.meaning)->required();
  add_rank_options(command, options->shown);
  command.add_option("--format", options->format, "Print all ranks in the format of a launcher")
      ->type_name("hostfile|slurm|torchrun|mpi|nccl|script")
      ->excludes("--limit");  // a launcher needs all ranks
  command
      .add_flag("--with-script", options->with_script,
                "The program runs under the file of --format script, which gives each rank its GPU")
      ->needs("--format");
  on_run(command, session, [&session, options] {
    const std::string id = job_id_of(session, options->id);
    if (options->format.empty()) return print_all_ranks(session, id, options->shown);
    print_rank_text(session, id, options->format, options->with_script);
  });
}

}  // namespace

void add_job_commands(CLI::App& root, Session& session) {
  CLI::App& jobs = add_noun(root, "jobs", "Jobs: submit, list, show, ranks, change, cancel", "Jobs");
  jobs.alias("job");
  add_job_submit_command(jobs, session);
  add_job_adopt_command(jobs, session);
  add_job_change_commands(jobs, session);
  add_job_repair_commands(jobs, session);
  add_job_launch_commands(jobs, session);

  add_list_command(jobs, session, "List jobs that wait or run, and those that ended recently",
                   {"railweave jobs list --tenant research", "railweave jobs list --state placed -o json",
                    "railweave jobs list --sort-by GPUS --reverse --watch",
                    "railweave jobs cancel $(railweave jobs list --name sweep -o name)"},
                   {"/v1/jobs",
                    jobs_view(),
                    {{"--tenant", "tenant", "NAME", "Only jobs of this tenant"},
                     {"--state", "state", "queued|placed|completed|cancelled|lost", "Only jobs in this state"},
                     {"--name", "name", "NAME", "Only jobs of this name"}}});
  add_show_command(jobs, session, kJob, "Show a job: its placement, prediction and history",
                   {"railweave jobs show job-000001", "railweave jobs show llama-70b"});
  add_ranks_command(jobs, session);
  add_job_ports_command(jobs, session);
  add_job_traffic_command(jobs, session);
  add_job_steps_command(jobs, session);
  add_end_command(jobs, session, true);
  add_end_command(jobs, session, false);
}

}  // namespace railweave::cli
