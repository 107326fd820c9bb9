// railweave lab replay: replays a job trace on a fabric in simulated time, under one policy or several.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "services/railweave/command_line/choice_option.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/lab/fabric_file.h"
#include "services/railweave/lab/lab_commands.h"
#include "services/railweave/lab/replay/generated_trace.h"
#include "services/railweave/lab/replay/job_classes.h"
#include "services/railweave/lab/replay/paired.h"
#include "services/railweave/lab/replay/replay.h"
#include "services/railweave/lab/replay/replay_svg.h"
#include "services/railweave/lab/replay/route_trial.h"
#include "services/railweave/lab/replay/trial_report.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/formatted.h"
#include "services/railweave/terminal/input_file.h"
#include "services/railweave/terminal/output_file.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

constexpr double kYieldingGain = 0.01, kYieldingShare = 10;
constexpr std::int64_t kYieldingMostUs = 24LL * 3600 * 1'000'000;

struct LabReplayOptions {
  FabricFileOptions fabric;
  std::string trace;
  std::string policy = "railweave";
  std::string backfill = "easy";
  std::string fair_share = "none";
  double estimate_factor = 1;
  std::optional<std::uint64_t> place_wait_min;
  std::optional<double> place_wait_share, place_wait_gain;
  std::uint64_t starvation_h = 0;
  std::uint64_t jobs = 0;
  std::string stretch = "none";
  std::string communication = "light";
  bool segments = false;
  bool follow_routes = false, host_routes = false;
  std::uint64_t priority_classes = 0;
  std::uint64_t seeds = 0, first_seed = 1;
  double load = 0.9;
  std::string against = "railweave";
  std::string svg;
};

std::string hours(double seconds) { return formatted("%.2f h", seconds / 3600); }

Json document_of(const ReplayReport& report) {
  Json tenants = Json::array();
  for (const auto& tenant : report.tenants) {
    tenants.push_back({{"name", tenant.name},
                       {"jobs", tenant.jobs},
                       {"gpuHours", tenant.gpu_h},
                       {"meanWaitS", tenant.mean_wait_s},
                       {"p95WaitS", tenant.p95_wait_s},
                       {"meanSlowdown", tenant.mean_slowdown}});
  }
  return {{"policy", report.policy},
          {"backfill", report.backfill},
          {"jobs", report.jobs},
          {"tooLarge", report.too_large},
          {"gpus", report.total_gpus},
          {"waitS",
           {{"mean", report.waits.mean_s},
            {"p50", report.waits.p50_s},
            {"p95", report.waits.p95_s},
            {"p99", report.waits.p99_s},
            {"most", report.waits.most_s}}},
          {"meanCompletionS", report.mean_completion_s},
          {"meanStretch", report.mean_stretch},
          {"makespanS", report.makespan_s},
          {"utilisation", report.utilisation},
          {"loadedUtilisation", report.loaded_utilisation},
          {"spread",
           {{"jobs", report.spread.jobs},
            {"level", report.spread.rack_level},
            {"racks", report.spread.racks},
            {"leastRacks", report.spread.least_racks},
            {"jobsAtLeastRacks", report.spread.at_least_racks},
            {"nvlinkDomains", report.spread.domains},
            {"leastNvlinkDomains", report.spread.least_domains}}},
          {"contention",
           {{"meanCommunicationSlowdown", report.slowdown.mean},
            {"p95CommunicationSlowdown", report.slowdown.p95},
            {"mostCommunicationSlowdown", report.slowdown.most},
            {"meanStepSlowdown", report.slowdown.mean_step}}},
          {"strandedGpuHours", report.stranded_gpu_h},
          {"fairness", report.fairness},
          {"peakQueue", report.peak_queue},
          {"cycles", report.cycles},
          {"tenants", std::move(tenants)}};
}

std::string ratio(std::uint64_t used, std::uint64_t least) {
  return least == 0 ? "-" : formatted("%.3f", static_cast<double>(used) / static_cast<double>(least));
}

