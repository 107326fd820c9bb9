// railweave lab flows: what every job gets of a fabric when all send at once, and how full the links are.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "fabric/routing/engine_registry.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/lab/engine_option.h"
#include "services/railweave/lab/fabric_file.h"
#include "services/railweave/lab/failures.h"
#include "services/railweave/lab/flows/adversary.h"
#include "services/railweave/lab/flows/link_heat.h"
#include "services/railweave/lab/flows/qos_classes_file.h"
#include "services/railweave/lab/lab_commands.h"
#include "services/railweave/lab/routed_fabric.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

struct LabFlowsOptions {
  FabricFileOptions fabric;
  FailureOptions failures;
  RouteRequest request;
  std::string jobs, traffic, classes, svg;
  bool adversarial = false;
  std::uint64_t rounds = 200, top = 10;
};

struct FlowAnswer {
  const fabric::Topology& topology;
  const fabric::QosClasses& classes;
  const std::vector<FlowJob>& jobs;
  std::vector<JobRates> rates;
  std::vector<LinkHeat> hottest;
};

double gbps(double mbps) { return mbps / 1000; }

std::string held_back_text(const FlowAnswer& answer, std::uint32_t link) {
  if (link == fabric::FlowRates::kOwnCap) return "its own rate";
  if (link == fabric::FlowRates::kUnbounded) return "no route";
  return link_heat_text(answer.topology, link);
}

Json json_of(const FlowAnswer& answer, const FlowJob& job, const JobRates& rates) {
  Json value = {{"name", job.name}, {"tenant", job.tenant}, {"outcome", job.outcome}};
  value["class"] = answer.classes[job.qos_class].name;
  value["gpus"] = job.gpus;
  value["nodes"] = job.nodes;
  value["ports"] = job.ports.size();
  value["flows"] = rates.flows;
  value["unroutedFlows"] = rates.unrouted + job.unreachable;
  value["offeredGbps"] = gbps(rates.offered_mbps);
  value["gotGbps"] = gbps(rates.got_mbps);
  value["perPortGbps"] = {
      {"min", gbps(rates.least_mbps)}, {"mean", gbps(rates.mean_mbps)}, {"max", gbps(rates.most_mbps)}};
  value["guaranteedGbpsPerPort"] = gbps(static_cast<double>(job.guaranteed_mbps));
  value["admitted"] = job.admitted;
  value["met"] = job.admitted ? Json(rates.met) : Json(nullptr);
  value["worstShare"] = rates.worst_share;
  value["heldBackBy"] = held_back_text(answer, rates.held_back_by);
  value["assumedTraffic"] = job.assumed_traffic;
  if (!job.reason.empty()) value["reason"] = job.reason;
  return value;
}

Json json_of(const FlowAnswer& answer, const LinkHeat& heat) {
  const fabric::PortId out = fabric::out_port_of(answer.topology, heat.link);
  return {{"from", end_text(answer.topology, out)},
          {"to", end_text(answer.topology, answer.topology.peer(out))},
          {"port", answer.topology.port_text(out)},
          {"stage", heat.stage},
          {"gbps", gbps(heat.load_mbps)},
          {"capacityGbps", gbps(heat.capacity_mbps)},
          {"heat", heat.heat()},
          {"fullestClass", answer.classes[heat.fullest_class].name},
          {"fullestClassGbps", gbps(heat.fullest_class_mbps)}};
}

