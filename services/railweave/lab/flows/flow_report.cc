#include "services/railweave/lab/flows/flow_report.h"

#include <algorithm>

#include <fmt/core.h>

#include "services/railweave/terminal/formatted.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

double gbps(double mbps) { return mbps / 1000; }

std::string held_back_text(const FlowReport& report, std::uint32_t link) {
  if (link == fabric::FlowRates::kOwnCap) return "its own rate";
  if (link == fabric::FlowRates::kUnbounded) return "no route";
  return link_heat_text(report.topology, link);
}

Json json_of(const FlowReport& report, const FlowJob& job, const JobRates& rates) {
  Json value = {{"name", job.name}, {"tenant", job.tenant}, {"outcome", job.outcome}};
  value["class"] = report.classes[job.qos_class].name;
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
  value["heldBackBy"] = held_back_text(report, rates.held_back_by);
  value["assumedTraffic"] = job.assumed_traffic;
  if (!job.reason.empty()) value["reason"] = job.reason;
  return value;
}

Json json_of(const FlowReport& report, const LinkHeat& heat) {
  const fabric::PortId out = fabric::out_port_of(report.topology, heat.link);
  return {{"from", end_text(report.topology, out)},
          {"to", end_text(report.topology, report.topology.peer(out))},
          {"port", report.topology.port_text(out)},
          {"stage", heat.stage},
          {"gbps", gbps(heat.load_mbps)},
          {"capacityGbps", gbps(heat.capacity_mbps)},
          {"heat", heat.heat()},
          {"fullestClass", report.classes[heat.fullest_class].name},
          {"fullestClassGbps", gbps(heat.fullest_class_mbps)}};
}

Cell met_cell(const FlowJob& job, const JobRates& rates) {
  if (job.outcome == "notNow" || job.outcome == "never") return {"not placed", Tone::warning};
  if (job.guaranteed_mbps == 0) return {"-", Tone::faint};
  if (!job.admitted) return {"refused", Tone::warning};
  return rates.met ? Cell("yes", Tone::good) : Cell("no", Tone::bad);
}

