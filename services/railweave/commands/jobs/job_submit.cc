// railweave jobs submit.
#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/jobs/gang_request.h"
#include "services/railweave/commands/jobs/job_batch.h"
#include "services/railweave/commands/jobs/job_commands.h"
#include "services/railweave/commands/jobs/job_request.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/views/job.h"
#include "services/railweave/views/placement.h"
#include "services/railweave/views/ranks.h"

namespace railweave::cli {
namespace {

struct SubmitOptions {
  JobOptions job;
  std::string idempotency_key;
  bool ranks = false, queue = false;
  std::vector<std::string> files;
  std::string not_before;
  GangOptions gang;
  RankOptions shown;
};

// The service reports "not now" and "never" as problems that carry an outcome: an answer, not a failure.
void print_refusal(Session& session, const Answer& answer) {
  Output& output = session.output;
  session.exit_code = exit_code_of_outcome(text_of(answer.body, "outcome"));
  if (output.is_document()) {
    output.document(answer.body);
  } else {
    print_explanation(output, answer.body);
  }
}

Json submission(const SubmitOptions& options, const JobOptions& job) {
  Json body = job_request(job);
  if (options.queue || !options.not_before.empty()) body["queue"] = true;
  if (!options.not_before.empty()) body["notBefore"] = options.not_before;
  return body;
}

// Other options override the fields of each file.
void submit_files(Session& session, const SubmitOptions& options) {
  if (options.ranks) fail_usage("--ranks is for one job", "railweave jobs ranks JOB prints them afterwards");
  std::vector<NamedJob> jobs;
  for (const std::string& file : options.files) {
    JobOptions job = options.job;
    job.file = file;
    jobs.push_back({file, submission(options, job)});
  }
  submit_batch(session, jobs, options.idempotency_key, gang_of(options.gang));
}

void submit(Session& session, const SubmitOptions& options) {
  Output& output = session.output;
  Json body = submission(options, options.job);
  api::ClientRequest request = json_request(api::Method::post, Target("/v1/jobs"), body);
  if (!options.idempotency_key.empty()) request.headers.add("Idempotency-Key", options.idempotency_key);
  const Answer answer =
      session.service().send(std::move(request), [](int status) { return status == 409 || status == 422; });
  if (answer.status >= 400) {
    if (field(answer.body, "outcome").is_string()) return print_refusal(session, answer);
    throw CommandFailure(problem_error(answer.status, answer.body.dump(), session.service().url()));
  }
  const Json& job = answer.body;
  if (output.is_document()) return output.document(job);
  print_job(output, job);
  const std::string id = text_of(job, "id");
  if (!options.ranks || text_of(job, "state") != "placed") return;
  Json ranks = Json::array();
  const std::uint64_t count = count_of(field(job, "ranks"), "count");
  const std::uint64_t wanted = ranks_shown(output, count, options.shown);
  output.flush();  // the job exists even if fetching its ranks fails
  const auto end = session.service().each_item(
      Target("/v1/jobs").segment(id).path("/ranks"), wanted == count ? 0 : wanted,
      [&](const Json& rank) { ranks.push_back(rank); }, [&] { ranks.clear(); });
  output.text("\n");
  print_ranks(output, ranks, count, field(field(job, "spec"), "parallelism"), options.shown);
  note_outside(output, field(end.beside, "outside"));
}

}  // namespace

void add_job_submit_command(CLI::App& jobs, Session& session) {
  auto options = std::make_shared<SubmitOptions>();
  CLI::App& command = add_command(
      jobs, "submit", "Place a job, or queue it",
      {"railweave jobs submit --tenant research --name llama --tp 8 --pp 4 --dp 3",
       "railweave jobs submit -f job.json --idempotency-key $(uuidgen)", "railweave jobs submit -f job.json --ranks",
       "railweave jobs submit -f job.json --queue", "railweave jobs submit sweep/*.json --queue",
       "railweave jobs submit prefill.json decode.json --gang --together prefill,decode=rack",
       "railweave jobs submit prefill.json decode.json --role-traffic prefill,decode=2e9"});
  command.add_option("FILE", options->files, "Jobs in JSON or YAML, as of -f; several are submitted at once");
  add_job_options(command, options->job);
  command
      .add_option("--idempotency-key", options->idempotency_key,
                  "Unique key of this request: repeating the request with it creates no second job")
      ->type_name("KEY");
  command.add_flag("--queue", options->queue, "Queue the job if it cannot start now");
  command.add_option("--not-before", options->not_before, "Queue the job and start it no earlier than this (RFC 3339)")
      ->type_name("TIME");
  add_gang_options(command, options->gang);
  command.add_flag("--ranks", options->ranks, "Print where each rank runs");
  add_rank_options(command, options->shown);
  on_run(command, session, [&session, options] {
    if (!options->files.empty() && !options->job.file.empty()) fail_usage("files are named with -f and without it");
    const bool gang = !gang_of(options->gang).is_null();
    if (gang && options->files.empty()) fail_usage("a gang is several files", "one for each role");
    if (options->files.size() > 1 || gang) return submit_files(session, *options);
    if (!options->files.empty()) options->job.file = options->files.front();
    submit(session, *options);
  });
}

}  // namespace railweave::cli