std::string number(const char* pattern, double value) {
  char text[48];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

Cell met_cell(const FlowJob& job, const JobRates& rates) {
  if (job.outcome == "notNow" || job.outcome == "never") return {"not placed", Tone::warning};
  if (job.guaranteed_mbps == 0) return {"-", Tone::faint};
  if (!job.admitted) return {"refused", Tone::warning};
  return rates.met ? Cell("yes", Tone::good) : Cell("no", Tone::bad);
}

void print(Output& output, const FlowAnswer& answer, const Json& document) {
  Sheet sheet;
  sheet.add("Engine", text_of(document, "engine") + ": " + text_of(document, "engineReason"));
  const Json& failed = list(document, "failedLinks");
  if (!failed.empty()) sheet.add("Failed links", std::to_string(failed.size()) + ": " + joined(failed, 2));
  sheet.add("Solved", number("%.1f ms", field(document, "solveMs").get<double>()) + ", " +
                          text_of(document, "solutions") + " solutions" +
                          (flag_of(document, "settled") ? "" : "; shares of classes did not settle"));
  if (const Json& search = field(document, "adversarial"); search.is_object()) {
    sheet.add("Worst traffic", "of " + text_of(search, "matrices") + " tried: " + text_of(search, "victim") + " gets " +
                                   number("%.1f%%", 100 * field(search, "share").get<double>()) + ", its class fills " +
                                   number("%.1f%%", 100 * field(search, "fullest").get<double>()) + " of its share");
  }
  output.text(sheet.text(output.terminal()) + "\n");
  Table table({{"job", Align::left},
               {"class", Align::left},
               {"ports", Align::right},
               {"offered", Align::right},
               {"got", Align::right},
               {"min", Align::right},
               {"mean", Align::right},
               {"max", Align::right},
               {"promised", Align::right},
               {"met", Align::left},
               {"held back by", Align::left}});
  for (std::size_t j = 0; j < answer.jobs.size(); ++j) {
    const FlowJob& job = answer.jobs[j];
    const JobRates& rates = answer.rates[j];
    table.add({job.name, answer.classes[job.qos_class].name, job.ports.empty() ? "-" : std::to_string(job.ports.size()),
               number("%.1f", gbps(rates.offered_mbps)), number("%.1f", gbps(rates.got_mbps)),
               number("%.2f", gbps(rates.least_mbps)), number("%.2f", gbps(rates.mean_mbps)),
               number("%.2f", gbps(rates.most_mbps)),
               job.guaranteed_mbps > 0 ? number("%.2f", gbps(static_cast<double>(job.guaranteed_mbps))) : "-",
               met_cell(job, rates), rates.flows == 0 ? "-" : held_back_text(answer, rates.held_back_by)});
  }
  output.text(table.text(output.terminal()) + "Gb/s; min, mean, max and promised are of a port that sends\n");
  if (answer.hottest.empty()) return;
  Table links({{"hottest links", Align::left},
               {"stage", Align::left},
               {"load", Align::right},
               {"of", Align::right},
               {"heat", Align::right},
               {"most of it", Align::left}});
  for (const LinkHeat& heat : answer.hottest) {
    links.add({link_heat_text(answer.topology, heat.link),
               heat.stage,
               number("%.1f", gbps(heat.load_mbps)),
               number("%.0f", gbps(heat.capacity_mbps)),
               {number("%.1f%%", 100 * heat.heat()), heat.heat() > 0.95 ? Tone::warning : Tone::plain},
               answer.classes[heat.fullest_class].name + number(" %.1f", gbps(heat.fullest_class_mbps))});
  }
  output.text("\n" + links.text(output.terminal()));
}

void note_jobs(Output& output, const std::vector<FlowJob>& jobs, const fabric::QosClasses& classes) {
  for (const FlowJob& job : jobs) {
    if (job.outcome == "notNow" || job.outcome == "never") {
      output.note("railweave: note: " + job.name + " has no place: " + job.reason);
    } else if (!job.reason.empty()) {
      output.note("railweave: note: " + job.name + " is not admitted and sends as " + classes[job.qos_class].name +
                  ": " + job.reason);
    }
    if (job.assumed_traffic) {
      output.note("railweave: note: " + job.name + " names neither model nor traffic: a usual model is assumed");
    }
    const bool shared = std::ranges::any_of(
        jobs, [&](const FlowJob& other) { return other.admitted && other.qos_class == job.qos_class; });
    if (!job.admitted && shared && job.outcome != "notNow" && job.outcome != "never") {
      output.note("railweave: note: " + job.name + " sends in class " + classes[job.qos_class].name +
                  " without a guarantee, and nothing caps it: guarantees of that class need not hold");
    }
  }
}

fabric::ChangesWithout changes_without(const RoutedFabric& routed) {
  return [&routed](fabric::LinkId link) -> Result<fabric::RouteChangesPtr> {
    fabric::FabricView view = routed.view;
    view.set_state(link, fabric::LinkState::down);
    const auto& tables = routed.routing.tables;
    const auto* engine = fabric::find_engine(routed.report.engine);
    auto rerouted = engine->reroute(routed.routing, {.view = view, .scope = tables.scope_ptr()});
    if (!rerouted) return std::unexpected(rerouted.error());
    return std::make_shared<const fabric::RouteChanges>(
        fabric::route_changes(tables, rerouted->tables, tables.scope().arc_of(link).plane));
  };
}

void run(Session& session, const LabFlowsOptions& options) {
  Output& output = session.output;
  if (options.jobs.empty() && options.traffic.empty()) {
    fail_usage("there is nothing to send", "--jobs FILE names jobs, --traffic FILE flows");
  }
  if (options.adversarial && (options.jobs.empty() || !options.traffic.empty())) {
    fail_usage("--adversarial chooses the traffic of jobs itself", "give --jobs FILE, and no --traffic");
  }
  if ((options.fabric.path == "-") + (options.jobs == "-") + (options.traffic == "-") > 1) {
    fail_usage("only one file can come from stdin");
  }
  const fabric::QosClasses classes = read_qos_classes(options.classes);
  std::vector<JobRequestEntry> requests;
  if (!options.jobs.empty()) requests = read_job_requests(options.jobs, classes);
  const FabricFile file = read_fabric_file(options.fabric);
  RouteRequest request = options.request;
  request.failures = choose_failures(*file.topology, options.failures);
  const RoutedFabric routed = route_fabric(file.topology, request);
  const fabric::PathWalker walker(routed.view, routed.routing.tables);
  fabric::HoseLoads loads(routed.view, routed.routing.tables);
  std::vector<FlowJob> jobs = place_jobs(requests, routed.view, walker);
  admit_jobs(jobs, classes, loads, [&](const fabric::Reservation& wanted) {
    return fabric::load_surviving_failures(wanted, loads, changes_without(routed));
  });
  if (!options.traffic.empty()) add_traffic_file(options.traffic, *file.topology, classes, jobs);
  if (options.adversarial) add_flooding_ports(jobs, *file.topology, classes);

  const auto started = std::chrono::steady_clock::now();
  const FlowSolver solver(routed.view, walker, classes);
  FlowSet flows;
  SolvedFlows solved;
  Json document = {{"engine", routed.report.engine}, {"engineReason", routed.report.engine_reason}};
  document["failedLinks"] = routed.report.failed_links;
  if (options.adversarial) {
    output.begin_progress("searching");
    WorstTraffic worst =
        search_worst(jobs, routed.view, solver, {.seed = options.failures.seed, .rounds = options.rounds});
    output.end_progress();
    if (worst.victim == jobs.size()) fail_usage("no job has ports to send between", "place one on two hosts or more");
    document["adversarial"] = {{"victim", jobs[worst.victim].name},
                               {"share", worst.victim_share},
                               {"fullest", worst.fullest},
                               {"matrices", worst.matrices},
                               {"seed", options.failures.seed}};
    flows = std::move(worst.flows);
    solved = std::move(worst.solved);
  } else {
    std::vector<std::uint8_t> class_of_job;
    for (const FlowJob& job : jobs) class_of_job.push_back(job.qos_class);
    flows = flows_of_jobs(jobs, routed.view);
    solved = solver.solve(flows, class_of_job);
  }
  document["solveMs"] = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - started).count();
  document["solutions"] = solved.rates.rounds;
  document["settled"] = solved.rates.settled;
  const auto heats = link_heats(routed.view, solved.rates, classes.size(), solver.capacity_mbps());
  const FlowAnswer answer{*file.topology, classes, jobs, rates_of_jobs(jobs, flows, solved),
                          hottest(heats, options.top)};
  document["jobs"] = Json::array();
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    document["jobs"].push_back(json_of(answer, jobs[j], answer.rates[j]));
    if (jobs[j].admitted && !answer.rates[j].met) session.exit_code = ExitCode::findings;
  }
  document["links"] = Json::array();
  for (const LinkHeat& heat : answer.hottest) document["links"].push_back(json_of(answer, heat));
  if (!options.svg.empty()) {
    write_file_or_stdout(output, options.svg,
                         heat_svg(heats, "Heat of links: " + std::to_string(flows.size()) + " flows of " +
                                             std::to_string(jobs.size()) + " jobs"));
  }
  note_jobs(output, jobs, classes);
  if (output.is_document()) return output.document(document);
  print(output, answer, document);
}

}  // namespace

