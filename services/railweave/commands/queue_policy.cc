// railweave queue policy|configure.
#include <optional>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_document.h"
#include "services/railweave/terminal/input_file.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

const char* const kPolicyPath = "/v1/queue/policy";

void print_policy(Output& output, const Json& policy) {
  if (output.is_document()) return output.document(policy);
  Sheet sheet;
  struct Line {
    const char* title;
    FieldName name;
  };
  for (const auto& [title, name] : {Line{"Backfill", "backfill"},
                                    Line{"Fair share", "fairShare"},
                                    Line{"Half-life", "halfLife"},
                                    Line{"Default duration", "defaultDuration"},
                                    Line{"Overrun", "overrun"},
                                    Line{"Starves after", "starvationBound"},
                                    Line{"Minimum runtime", "minRuntime"},
                                    Line{"Reclaims from any priority", "reclaimAnyPriority"},
                                    Line{"Reserved jobs", "reservedJobs"},
                                    Line{"Preemption plans", "preemptionPlans"},
                                    Line{"Waits for a better place", "placeWait"},
                                    Line{"with its place", "placeWaitPlace"},
                                    Line{"of its duration", "placeWaitShare"},
                                    Line{"for a gain above", "placeWaitGain"},
                                    Line{"Moves", "moves"},
                                    Line{"after a wait of", "moveAfter"},
                                    Line{"losing an hour (GPU s)", "moveBudget"},
                                    Line{"at once", "movesAtOnce"},
                                    Line{"answered within", "moveAnswer"},
                                    Line{"without an answer", "moveUnanswered"}}) {
    sheet.add(title, text_of(policy, name));
  }
  Table table({{"CLASS"}, {"VALUE", Align::right}, {"MAY EVICT"}, {"MAY BE EVICTED"}});
  for (const auto& priority : list(policy, "priorityClasses")) {
    table.add({text_of(priority, "name"), text_of(priority, "value"), flag_of(priority, "mayPreempt") ? "yes" : "no",
               flag_of(priority, "preemptible") ? "yes" : "no"});
  }
  output.text(sheet.text(output.terminal()) + "\n" + table.text(output.terminal()));
}

struct PolicyOptions {
  std::string file;
  std::string backfill, fair_share, half_life, default_duration, starvation_bound, min_runtime, place_wait,
      place_wait_place, moves, move_after, move_answer, move_unanswered;
  std::optional<double> place_wait_share, place_wait_gain, move_budget;
  std::optional<std::uint32_t> moves_at_once;
};

// With options of single rules the others keep their value, and the service refuses the change if the policy was changed
// since it was read; with a file the whole policy is replaced.
void configure(Session& session, const PolicyOptions& options) {
  Json changes = Json::object();
  for (const auto& [name, value] :
       {std::pair("backfill", &options.backfill), std::pair("fairShare", &options.fair_share),
        std::pair("halfLife", &options.half_life), std::pair("defaultDuration", &options.default_duration),
        std::pair("starvationBound", &options.starvation_bound), std::pair("minRuntime", &options.min_runtime),
        std::pair("placeWait", &options.place_wait), std::pair("placeWaitPlace", &options.place_wait_place),
        std::pair("moves", &options.moves), std::pair("moveAfter", &options.move_after),
        std::pair("moveAnswer", &options.move_answer), std::pair("moveUnanswered", &options.move_unanswered)}) {
    if (!value->empty()) changes[name] = *value;
  }
  if (options.place_wait_share) changes["placeWaitShare"] = *options.place_wait_share;
  if (options.place_wait_gain) changes["placeWaitGain"] = *options.place_wait_gain;
  if (options.move_budget) changes["moveBudget"] = *options.move_budget;
  if (options.moves_at_once) changes["movesAtOnce"] = *options.moves_at_once;
  const Target target(kPolicyPath);
  Resource policy;
  if (!options.file.empty()) {
    policy.body = value_or_fail(read_document(options.file, kMaxJobFileBytes));
  } else if (changes.empty()) {
    fail_usage("nothing to change", "railweave queue configure --help lists the options");
  } else {
    policy = session.service().read(target);
    if (policy.body.is_object()) policy.body.erase("version");
  }
  if (!changes.empty()) policy.body.update(changes);
  print_policy(session.output, session.service().put(target, policy.body, policy.etag));
}

}  // namespace

void add_queue_policy_commands(CLI::App& queue, Session& session) {
  CLI::App& policy_command = add_command(queue, "policy", "Show the rules: priority classes, backfill, fair share",
                                         {"railweave queue policy", "railweave queue policy -o json > policy.json"});
  on_run(policy_command, session,
         [&session] { print_policy(session.output, session.service().get(Target(kPolicyPath))); });

  auto options = std::make_shared<PolicyOptions>();
  CLI::App& configure_command =
      add_command(queue, "configure", "Change the rules; options not given keep their value",
                  {"railweave queue configure --backfill conservative", "railweave queue configure -f policy.json"});
  configure_command.add_option("-f,--file", options->file, "The whole policy in JSON; - for stdin")->type_name("FILE");
  const auto rule = [&](const char* name, std::string& into, const char* type, const char* description) {
    configure_command.add_option(name, into, description)->type_name(type);
  };
  rule("--backfill", options->backfill, "none|easy|conservative", "Which jobs may pass a job that waits for GPUs");
  rule("--fair-share", options->fair_share, "none|running|decayed", "Order of tenants within a priority class");
  rule("--half-life", options->half_life, "DURATION", "Half-life of past usage, for --fair-share decayed");
  rule("--default-duration", options->default_duration, "DURATION", "Expected duration of jobs that give none");
  rule("--starvation-bound", options->starvation_bound, "DURATION", "Wait after which no job may pass a waiting job");
  rule("--min-runtime", options->min_runtime, "DURATION", "Time after its start during which no job is evicted");
  rule("--place-wait", options->place_wait, "DURATION", "How long a job waits for a better place, PT0S for not at all");
  configure_command
      .add_option("--place-wait-share", options->place_wait_share, "The same, as a share of its expected duration")
      ->type_name("SHARE");
  configure_command
      .add_option("--place-wait-gain", options->place_wait_gain, "It waits where it would be slower by more than this")
      ->type_name("SHARE");
  rule("--place-wait-place", options->place_wait_place, "kept|yielded",
       "What others may do meanwhile with the place that it could have");
  rule("--moves", options->moves, "onRequest|automatic", "Whether running jobs are offered moves by themselves");
  rule("--move-after", options->move_after, "DURATION", "How long the first job has waited before others move for it");
  rule("--move-answer", options->move_answer, "DURATION", "How long the offer of a move stands");
  rule("--move-unanswered", options->move_unanswered, "keep|evict", "What an offer without an answer means");
  configure_command.add_option("--move-budget", options->move_budget, "Work that moves may lose in an hour")
      ->type_name("GPU-SECONDS");
  configure_command.add_option("--moves-at-once", options->moves_at_once, "Jobs that may be moving")
      ->type_name("COUNT");
  on_run(configure_command, session, [&session, options] { configure(session, *options); });
}

}  // namespace railweave::cli
