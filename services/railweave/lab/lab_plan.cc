// railweave lab plan: which fabric to build for a job, what it costs, and what each change of it would give.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "services/railweave/command_line/number_option.h"
#include "services/railweave/commands/jobs/job_request.h"
#include "services/railweave/lab/lab_commands.h"
#include "services/railweave/lab/plan/plan_svg.h"
#include "services/railweave/lab/plan/planned_fabric.h"
#include "services/railweave/lab/plan/prices.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"
#include "services/railweave/terminal/table.h"
#include "services/rest/json/jobs/job_spec.h"

namespace railweave::cli {
namespace {

constexpr double kMicrosOfHour = 3.6e9, kMicrosOfMilli = 1e3, kHoursOfDay = 24, kSecondsOfMinute = 60;
constexpr std::size_t kMaxShapes = 500, kRows = 12;
constexpr std::array kSizes = {0.25, 0.5, 1.0, 2.0, 4.0};

struct PlanOptions {
  JobOptions job;
  ShapeChoices choices;
  std::string prices, svg;
  double budget = 0;  // 0: none
};

struct Plan {
  scheduler::JobSpec job;
  Prices prices;
  std::vector<PlannedFabric> fabrics;  // by the cost of a step
  std::vector<std::pair<FabricShape, Error>> refused;
  std::size_t chosen = 0;
  std::size_t beyond_budget = 0;

