// railweave queue show|list|shares|stranded|defrag|moves; policy and configure are in queue_policy.cc.
#include <fmt/core.h>

#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

Cell wait_cell(const Json& job) {
  const Json& waits = field(job, "waits");
  return waits.is_object() ? Cell(text_of(waits, "reason")) : Cell("not considered yet", Tone::faint);
}

ListView waiting_view() {
  return {
      {number_column("POSITION", "place"),
       text_column("JOB", "id"),
       text_column("NAME", "name"),
       text_column("TENANT", "tenant"),
       text_column("PRIORITY", "priority"),
       number_column("GPUS", "gpus"),
       spare_time_column("SUBMITTED", "submittedAt"),
       age_column("submittedAt"),
       {"EXPECTED",
        [](const Json& job) {
          const Json& waits = field(job, "waits");
          return Cell(waits.is_object() && field(waits, "expectedAt").is_string() ? time_of(waits, "expectedAt") : "-");
        }},
       {"REASON", wait_cell}},
      "no jobs wait"};
}

Cell gpus_or(const Json& item, FieldName name, const char* none) {
  return field(item, name).is_number() ? Cell(text_of(item, name)) : Cell(none, Tone::faint);
}

ListView shares_view() {
  return {{text_column("TENANT", "tenant"),
           number_column("GPUS HELD", "gpusHeld"),
           number_column("GPUS WAITING FOR", "gpusWaiting"),
           {"QUOTA", [](const Json& share) { return gpus_or(share, "quotaGpus", "none"); }, Align::right},
           number_column("BORROWED", "borrowedGpus"),
           {"LIMIT", [](const Json& share) { return gpus_or(share, "maxGpus", "none"); }, Align::right},
           {"SHARE", [](const Json& share) { return Cell(percent_of(share, "share")); }, Align::right},
           text_column("COHORT", "cohort"),
           text_column("WEIGHT", "weight", true)},
          "no tenants"};
}

void show_queue(Session& session) {
  const Json queue = session.service().get(Target("/v1/queue"));
  Output& output = session.output;
  if (output.is_document()) return output.document(queue);
  Sheet sheet;
  sheet.add("Waiting", text_of(queue, "waiting") + " jobs for " + text_of(queue, "gpusWaiting") + " GPUs");
  if (field(queue, "oldestSubmittedAt").is_string())
    sheet.add("Oldest", "since " + time_of(queue, "oldestSubmittedAt"));
  sheet.add("Running", text_of(queue, "running") + " jobs");
  sheet.add("Free", text_of(queue, "freeGpus") + " of " + text_of(queue, "totalGpus") + " GPUs");
  if (const Json& last = field(queue, "lastCycle"); last.is_object()) {
    sheet.add("Last cycle", time_of(last, "time") + ", " + text_of(last, "tookUs") + " us");
    if (field(last, "nextLookAt").is_string()) sheet.add("Next cycle", time_of(last, "nextLookAt"));
  }
  output.text(sheet.text(output.terminal()));
}

