// railweave lab flows: the rates of all jobs that send at once over a fabric, and the load of its links.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "fabric/routing/engine_registry.h"
#include "fabric/routing/traffic/traffic_balance.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/lab/engine_option.h"
#include "services/railweave/lab/fabric_file.h"
#include "services/railweave/lab/failures.h"
#include "services/railweave/lab/flows/adversary.h"
#include "services/railweave/lab/flows/flow_report.h"
#include "services/railweave/lab/flows/qos_classes_file.h"
#include "services/railweave/lab/lab_commands.h"
#include "services/railweave/lab/routed_fabric.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"

namespace railweave::cli {
namespace {

struct LabFlowsOptions {
  FabricFileOptions fabric;
  FailureOptions failures;
  RouteRequest request;
  std::string jobs, traffic, classes, svg;
  bool adversarial = false, follow = false;
  std::uint64_t rounds = 200, top = 10;
};

fabric::FailureRoutes failure_routes(const RoutedFabric& routed) {
  const auto far_reaching = [&routed](fabric::PlaneId plane) {
    return fabric::find_engine(routed.report.engine)->far_reaching_links(routed.routing, plane);
  };
  const auto changes_without = [&routed](fabric::LinkId link) -> Result<fabric::RouteChangesPtr> {
    fabric::FabricView view = routed.view;
    view.set_state(link, fabric::LinkState::down);
    const auto& tables = routed.routing.tables;
    const auto* engine = fabric::find_engine(routed.report.engine);
    auto rerouted = engine->reroute(routed.routing, {.view = view, .scope = tables.scope_ptr()});
    if (!rerouted) return std::unexpected(rerouted.error());
    return std::make_shared<const fabric::RouteChanges>(
        fabric::route_changes(tables, rerouted->tables, tables.scope().arc_of(link).plane));
  };
  return {changes_without, far_reaching};
}

void check(const LabFlowsOptions& options) {
  if (options.jobs.empty() && options.traffic.empty()) {
    fail_usage("there is no traffic", "give jobs with --jobs FILE, or flows with --traffic FILE");
  }
  if (options.adversarial && (options.jobs.empty() || !options.traffic.empty())) {
    fail_usage("--adversarial chooses the traffic of jobs itself", "give --jobs FILE and omit --traffic");
  }
  if (options.follow && options.adversarial) {
    fail_usage("--follow chooses routes for flows that are known, and --adversarial flows for routes",
               "omit one of them");
  }
  if ((options.fabric.path == "-") + (options.jobs == "-") + (options.traffic == "-") > 1) {
    fail_usage("only one file can be read from stdin");
  }
}

using Solved = std::pair<FlowSet, SolvedFlows>;

Solved solve_jobs(const std::vector<FlowJob>& jobs, const RoutedFabric& routed, const FlowSolver& solver) {
  std::vector<std::uint8_t> class_of_job;
  for (const FlowJob& job : jobs) class_of_job.push_back(job.qos_class);
  FlowSet flows = flows_of_jobs(jobs, routed.view);
  SolvedFlows solved = solver.solve(flows, class_of_job);
  return {std::move(flows), std::move(solved)};
}

fabric::Routing routing_with(const fabric::FabricView& before, const fabric::Routing& routing,
                             const std::vector<fabric::ChosenHop>& hops) {
  fabric::FabricView view = before;
  auto basis = std::make_shared<fabric::SpreadBasis>();
  basis->hops = hops;
  view.set_spread_basis(std::move(basis));
  return value_or_fail(
      fabric::find_engine(routing.engine)->reroute(routing, {.view = view, .scope = routing.tables.scope_ptr()}));
}

// The tables of the routing with next hops that suit the flows of the jobs; adds "followed" to the document.
fabric::ForwardingTables follow_flows(const RoutedFabric& routed, const std::vector<FlowJob>& jobs,
                                      const fabric::QosClasses& classes, Json& document) {
  if (std::ranges::any_of(jobs, &FlowJob::survives_link_failure)) {
    fail_usage("--follow chooses routes for the present links, and a job is to survive the failure of one",
               "omit \"surviveLinkFailure\", or --follow");
  }
  if (!fabric::find_engine(routed.report.engine)->takes_chosen_hops()) {
    fail_usage(fmt::format("routes of the engine {} cannot follow traffic", routed.report.engine),
               "--follow is for routes on one lane that go up and then down: --engine fat-tree or up-down");
  }
  const FlowSet flows = flows_of_jobs(jobs, routed.view);
  std::vector<fabric::Demand> demands;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    demands.push_back(
        {flows.ports[i].from, flows.ports[i].to, static_cast<std::uint64_t>(1000 * flows.offered_mbps[i])});
  }
  const fabric::TrafficBalance balance = fabric::balance_traffic(routed.view, routed.routing, demands);
  const fabric::Routing followed = routing_with(routed.view, routed.routing, balance.hops);
  const auto rate = [&](const fabric::ForwardingTables& tables) {
    const fabric::PathWalker walker(routed.view, tables);
    const auto [set, solved] = solve_jobs(jobs, routed, FlowSolver(routed.view, walker, classes));
    double mbps = 0;
    for (const JobRates& rates : rates_of_jobs(jobs, set, solved)) mbps += rates.got_mbps;
    return mbps / 1000;
  };
  document["followed"] = {{"hops", balance.hops.size()},
                          {"demands", balance.demands},
                          {"fullestBefore", balance.fullest_before},
                          {"fullest", balance.fullest},
                          {"gotGbpsBefore", rate(routed.routing.tables)},
                          {"gotGbps", rate(followed.tables)}};
  return followed.tables;
}

// The worst traffic found; adds "adversarial" to the document.
Solved solve_worst(Output& output, const LabFlowsOptions& options, const std::vector<FlowJob>& jobs,
                   const RoutedFabric& routed, const FlowSolver& solver, Json& document) {
  output.begin_progress("searching");
  WorstTraffic worst =
      search_worst(jobs, routed.view, solver, {.seed = options.failures.seed, .rounds = options.rounds});
  output.end_progress();
  if (worst.victim == jobs.size()) fail_usage("no job spans two hosts", "add a job of two hosts or more");
  document["adversarial"] = {{"victim", jobs[worst.victim].name},
                             {"share", worst.victim_share},
                             {"fullest", worst.fullest},
                             {"matrices", worst.matrices},
                             {"seed", options.failures.seed}};
  return {std::move(worst.flows), std::move(worst.solved)};
}

void run(Session& session, const LabFlowsOptions& options) {
  Output& output = session.output;
  check(options);
  const fabric::QosClasses classes = read_qos_classes(options.classes);
  std::vector<JobRequestEntry> requests;
  if (!options.jobs.empty()) requests = read_job_requests(options.jobs, classes);
  const FabricFile file = read_fabric_file(options.fabric);
  RouteRequest request = options.request;
  request.failures = choose_failures(*file.topology, options.failures);
  const RoutedFabric routed = route_fabric(file.topology, request);
  const fabric::PathWalker engines(routed.view, routed.routing.tables);
  std::vector<FlowJob> jobs = place_jobs(requests, routed.view, engines);
  Json document = {{"engine", routed.report.engine}, {"engineReason", routed.report.engine_reason}};
  document["failedLinks"] = routed.report.failed_links;
  fabric::ForwardingTables tables = routed.routing.tables;
  if (options.follow) {
    if (!options.traffic.empty()) add_traffic_file(options.traffic, *file.topology, classes, jobs);
    tables = follow_flows(routed, jobs, classes, document);
  }
  const fabric::PathWalker walker(routed.view, tables);
  fabric::HoseLoads loads(routed.view, tables);
  admit_jobs(jobs, classes, loads, [&](const fabric::Reservation& wanted) {
    return fabric::load_surviving_failures(wanted, loads, failure_routes(routed));
  });
  if (!options.traffic.empty() && !options.follow) {
    add_traffic_file(options.traffic, *file.topology, classes, jobs);
  }
  if (options.adversarial) add_flooding_ports(jobs, *file.topology, classes);

  const auto started = std::chrono::steady_clock::now();
  const FlowSolver solver(routed.view, walker, classes);
  const auto [flows, solved] = options.adversarial ? solve_worst(output, options, jobs, routed, solver, document)
                                                   : solve_jobs(jobs, routed, solver);
  document["solveMs"] = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count();
  document["solutions"] = solved.rates.rounds;
  document["settled"] = solved.rates.settled;
  const auto heats = link_heats(routed.view, solved.rates, classes.size(), solver.capacity_mbps());
  const FlowReport report{*file.topology, classes, jobs, rates_of_jobs(jobs, flows, solved),
                          hottest(heats, options.top)};
  if (!guarantees_met(report)) session.exit_code = ExitCode::findings;
  if (!options.svg.empty()) {
    write_file_or_stdout(
        output, options.svg,
        heat_svg(*file.topology, heats, fmt::format("Heat of links: {} flows of {} jobs", flows.size(), jobs.size())));
  }
  print_flow_report(output, report, std::move(document));
}

}  // namespace

