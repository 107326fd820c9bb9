// railweave queue show|list|shares|policy|configure|stranded|defrag.
#include "services/railweave/command_line/listing.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_file.h"

namespace railweave::cli {
namespace {

Cell wait_cell(const Json& job) {
  const Json& waits = field(job, "waits");
  return waits.is_object() ? Cell(text_of(waits, "reason")) : Cell("not looked at yet", Tone::faint);
}

ListView waiting_view() {
  return {
      {number_column("PLACE", "place"),
       text_column("JOB", "id"),
       text_column("NAME", "name"),
       text_column("TENANT", "tenant"),
       text_column("PRIORITY", "priority"),
       number_column("GPUS", "gpus"),
       time_column("SUBMITTED", "submittedAt"),
       {"EXPECTED",
        [](const Json& job) {
          const Json& waits = field(job, "waits");
          return Cell(waits.is_object() && field(waits, "expectedAt").is_string() ? time_of(waits, "expectedAt") : "-");
        }},
       {"WAITS BECAUSE", wait_cell}},
      "nobody waits"};
}

Cell gpus_or(const Json& item, const char* name, const char* none) {
  return field(item, name).is_number() ? Cell(text_of(item, name)) : Cell(none, Tone::faint);
}

std::string percent(const Json& share) {
  const auto tenths = static_cast<std::uint64_t>(share.get<double>() * 1000 + 0.5);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " %";
}

ListView share_view() {
  return {{text_column("TENANT", "tenant"),
           number_column("GPUS HELD", "gpusHeld"),
           number_column("WAITING FOR", "gpusWaiting"),
           {"QUOTA", [](const Json& share) { return gpus_or(share, "quotaGpus", "none"); }, Align::right},
           number_column("BORROWED", "borrowedGpus"),
           {"LIMIT", [](const Json& share) { return gpus_or(share, "maxGpus", "none"); }, Align::right},
           {"SHARE", [](const Json& share) { return Cell(percent(field(share, "share"))); }, Align::right},
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
    if (field(last, "nextLookAt").is_string()) sheet.add("Looks again", time_of(last, "nextLookAt"));
  }
  output.text(sheet.text(output.terminal()));
}

void print_policy(Output& output, const Json& policy) {
  if (output.is_document()) return output.document(policy);
  Sheet sheet;
  for (const auto& [title, name] :
       {std::pair("Backfill", "backfill"), std::pair("Fair share", "fairShare"), std::pair("Half-life", "halfLife"),
        std::pair("Default duration", "defaultDuration"), std::pair("Overrun", "overrun"),
        std::pair("Starves after", "starvationBound"), std::pair("Least run", "leastRun"),
        std::pair("Reclaims from any", "reclaimAnyPriority"), std::pair("Reserved jobs", "reservedJobs"),
        std::pair("Preemption plans", "preemptionPlans")}) {
    sheet.add(title, text_of(policy, name));
  }
  Table table({{"CLASS"}, {"VALUE", Align::right}, {"MAY EVICT"}, {"MAY BE EVICTED"}});
  for (const auto& priority : list(policy, "priorityClasses")) {
    table.add({text_of(priority, "name"), text_of(priority, "value"), flag_of(priority, "mayPreempt") ? "yes" : "no",
               flag_of(priority, "preemptible") ? "yes" : "no"});
  }
  output.text(sheet.text(output.terminal()) + "\n" + table.text(output.terminal()));
}

struct ConfigureOptions {
  std::string file;
  std::string backfill, fair_share, half_life, default_duration, starvation_bound, least_run;
};

void configure(Session& session, const ConfigureOptions& options) {
  const Target target("/v1/queue/policy");
  api::ClientRequest write;
  write.method = api::Method::put;
  write.target = target.text();
  write.content_type = "application/json";
  Json body;
  if (options.file.empty()) {  // what is not given stays as it is
    api::ClientRequest read;
    read.target = target.text();
    const Answer present = session.service().send(read);
    body = present.body;
    body.erase("version");
    if (const auto* etag = present.headers.find("ETag")) write.headers.add("If-Match", *etag);
  } else {
    constexpr std::uint64_t kMaxBytes = 1 << 20;
    body = value_or_fail(parse_json(value_or_fail(read_input(options.file, kMaxBytes)), source_name(options.file)));
  }
  bool changed = !options.file.empty();
  for (const auto& [name, value] :
       {std::pair("backfill", &options.backfill), std::pair("fairShare", &options.fair_share),
        std::pair("halfLife", &options.half_life), std::pair("defaultDuration", &options.default_duration),
        std::pair("starvationBound", &options.starvation_bound), std::pair("leastRun", &options.least_run)}) {
    if (value->empty()) continue;
    body[name] = *value;
    changed = true;
  }
  if (!changed) fail_usage("nothing to change", "railweave queue configure --help lists what can be");
  write.body = body.dump(-1, ' ', false, Json::error_handler_t::replace);
  print_policy(session.output, session.service().send(std::move(write)).body);
}

void stranded(Session& session) {
  const Json answer = session.service().get(Target("/v1/queue/stranded"));
  Output& output = session.output;
  if (output.is_document()) return output.document(answer);
  Sheet sheet;
  sheet.add("Free", text_of(answer, "freeGpus") + " GPUs");
  const auto count = count_of(answer, "strandedGpus");
  sheet.add("Stranded", {std::to_string(count) + " of them", count == 0 ? Tone::good : Tone::warning});
  sheet.add("Asked about", text_of(answer, "jobsAskedAbout") +
                               (text_of(answer, "jobsAskedAbout") == "1" ? " shape of job" : " shapes of jobs"));
  output.text(sheet.text(output.terminal()));
  Table table({{"JOB"}, {"STRANDS", Align::right}});
  for (const auto& job : list(answer, "beside")) table.add({text_of(job, "job"), text_of(job, "gpus")});
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

struct DefragOptions {
  bool dry_run = false;
  std::uint64_t steps = 16;
  std::string restart = "PT5M";
};

void defrag(Session& session, const DefragOptions& options) {
  if (!options.dry_run) {
    fail_usage("running jobs are not moved from here",
               "--dry-run lists the moves; each is made by checkpointing the job, ending it and submitting it again");
  }
  Target target("/v1/queue/defragmentation");
  target.query("steps", std::to_string(options.steps)).query("restart", options.restart);
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
      const auto node = [&](const char* end) {
        return ranks.empty() ? std::string("-")
                             : text_of(field(ranks.front(), end), "node") + (ranks.size() > 1 ? " ..." : "");
      };
      table.add({first ? std::to_string(number) : "", first ? joined(list(step, "frees"), 3) : "",
                 first ? text_of(step, "freedGpus") : "", text_of(move, "job"), std::to_string(ranks.size()),
                 text_of(move, "costGpuSeconds"), node("from"), node("to")});
      first = false;
    }
  }
  if (table.rows() == 0) return output.note("no moves would free a whole NVLink domain");
  output.text(table.text(output.terminal()));
}

}  // namespace

void add_queue_commands(CLI::App& root, Session& session) {
  CLI::App& queue = add_noun(root, "queue", "Jobs that wait, why, and by which rules", "Jobs");
  CLI::App& show_command = add_command(queue, "show", "The queue in numbers", {"railweave queue show"});
  on_run(show_command, session, [&session] { show_queue(session); });

  struct ListOptions {
    std::string tenant;
    std::uint64_t limit = 0;
  };
  auto listed = std::make_shared<ListOptions>();
  CLI::App& list_command = add_command(queue, "list", "Who waits, in order, and why",
                                       {"railweave queue list", "railweave queue list --tenant research"});
  list_command.add_option("--tenant", listed->tenant, "Of this tenant")->type_name("NAME");
  add_limit_option(list_command, listed->limit);
  on_run(list_command, session, [&session, listed] {
    print_list(session, Target("/v1/queue/jobs").filter("tenant", listed->tenant), waiting_view(), listed->limit);
  });

  auto limit = std::make_shared<std::uint64_t>(0);
  CLI::App& shares_command =
      add_command(queue, "shares", "What each tenant holds, borrows and waits for", {"railweave queue shares"});
  add_limit_option(shares_command, *limit);
  on_run(shares_command, session,
         [&session, limit] { print_list(session, Target("/v1/queue/shares"), share_view(), *limit); });

  CLI::App& policy_command = add_command(queue, "policy", "The rules: priority classes, backfill, fair share",
                                         {"railweave queue policy", "railweave queue policy -o json > policy.json"});
  on_run(policy_command, session,
         [&session] { print_policy(session.output, session.service().get(Target("/v1/queue/policy"))); });

  auto changes = std::make_shared<ConfigureOptions>();
  CLI::App& configure_command =
      add_command(queue, "configure", "Change the rules; what is not given stays as it is",
                  {"railweave queue configure --backfill conservative", "railweave queue configure -f policy.json"});
  configure_command.add_option("-f,--file", changes->file, "All rules, as JSON; - for standard input")
      ->type_name("FILE");
  configure_command.add_option("--backfill", changes->backfill, "What may pass a job that waits for GPUs")
      ->type_name("none|easy|conservative");
  configure_command.add_option("--fair-share", changes->fair_share, "Whose turn it is within a class")
      ->type_name("none|running|decayed");
  configure_command.add_option("--half-life", changes->half_life, "Of what tenants used")->type_name("DURATION");
  configure_command.add_option("--default-duration", changes->default_duration, "Of a job that does not say")
      ->type_name("DURATION");
  configure_command
      .add_option("--starvation-bound", changes->starvation_bound, "After it nothing passes a waiting job")
      ->type_name("DURATION");
  configure_command.add_option("--least-run", changes->least_run, "Nobody is evicted sooner after its start")
      ->type_name("DURATION");
  on_run(configure_command, session, [&session, changes] { configure(session, *changes); });

  CLI::App& stranded_command = add_command(
      queue, "stranded", "Free GPUs that no job can use, and the jobs that strand them", {"railweave queue stranded"});
  on_run(stranded_command, session, [&session] { stranded(session); });

  auto moves = std::make_shared<DefragOptions>();
  CLI::App& defrag_command =
      add_command(queue, "defrag", "Moves of running jobs that would free whole NVLink domains",
                  {"railweave queue defrag --dry-run", "railweave queue defrag --dry-run --restart PT15M"});
  defrag_command.add_flag("--dry-run", moves->dry_run, "List them; nothing is moved");
  defrag_command.add_option("--steps", moves->steps, "At most so many")->type_name("COUNT")->check(CLI::Range(0, 256));
  defrag_command.add_option("--restart", moves->restart, "How long a job is down for a move")->type_name("DURATION");
  on_run(defrag_command, session, [&session, moves] { defrag(session, *moves); });
}

}  // namespace railweave::cli
