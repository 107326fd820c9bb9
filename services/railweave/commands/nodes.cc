// railweave nodes list|show|set|drain|undrain; budgets is in node_budgets.cc.
#include "services/railweave/command_line/resource.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/commands/drains.h"

namespace railweave::cli {
namespace {

Cell state_cell(const Json& item) {
  const std::string state = text_of(item, "state");
  if (state == "linkDown") return {"link down", Tone::bad};
  if (state == "cutOff") return {"cut off", Tone::bad};
  return {state, state == "ready" ? Tone::plain : Tone::warning};
}

std::string labels_text(const Json& item) {
  std::string text;
  const Json& labels = field(item, "labels");
  if (!labels.is_object()) return "-";
  for (const auto& [key, value] : labels.items()) text += (text.empty() ? "" : ",") + key + "=" + text_of(value);
  return text.empty() ? "-" : text;
}

ListView nodes_view() {
  return {{text_column("NODE", "id"),
           text_column("KIND", "kind"),
           text_column("RACK", "rack"),
           number_column("GPUS", "gpus"),
           number_column("FREE", "freeGpus"),
           {"STATE", state_cell},
           {"LABELS", [](const Json& item) { return Cell(labels_text(item)); }, Align::left, true}},
          "no nodes",
          true};
}

void print_gpus(Output& output, const Json& node) {
  Table table({{"GPU", Align::right}, {"STATE"}, {"NVLINK DOMAIN"}, {"NICS, NEAREST FIRST"}});
  for (const auto& gpu : list(node, "gpuList")) {
    const bool free = flag_of(gpu, "free");
    table.add({text_of(gpu, "index"), free ? Cell("free", Tone::good) : Cell("held"), text_of(gpu, "nvlinkDomain"),
               joined(list(gpu, "nics"))});
  }
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

void print_adapters(Output& output, const Json& node) {
  Table table({{"DEVICE"}, {"PORT"}, {"RAIL"}, {"SUBNET"}, {"LID", Align::right}, {"Gb/s", Align::right}, {"LINK"}});
  for (const auto& adapter : list(node, "adapters")) {
    for (const auto& port : list(adapter, "ports")) {
      const bool cabled = field(port, "link").is_string();
      table.add({text_of(adapter, "device"), text_of(port, "id"), text_of(port, "rail"), text_of(port, "subnet"),
                 text_of(port, "lid"), text_of(port, "rateGbps"),
                 cabled ? Cell(text_of(port, "linkName")) : Cell("not cabled", Tone::faint)});
    }
  }
  if (table.rows() > 0) output.text("\n" + table.text(output.terminal()));
}

void print_node(Output& output, const Json& node) {
  Sheet sheet;
  sheet.add("Node", text_of(node, "id"));
  sheet.add("Kind", text_of(node, "kind"));
  sheet.add("Rack", text_of(node, "rack"));
  sheet.add("State", state_cell(node));
  add_drain_line(sheet, node);
  sheet.add("GPUs", text_of(node, "gpus") + ", " + text_of(node, "freeGpus") + " free");
  sheet.add("Labels", labels_text(node));
  output.text(sheet.text(output.terminal()));
  print_gpus(output, node);
  print_adapters(output, node);
}

constexpr ResourceKind kNode{"/v1/nodes", "node", "NODE", "Its name", print_node};

}  // namespace

void add_node_commands(CLI::App& root, Session& session) {
  CLI::App& nodes = add_noun(root, "nodes", "Hosts: their GPUs and adapters", "Fabric");
  nodes.alias("node");
  add_list_command(nodes, session, "List hosts",
                   {"railweave nodes list --rack rack-3", "railweave nodes list --name dgx -o wide",
                    "railweave nodes list --selector gpu=h100 --state ready --sort-by FREE -o name"},
                   {"/v1/nodes",
                    nodes_view(),
                    {{"--rack", "rack", "NAME", "Only hosts in this rack"},
                     {"--kind", "kind", "compute|storage|management|unnamed", "Only hosts of this kind"},
                     {"--name", "name", "TEXT", "Only hosts whose name contains this"}}});
  add_show_command(nodes, session, kNode, "Show a host with its GPUs and adapters", {"railweave nodes show dgx-017"});
  add_node_set_command(nodes, session);
  add_node_budgets_command(nodes, session);
  add_drain_commands(nodes, session, {"nodes", "node", "NODE", "Its name", "dgx-017"});
}

}  // namespace railweave::cli