void print(Output& output, const std::vector<ReplayReport>& reports) {
  const ReplayReport& first = reports.front();
  Table table({{"policy", Align::left},
               {"mean wait", Align::right},
               {"p50", Align::right},
               {"p95", Align::right},
               {"p99", Align::right},
               {"in use", Align::right},
               {"makespan", Align::right},
               {first.spread.rack_level + "s", Align::right},
               {"domains", Align::right},
               {"stranded", Align::right},
               {"slowed", Align::right},
               {"p95", Align::right},
               {"fairness", Align::right}});
  for (const auto& report : reports) {
    table.add({report.policy, hours(report.waits.mean_s), hours(report.waits.p50_s), hours(report.waits.p95_s),
               hours(report.waits.p99_s), formatted("%.1f%%", 100 * report.utilisation),
               formatted("%.2f d", static_cast<double>(report.makespan_s) / 86'400),
               ratio(report.spread.racks, report.spread.least_racks),
               ratio(report.spread.domains, report.spread.least_domains),
               formatted("%.0f GPU h", report.stranded_gpu_h), formatted("x%.3f", report.slowdown.mean),
               formatted("x%.2f", report.slowdown.p95), formatted("%.3f", report.fairness)});
  }
  output.text(fmt::format(
      "{} jobs on {} GPUs, backfill {}{}\n"
      "\n"
      "{}\n"
      "{}s, domains: those used by jobs of more than one node, relative to the fewest that could hold them ({} jobs)\n"
      "slowed: predicted communication time of these jobs beside other jobs, relative to running alone\n",
      first.jobs, first.total_gpus, first.backfill,
      first.too_large == 0 ? "" : fmt::format("; {} larger than the fabric skipped", first.too_large),
      table.text(output.terminal()), first.spread.rack_level, first.spread.jobs));
  if (reports.size() > 1) return;
  Table tenants({{"tenant", Align::left},
                 {"jobs", Align::right},
                 {"GPU h", Align::right},
                 {"mean wait", Align::right},
                 {"p95", Align::right},
                 {"slowdown", Align::right}});
  for (const auto& tenant : first.tenants) {
    tenants.add({tenant.name, std::to_string(tenant.jobs), formatted("%.0f", tenant.gpu_h), hours(tenant.mean_wait_s),
                 hours(tenant.p95_wait_s), formatted("%.2f", tenant.mean_slowdown)});
  }
  output.text("\n" + tenants.text(output.terminal()));
}

// Jobs that keep a place wait as the queue's policy comes; those that yield it as the README says that it pays.
scheduler::PlaceWait place_wait_of(const LabReplayOptions& options, std::string_view policy) {
  constexpr std::int64_t kMinuteUs = 60'000'000;
  scheduler::PlaceWait wait;
  if (policy == kYieldingPolicy || policy == kFollowedPolicy)
    wait = {.gain = kYieldingGain, .share = kYieldingShare, .most_us = kYieldingMostUs};
  if (options.place_wait_min) wait.most_us = static_cast<std::int64_t>(*options.place_wait_min) * kMinuteUs;
  if (options.place_wait_share) wait.share = *options.place_wait_share;
  if (options.place_wait_gain) wait.gain = *options.place_wait_gain;
  return wait;
}

ReplayOptions options_of(const LabReplayOptions& options, const std::string& policy) {
  ReplayOptions replay;
  replay.policy = policy;
  replay.backfill = *parse_enum<scheduler::Backfill>(options.backfill);
  replay.fair_share = options.fair_share == "decayed"   ? scheduler::FairShareRule::decayed
                      : options.fair_share == "running" ? scheduler::FairShareRule::running
                                                        : scheduler::FairShareRule::none;
  replay.estimate_factor = options.estimate_factor;
  replay.starvation_s = static_cast<std::int64_t>(options.starvation_h) * 3600;
  replay.place_wait = place_wait_of(options, policy);
  replay.stretch = *parse_enum<Stretch>(options.stretch);
  replay.heavy = options.communication == "heavy";
  replay.segments = options.segments;
  return replay;
}

// --- two policies on generated streams

// What a judge says of a policy against another: of the completion times of all jobs, by seed.
struct Verdict {
  Stretch judge = Stretch::none;
  double stretch = 1, stretch_against = 1;  // means over the seeds
  double used = 0, used_against = 0;        // means over the seeds: loaded utilisation
  std::vector<double> differences, used_differences;
};

Verdict compare(const scheduler::PlacementFabricPtr& fabric, const LabReplayOptions& options, Stretch judge,
                const std::function<void()>& progress) {
  Verdict verdict{.judge = judge, .stretch = 0, .stretch_against = 0};
  ReplayOptions of_against = options_of(options, options.against), of_policy = options_of(options, options.policy);
  of_against.stretch = of_policy.stretch = judge;
  const GeneratedLoad load{fabric->hierarchy().total_capacity(), options.jobs, options.load};
  for (std::uint64_t seed = options.first_seed; seed < options.first_seed + options.seeds; ++seed) {
    const JobTrace trace = generate_trace(load, seed);
    const ReplayReport against = replay(fabric, trace, of_against, [](std::uint64_t) {});
    const ReplayReport report = replay(fabric, trace, of_policy, [](std::uint64_t) {});
    verdict.differences.push_back(report.mean_completion_s / against.mean_completion_s - 1);
    verdict.used_differences.push_back(report.loaded_utilisation - against.loaded_utilisation);
    verdict.used += report.loaded_utilisation / static_cast<double>(options.seeds);
    verdict.used_against += against.loaded_utilisation / static_cast<double>(options.seeds);
    verdict.stretch += report.mean_stretch / static_cast<double>(options.seeds);
    verdict.stretch_against += against.mean_stretch / static_cast<double>(options.seeds);
    progress();
  }
  return verdict;
}

void print(Output& output, const LabReplayOptions& options, const std::vector<Verdict>& verdicts) {
  constexpr double kPercent = 100;
  if (output.is_document()) {
    Json judges = Json::array();
    for (const auto& verdict : verdicts) {
      const PairedDifference difference = paired(verdict.differences), used = paired(verdict.used_differences);
      judges.push_back({{"stretch", railweave::to_text(verdict.judge)},
                        {"completionPercent", kPercent * difference.mean},
                        {"halfWidthPercent", kPercent * difference.half_width},
                        {"excludesZero", difference.excludes_zero()},
                        {"meanStretch", verdict.stretch},
                        {"meanStretchAgainst", verdict.stretch_against},
                        {"utilisation", verdict.used},
                        {"utilisationAgainst", verdict.used_against},
                        {"utilisationPoints", kPercent * used.mean},
                        {"utilisationHalfWidthPoints", kPercent * used.half_width},
                        {"differences", verdict.differences}});
    }
    return output.document({{"policy", options.policy},
                            {"against", options.against},
                            {"seeds", options.seeds},
                            {"jobs", options.jobs},
                            {"load", options.load},
                            {"communication", options.communication},
                            {"trace", kGeneratedTrace},
                            {"judges", std::move(judges)}});
  }
  Table table({{"running times"},
               {"completion", Align::right},
               {"95% interval", Align::right},
               {"stretched", Align::right},
               {"by " + options.against, Align::right},
               {"in use", Align::right},
               {"points more", Align::right}});
  for (const auto& verdict : verdicts) {
    const PairedDifference difference = paired(verdict.differences), used = paired(verdict.used_differences);
    const std::string name = verdict.judge == Stretch::none        ? "as in the stream (control)"
                             : verdict.judge == Stretch::predicted ? "by predicted steps"
                             : verdict.judge == Stretch::flows     ? "by flows on routes"
                                                                   : "30% longer where spread";
    table.add({name, formatted("%+.1f%%", kPercent * difference.mean),
               formatted("+-%.1f%%", kPercent * difference.half_width), formatted("x%.3f", verdict.stretch),
               formatted("x%.3f", verdict.stretch_against), formatted("%.1f%%", kPercent * verdict.used),
               formatted("%+.2f", kPercent * used.mean) + formatted(" +-%.2f", kPercent * used.half_width)});
  }
  output.text(
      fmt::format("{} against {}: mean time from submission to end, {} seeds of {} jobs, load {}, {} communication\n"
                  "{}\n"
                  "\n"
                  "{}",
                  options.policy, options.against, options.seeds, options.jobs, formatted("%.2f", options.load),
                  options.communication, kGeneratedTrace, table.text(output.terminal())));
}

void run_seeds(Session& session, const LabReplayOptions& options, const scheduler::PlacementFabricPtr& fabric) {
  std::vector<Verdict> verdicts;
  std::uint64_t done = 0;
  session.output.begin_progress("replaying");
  std::vector<Stretch> judges{Stretch::predicted, Stretch::flows, Stretch::spread, Stretch::none};
  if (options.segments) judges = {Stretch::none};  // places are not compared by what jobs did not ask for
  for (const Stretch judge : judges) {
    verdicts.push_back(compare(fabric, options, judge, [&] {
      session.output.say_progress(fmt::format("{} of {} pairs", ++done, judges.size() * options.seeds));
    }));
  }
  session.output.end_progress();
  print(session.output, options, verdicts);
}

// The replays themselves are on the engine's routes.
void run_route_trials(Session& session, const LabReplayOptions& options, const scheduler::PlacementFabricPtr& fabric) {
  const auto priority_classes = static_cast<unsigned>(options.priority_classes);
  const auto what = options.host_routes    ? RouteTrial::What::host_routes
                    : priority_classes > 0 ? RouteTrial::What::priority_classes
                                           : RouteTrial::What::followed_routes;
  RouteTrials trials;
  const GeneratedLoad load{fabric->hierarchy().total_capacity(), options.jobs, options.load};
  session.output.begin_progress("replaying");
  for (std::uint64_t number = 0; number < options.seeds; ++number) {
    const std::uint64_t seed = options.first_seed + number;
    RouteTrial trial(fabric, what, priority_classes);
    ReplayOptions replay_options = options_of(options, options.policy);
    replay_options.routes = &trial;
    replay(fabric, generate_trace(load, seed), replay_options, [](std::uint64_t) {});
    const RouteTrial::Report& one = trial.report();
    trials.all.samples += one.samples;
    trials.all.jobs += one.jobs;
    trials.all.hops += one.hops;
    trials.all.balance_us += one.balance_us;
    if (one.engine.model > 0) trials.by_model.push_back(one.tried.model / one.engine.model - 1);
    if (one.engine.flows > 0) trials.by_flows.push_back(one.tried.flows / one.engine.flows - 1);
    if (one.engine.flows > 0) trials.by_followed.push_back(one.followed_flows / one.engine.flows - 1);
    if (one.engine.flows > 0) trials.by_reversed.push_back(one.reversed_flows / one.engine.flows - 1);
    session.output.say_progress(fmt::format("{} of {} streams", number + 1, options.seeds));
  }
  session.output.end_progress();
  if (trials.by_flows.size() < 2) fail_usage("hardly any job was on the network", "more --jobs or a higher --load");
  const TrialSettings settings{.policy = options.policy,
                               .communication = options.communication,
                               .seeds = options.seeds,
                               .jobs = options.jobs,
                               .load = options.load,
                               .priority_classes = priority_classes};
  switch (what) {
    case RouteTrial::What::followed_routes:
      return print_routes(session.output, settings, trials);
    case RouteTrial::What::host_routes:
      return print_host_routes(session.output, settings, trials);
    case RouteTrial::What::priority_classes:
      return print_classes(session.output, settings, trials);
  }
}

void run(Session& session, const LabReplayOptions& options) {
  Output& output = session.output;
  const bool own_alone = options.backfill == "conservative" || options.fair_share != "none" || options.starvation_h > 0;
  if (own_alone && !(is_own_policy(options.policy) && (options.seeds == 0 || is_own_policy(options.against)))) {
    fail_usage("--backfill conservative, --fair-share and --starvation need --policy railweave",
               "omit them to compare with other policies");
  }
  if (!(options.estimate_factor >= 0.01 && options.estimate_factor <= 1000)) {
    fail_usage("--estimate-factor is not between 0.01 and 1000");
  }
  const bool generated = options.trace == "generated";
  if (generated != (options.seeds != 0)) {
    fail_usage("--seeds goes with the trace 'generated', and it with them",
               "railweave lab replay generated --seeds 10");
  }
  if (options.follow_routes && !generated) {
    fail_usage("--follow-routes goes with the trace 'generated'",
               "railweave lab replay generated --follow-routes --seeds 10 --jobs 500");
  }
  if (options.host_routes && (!generated || options.follow_routes)) {
    fail_usage("--host-routes goes with the trace 'generated' and without --follow-routes",
               "railweave lab replay generated --host-routes --seeds 10 --jobs 500");
  }
  if (options.priority_classes == 1 ||
      (options.priority_classes > 0 && (!generated || options.follow_routes || options.host_routes))) {
    fail_usage("--priority-classes are 2 to 8, with the trace 'generated' and without --follow-routes or --host-routes",
               "railweave lab replay generated --priority-classes 4 --seeds 10 --jobs 500");
  }
  if (generated && (options.seeds < 2 || options.jobs == 0 || options.policy == "all" || !(options.load > 0))) {
    fail_usage("a generated trace needs at least 2 --seeds, --jobs, one --policy and a --load above 0");
  }
  JobTrace trace;
  if (!generated) {
    const std::string text = value_or_fail(read_input(options.trace, kMaxTraceFileBytes));
    trace = value_or_fail(read_philly_trace(text, source_name(options.trace)));
    if (options.jobs > 0 && options.jobs < trace.jobs.size()) trace.jobs.resize(options.jobs);
  }
  const FabricFile file = read_fabric_file(options.fabric);
  if (file.topology->gpus().empty()) {
    fail_usage("the fabric has no GPUs", "--gpus-per-node N adds them to every compute host");
  }
  const auto fabric = std::make_shared<const scheduler::PlacementFabric>(file.topology);
  if (generated && (options.follow_routes || options.host_routes || options.priority_classes > 0))
    return run_route_trials(session, options, fabric);
  if (generated) return run_seeds(session, options, fabric);
  std::vector<std::string> policies{options.policy};
  if (options.policy == "all") policies.assign(std::begin(kReplayPolicies), std::end(kReplayPolicies));
  std::vector<ReplayReport> reports;
  output.begin_progress("replaying");
  for (const auto& policy : policies) {
    reports.push_back(replay(fabric, trace, options_of(options, policy), [&](std::uint64_t ended) {
      output.say_progress(fmt::format("{}: {}%, {} of {} jobs ended", policy, 100 * ended / trace.jobs.size(), ended,
                                      trace.jobs.size()));
    }));
  }
  output.end_progress();
  if (!options.svg.empty()) write_file_or_stdout(output, options.svg, replay_svg(reports));
  if (!output.is_document()) return print(output, reports);
  Json replays = Json::array();
  for (const auto& report : reports) replays.push_back(document_of(report));
  output.document({{"replays", std::move(replays)}});
}

}  // namespace

