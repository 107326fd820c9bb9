// railweave nodes set: racks, kinds and labels of nodes, one by one or from an inventory.
#include <algorithm>
#include <sstream>

#include <fmt/core.h>

#include "services/railweave/command_line/command_tree.h"
#include "services/railweave/commands/commands.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_document.h"
#include "services/railweave/terminal/input_file.h"
#include "services/railweave/terminal/table.h"
#include "services/railweave/views/fabric.h"

namespace railweave::cli {
namespace {

struct NodeSetOptions {
  std::vector<std::string> nodes, labels, taints;
  std::optional<std::string> rack;
  std::string kind, file;
};

std::vector<std::string> cells_of(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  std::vector<std::string> cells;
  std::istringstream text(line);
  for (std::string cell; std::getline(text, cell, ',');) {
    const auto from = cell.find_first_not_of(" \t");
    const auto to = cell.find_last_not_of(" \t");
    cells.push_back(from == std::string::npos ? std::string() : cell.substr(from, to - from + 1));
  }
  return cells;
}

// Comma-separated, the titles first: "node", and any of "rack" and "kind"; other titles are labels. An empty cell changes
// nothing.
Json inventory_of_table(const std::string& path, const std::string& table) {
  std::istringstream text(table);
  std::string line;
  std::getline(text, line);
  const auto titles = cells_of(line);
  const auto at = static_cast<std::size_t>(std::ranges::find(titles, "node") - titles.begin());
  if (at == titles.size()) {
    fail_usage(source_name(path) + " has no column 'node'", "its first line names the columns: node,rack,kind,gpu");
  }
  Json nodes = Json::array();
  for (std::size_t number = 2; std::getline(text, line); ++number) {
    const auto cells = cells_of(line);
    if (cells.empty() || line.starts_with("#")) continue;
    if (cells.size() > titles.size() || cells.size() <= at || cells[at].empty()) {
      fail_usage(fmt::format("{}, line {}: no node, or more cells than titles", source_name(path), number));
    }
    Json node{{"id", cells[at]}};
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i == at || cells[i].empty()) continue;
      if (titles[i] == "rack" || titles[i] == "kind") {
        node[titles[i]] = cells[i];
      } else {
        node["labels"][titles[i]] = cells[i];
      }
    }
    nodes.push_back(std::move(node));
  }
  return nodes;
}

// By the file's name, and where that says nothing (stdin), by how it begins.
bool is_table(const std::string& path, const std::string& text) {
  if (path.ends_with(".csv")) return true;
  if (path.ends_with(".yaml") || path.ends_with(".yml") || path.ends_with(".json")) return false;
  const auto titles = cells_of(text.substr(0, text.find('\n')));
  return std::ranges::find(titles, "node") != titles.end();
}

// Of a document: what the service takes, a list "nodes" with the id of each and what is to be set.
Json inventory_of(const std::string& path) {
  const std::string text = value_or_fail(read_input(path, kMaxFabricFileBytes));
  if (is_table(path, text)) return inventory_of_table(path, text);
  const Json document = value_or_fail(parse_document(text, source_name(path)));
  const Json& nodes = field(document, "nodes");
  if (!nodes.is_array() || document.size() != 1) {
    fail_usage(source_name(path) + " is no inventory",
               "a table whose first line is node,rack,kind,gpu, or YAML: nodes: [{id: dgx-017, rack: A09, labels: "
               "{gpu: h100}}]");
  }
  return nodes;
}

Json facts_of(const NodeSetOptions& options) {
  Json facts = Json::object();
  if (options.rack) facts["rack"] = *options.rack;
  if (!options.kind.empty()) facts["kind"] = options.kind;
  const auto put = [&](const std::string& text, const std::string& prefix, const char* what) {
    const auto equals = text.find('=');
    if (equals == 0 || text.empty() || (equals == std::string::npos && text.back() != '-')) {
      fail_usage(fmt::format("'{}' is not a {}", text, what), "KEY=VALUE, or KEY- to remove it");
    }
    if (equals == std::string::npos) {
      facts["labels"][prefix + text.substr(0, text.size() - 1)] = nullptr;
    } else {
      facts["labels"][prefix + text.substr(0, equals)] = text.substr(equals + 1);
    }
  };
  for (const auto& label : options.labels) put(label, "", "label");
  for (const auto& taint : options.taints) put(taint, "taint/", "taint");
  return facts;
}

void set_nodes(Session& session, const NodeSetOptions& options) {
  Json nodes = options.file.empty() ? Json::array() : inventory_of(options.file);
  const Json facts = facts_of(options);
  if (!options.nodes.empty() && facts.empty()) fail_usage("nothing to set", "--rack, --kind, --label or --taint");
  for (const auto& name : options.nodes) {
    Json node = facts;
    node["id"] = name;
    nodes.push_back(std::move(node));
  }
  if (nodes.empty()) fail_usage("no node is named", "NODE ..., or --file INVENTORY");
  const std::size_t count = nodes.size();
  const Json answer =
      session.service().send(json_request(api::Method::patch, Target("/v1/nodes"), {{"nodes", nodes}})).body;
  if (session.output.is_document()) return session.output.document(answer);
  Sheet sheet;
  sheet.add("Set", fmt::format("{}{}", count, count == 1 ? " node or pattern" : " nodes or patterns"));
  sheet.add("Version", text_of(answer, "version"));
  session.output.text(sheet.text(session.output.terminal()));
}

}  // namespace

void add_node_set_command(CLI::App& nodes, Session& session) {
  auto options = std::make_shared<NodeSetOptions>();
  CLI::App& command =
      add_command(nodes, "set", "Set the racks, kinds and labels of hosts; kept over imports of dumps",
                  {"railweave nodes set dgx-017 --rack A09", "railweave nodes set 'dgx-*' --label gpu=h100",
                   "railweave nodes set 'dgx-02?' --taint dedicated=inference",
                   "railweave nodes set --file inventory.csv", "railweave nodes set --file inventory.yaml"});
  command.add_option("NODE", options->nodes, "Names or patterns: * stands for any text, ? for one character");
  command.add_option("--rack", options->rack, "The rack; '' for none")->type_name("NAME");
  command.add_option("--kind", options->kind, "What kind of host")->type_name("compute|storage|management|unnamed");
  command
      .add_option("--label", options->labels, "A label, or KEY- to remove one; a GPU's model is one, too. Repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--taint", options->taints,
                  "Keeps jobs away that do not tolerate it (--tolerate KEY); what runs there stays. It is the label "
                  "taint/KEY; KEY- removes it. Repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      .add_option(
          "--file", options->file,
          "Comma-separated, first line node,rack,kind and names of labels; or YAML: nodes, each with its id, rack, "
          "kind and labels")
      ->type_name("FILE");
  on_run(command, session, [&session, options] { set_nodes(session, *options); });
}

}  // namespace railweave::cli
