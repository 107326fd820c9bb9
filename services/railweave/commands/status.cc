// railweave status: a summary of the service, the fabric, jobs and free GPUs.
#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

struct Summary {
  std::string phase;
  Json leader;
  Json fabric;
  std::uint64_t jobs = 0;
  Json tenants = Json::array();
};

Summary fetch_summary(Session& session) {
  Service& service = session.service();
  Summary summary;
  api::ClientRequest ready;
  ready.target = "/readyz";
  summary.phase = text_of(service.send(std::move(ready), [](int status) { return status == 503; }).body, "phase");
  summary.leader = service.get(Target("/v1/leader"));
  summary.fabric = service.get(Target("/v1/fabric"));
  service.each_item(
      Target("/v1/jobs").query("state", "placed").query("fields", "id"), 0, [&](const Json&) { ++summary.jobs; },
      [&] { summary.jobs = 0; });
  service.each_item(
      Target("/v1/tenants"), 0, [&](const Json& tenant) { summary.tenants.push_back(tenant); },
      [&] { summary.tenants.clear(); });
  return summary;
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? std::string() : " (" + std::to_string((part * 100 + whole / 2) / whole) + "%)";
}

bool is_ready(const Summary& summary) { return summary.phase == "ready" || summary.phase == "following"; }

void print_status(Session& session, const Summary& summary) {
  Output& output = session.output;
  const Json& fabric = summary.fabric;
  const std::uint64_t gpus = count_of(fabric, "gpus");
  const std::uint64_t free = count_of(fabric, "freeGpus");
  Sheet sheet;
  sheet.add("Service",
            {session.service().url() + ", " + summary.phase, is_ready(summary) ? Tone::good : Tone::warning});
  if (const Json leader = field(summary.leader, "leader"); leader.is_object()) {
    sheet.add("Leader", text_of(leader, "name") + " at " + text_of(leader, "url") + ", term " +
                            text_of(leader, "term") + ", since " + text_of(leader, "since"));
  }
  if (count_of(fabric, "hosts") == 0 && count_of(fabric, "switches") == 0) {
    sheet.add("Fabric", {"none yet (railweave fabric import FILE loads one)", Tone::warning});
  } else {
    sheet.add("Fabric", text_of(fabric, "hosts") + " hosts, " + text_of(fabric, "switches") + " switches, " +
                            text_of(fabric, "interSwitchLinks") + " links between switches; from " +
                            text_of(fabric, "source"));
    sheet.add("GPUs", std::to_string(gpus) + ", " + std::to_string(free) + " free" + share(free, gpus));
  }
  sheet.add("Jobs", std::to_string(summary.jobs) + " placed");
  output.text(sheet.text(output.terminal()));
  Table table({{"TENANT"}, {"GPUS HELD", Align::right}, {"LIMIT", Align::right}});
  for (const auto& tenant : summary.tenants) {
    table.add({text_of(tenant, "id"), text_of(tenant, "gpusHeld"),
               field(tenant, "maxGpus").is_number() ? text_of(tenant, "maxGpus") : std::string("none")});
  }
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

void status(Session& session) {
  const Summary summary = fetch_summary(session);
  if (!is_ready(summary)) session.exit_code = ExitCode::unavailable;
  if (!session.output.is_document()) return print_status(session, summary);
  session.output.document(Json{{"server", session.service().url()},
                               {"phase", summary.phase},
                               {"leader", field(summary.leader, "leader")},
                               {"jobsPlaced", summary.jobs},
                               {"fabric", summary.fabric},
                               {"tenants", summary.tenants}});
}

}  // namespace

void add_status_command(CLI::App& root, Session& session) {
  CLI::App& command = add_command(
      root, "status", "Show a summary of the service, the fabric, jobs and free GPUs; exit code 9 unless ready",
      {"railweave status", "railweave status --server http://127.0.0.1:7470 -o json"});
  command.group("Service");
  on_run(command, session, [&session] { status(session); });
}

}  // namespace railweave::cli
