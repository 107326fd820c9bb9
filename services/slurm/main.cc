// railweave-slurm: places Slurm's pending jobs with Railweave; README.md. Runs until it is told to end.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <syslog.h>
#include <unistd.h>

#include "services/railweave/connection/session.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/slurm/hooks.h"
#include "services/slurm/node_sync.h"
#include "services/slurm/operator.h"

namespace {

using namespace railweave;
using namespace railweave::slurm;

struct Options {
  OperatorOptions of_cycle;
  std::string server, profile;
  std::string step = "place";
  std::vector<std::string> partition_steps;
  Owner owner;
  double interval_s = 2, timeout_s = 30;
  std::uint64_t gpus_per_node = 0;
  bool once = false;
  NodePatience of_nodes;
  bool no_drains = false;
  bool is_prolog = false, is_epilog = false;
  double wait_s = 30;
};

constexpr double kLongestPause_s = 60;

void say(const std::string& line) { std::fprintf(stderr, "railweave-slurm: %s\n", line.c_str()); }

void add_options(CLI::App& app, Options& options) {
  app.set_version_flag("--version", "railweave-slurm " RAILWEAVE_VERSION, "Print the version");
  app.add_option("--server", options.server, "URL of railweaved; else RAILWEAVE_URL, else that of the profile")
      ->type_name("URL");
  app.add_option("--profile", options.profile, "Saved login (railweave login); else RAILWEAVE_PROFILE, RAILWEAVE_TOKEN")
      ->type_name("NAME");
  app.add_option("--tenant", options.owner.tenant,
                 "Tenant of jobs without an account; other jobs' tenant is their account")
      ->type_name("TENANT");
  app.add_option("--cluster", options.owner.cluster, "Name of this cluster; by default ClusterName of slurm.conf")
      ->type_name("NAME");
  app.add_option("--step", options.step,
                 "What Railweave decides: observe, nothing: jobs are adopted, and advice is in the AdminComment; "
                 "order, the order of ranks; "
                 "place, the nodes")
      ->check(CLI::IsMember({"observe", "order", "place"}))
      ->capture_default_str();
  app.add_option(
         "--partition-step", options.partition_steps,
         "Another step for the jobs of a partition, as debug=observe; of several partitions the step counts that "
         "decides least. May be repeated")
      ->type_name("PARTITION=STEP");
  app.add_option("--interval", options.interval_s, "Seconds between two cycles")
      ->check(CLI::Range(0.1, 60.0))
      ->capture_default_str();
  app.add_option("--timeout", options.timeout_s, "Seconds that a command or a request may take")
      ->check(CLI::Range(1.0, 600.0))
      ->capture_default_str();
  app.add_option("--grace", options.of_cycle.grace_s,
                 "Seconds after which a job begins by itself; as in job_submit.lua")
      ->check(CLI::Range(5, 86'400))
      ->capture_default_str();
  app.add_option("--patience", options.of_cycle.patience_s,
                 "Seconds after which a pinned job that has not begun is placed again")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  app.add_option("--pass", options.of_cycle.pass_s, "Seconds of waiting after which no job of lower priority passes")
      ->check(CLI::Range(0, 31'536'000))
      ->capture_default_str();
  app.add_option("--accept", options.owner.accept_s,
                 "Seconds that an offer stands which railweave-slurm has not accepted, as it was ended")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  app.add_option("--notice", options.owner.notice_s, "Seconds that a job may stay which Railweave evicts")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  app.add_option("--notice-signal", options.of_cycle.notice_signal,
                 "Signal that such a job is sent, as USR1; none by default")
      ->type_name("SIGNAL");
  app.add_flag("--cancel-evicted", options.of_cycle.cancel_evicted,
               "Cancel such a job; by default it is requeued, where Slurm can");
  app.add_option("--release", options.owner.release_s,
                 "Seconds that Slurm may take to clear the nodes of a job, before an alarm")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  app.add_option("--block-level", options.of_cycle.block_level,
                 "Level whose groups the blocks of topology/block are; by default that of the exported topology")
      ->type_name("nvlinkDomain|rack|leafGroup|pod");
  app.add_option("--batch", options.of_cycle.most_placed, "Most jobs to ask for in a cycle")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app.add_option("--gpus-per-node", options.gpus_per_node,
                 "GPUs of a node, of jobs that ask for none by GRES; 0: they have none")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  app.add_option("--trouble", options.of_nodes.trouble_s,
                 "Seconds that a node is drained, down or without a link before the other side drains it, too")
      ->check(CLI::Range(0, 86'400))
      ->capture_default_str();
  app.add_option("--calm", options.of_nodes.calm_s, "Seconds that such a node is well before it is taken back into use")
      ->check(CLI::Range(0, 86'400))
      ->capture_default_str();
  app.add_flag("--no-drains", options.no_drains, "Leave drained nodes to each side");
  app.add_flag("--once", options.once, "One cycle only");
}

void add_hooks(CLI::App& app, Options& options) {
  auto* prolog =
      app.add_subcommand("prolog", "For PrologSlurmctld: waits until Railweave has set up what the job needs");
  prolog->add_option("--wait", options.wait_s, "Most seconds; then the job starts all the same")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  prolog->callback([&options] { options.is_prolog = true; });
  auto* epilog = app.add_subcommand("epilog", "For Epilog: tells Railweave that this node has cleared the job");
  epilog->callback([&options] { options.is_epilog = true; });
  for (auto* hook : {prolog, epilog}) hook->fallthrough();
}

// A script that fails would requeue jobs or drain nodes, so this always succeeds.
int run_hook(const Options& options) {
  const auto log = [](const std::string& line) {
    say(line);
    ::syslog(LOG_WARNING, "railweave-slurm: %s", line.c_str());
  };
  try {
    cli::Session session(cli::Terminal::of(STDOUT_FILENO), cli::Terminal::of(STDERR_FILENO));
    if (!options.server.empty()) session.options.server = options.server;
    if (!options.profile.empty()) session.options.profile = options.profile;
    session.options.timeout_s = std::min(options.timeout_s, std::max(1.0, options.wait_s));
    SlurmCluster slurm(std::chrono::milliseconds(static_cast<long>(session.options.timeout_s * 1000)),
                       options.gpus_per_node);
    Hooks hooks(slurm, session.service(), log);
    HookJob job = read_hook_job([](const char* name) { return std::getenv(name); });  // NOLINT(concurrency-mt-unsafe)
    if (!options.owner.cluster.empty()) job.cluster = options.owner.cluster;
    options.is_prolog ? hooks.prolog(job, options.wait_s) : hooks.epilog(job);
  } catch (const cli::CommandFailure& failure) {
    log(failure.error().text());
  }
  return 0;
}

// Waits, unless it is told to end. SIGTERM and SIGINT are blocked, so that a cycle is not cut in two.
bool told_to_end(double seconds) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  const auto whole = static_cast<std::time_t>(seconds);
  const timespec wait{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  return ::sigtimedwait(&set, nullptr, &wait) > 0;
}

void report_cycle(const CycleReport& did, double ms, std::uint64_t slurm_calls, std::uint64_t railweave_calls) {
  if (did.placed + did.ended + did.adopted + did.repinned + did.evicted + did.left == 0) return;
  say(
      fmt::format("{} jobs: {} placed, {} wait, {} ended, {} adopted, {} unpinned, {} evicted, {} left to Slurm, in {} "
                  "ms with {} commands and {} requests",
                  did.jobs, did.placed, did.waiting, did.ended, did.adopted, did.repinned, did.evicted, did.left,
                  static_cast<long>(ms), slurm_calls, railweave_calls));
}

int run(const Options& options) {
  cli::Session session(cli::Terminal::of(STDOUT_FILENO), cli::Terminal::of(STDERR_FILENO));
  if (!options.server.empty()) session.options.server = options.server;
  if (!options.profile.empty()) session.options.profile = options.profile;
  session.options.timeout_s = options.timeout_s;
  SlurmCluster slurm(std::chrono::milliseconds(static_cast<long>(options.timeout_s * 1000)), options.gpus_per_node);
  std::optional<Placements> placements;
  std::optional<Operator> cycles;
  std::optional<NodeSync> nodes;
  auto looked = std::chrono::steady_clock::time_point();
  double pause_s = options.interval_s;
  std::string trouble;
  do {
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    try {
      if (!cycles) {
        Owner owner = options.owner;
        const SlurmSettings settings = cli::value_or_fail(slurm.settings());
        if (owner.cluster.empty()) owner.cluster = settings.name;
        placements.emplace(session.service(), std::move(owner));
        cycles.emplace(slurm, *placements, settings, options.of_cycle, say);
        if (!settings.tracks_gpus) {
          say("AccountingStorageTRES has no gres/gpu: how many GPUs a job has that asks for them by task is read from "
              "its "
              "nodes, one job at a time; AccountingStorageTRES=gres/gpu in slurm.conf saves that");
        }
        if (!options.no_drains && options.of_cycle.steps.cluster == Step::place)
          nodes.emplace(slurm, session.service(), options.of_nodes, say);
      }
      const std::uint64_t commands = slurm.calls();
      const std::uint64_t requests = placements->calls();
      const CycleReport did = cycles->cycle(static_cast<std::int64_t>(std::time(nullptr)));
      const double look_s = std::max(options.interval_s, static_cast<double>(options.of_nodes.trouble_s) / 2);
      if (nodes && (did.nodes_are_back || began - looked >= std::chrono::duration<double>(look_s))) {
        looked = began;
        nodes->look(static_cast<std::int64_t>(std::time(nullptr)));
      }
      if (!trouble.empty()) say("all is well again");
      trouble.clear();
      pause_s = options.interval_s;
      report_cycle(did, std::chrono::duration<double, std::milli>(Clock::now() - began).count(),
                   slurm.calls() - commands, placements->calls() - requests);
    } catch (const cli::CommandFailure& failure) {
      if (failure.error().text() != trouble)
        say(failure.error().text() + "; jobs begin by themselves when their grace period is over");
      trouble = failure.error().text();
      if (cycles) cycles->say_away();
      if (options.once) return 1;
      pause_s = std::min(pause_s * 2, std::max(kLongestPause_s, options.interval_s));
    }
  } while (!options.once && !told_to_end(pause_s));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Places Slurm's pending jobs with Railweave", "railweave-slurm");
  Options options;
  add_options(app, options);
  add_hooks(app, options);
  CLI11_PARSE(app, argc, argv);
  options.of_cycle.steps.cluster = step_of(options.step).value_or(Step::place);
  for (const std::string& text : options.partition_steps) {
    if (auto added = add_partition_step(text, options.of_cycle.steps); !added) {
      say(added.error().text());
      return 2;
    }
  }
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);           // NOLINT(cert-err33-c)
  ::setenv("SLURM_TIME_FORMAT", "%s", 1);  // NOLINT(concurrency-mt-unsafe): before any thread
  try {
    return options.is_prolog || options.is_epilog ? run_hook(options) : run(options);
  } catch (const std::exception& error) {
    say(std::string("internal error: ") + error.what());
    return 1;
  }
}