void stranded(Session& session) {
  const Json answer = session.service().get(Target("/v1/queue/stranded"));
  Output& output = session.output;
  if (output.is_document()) return output.document(answer);
  Sheet sheet;
  sheet.add("Free", text_of(answer, "freeGpus") + " GPUs");
  const auto count = count_of(answer, "strandedGpus");
  sheet.add("Stranded", {fmt::format("{} of them", count), count == 0 ? Tone::good : Tone::warning});
  sheet.add("Job shapes", text_of(answer, "jobsAskedAbout"));
  output.text(sheet.text(output.terminal()));
  Table table({{"JOB"}, {"STRANDS", Align::right}});
  for (const auto& job : list(answer, "beside")) table.add({text_of(job, "job"), text_of(job, "gpus")});
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

struct DefragOptions {
  bool dry_run = false, carry_out = false;
  std::string target = "domains";
  std::uint64_t steps = 16;
  std::string restart = "PT5M";
};

// Moves that are offered or under way.
Table moves_table(const Json& answer) {
  Table table({{"JOB"},
               {"STATE"},
               {"FOR"},
               {"RANKS", Align::right},
               {"COST (GPU s)", Align::right},
               {"FROM"},
               {"TO"},
               {"UNTIL"}});
  for (const auto& move : list(answer, "moves")) {
    const Json& ranks = list(move, "ranks");
    const auto node = [&](FieldName end) {
      const bool known = !ranks.empty() && field(ranks.front(), end).is_object();
      return known ? text_of(field(ranks.front(), end), "node") + (ranks.size() > 1 ? " ..." : "") : std::string("-");
    };
    table.add({text_of(move, "job"), text_of(move, "state"),
               field(move, "inFavourOf").is_string() ? text_of(move, "inFavourOf") : "domains",
               std::to_string(ranks.size()), text_of(move, "lostGpuSeconds"), node("from"), node("to"),
               time_of(move, "until")});
  }
  return table;
}

void print_moves(Output& output, const Json& answer) {
  if (output.is_document()) return output.document(answer);
  Table table = moves_table(answer);
  if (table.rows() == 0) return output.note("no job is offered another place");
  output.text(table.text(output.terminal()));
}

void defrag(Session& session, const DefragOptions& options) {
  if (options.carry_out) {
    if (options.dry_run) fail_usage("--dry-run and --carry-out exclude each other", "leave one of them out");
    const Json body{{"for", options.target}, {"steps", options.steps}};
    return print_moves(session.output, session.service().post(Target("/v1/queue/moves"), body));
  }
  Target target("/v1/queue/defragmentation");
  target.query("for", options.target);
  if (options.target == "domains") {
    target.query("steps", std::to_string(options.steps)).query("restart", options.restart);
  }
  const Json answer = session.service().get(target);
  Output& output = session.output;
  if (output.is_document()) return output.document(answer);
  Table table({{"STEP", Align::right},
               {"FREES"},
               {"GPUS", Align::right},
               {"MOVE"},
               {"RANKS", Align::right},
               {"COST (GPU s)", Align::right},
               {"FROM"},
               {"TO"}});
  std::size_t number = 0;
  for (const auto& step : list(answer, "steps")) {
    ++number;
    bool first = true;
    for (const auto& move : list(step, "moves")) {
      const Json& ranks = list(move, "ranks");
      const auto node = [&](FieldName end) {
        return ranks.empty() ? std::string("-")
                             : text_of(field(ranks.front(), end), "node") + (ranks.size() > 1 ? " ..." : "");
      };
      table.add({first ? std::to_string(number) : "", first ? joined(list(step, "frees"), 3) : "",
                 first ? text_of(step, "freedGpus") : "", text_of(move, "job"), std::to_string(ranks.size()),
                 text_of(move, "costGpuSeconds"), node("from"), node("to")});
      first = false;
    }
  }
  if (table.rows() == 0) return output.note("no move would free a whole NVLink domain");
  output.text(table.text(output.terminal()));
}

}  // namespace

void add_queue_commands(CLI::App& root, Session& session) {
  CLI::App& queue = add_noun(root, "queue", "Waiting jobs and the rules of the queue", "Jobs");
  CLI::App& show_command = add_command(queue, "show", "Show a summary of the queue", {"railweave queue show"});
  on_run(show_command, session, [&session] { show_queue(session); });

  add_list_command(queue, session, "List waiting jobs in order, and why each waits",
                   {"railweave queue list", "railweave queue list --tenant research"},
                   {"/v1/queue/jobs", waiting_view(), {{"--tenant", "tenant", "NAME", "Only jobs of this tenant"}}});
  CLI::App& shares_command = add_command(queue, "shares", "List the GPUs that each tenant holds, borrows and waits for",
                                         {"railweave queue shares"});
  add_list(shares_command, session, {"/v1/queue/shares", shares_view()});
  add_queue_policy_commands(queue, session);

  CLI::App& stranded_command =
      add_command(queue, "stranded", "Show free GPUs that no job can use, and the jobs that strand them",
                  {"railweave queue stranded"});
  on_run(stranded_command, session, [&session] { stranded(session); });

  auto moves = std::make_shared<DefragOptions>();
  CLI::App& defrag_command = add_command(queue, "defrag", "Plan moves of running jobs, and offer them",
                                         {"railweave queue defrag", "railweave queue defrag --for head",
                                          "railweave queue defrag --for job-000012 --carry-out"});
  defrag_command
      .add_option("--for", moves->target,
                  "What jobs move for: whole NVLink domains, the first job that waits for GPUs, or this job")
      ->type_name("domains|head|JOB");
  defrag_command.add_flag("--dry-run", moves->dry_run, "List the moves alone, as without --carry-out");
  defrag_command.add_flag(
      "--carry-out", moves->carry_out,
      "Offer the moves to their jobs' launchers: of jobs that are checkpointable, within the budget");
  defrag_command.add_option("--steps", moves->steps, "Most steps to plan")
      ->type_name("COUNT")
      ->check(CLI::Range(0, 256));
  defrag_command.add_option("--restart", moves->restart, "Time that a job is down for a move")->type_name("DURATION");
  on_run(defrag_command, session, [&session, moves] { defrag(session, *moves); });

  CLI::App& moves_command =
      add_command(queue, "moves", "List jobs that are offered another place or move there", {"railweave queue moves"});
  on_run(moves_command, session,
         [&session] { print_moves(session.output, session.service().get(Target("/v1/queue/moves"))); });
}

}  // namespace railweave::cli