void add_lab_flows_command(CLI::App& lab, Session& session) {
  auto options = std::make_shared<LabFlowsOptions>();
  CLI::App& command =
      add_command(lab, "flows",
                  "Compute the rates of jobs that all send at once, whether guarantees are met, and the load of links",
                  {"railweave lab flows fabric.json --jobs jobs.json",
                   "railweave lab flows fabric.json --jobs jobs.json --adversarial --rounds 1000 --seed 7",
                   "railweave lab flows fabric.json --traffic flows.csv --fail leaf-7/33 --svg heat.svg",
                   "railweave lab flows dump.ibnetdiscover --gpus-per-node 8 --jobs jobs.json --top 30 -o json"});
  add_fabric_file_options(command, options->fabric);
  command
      .add_option("--jobs", options->jobs,
                  "List of jobs in JSON, each as `jobs submit -f` takes it, placed in order; \"bandwidth\" is their "
                  "guarantee")
      ->type_name("FILE");
  command
      .add_option("--traffic", options->traffic,
                  "Flows in JSON or CSV: from, to, class, rateGbps, job; flows that name a job replace its traffic")
      ->type_name("FILE");
  command.add_flag(
      "--follow", options->follow,
      "Choose next hops for these flows, where they meet on fewer links by other routes of the same length");
  command.add_flag("--adversarial", options->adversarial,
                   "Search for the traffic that hurts a guaranteed job most, starting at random by --seed");
  add_number_option(command, "--rounds", options->rounds, "Traffic matrices that --adversarial tries", {1, 1'000'000});
  command
      .add_option("--classes", options->classes,
                  "Traffic classes in JSON: name, sharePermille, dscp, priority, bound, lossless")
      ->type_name("FILE");
  add_engine_option(command, options->request.engine);
  add_failure_options(command, options->failures);
  add_number_option(command, "--top", options->top, "Show the N hottest links", {0, 1'000'000});
  command.add_option("--svg", options->svg, "Write a heat map of all links, by tier")->type_name("FILE");
  on_run(command, session, [&session, options] { run(session, *options); });
}

}  // namespace railweave::cli
