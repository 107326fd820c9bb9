#include "fabric/formats/slurm/slurm_groups.h"

#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/lower_case.h"
#include "fabric/formats/slurm/gres.h"
#include "fabric/formats/slurm/slurm_tree.h"
#include "fabric/formats/text/json_reader.h"
#include "fabric/formats/text/text_lines.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kMaxSlurmLine = std::size_t{1} << 20U;  // node lists are long

// "SwitchName=leaf-1 Nodes=dgx-[1-8]": the value of a key, in any case.
std::string value_of(std::string_view line, std::string_view key) {
  const std::string lower = lower_case(line);
  for (std::size_t at = lower.find(key); at != std::string::npos; at = lower.find(key, at + 1)) {
    const bool begins = at == 0 || lower[at - 1] == ' ' || lower[at - 1] == '\t';
    if (!begins || lower.size() <= at + key.size() || lower[at + key.size()] != '=') continue;
    const std::string_view rest = line.substr(at + key.size() + 1);
    return std::string(rest.substr(0, rest.find_first_of(" \t\r")));
  }
  return {};
}

// One element of "switches" or "blocks".
bool read_group(JsonReader& json, SlurmTree& tree, SiteFacts& facts) {
  std::string name, nodes, children;
  const bool read = json.entries([&](std::string_view key) {
    if (key == "switch" || key == "block") return json.names(name);
    if (key == "nodes") return json.names(nodes);
    if (key == "children") return json.names(children);
    return json.skip_value();
  });
  if (!read) return false;
  if (name.empty()) {
    facts.leave_out("a switch or block", "it has no name");
  } else {
    (void)tree.add(name, nodes, children, 0, facts);
  }
  return true;
}

bool read_one_topology(JsonReader& json, SlurmTree& tree, SiteFacts& facts) {
  return json.entries([&](std::string_view key) {
    if ((key != "tree" && key != "block") || json.peek() != '{') return json.skip_value();
    return json.entries([&](std::string_view part) {
      if ((part != "switches" && part != "blocks") || json.peek() != '[') return json.skip_value();
      return json.array([&] { return json.peek() == '{' ? read_group(json, tree, facts) : json.skip_value(); });
    });
  });
}

struct SlurmNode {
  std::string name, gres, tres;
};

bool read_one_node(JsonReader& json, SlurmNode& node) {
  return json.entries([&](std::string_view key) {
    std::string* text = key == "name" ? &node.name : key == "gres" ? &node.gres : key == "tres" ? &node.tres : nullptr;
    return text != nullptr && json.peek() == '"' ? json.string(*text) : json.skip_value();
  });
}

Result<void> no_group(const ReadOptions& options, const SiteFacts& facts) {
  const std::string left_out = facts.first_left_out();
  return fail(
      ErrorKind::malformed, "slurm.noTopology",
      "there is no SwitchName= or BlockName= with nodes" + (left_out.empty() ? "" : "; not used was " + left_out),
      location_text(options.source, 1, 1), "give Slurm's topology.conf or topology.yaml");
}

}  // namespace

Result<void> read_slurm_topology(std::string_view text, const ReadOptions& options, SiteFacts& facts) {
  const auto plain = plain_text(text, options);
  if (!plain) return std::unexpected(plain.error());
  SlurmTree tree;
  LineReader lines(*plain);
  std::string joined;  // a line that ends with a backslash goes on
  for (std::string_view line; lines.next(line);) {
    line = line.substr(0, line.find('#'));
    if (line.ends_with('\\') && joined.size() + line.size() < kMaxSlurmLine) {
      joined += line.substr(0, line.size() - 1);
      continue;
    }
    joined += line;
    const std::string whole = std::exchange(joined, {});
    if (whole.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::string name = value_of(whole, "switchname");
    if (name.empty()) name = value_of(whole, "blockname");
    if (name.empty() && !value_of(whole, "blocksizes").empty()) continue;
    if (name.empty() || whole.size() > kMaxSlurmLine) {
      facts.leave_out(fmt::format("line {}", lines.number()), "neither SwitchName= nor BlockName=");
      continue;
    }
    (void)tree.add(name, value_of(whole, "nodes"), value_of(whole, "switches"), lines.number(), facts);
  }
  if (tree.empty()) return no_group(options, facts);
  std::move(tree).move_into(facts);
  return {};
}

Result<void> read_slurm_topology_json(std::string_view text, const ReadOptions& options, SiteFacts& facts) {
  JsonReader json(text, options.source);
  bool any = false;
  const auto one = [&] {
    if (json.peek() != '{') return json.skip_value();
    SlurmTree tree;  // names are a topology's own
    if (!read_one_topology(json, tree, facts)) return false;
    any = any || !tree.empty();
    std::move(tree).move_into(facts);
    return true;
  };
  const bool read = json.peek() == '[' ? json.array(one) : one();
  if (!read || !json.end()) return std::unexpected(json.error());
  return any ? Result<void>() : no_group(options, facts);
}

Result<void> read_slurm_nodes(std::string_view text, const ReadOptions& options, SiteFacts& facts) {
  JsonReader json(text, options.source);
  std::size_t row = 0;
  const bool read = json.entries([&](std::string_view key) {
    if (key != "nodes" || json.peek() != '[') return json.skip_value();
    return json.array([&] {
      ++row;
      if (json.peek() != '{') return json.skip_value();
      SlurmNode node;
      if (!read_one_node(json, node)) return false;
      const std::string where = fmt::format("node {}", row);
      if (node.name.empty()) {
        facts.leave_out(where, "it has no name");
      } else {
        const GresGpus gpus = gpus_of_gres(node.gres);
        facts.add_gpus(node.name, gpus.count, gpus.model);
      }
      return facts.over_limit() == 0;
    });
  });
  if (facts.over_limit() > 0) return fail(ErrorKind::tooLarge, "fabric.tooLarge", "too many nodes", options.source);
  if (!read || !json.end()) return std::unexpected(json.error());
  if (row > 0) return {};
  return fail(ErrorKind::malformed, "slurm.noNodes", "there is no list \"nodes\" with a node in it",
              location_text(options.source, 1, 1), "give the output of scontrol show nodes --json");
}

}  // namespace railweave::fabric