void add_lab_replay_command(CLI::App& lab, Session& session) {
  auto options = std::make_shared<LabReplayOptions>();
  CLI::App& command = add_command(
      lab, "replay", "Replay a job trace on a fabric in simulated time: wait, utilisation, spread, stranded GPUs",
      {"railweave lab replay philly.csv --fabric fabric.json",
       "railweave lab replay philly.csv --fabric fabric.json --policy all --svg replay.svg",
       "railweave lab replay generated --fabric fabric.json --policy railweave-waits --seeds 10 --jobs 500",
       "gunzip -c philly.csv.gz | railweave lab replay - --fabric fabric.json --backfill none -o json"});
  command
      .add_option("TRACE", options->trace,
                  "Job trace in the CSV format of Philly, - for stdin, 'generated' for --seeds")
      ->type_name("TRACE")
      ->required();
  add_fabric_file_options(command, options->fabric, "--fabric");
  std::string policies = "all";
  for (const auto policy : kReplayPolicies) policies += "|" + std::string(policy);
  policies += fmt::format("|{}|{}|{}|{}", kWaitingPolicy, kYieldingPolicy, kFollowedPolicy, kRoutedPolicy);
  add_choice_option(command, "--policy", options->policy, "Placement policy; all compares them", policies);
  add_choice_option(command, "--against", options->against, "With --seeds: the policy that it is compared with",
                    policies.substr(policies.find('|') + 1));
  add_choice_option(command, "--stretch", options->stretch, "Running times by the place that a job got",
                    "none|predicted|spread|flows");
  add_choice_option(command, "--communication", options->communication,
                    "Of jobs: of the default model, or FSDP of which nothing is hidden", "light|heavy");
  command.add_flag(
      "--segments", options->segments,
      "Under Railweave's policies 16, 4 or 1 nodes each of a job share an NVLink domain; others ignore that");
  command.add_flag("--follow-routes", options->follow_routes,
                   "With --seeds: what routes that follow the jobs that run would be worth, at every hour");
  command.add_flag(
      "--host-routes", options->host_routes,
      "With --seeds: what routes for each host would be worth beside Ethernet switches that hash flows, at "
      "every hour");
  add_number_option(command, "--priority-classes", options->priority_classes,
                    "With --seeds: what as many classes by the jobs' GPU intensity would be worth, at every hour",
                    {0, kMaxJobClasses});
  add_number_option(command, "--seeds", options->seeds, "Compare two policies on as many generated streams of jobs",
                    {0, 1'000});
  add_number_option(command, "--first-seed", options->first_seed, "The first of them; the others follow it",
                    {1, 1'000'000});
  command.add_option("--load", options->load, "Of a generated stream, as a share of the fabric's GPU hours")
      ->type_name("SHARE")
      ->capture_default_str();
  add_choice_option(command, "--backfill", options->backfill, "Which jobs may pass a waiting job",
                    "none|easy|conservative");
  add_choice_option(command, "--fair-share", options->fair_share, "Order of tenants", "none|running|decayed");
  command
      .add_option("--estimate-factor", options->estimate_factor, "Expected durations, as a multiple of the real ones")
      ->type_name("FACTOR")
      ->capture_default_str();
  command
      .add_option("--place-wait", options->place_wait_min,
                  "Minutes that jobs of railweave-waits (30) and railweave-yields (1440) wait for a better place")
      ->check(CLI::Range(0, 100'000))
      ->type_name("MINUTES");
  command
      .add_option("--place-wait-share", options->place_wait_share, "The same, as a share of their durations (0.05, 10)")
      ->type_name("SHARE");
  command
      .add_option("--place-wait-gain", options->place_wait_gain, "They wait where slower by more than this (0.1, 0.01)")
      ->type_name("SHARE");
  add_number_option(command, "--starvation", options->starvation_h,
                    "Hours after which no job may pass a waiting job, 0 for no limit", {0, 100'000});
  add_number_option(command, "--jobs", options->jobs, "Replay only the first N jobs, 0 for all", {0, kMaxTraceJobs});
  command.add_option("--svg", options->svg, "Write a chart of utilisation, queue and stranded GPUs over time")
      ->type_name("FILE");
  on_run(command, session, [&session, options] { run(session, *options); });
}

}  // namespace railweave::cli
