// railweave nodes budgets: what agents on the nodes limit inside the classes, and what they report of it.
#include <utility>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

Cell agent_cell(const Json& status) {
  if (flag_of(status, "enforced"))
    return {"reports them as applied, " + text_of(status, "agoSeconds") + " s ago", Tone::good};
  if (!field(status, "version").is_number()) return {"none reports: planned only", Tone::warning};
  if (list(status, "differs").empty())
    return {"reports version " + text_of(status, "version") + ": planned only", Tone::warning};
  return {"differs: " + joined(list(status, "differs"), 4), Tone::bad};
}

std::string mbps_text(const Json& item, FieldName name) {
  return field(item, name).is_number() ? text_of(item, name) : std::string("-");
}

void print_budgets(Session& session, const std::string& node) {
  Output& output = session.output;
  const Target target = Target("/v1/nodes").segment(node).path("/budgets");
  const Json budgets = session.service().get(target);
  if (output.is_document()) return output.document(budgets);
  const Json status = session.service().get(Target("/v1/nodes").segment(node).path("/budgets/report"));
  Sheet sheet;
  sheet.add("Node", text_of(budgets, "node"));
  sheet.add("Version", text_of(budgets, "version") + ", term " + text_of(budgets, "term"));
  sheet.add("Agent", agent_cell(status));
  output.text(sheet.text(output.terminal()));
  Table table({{"JOB"},
               {"DEVICE"},
               {"CLASS"},
               {"MODEL"},
               {"ISOLATION"},
               {"DSCP", Align::right},
               {"SL", Align::right},
               {"SEND Mb/s", Align::right},
               {"RECEIVE Mb/s", Align::right},
               {"MAX Mb/s", Align::right},
               {"TO"}});
  for (const Json& item : list(budgets, "items")) {
    table.add({text_of(item, "job"), text_of(item, "device"), text_of(item, "class"), text_of(item, "model"),
               text_of(item, "isolation"), mbps_text(item, "dscp"), mbps_text(item, "serviceLevel"),
               mbps_text(item, "sendMbps"), mbps_text(item, "receiveMbps"), mbps_text(item, "maxMbps"),
               Cell(list(item, "flows").empty() ? "any of its ports" : "all together")});
    const Json& flows = list(item, "flows");
    for (const Json& flow : flows) {
      table.add({"", "", "", "", "", "", "", mbps_text(flow, "sendMbps"), mbps_text(flow, "receiveMbps"), "",
                 text_of(flow, "node") + "/" + text_of(flow, "device")});
    }
  }
  if (table.rows() == 0) return output.note("no job with a guarantee is on " + node);
  output.text("\n" + table.text(output.terminal()));
}

}  // namespace

void add_node_budgets_command(CLI::App& nodes, Session& session) {
  auto node = std::make_shared<std::string>();
  CLI::App& command = add_command(
      nodes, "budgets", "Show what a host's ports may send and receive inside the classes, and what its agent reports",
      {"railweave nodes budgets dgx-017", "railweave nodes budgets dgx-017 -o json"});
  command.add_option("NODE", *node, "Its name")->required();
  on_run(command, session, [&session, node] { print_budgets(session, *node); });
}

}  // namespace railweave::cli