void print_tables(Output& output, const FlowReport& report, const Json& document) {
  Sheet sheet;
  sheet.add("Engine", text_of(document, "engine") + ": " + text_of(document, "engineReason"));
  const Json& failed = list(document, foreign("failedLinks"));
  if (!failed.empty()) sheet.add("Failed links", fmt::format("{}: {}", failed.size(), joined(failed, 2)));
  sheet.add("Solved", formatted("%.1f ms", field(document, foreign("solveMs")).get<double>()) + ", " +
                          text_of(document, foreign("solutions")) + " solutions" +
                          (flag_of(document, foreign("settled")) ? "" : "; shares of classes did not converge"));
  if (const Json& search = field(document, foreign("adversarial")); search.is_object()) {
    sheet.add("Worst traffic", text_of(search, foreign("matrices")) + " matrices tried; " +
                                   text_of(search, foreign("victim")) + " receives " +
                                   formatted("%.1f%%", 100 * field(search, "share").get<double>()) +
                                   ", its class fills " +
                                   formatted("%.1f%%", 100 * field(search, "fullest").get<double>()) + " of its share");
  }
  if (const Json& followed = field(document, foreign("followed")); followed.is_object()) {
    const auto number = [&](const char* name) { return field(followed, foreign(name)).get<double>(); };
    sheet.add(
        "Routes",
        text_of(followed, "hops") + " next hops chosen for these flows: the fullest link is asked for " +
            formatted("%.2f", number("fullest")) + formatted(" of its rate (%.2f before), ", number("fullestBefore")) +
            formatted("jobs get %.1f Gb/s", number("gotGbps")) + formatted(" (%.1f before)", number("gotGbpsBefore")));
  }
  output.text(sheet.text(output.terminal()) + "\n");
  Table table({{"job", Align::left},
               {"class", Align::left},
               {"ports", Align::right},
               {"offered", Align::right},
               {"received", Align::right},
               {"min", Align::right},
               {"mean", Align::right},
               {"max", Align::right},
               {"guaranteed", Align::right},
               {"met", Align::left},
               {"held back by", Align::left}});
  for (std::size_t j = 0; j < report.jobs.size(); ++j) {
    const FlowJob& job = report.jobs[j];
    const JobRates& rates = report.rates[j];
    table.add({job.name, report.classes[job.qos_class].name, job.ports.empty() ? "-" : std::to_string(job.ports.size()),
               formatted("%.1f", gbps(rates.offered_mbps)), formatted("%.1f", gbps(rates.got_mbps)),
               formatted("%.2f", gbps(rates.least_mbps)), formatted("%.2f", gbps(rates.mean_mbps)),
               formatted("%.2f", gbps(rates.most_mbps)),
               job.guaranteed_mbps > 0 ? formatted("%.2f", gbps(static_cast<double>(job.guaranteed_mbps))) : "-",
               met_cell(job, rates), rates.flows == 0 ? "-" : held_back_text(report, rates.held_back_by)});
  }
  output.text(table.text(output.terminal()) + "Gb/s; min, mean, max and guaranteed per sending port\n");
  if (report.hottest.empty()) return;
  Table links({{"hottest links", Align::left},
               {"stage", Align::left},
               {"load", Align::right},
               {"capacity", Align::right},
               {"heat", Align::right},
               {"largest class", Align::left}});
  for (const LinkHeat& heat : report.hottest) {
    links.add({link_heat_text(report.topology, heat.link),
               heat.stage,
               formatted("%.1f", gbps(heat.load_mbps)),
               formatted("%.0f", gbps(heat.capacity_mbps)),
               {formatted("%.1f%%", 100 * heat.heat()), heat.heat() > 0.95 ? Tone::warning : Tone::plain},
               report.classes[heat.fullest_class].name + formatted(" %.1f", gbps(heat.fullest_class_mbps))});
  }
  output.text("\n" + links.text(output.terminal()));
}

void note_jobs(Output& output, const std::vector<FlowJob>& jobs, const fabric::QosClasses& classes) {
  for (const FlowJob& job : jobs) {
    if (job.outcome == "notNow" || job.outcome == "never") {
      output.note("railweave: note: " + job.name + " is not placed: " + job.reason);
    } else if (!job.reason.empty()) {
      output.note("railweave: note: " + job.name + " is not admitted and sends as " + classes[job.qos_class].name +
                  ": " + job.reason);
    }
    if (job.assumed_traffic) {
      output.note("railweave: note: " + job.name + " gives neither model nor traffic: the default model is used");
    }
    const bool shared = std::ranges::any_of(
        jobs, [&](const FlowJob& other) { return other.admitted && other.qos_class == job.qos_class; });
    if (!job.admitted && shared && job.outcome != "notNow" && job.outcome != "never") {
      output.note("railweave: note: " + job.name + " sends in class " + classes[job.qos_class].name +
                  " without a guarantee or a rate limit: guarantees of that class may not be met");
    }
  }
}

}  // namespace

bool guarantees_met(const FlowReport& report) {
  for (std::size_t j = 0; j < report.jobs.size(); ++j) {
    if (report.jobs[j].admitted && !report.rates[j].met) return false;
  }
  return true;
}

void print_flow_report(Output& output, const FlowReport& report, Json document) {
  document["jobs"] = Json::array();
  for (std::size_t j = 0; j < report.jobs.size(); ++j) {
    document["jobs"].push_back(json_of(report, report.jobs[j], report.rates[j]));
  }
  document["links"] = Json::array();
  for (const LinkHeat& heat : report.hottest) document["links"].push_back(json_of(report, heat));
  note_jobs(output, report.jobs, report.classes);
  if (output.is_document()) return output.document(document);
  print_tables(output, report, document);
}

}  // namespace railweave::cli
