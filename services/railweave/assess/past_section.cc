#include <algorithm>

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "services/railweave/assess/charts.h"
#include "services/railweave/assess/past_month.h"
#include "services/railweave/assess/sections.h"
#include "services/railweave/terminal/formatted.h"

namespace railweave::cli {
namespace {

constexpr double kHourS = 3600;

std::string hours_text(double seconds) { return formatted("%.2f h", seconds / kHourS); }

std::uint32_t usual_gpus(const fabric::Topology& t) {
  std::size_t most = 0;
  for (const fabric::HostId host : t.hosts()) most = std::max(most, t.gpus(host).size());
  return static_cast<std::uint32_t>(most);
}

Json replay_json(const ReplayReport& report) {
  return {{"policy", report.policy},
          {"meanWaitS", report.waits.mean_s},
          {"p95WaitS", report.waits.p95_s},
          {"utilisation", report.utilisation},
          {"strandedGpuHours", report.stranded_gpu_h},
          {"groupsUsed", report.spread.racks},
          {"groupsNeeded", report.spread.least_racks}};
}

Advice loss_advice(const PastMonth& month, const ReportCommands& commands) {
  const Interval& lost = month.lost_gpu_h;
  return {"placementLoss",
          lost.low > 0 ? "warning" : "info",
          formatted("%.0f GPU hours", lost.mean) + " were lost to places, of " + formatted("%.0f", month.gpu_h),
          formatted("95 %% interval %.0f", lost.low) + formatted(" to %.0f GPU hours", lost.high) +
              ", by resampling jobs; the time of a step is predicted for a model that is assumed, not measured",
          formatted("%.1f %% of all GPU hours", month.gpu_h > 0 ? 100 * lost.mean / month.gpu_h : 0),
          "let Railweave place jobs; begin with one partition, beside the scheduler that is there",
          commands.part(".sections.past"),
          {}};
}

void add_unknown_hosts_of_past(ReportSection& section, const PastMonth& month, const ReportCommands& commands) {
  if (month.on_unknown_hosts == 0) return;
  section.advice.push_back({"pastHostsUnknown",
                            "info",
                            fmt::format("{} of {} ran on hosts that no other source names", month.on_unknown_hosts,
                                        plural(month.jobs, "job", "jobs")),
                            "certain that no source but the accounting names them",
                            "where these jobs ran is not judged; they are replayed",
                            "give sources of the time of the accounting, or compare the names of hosts",
                            commands.part(".sections.past"),
                            {month.unknown_hosts.begin(), month.unknown_hosts.end()}});
}

ReportSection without(ReportSection section, std::string why) {
  section.text = std::move(why);
  return section;
}

void add_replays(ReportSection& section, const PastMonth& month) {
  std::vector<Bar> bars{{"as it was", hours_text(month.mean_wait_s), month.mean_wait_s, true}};
  ReportTable table{{"placement", "mean wait", "95th percentile", "leaf groups used, of the fewest"}, {}, 0};
  table.rows.push_back({"as it was", hours_text(month.mean_wait_s), hours_text(month.p95_wait_s), "-"});
  Json replays = Json::array();
  for (const ReplayReport& replayed : month.replays) {
    const std::string name = replayed.policy == "tree" ? "replayed, as Slurm's tree places" : "replayed, by Railweave";
    bars.push_back({name, hours_text(replayed.waits.mean_s), replayed.waits.mean_s, false});
    const auto least = static_cast<double>(std::max<std::uint64_t>(1, replayed.spread.least_racks));
    table.rows.push_back({name, hours_text(replayed.waits.mean_s), hours_text(replayed.waits.p95_s),
                          formatted("x%.3f", static_cast<double>(replayed.spread.racks) / least)});
    replays.push_back(replay_json(replayed));
  }
  section.data["replays"] = std::move(replays);
  section.pictures.push_back(bars_chart("Mean wait of a job", bars));
  section.tables.push_back(std::move(table));
}

}  // namespace

ReportSection past_section(const SiteView& site) {
  ReportSection section{.id = "past", .title = "Jobs that ran"};
  if (!site.past_given) {
    return without(std::move(section),
                   "No accounting was given (sacct -a -X -P -S now-31days --format=JobID,User,Submit,Start,End,State,"
                   "AllocTRES,NNodes,NodeList), and no list of pods has one that ended (kubectl get pods -A -o json).");
  }
  if (site.topology->gpus().empty()) {
    return without(std::move(section),
                   "No source tells of GPUs, so nothing can be replayed; --gpus-per-node gives them.");
  }
  const auto fabric = std::make_shared<const scheduler::PlacementFabric>(site.topology);
  const PastMonth month = past_month(fabric, site.past.jobs, usual_gpus(*site.topology));
  section.data = {{"jobs", month.jobs},
                  {"gpuHours", month.gpu_h},
                  {"spanDays", month.span_days},
                  {"withoutGpus", month.without_gpus},
                  {"largerThanFabric", month.larger_than_fabric},
                  {"leftOff", month.left_off},
                  {"wholeHostsAssumed", month.whole_hosts},
                  {"onUnknownHosts", month.on_unknown_hosts},
                  {"rowsLeftOut", site.past.left_out_count},
                  {"leftOut", site.past.left_out},
                  {"meanWaitS", month.mean_wait_s},
                  {"p95WaitS", month.p95_wait_s},
                  {"placed", month.placed},
                  {"straddling", month.straddling},
                  {"lostGpuHours",
                   {{"mean", month.lost_gpu_h.mean}, {"low", month.lost_gpu_h.low}, {"high", month.lost_gpu_h.high}}}};
  section.facts = {
      {"jobs replayed", std::to_string(month.jobs)},
      {"days", formatted("%.1f", month.span_days)},
      {"GPU hours", formatted("%.0f", month.gpu_h)},
      {"of several hosts, spread more than needed", fmt::format("{} of {}", month.straddling, month.placed)},
      {"jobs without GPUs", std::to_string(month.without_gpus)},
      {"larger than the fabric, or too old", std::to_string(month.larger_than_fabric + month.left_off)},
      {"rows left out", std::to_string(site.past.left_out_count)}};
  if (!site.past.left_out.empty()) {
    section.advice.push_back(
        rows_left_out(site.past.left_out_count, site.past.left_out, site.commands.part(".sections.past.leftOut")));
  }
  if (month.jobs == 0) return without(std::move(section), "No job of the accounting used GPUs that this fabric has.");
  section.text =
      "Jobs run as long as they did, and ask for what they had. Waits as they were also have causes that are not in "
      "the "
      "accounting: limits, reservations, hosts that were down.";
  if (month.whole_hosts) section.text += " No job tells its GPUs, so each is taken to have had all of its hosts.";
  add_replays(section, month);
  add_unknown_hosts_of_past(section, month, site.commands);
  if (month.placed > 0) section.advice.push_back(loss_advice(month, site.commands));
  return section;
}

}  // namespace railweave::cli
