// railweave status: what is wrong, then a summary of the service, the fabric, jobs and free GPUs.
#include <algorithm>
#include <iterator>

#include <fmt/core.h>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/alarms.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/age.h"
#include "services/railweave/terminal/table.h"
#include "services/railweave/views/control_steps.h"
#include "services/railweave/views/step_times.h"
#include "services/railweave/views/subnet.h"

namespace railweave::cli {
namespace {

constexpr std::size_t kAlarmsShown = 10;
constexpr std::size_t kDrainsShown = 5;

struct Summary {
  std::string phase;
  Json leader;
  Json fabric;
  Json queue;
  std::uint64_t jobs = 0;
  std::vector<ControlStep> steps;
  Json gains = Json::array();  // measured
  Json damaged = Json::array();
  Json alarms = Json::array();  // critical ones first
  Json drains = Json::array();
  Json tenants = Json::array();
  Json subnets = Json::array();  // live ones; none for callers who may not see them
};

// A page of what not every role may see.
Json items_if_allowed(Service& service, const Target& target) {
  api::ClientRequest request;
  request.target = target.text();
  const Json answer = service.send(std::move(request), [](int status) { return status == 403; }).body;
  return list(answer, "items");
}

Json all_items(Service& service, const Target& target) {
  Json items = Json::array();
  service.each_item(target, 0, [&](const Json& item) { items.push_back(item); }, [&] { items.clear(); });
  return items;
}

void fetch_jobs(Service& service, Summary& summary) {
  const Json all =
      all_items(service, Target("/v1/jobs").query("fields", "id,name,tenant,state,damaged,gpus,submittedAt,external"));
  summary.steps = control_steps(all);
  for (const auto& job : all) {
    if (text_of(job, "state") == "placed") ++summary.jobs;
    if (!flag_of(job, "damaged")) continue;
    summary.damaged.push_back(
        {{"id", field(job, "id")}, {"name", field(job, "name")}, {"tenant", field(job, "tenant")}, {"damaged", true}});
  }
}

Summary fetch_summary(Session& session) {
  Service& service = session.service();
  Summary summary;
  api::ClientRequest ready;
  ready.target = "/readyz";
  summary.phase = text_of(service.send(std::move(ready), [](int status) { return status == 503; }).body, "phase");
  summary.leader = service.get(Target("/v1/leader"));
  summary.fabric = service.get(Target("/v1/fabric"));
  summary.queue = service.get(Target("/v1/queue"));
  fetch_jobs(service, summary);
  api::ClientRequest gains;
  gains.target = "/v1/gains";  // which services of earlier versions do not have
  summary.gains = list(service.send(std::move(gains), [](int status) { return status == 404; }).body, "gains");
  summary.tenants = all_items(service, Target("/v1/tenants"));
  std::vector<Json> alarms = all_items(service, Target("/v1/alarms"));
  std::ranges::stable_sort(alarms, std::ranges::less(), alarms_view().order);
  summary.alarms = std::move(alarms);
  summary.drains = items_if_allowed(service, Target("/v1/drains").query("limit", "1000"));
  for (const auto& subnet : items_if_allowed(service, Target("/v1/subnets").query("limit", "100"))) {
    if (field(subnet, "live").is_object()) summary.subnets.push_back(subnet);
  }
  return summary;
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? std::string() : fmt::format(" ({}%)", (part * 100 + whole / 2) / whole);
}

bool is_acknowledged(const Json& alarm) { return field(alarm, "acknowledged").is_object(); }
bool is_looked_after(const Json& alarm) { return is_acknowledged(alarm) || is_muted(alarm); }
bool is_critical(const Json& alarm) { return text_of(alarm, "severity") == "critical"; }
bool is_not_seen(const Json& subnet) { return is_unseen(field(subnet, "live")); }
// Watched alone, a subnet is nothing that Railweave programs.
bool is_out_of_sync(const Json& subnet) {
  const std::string phase = text_of(field(subnet, "live"), "phase");
  return phase != "synced" && phase != "watching";
}
bool is_ready(const Summary& summary) { return summary.phase == "ready" || summary.phase == "following"; }

// What --check fails for: what a person has to look at and has not.
bool is_any_wrong(const Summary& summary) {
  return !std::ranges::all_of(summary.alarms, is_looked_after) ||
         std::ranges::any_of(summary.subnets, is_out_of_sync) || !summary.damaged.empty();
}

std::string alarms_text(const Summary& summary) {
  const auto critical = std::ranges::count_if(summary.alarms, is_critical);
  const auto acknowledged = std::ranges::count_if(summary.alarms, is_acknowledged);
  const auto muted = std::ranges::count_if(summary.alarms, is_muted);
  const auto all = static_cast<std::ptrdiff_t>(summary.alarms.size());
  return fmt::format("{} critical, {} warning{}{}", critical, all - critical,
                     acknowledged == 0 ? "" : fmt::format(", {} of them acknowledged", acknowledged),
                     muted == 0 ? "" : fmt::format(", {} of them muted", muted));
}

std::string drains_text(const Json& drains) {
  std::string text;
  for (std::size_t i = 0; i < std::min(drains.size(), kDrainsShown); ++i) {
    text += (i == 0 ? "" : ", ") + text_of(drains[i], "kind") + " " + text_of(drains[i], "name") + " " +
            text_of(drains[i], "state") + " " + age_of(drains[i], "changedAt");
  }
  return drains.size() > kDrainsShown ? fmt::format("{} and {} more", text, drains.size() - kDrainsShown) : text;
}

void add_subnets(Sheet& sheet, const Summary& summary) {
  for (const auto& subnet : summary.subnets) {
    const Json& live = field(subnet, "live");
    std::string text = text_of(subnet, "id") + ", " + text_of(subnet, "mode") + " mode, " + text_of(live, "phase");
    if (is_unseen(live)) {
      text += ": nothing is known of its links and tables since " + last_seen_text(live);
    } else if (text_of(live, "problem") != "-") {
      text += ": " + text_of(live, "problem");
    }
    sheet.add("Subnet", {text, phase_cell(text_of(live, "phase")).tone});
    if (const std::string loops = old_levels_warning(live); !loops.empty()) sheet.add("Levels", {loops, Tone::warning});
  }
}

// What needs a person, in the order in which one looks at it.
void add_troubles(Sheet& sheet, const Summary& summary) {
  if (!summary.alarms.empty()) {
    const bool any_critical = std::ranges::any_of(summary.alarms, is_critical);
    sheet.add("Alarms", {alarms_text(summary), any_critical ? Tone::bad : Tone::warning});
  }
  if (std::ranges::any_of(summary.subnets, is_out_of_sync)) add_subnets(sheet, summary);
  for (const auto& job : summary.damaged) {
    sheet.add("Damaged", {text_of(job, "id") + ", " + text_of(job, "name") + " of " + text_of(job, "tenant") +
                              " (railweave jobs repair " + text_of(job, "id") + " --dry-run)",
                          Tone::bad});
  }
  if (!summary.drains.empty()) sheet.add("Drains", {drains_text(summary.drains), Tone::warning});
  if (const auto waiting = count_of(summary.queue, "waiting"); waiting > 0) {
    sheet.add("Waiting",
              {fmt::format("{}{}{} GPUs, the oldest since {}", waiting, waiting == 1 ? " job for " : " jobs for ",
                           text_of(summary.queue, "gpusWaiting"), time_and_age_of(summary.queue, "oldestSubmittedAt")),
               Tone::warning});
  }
}

// Muted ones are counted beneath, not shown.
void print_alarms(Output& output, const Json& all) {
  Json alarms = Json::array();
  std::ranges::copy_if(all, std::back_inserter(alarms), [](const Json& alarm) { return !is_muted(alarm); });
  if (alarms.empty()) return;
  const ListView view = alarms_view();
  Table table = make_table(view, output.is_wide());
  for (std::size_t i = 0; i < std::min(alarms.size(), kAlarmsShown); ++i) {
    add_row(table, view, output.is_wide(), alarms[i]);
  }
  output.text(table.text(output.terminal()));
  if (alarms.size() > kAlarmsShown) {
    output.text(fmt::format("{} more: railweave alarms\n", alarms.size() - kAlarmsShown));
  }
  output.text("\n");
}

void add_fabric(Sheet& sheet, const Json& fabric) {
  if (count_of(fabric, "hosts") == 0 && count_of(fabric, "switches") == 0) {
    return sheet.add("Fabric", {"none yet (railweave fabric import FILE loads one)", Tone::warning});
  }
  const std::uint64_t gpus = count_of(fabric, "gpus");
  const std::uint64_t free = count_of(fabric, "freeGpus");
  sheet.add("Fabric", text_of(fabric, "hosts") + " hosts, " + text_of(fabric, "switches") + " switches, " +
                          text_of(fabric, "interSwitchLinks") + " links between switches; from " +
                          text_of(fabric, "source"));
  sheet.add("GPUs", fmt::format("{}, {} free{}", gpus, free, share(free, gpus)));
}

void print_status(Session& session, const Summary& summary) {
  Output& output = session.output;
  print_alarms(output, summary.alarms);
  Sheet sheet;
  add_troubles(sheet, summary);
  sheet.add("Service",
            {session.service().url() + ", " + summary.phase, is_ready(summary) ? Tone::good : Tone::warning});
  if (const Json leader = field(summary.leader, "leader"); leader.is_object()) {
    sheet.add("Leader", text_of(leader, "name") + " at " + text_of(leader, "url") + ", term " +
                            text_of(leader, "term") + ", since " + text_of(leader, "since"));
  }
  add_fabric(sheet, summary.fabric);
  if (std::ranges::none_of(summary.subnets, is_out_of_sync)) add_subnets(sheet, summary);
  sheet.add("Jobs", fmt::format("{} placed", summary.jobs));
  for (const ControlStep& step : summary.steps) {
    sheet.add(step.scheduler == "slurm"        ? "Slurm"
              : step.scheduler == "kubernetes" ? "Kubernetes"
                                               : step.scheduler,
              control_step_text(step));
  }
  for (const auto& gain : summary.gains) sheet.add("Gain", gain_text(gain));
  output.text(sheet.text(output.terminal()));
  Table table({{"TENANT"}, {"GPUS HELD", Align::right}, {"LIMIT", Align::right}});
  for (const auto& tenant : summary.tenants) {
    table.add({text_of(tenant, "id"), text_of(tenant, "gpusHeld"),
               field(tenant, "maxGpus").is_number() ? text_of(tenant, "maxGpus") : std::string("none")});
  }
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

void status(Session& session, bool check) {
  const Summary summary = fetch_summary(session);
  if (std::ranges::any_of(summary.subnets, is_not_seen)) session.exit_code = ExitCode::findings;
  if (check && is_any_wrong(summary)) session.exit_code = ExitCode::findings;
  if (!is_ready(summary)) session.exit_code = ExitCode::unavailable;
  if (!session.output.is_document()) return print_status(session, summary);
  Json schedulers = Json::array();
  for (const ControlStep& step : summary.steps) schedulers.push_back(control_step_json(step));
  session.output.document(Json{{"server", session.service().url()},
                               {"phase", summary.phase},
                               {"alarms", summary.alarms},
                               {"jobsDamaged", summary.damaged},
                               {"drains", summary.drains},
                               {"queue", summary.queue},
                               {"leader", field(summary.leader, "leader")},
                               {"jobsPlaced", summary.jobs},
                               {"fabric", summary.fabric},
                               {"subnets", summary.subnets},
                               {"tenants", summary.tenants},
                               {"schedulers", std::move(schedulers)},
                               {"gains", summary.gains}});
}

}  // namespace

void add_status_command(CLI::App& root, Session& session) {
  CLI::App& command = add_command(
      root, "status",
      "Show what is wrong, then a summary of the service, the fabric, jobs and free GPUs; exit code 9 unless ready, 10 "
      "while a live subnet is not seen",
      {"railweave status", "railweave status --check", "railweave status --server http://127.0.0.1:7470 -o json"});
  command.group("Service");
  auto check = std::make_shared<bool>(false);
  command.add_flag(
      "--check", *check,
      "Exit code 10 also while there are alarms neither acknowledged nor muted, damaged jobs, or live subnets "
      "that are not synced");
  on_run(command, session, [&session, check] { status(session, *check); });
}

}  // namespace railweave::cli
