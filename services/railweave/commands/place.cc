// railweave place: asks where a job would go, without changing anything.
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/commands/jobs/gang_request.h"
#include "services/railweave/commands/jobs/job_batch.h"
#include "services/railweave/commands/jobs/job_request.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/views/placement.h"
#include "services/railweave/views/ranks.h"

namespace railweave::cli {
namespace {

struct PlaceOptions {
  JobOptions job;
  std::vector<std::string> files;
  GangOptions gang;
  bool ranks = false;
  std::vector<std::string> runs_on;
  RankOptions shown;
};

// The bandwidth that the job would be guaranteed.
void add_guarantee(Sheet& sheet, const Json& answer) {
  const Json& guarantee = field(answer, "guarantee");
  if (!guarantee.is_object()) return;
  std::string text =
      text_of(guarantee, "guaranteedGbpsPerPort") + " Gb/s per port, class " + text_of(guarantee, "class");
  if (const Json& qos = field(answer, "qos"); field(qos, "serviceLevel").is_number()) {
    text += " (NCCL_IB_SL=" + text_of(qos, "serviceLevel") + " NCCL_IB_TC=" + text_of(qos, "trafficClass") + ")";
  }
  sheet.add("Guaranteed", text);
  if (const Json& reservation = field(answer, "reservation"); reservation.is_object()) {
    std::string reserved =
        "up to " + text_of(reservation, "mostGbpsOnALink") + " Gb/s on " + text_of(reservation, "links") + " links";
    if (count_of(reservation, "reservedPermille") < 1000) {
      reserved += ", over-committed: " + text_of(reservation, "reservedPermille") + " of 1000 of the guarantee";
    }
    sheet.add("Reserved", reserved);
  }
}

void print_full_links(Output& output, const Json& answer) {
  Table table(
      {{"FULL LINK"}, {"REQUESTED", Align::right}, {"RESERVED", Align::right}, {"LIMIT", Align::right}, {"BY"}});
  for (const Json& link : list(answer, "links")) {
    std::string jobs;
    for (const Json& holder : list(link, "holders")) {
      jobs += (jobs.empty() ? "" : ", ") + text_of(holder, "job") + " " + text_of(holder, "gbps");
    }
    table.add({text_of(link, "link"), text_of(link, "wantedGbps"), text_of(link, "reservedGbps"),
               text_of(link, "limitGbps"), jobs.empty() ? "-" : jobs});
  }
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

std::string ms_or_unknown(const Json& answer, FieldName name) {
  return field(answer, name).is_number() ? text_of(answer, name) + " ms a step" : "not predicted";
}

// Of a job that runs already: where it would have been placed.
void advise(Session& session, const Json& job, const std::vector<std::string>& nodes) {
  Output& output = session.output;
  const Json answer = session.service().post(Target("/v1/placements/advice"), {{"job", job}, {"nodes", nodes}});
  if (output.is_document()) return output.document(answer);
  Sheet sheet;
  sheet.add("Advice", text_of(answer, "advice"));
  sheet.add("Communication where it runs", ms_or_unknown(answer, "runsAtMs"));
  sheet.add("Communication there", ms_or_unknown(answer, "communicationMs"));
  if (const Json& gain = field(answer, "gainPermille"); gain.is_number()) {
    sheet.add("Gain", std::to_string(count_of(answer, "gainPermille")) + " of 1000");
  }
  output.text(sheet.text(output.terminal()));
}

void place(Session& session, const PlaceOptions& options) {
  Output& output = session.output;
  const Json body = job_request(options.job);
  if (!options.runs_on.empty()) return advise(session, body, options.runs_on);
  Target target("/v1/placements/query");
  if (options.ranks) target.query("ranks", "true");
  const Json answer = session.service().post(target, body);
  const std::string outcome = text_of(answer, "outcome");
  session.exit_code = exit_code_of_outcome(outcome);
  if (output.is_document()) return output.document(answer);
  note_warnings(output, answer);
  if (outcome != "placed") {
    print_explanation(output, answer);
    return print_full_links(output, answer);
  }
  const Json& ranks = field(answer, "ranks");
  Sheet sheet;
  sheet.add("Outcome", {"can be placed (nothing was changed)", Tone::good});
  sheet.add("GPUs", text_of(ranks, "count"));
  add_placement(sheet, field(answer, "placement"));
  add_prediction(sheet, answer);
  add_guarantee(sheet, answer);
  add_contention(sheet, answer);
  output.text(sheet.text(output.terminal()));
  print_shapes(output, answer);
  print_alternatives(output, answer);
  if (!options.ranks) return;
  output.text("\n");
  print_ranks(output, list(ranks, "items"), count_of(ranks, "count"), parallelism_taken(answer, body), options.shown);
}

// Other options override the fields of each file.
void place_files(Session& session, const PlaceOptions& options) {
  if (options.ranks) fail_usage("--ranks is for one job", "-o json has the ranks of all");
  std::vector<NamedJob> jobs;
  for (const std::string& file : options.files) {
    JobOptions job = options.job;
    job.file = file;
    jobs.push_back({file, job_request(job)});
  }
  ask_batch(session, jobs, gang_of(options.gang));
}

}  // namespace

void add_place_command(CLI::App& root, Session& session) {
  auto options = std::make_shared<PlaceOptions>();
  CLI::App& command =
      add_command(root, "place", "Ask where a job would go, or why it does not fit; changes nothing",
                  {"railweave place --tp 8 --pp 4 --dp 3", "railweave place --tp 8 --dp 16 --ranks -o wide",
                   "railweave place --tp 8 --pp 4 --dp 2 --require pipeline=rack --exclude dgx-044",
                   "railweave place --tp 8 --dp 2 --runs-on dgx-001 --runs-on dgx-017",
                   "railweave place --tp 8 --pp 4 --dp 16 --model model.json", "railweave place -f job.json -o json",
                   "railweave place prefill.json decode.json --role-traffic prefill,decode=2e9"});
  command.group("Jobs");
  add_job_options(command, options->job);
  command.add_option("FILE", options->files, "Jobs in JSON or YAML, as of -f; several are asked about at once");
  add_gang_options(command, options->gang);
  command.add_flag("--ranks", options->ranks, "Print where each rank would run");
  command
      .add_option("--runs-on", options->runs_on,
                  "It runs on this node already: where it would have been placed, and what that would gain; repeatable")
      ->type_name("NODE")
      ->allow_extra_args(false)
      ->excludes(command.get_option("--ranks"));
  add_rank_options(command, options->shown);
  on_run(command, session, [&session, options] {
    if (!options->files.empty() && !options->job.file.empty()) fail_usage("files are named with -f and without it");
    const bool gang = !gang_of(options->gang).is_null();
    if (gang && options->files.empty()) fail_usage("a gang is several files", "one for each role");
    if (options->files.size() > 1 || gang) {
      if (!options->runs_on.empty()) fail_usage("--runs-on is about one job", "name one file");
      return place_files(session, *options);
    }
    if (!options->files.empty()) options->job.file = options->files.front();
    place(session, *options);
  });
}

}  // namespace railweave::cli