  [[nodiscard]] double step_cost(const PlannedFabric& one) const {
    return prices.of_hour(one.total_cost) * one.step_us / kMicrosOfHour;
  }
};

std::string text_of_number(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}
std::string millions(double cost) { return text_of_number("%.2f M", cost / 1e6); }
std::string percent(double share) { return text_of_number("%.1f %%", share * 100); }
std::string ms_of(double us) { return text_of_number("%.6g", us / kMicrosOfMilli); }

Plan make_plan(const PlanOptions& options) {
  Plan plan{.job = value_or_fail(api::read_job_spec(compact_json(job_request(options.job)))),
            .prices = read_prices(options.prices)};
  const auto shapes = shapes_of(options.choices);
  if (shapes.size() > kMaxShapes) fail_usage("that is more than 500 fabrics", "give fewer kinds, tiers and ratios");
  for (const auto& shape : shapes) {
    auto planned = plan_fabric(shape, plan.job, plan.prices);
    if (!planned) {
      plan.refused.emplace_back(shape, planned.error());
    } else if (options.budget > 0 && planned->total_cost > options.budget) {
      ++plan.beyond_budget;
    } else {
      plan.fabrics.push_back(std::move(*planned));
    }
  }
  std::ranges::stable_sort(plan.fabrics,
                           [&](const auto& a, const auto& b) { return plan.step_cost(a) < plan.step_cost(b); });
  if (plan.fabrics.empty()) {
    const std::string dear =
        plan.beyond_budget > 0 ? fmt::format("{} cost more than the budget", plan.beyond_budget) : std::string();
    const std::string why = plan.refused.empty() ? std::string() : plan.refused.front().second.text();
    const std::string both = dear + (dear.empty() || why.empty() ? "" : "; ") + why;
    throw CommandFailure({ErrorKind::impossible,
                          "plan.nothing",
                          fmt::format("none of {} fabrics will do: {}", shapes.size(), both),
                          {},
                          {}});
  }
  return plan;
}

// What differs between two shapes, if one thing does.
std::optional<std::string> one_change(const FabricShape& from, const FabricShape& to) {
  std::vector<std::string> changes;
  const auto note = [&](bool differs, const std::string& text) {
    if (differs) changes.push_back(text);
  };
  note(from.kind != to.kind, to.kind);
  note(from.tiers != to.tiers && to.kind != "rail-only" && from.kind != "rail-only", fmt::format("{} tiers", to.tiers));
  note(from.oversubscription != to.oversubscription && to.kind != "rail-only" && from.kind != "rail-only",
       text_of_number("%.4g:1", to.oversubscription));
  note(from.adapters_per_gpu != to.adapters_per_gpu, text_of_number("adapters a GPU: %.4g", to.adapters_per_gpu));
  note(from.domain != to.domain, fmt::format("NVL{}", to.domain));
  return changes.size() == 1 ? std::optional(changes.front()) : std::nullopt;
}

// After how many days a dearer fabric has saved what it costs more; none: never, within the years of use.
std::optional<double> pays_after_days(const Plan& plan, const PlannedFabric& from, const PlannedFabric& to) {
  const double more = to.total_cost - from.total_cost;
  if (more <= 0) return to.step_us <= from.step_us ? std::optional(0.0) : std::nullopt;
  const double saved_an_hour = plan.prices.of_hour(from.total_cost) * (1 - to.step_us / from.step_us);
  if (saved_an_hour <= 0) return std::nullopt;
  const double days = more * (1 + plan.prices.overhead) / saved_an_hour / kHoursOfDay;
  constexpr double kDaysOfYear = 365.25;
  return days <= plan.prices.years * kDaysOfYear ? std::optional(days) : std::nullopt;
}

Json fabric_json(const Plan& plan, const PlannedFabric& one) {
  const auto efficiency = one.efficiency();
  return {{"fabric", one.shape.name()},
          {"kind", one.shape.kind},
          {"tiers", one.shape.tiers},
          {"oversubscription", one.shape.kind == "rail-only" ? Json() : Json(one.shape.oversubscription)},
          {"rails", one.shape.rails()},
          {"nvlinkDomain", one.shape.domain},
          {"generation", one.generation},
          {"gpus", one.gpus},
          {"hosts", one.hosts},
          {"adapters", one.adapters},
          {"switches", one.switches},
          {"switchPorts", one.switch_ports},
          {"hostCables", one.host_cables},
          {"switchCables", one.switch_cables},
          {"networkCost", one.network_cost},
          {"totalCost", one.total_cost},
          {"networkShare", one.network_share()},
          {"stepMs", one.step_us / kMicrosOfMilli},
          {"communicationMs", one.communication_us / kMicrosOfMilli},
          {"efficiency", efficiency ? Json(*efficiency) : Json()},
          {"stepCost", plan.step_cost(one)}};
}

Json changes_json(const Plan& plan) {
  Json changes = Json::array();
  const PlannedFabric& chosen = plan.fabrics[plan.chosen];
  for (const auto& other : plan.fabrics) {
    const auto change = one_change(chosen.shape, other.shape);
    if (!change) continue;
    const auto days = pays_after_days(plan, chosen, other);
    const bool same = other.generation == chosen.generation;
    changes.push_back({{"change", same ? *change : *change + " of " + other.generation},
                       {"networkCost", other.network_cost - chosen.network_cost},
                       {"stepMs", (other.step_us - chosen.step_us) / kMicrosOfMilli},
                       {"paysAfterDays", days ? Json(*days) : Json()}});
  }
  return changes;
}

// The chosen shape with more and fewer replicas: the same work for each.
Json sizes_json(const Plan& plan) {
  Json sizes = Json::array();
  for (const double factor : kSizes) {
    scheduler::JobSpec job = plan.job;
    const double data = job.parallelism.data * factor;
    if (data < 1 || data != std::floor(data)) continue;
    job.parallelism.data = static_cast<std::uint32_t>(data);
    const auto planned = plan_fabric(plan.fabrics[plan.chosen].shape, job, plan.prices);
    Json row{{"gpus", scheduler::rank_count(job.parallelism)}};
    if (planned) {
      const auto efficiency = planned->efficiency();
      row.update({{"stepMs", planned->step_us / kMicrosOfMilli},
                  {"efficiency", efficiency ? Json(*efficiency) : Json()},
                  {"networkCost", planned->network_cost},
                  {"networkShare", planned->network_share()}});
    } else {
      row["impossible"] = planned.error().text();
    }
    sizes.push_back(std::move(row));
  }
  return sizes;
}

Json plan_json(const Plan& plan) {
  const FailureModel model;
  const FailureLoss loss = failure_loss(model, scheduler::rank_count(plan.job.parallelism));
  Json fabrics = Json::array();
  for (const auto& one : plan.fabrics) fabrics.push_back(fabric_json(plan, one));
  Json refused = Json::array();
  for (const auto& [shape, error] : plan.refused)
    refused.push_back({{"fabric", shape.name()}, {"reason", error.text()}});
  return {{"gpus", scheduler::rank_count(plan.job.parallelism)},
          {"generation", plan.fabrics[plan.chosen].generation},
          {"step", plan.fabrics[plan.chosen].exposed_us ? "step" : "communication"},
          {"prices", prices_json(plan.prices)},
          {"chosen", plan.fabrics[plan.chosen].shape.name()},
          {"fabrics", std::move(fabrics)},
          {"beyondBudget", plan.beyond_budget},
          {"impossible", std::move(refused)},
          {"changes", changes_json(plan)},
          {"sizes", sizes_json(plan)},
          {"failures",
           {{"gpuHours", model.gpu_hours},
            {"checkpointSeconds", model.checkpoint_s},
            {"restartSeconds", model.restart_s},
            {"hoursBetween", loss.hours_between},
            {"checkpointEverySeconds", loss.checkpoint_every_s},
            {"lostShare", loss.lost_share}}}};
}

std::string share_text(const Json& share) {
  return share.is_number() ? percent(share.get<double>()) : std::string("-");
}

void print_sheet(Output& output, const Plan& plan, const Json& document) {
  const PlannedFabric& best = plan.fabrics[plan.chosen];
  Sheet sheet;
  sheet.add("Fabric", {best.shape.name(), Tone::good});
  sheet.add("GPUs", fmt::format("{} {} in {} hosts", best.gpus, best.generation, best.hosts));
  sheet.add("Switches", fmt::format("{} of {} ports", best.switches, best.shape.radix));
  sheet.add("Cables", fmt::format("{} to hosts, {} between switches", best.host_cables, best.switch_cables));
  sheet.add("Cost", millions(best.total_cost) + ", the network " + millions(best.network_cost) + " (" +
                        percent(best.network_share()) + ")");
  sheet.add(best.exposed_us ? "Step" : "Communication",
            ms_of(best.step_us) + " ms, " + text_of_number("%.4g", plan.step_cost(best)) + " each");
  if (const auto efficiency = best.efficiency())
    sheet.add("Efficiency", percent(*efficiency) + " of a step is computing");
  const Json& failures = document["failures"];
  sheet.add("Failures",
            "one in " + text_of_number("%.3g", failures["hoursBetween"].get<double>()) + " h; a checkpoint each " +
                text_of_number("%.3g", failures["checkpointEverySeconds"].get<double>() / kSecondsOfMinute) + " min; " +
                percent(failures["lostShare"].get<double>()) + " of the time lost");
  output.text(sheet.text(output.terminal()) + "\n");
}

void print_fabrics(Output& output, const Json& document) {
  Table table({{.title = "FABRIC", .name = true},
               {.title = "GPU"},
               {.title = "SWITCHES", .align = Align::right},
               {.title = "CABLES", .align = Align::right},
               {.title = "NETWORK", .align = Align::right},
               {.title = "SHARE", .align = Align::right},
               {.title = "STEP MS", .align = Align::right},
               {.title = "EFFICIENCY", .align = Align::right},
               {.title = "A STEP", .align = Align::right}});
  for (const auto& one : document["fabrics"]) {
    if (table.rows() == kRows) break;
    table.add({text_of(one, "fabric"), text_of(one, "generation"), text_of(one, "switches"),
               std::to_string(count_of(one, foreign("hostCables")) + count_of(one, foreign("switchCables"))),
               millions(one["networkCost"].get<double>()), share_text(one["networkShare"]),
               text_of_number("%.6g", one["stepMs"].get<double>()), share_text(one["efficiency"]),
               text_of_number("%.4g", one["stepCost"].get<double>())});
  }
  output.text(table.text(output.terminal()));
  const std::size_t count = document["fabrics"].size();
  if (count > kRows) output.text(fmt::format("and {} more (-o json has all)\n", count - kRows));
}

void print_changes(Output& output, const Json& document) {
  Table table({{.title = "CHANGE", .name = true},
               {.title = "NETWORK", .align = Align::right},
               {.title = "STEP MS", .align = Align::right},
               {.title = "PAYS AFTER", .align = Align::right}});
  for (const auto& one : document["changes"]) {
    const Json& days = one["paysAfterDays"];
    table.add({text_of(one, "change"), text_of_number("%+.2f M", one["networkCost"].get<double>() / 1e6),
               text_of_number("%+.4g", one["stepMs"].get<double>()),
               days.is_number() ? text_of_number("%.0f days", days.get<double>()) : std::string("never")});
  }
  if (table.rows() > 0) output.text("\nOne change of it\n" + table.text(output.terminal(), 2));
}

void print_sizes(Output& output, const Json& document) {
  std::string why;
  Table table({{.title = "GPUS", .align = Align::right},
               {.title = "STEP MS", .align = Align::right},
               {.title = "EFFICIENCY", .align = Align::right},
               {.title = "NETWORK", .align = Align::right},
               {.title = "SHARE", .align = Align::right}});
  for (const auto& one : document["sizes"]) {
    if (one.contains("impossible")) {
      table.add({text_of(one, "gpus"), "impossible", "-", "-", "-"});
      why += "  " + text_of(one, "gpus") + " GPUs: " + text_of(one, foreign("impossible")) + "\n";
      continue;
    }
    table.add({text_of(one, "gpus"), text_of_number("%.6g", one["stepMs"].get<double>()), share_text(one["efficiency"]),
               millions(one["networkCost"].get<double>()), share_text(one["networkShare"])});
  }
  output.text("\nThe same shape at other sizes, with the same global batch\n" + table.text(output.terminal(), 2) + why);
}

void print_prices(Output& output, const Json& document) {
  std::string line;
  for (const auto& [name, value] : document["prices"].items()) {
    line += (line.empty() ? "" : ", ") + name + " " + text_of_number("%.6g", value.get<double>());
  }
  output.text("\nPrices (--prices; those that are not given are assumed): " + line + "\n");
}

void run(Session& session, const PlanOptions& options) {
  Output& output = session.output;
  const Plan plan = make_plan(options);
  const Json document = plan_json(plan);
  if (!options.svg.empty()) write_file_or_stdout(output, options.svg, plan_svg(plan.fabrics, plan.chosen));
  if (output.is_document()) return output.document(document);
  print_sheet(output, plan, document);
  print_fabrics(output, document);
  print_changes(output, document);
  print_sizes(output, document);
  print_prices(output, document);
  if (!plan.fabrics[plan.chosen].exposed_us) {
    output.note("railweave: note: without --model a step is its communication alone, and no efficiency is known");
  }
}

}  // namespace

void add_lab_plan_command(CLI::App& lab, Session& session) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App& command = add_command(
      lab, "plan", "Compare fabrics that could be built for a job: parts, cost, step, and what a change would give",
      {"railweave lab plan --tp 8 --pp 5 --dp 25",
       "railweave lab plan --tp 8 --pp 4 --dp 32 --model "
       "parameters=70e9,layers=80,hiddenSize=8192,sequenceLength=8192,globalBatchSize=1024 --svg plan.svg",
       "railweave lab plan --tp 8 --dp 128 --budget 50000000 --prices gpu=25000,switchPort=500 -o json"});
  add_job_options(command, options->job, GpusPerNode::of_the_fabric);
  ShapeChoices& choices = options->choices;
  command.add_option("--kind", choices.kinds, "Kinds of fabric [rail-optimized,fat-tree,rail-only]")
      ->delimiter(',')
      ->type_name("KIND");
  command.add_option("--tiers", choices.tiers, "Tiers of switches [2,3]")
      ->delimiter(',')
      ->type_name("N")
      ->check(CLI::Range(1, 3));
  command.add_option("--oversubscription", choices.oversubscriptions, "Of leaves: down ports to uplinks [1,2,4]")
      ->delimiter(',')
      ->type_name("RATIO")
      ->check(CLI::Range(1.0, 64.0));
  command.add_option("--adapters-per-gpu", choices.adapters_per_gpu, "Adapters, each on a rail [1,0.5]")
      ->delimiter(',')
      ->type_name("RATIO")
      ->check(CLI::Range(0.125, 8.0));
  command.add_option("--domain", choices.domains, "GPUs that NVLink joins [8,72]")
      ->delimiter(',')
      ->type_name("N")
      ->check(CLI::Range(1, 1024));
  command.add_option("--speed", choices.speed, "Speed of links: EDR, HDR, NDR, XDR, or 400G [NDR]")->type_name("SPEED");
  add_number_option(command, "--radix", choices.radix, "Ports of a switch", {.least = 4, .most = 1024});
  command
      .add_option("--prices", options->prices,
                  "Prices of parts: a JSON file, or gpu=25000,switchPort=500,...; years and overhead too")
      ->type_name("FILE|FIELDS");
  command.add_option("--budget", options->budget, "Leave out what costs more, GPUs and hosts included")
      ->type_name("PRICE")
      ->check(CLI::Range(0.0, 1e12));
  command.add_option("--svg", options->svg, "Write cost against step as a picture")->type_name("FILE");
  on_run(command, session, [&session, options] { run(session, *options); });
}

}  // namespace railweave::cli
