// railweave guarantees reroute: link costs that restore guarantees at risk.
#include <array>
#include <cstdio>

#include <fmt/core.h>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

const char* const kReroutePath = "/v1/guarantees/reroute";

struct RerouteOptions {
  bool apply = false, reset = false, force = false;
  std::string reason;
};

void reset_reroute(Session& session, const RerouteOptions& options) {
  Target target(kReroutePath);
  if (options.force) target.query("force", "true");
  session.service().remove(target);
  session.output.note("no link has a cost: routes depend on the fabric alone");
}

void reroute(Session& session, const RerouteOptions& options) {
  if (options.reset) return reset_reroute(session, options);
  Output& output = session.output;
  Json answer;
  if (options.apply) {
    answer = session.service().post(Target(kReroutePath), Json{{"reason", options.reason}});
  } else {
    answer = session.service().get(Target(kReroutePath));
  }
  if (output.is_document()) return output.document(answer);
  Sheet sheet;
  const auto jobs = [&](FieldName name) {
    return list(answer, name).empty() ? std::string("none") : joined(list(answer, name), 8);
  };
  sheet.add(options.apply ? "Hold again" : "Would hold again", jobs("holdAgain"));
  sheet.add("Still at risk", jobs("stillAtRisk"));
  if (!list(answer, "costs").empty()) {
    sheet.add("Changed entries", text_of(answer, "changedEntries"));
    sheet.add("Lose coverage", text_of(answer, "loseCoverage"));
  }
  const Json& in_force = list(field(answer, "inForce"), "costs");
  sheet.add("Costs in force",
            in_force.empty()
                ? "none: routes depend on the fabric alone"
                : fmt::format("on {}{}{}, {}", in_force.size(), in_force.size() == 1 ? " link since " : " links since ",
                              text_of(field(answer, "inForce"), "since"), text_of(field(answer, "inForce"), "reason")));
  Table table({{"LINK"}, {"COST", Align::right}});
  for (const Json& one : list(answer, "costs")) {
    std::array<char, 32> cost{};
    (void)std::snprintf(cost.data(), cost.size(), "%.2f",
                        field(one, "cost").is_number() ? field(one, "cost").get<double>() : 1);
    table.add({text_of(one, "link"), std::string(cost.data())});
  }
  output.text(sheet.text(output.terminal()));
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

}  // namespace

void add_guarantee_reroute_command(CLI::App& guarantees, Session& session) {
  CLI::App& command =
      add_command(guarantees, "reroute", "Propose link costs whose routes hold guarantees at risk, or set them",
                  {"railweave guarantees reroute", "railweave guarantees reroute --apply --reason 'INC-42'",
                   "railweave guarantees reroute --reset"});
  auto options = std::make_shared<RerouteOptions>();
  auto* apply = command.add_flag("--apply", options->apply, "Set the costs; routes change at once");
  auto* reset = command.add_flag("--reset", options->reset, "Remove all costs, if no guarantee needs them");
  reset->excludes(apply);
  command.add_flag("--force", options->force, "With --reset: remove them even if guarantees need them")->needs(reset);
  command.add_option("--reason", options->reason, "With --apply: free text, kept with the costs")->needs(apply);
  on_run(command, session, [&session, options] { reroute(session, *options); });
}

}  // namespace railweave::cli