void add_lab_flows_command(CLI::App& lab, Session& session) {
  auto options = std::make_shared<LabFlowsOptions>();
  CLI::App& command = add_command(
      lab, "flows", "What jobs get of a fabric's links when all send at once: rates, guarantees kept, heat of links",
      {"railweave lab flows fabric.json --jobs jobs.json",
       "railweave lab flows fabric.json --jobs jobs.json --adversarial --rounds 1000 --seed 7",
       "railweave lab flows fabric.json --traffic flows.csv --fail leaf-7/33 --svg heat.svg",
       "railweave lab flows dump.ibnetdiscover --gpus-per-node 8 --jobs jobs.json --top 30 -o json"});
  add_fabric_file_options(command, options->fabric);
  command
      .add_option("--jobs", options->jobs,
                  "Jobs as POST /v1/jobs takes them, in a list, placed in order; \"bandwidth\" says what they are "
                  "guaranteed")
      ->type_name("FILE");
  command
      .add_option("--traffic", options->traffic,
                  "Flows in JSON or CSV: from, to, class, rateGbps, job; those of a job replace its own")
      ->type_name("FILE");
  command.add_flag("--adversarial", options->adversarial,
                   "Search for the traffic that hurts a guaranteed job most: matchings by --seed, all others flooding");
  add_number_option(command, "--rounds", options->rounds, "Matrices that --adversarial tries", {1, 1'000'000});
  command.add_option("--classes", options->classes, "Classes of traffic, as PUT /v1/qos-classes takes them")
      ->type_name("FILE");
  add_engine_option(command, options->request.engine);
  add_failure_options(command, options->failures);
  add_number_option(command, "--top", options->top, "So many of the hottest links", {0, 1'000'000});
  command.add_option("--svg", options->svg, "Draw the heat of all links, by tier")->type_name("FILE");
  on_run(command, session, [&session, options] { run(session, *options); });
}

}  // namespace railweave::cli
