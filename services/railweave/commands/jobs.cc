// railweave jobs list|show|ranks|cancel|complete (jobs submit is in job_submit.cc).
#include "services/railweave/command_line/listing.h"
#include "services/railweave/terminal/printable.h"
#include "services/railweave/views/job.h"
#include "services/railweave/views/ranks.h"

namespace railweave::cli {
namespace {

constexpr const char* kStates = "queued|placed|completed|cancelled|lost";

ListView jobs_view() {
  return {{text_column("JOB", "id"),
           text_column("NAME", "name"),
           text_column("TENANT", "tenant"),
           {"STATE", [](const Json& job) { return job_state_cell(job); }},
           number_column("GPUS", "gpus"),
           number_column("NODES", "nodes"),
           text_column("WITHIN ONE", "level"),
           time_column("SUBMITTED", "submittedAt"),
           time_column("ENDED", "endedAt", true),
           text_column("PRIORITY", "priority", true)},
          "no jobs"};
}

void show_job(Session& session, const std::string& id) {
  const Json job = session.service().get(Target("/v1/jobs").segment(id));
  if (session.output.is_document()) return session.output.document(job);
  print_job(session.output, job);
}

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
    return output.document(Json{{"items", std::move(ranks)}, {"nextCursor", end.next_cursor}, {"seq", end.seq}});
  }
  print_ranks(output, ranks, count, field(field(job, "spec"), "parallelism"), options);
}

void print_rank_text(Session& session, const std::string& id, const std::string& format) {
  Target target("/v1/jobs");
  target.segment(id).path("/ranks").query("format", format);
  session.output.text(session.service().get_text(target));
}

void end_job(Session& session, const std::string& id, bool cancel, const std::string& reason) {
  api::ClientRequest request;
  request.method = cancel ? api::Method::del : api::Method::post;
  Target target("/v1/jobs");
  target.segment(id);
  if (!cancel) target.path("/complete");
  request.target = target.filter("reason", reason).text();
  const Answer answer = session.service().send(std::move(request));
  Output& output = session.output;
  if (output.is_document()) {
    if (answer.body.is_object()) output.document(answer.body);
    return;
  }
  const std::string state = answer.body.is_object() ? text_of(answer.body, "state") : "ended";
  const std::string wanted = cancel ? "cancelled" : "completed";
  Sheet sheet;
  sheet.add(printable(id), {state == wanted || state == "ended" ? state : state + " already", Tone::plain});
  output.text(sheet.text(output.terminal()));
}

struct JobListOptions {
  std::string tenant, state, name;
  std::uint64_t limit = 0;
};
struct EndOptions {
  std::string id, reason;
};

void add_end_command(CLI::App& jobs, Session& session, bool cancel) {
  auto options = std::make_shared<EndOptions>();
  CLI::App& command = cancel ? add_command(jobs, "cancel", "End a job and free its GPUs",
                                           {"railweave jobs cancel job-000003 --reason 'wrong branch'"})
                             : add_command(jobs, "complete", "Say that a job has ended by itself",
                                           {"railweave jobs complete job-000003"});
  command.add_option("JOB", options->id, "Its id")->required();
  command.add_option("--reason", options->reason, "For its history")->type_name("TEXT");
  on_run(command, session, [&session, options, cancel] { end_job(session, options->id, cancel, options->reason); });
}

}  // namespace

void add_job_commands(CLI::App& root, Session& session) {
  CLI::App& jobs = add_noun(root, "jobs", "Jobs: submit, list, show, ranks, cancel", "Jobs");
  jobs.alias("job");
  add_job_submit_command(jobs, session);
  add_job_repair_commands(jobs, session);

  auto options = std::make_shared<JobListOptions>();
  CLI::App& list_command =
      add_command(jobs, "list", "Jobs that wait or run, and those that ended lately",
                  {"railweave jobs list --tenant research", "railweave jobs list --state placed -o json"});
  list_command.add_option("--tenant", options->tenant, "Of this tenant")->type_name("NAME");
  list_command.add_option("--state", options->state, "In this state")->type_name(kStates);
  list_command.add_option("--name", options->name, "Of this name")->type_name("NAME");
  add_limit_option(list_command, options->limit);
  on_run(list_command, session, [&session, options] {
    Target target("/v1/jobs");
    target.filter("tenant", options->tenant).filter("state", options->state).filter("name", options->name);
    print_list(session, target, jobs_view(), options->limit);
  });

  auto shown = std::make_shared<std::string>();
  CLI::App& show_command =
      add_command(jobs, "show", "One job: where it is, and its history", {"railweave jobs show job-000001"});
  show_command.add_option("JOB", *shown, "Its id")->required();
  on_run(show_command, session, [&session, shown] { show_job(session, *shown); });

  struct RanksOptions {
    std::string id, format;
    RankOptions shown;
  };
  auto ranked = std::make_shared<RanksOptions>();
  CLI::App& ranks_command =
      add_command(jobs, "ranks", "Where each rank of a job runs: node, GPU, NIC, rail, coordinates",
                  {"railweave jobs ranks job-000001 --all", "railweave jobs ranks job-000001 -o wide",
                   "railweave jobs ranks job-000001 --format slurm > hosts"});
  ranks_command.add_option("JOB", ranked->id, "Its id")->required();
  add_rank_options(ranks_command, ranked->shown);
  ranks_command.add_option("--format", ranked->format, "As a launcher reads them, instead of a table")
      ->type_name("hostfile|slurm|torchrun|mpi|nccl")
      ->excludes("--limit");  // a launcher needs all of them
  on_run(ranks_command, session, [&session, ranked] {
    if (ranked->format.empty()) return print_all_ranks(session, ranked->id, ranked->shown);
    print_rank_text(session, ranked->id, ranked->format);
  });

  add_end_command(jobs, session, true);
  add_end_command(jobs, session, false);
}

}  // namespace railweave::cli
