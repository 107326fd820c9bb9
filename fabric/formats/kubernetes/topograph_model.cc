#include "fabric/formats/kubernetes/topograph_model.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fabric/formats/slurm/hostlist.h"
#include "fabric/formats/slurm/slurm_tree.h"
#include "fabric/formats/text/json_reader.h"

namespace railweave::fabric {
namespace {

// Of NVLink domains: what attributes and labels of blocks and nodes call them, by version.
constexpr std::array<std::string_view, 4> kModelDomains{"accelerator.topograph.run/domain",
                                                        "network.topology.nvidia.com/accelerator",
                                                        "accelerated.topology.nvidia.com/level-0", "nvlink"};

struct ModelGroup {
  std::string name;  // in a list, as the first versions have them; else it is the key
  std::string nodes, switches, blocks, above, domain;
};

bool read_model_group(JsonReader& json, ModelGroup& group) {
  return json.entries([&](std::string_view key) {
    if (key == "name" && json.peek() == '"') return json.string(group.name);
    if (key == "nvlink" && json.peek() == '"') return json.string(group.domain);
    if (key == "capacity_blocks") return json.names(group.blocks);
    if (key == "nodes") return json.names(group.nodes);
    if (key == "switches") return json.names(group.switches);
    if (key == "switch") return json.names(group.above);
    if ((key != "labels" && key != "attributes") || json.peek() != '{') return json.skip_value();
    return json.entries([&](std::string_view label) {
      const bool tells_domain = std::ranges::find(kModelDomains, label) != kModelDomains.end();
      return tells_domain && json.peek() == '"' ? json.string(group.domain) : json.skip_value();
    });
  });
}

class TopographReader {
 public:
  TopographReader(std::string_view text, const ReadOptions& options, SiteFacts& facts)
      : json_(text, options.source), options_(options), facts_(facts) {}

  Result<void> read() {
    const bool ok = json_.entries([&](std::string_view key) {
      if (key == "switches") return read_groups([&](const std::string& name) { return read_switch(name); });
      if (key == "blocks" || key == "capacity_blocks") {
        return read_groups([&](const std::string& name) { return read_block(name); });
      }
      if (key == "nodes" && json_.peek() == '{')
        return read_map([&](const std::string& name) { return read_node(name); });
      return json_.skip_value();
    });
    if (!ok || !json_.end()) return std::unexpected(json_.error());
    add_blocks();
    for (auto& [name, group] : switches_) (void)tree_.add(name, group.nodes, group.switches, 0, facts_);
    if (tree_.empty() && facts_.empty()) {
      return fail(ErrorKind::malformed, "topograph.empty", "the model has no switch and no block with nodes",
                  location_text(options_.source, 1, 1));
    }
    std::move(tree_).move_into(facts_);
    return {};
  }

 private:
  template <class OnEntry>
  bool read_map(OnEntry on_entry) {
    if (json_.peek() != '{') return json_.skip_value();
    return json_.entries([&](std::string_view key) {
      const std::string name(key);
      return json_.peek() == '{' ? on_entry(name) : json_.skip_value();
    });
  }

  // A map by name, or a list.
  template <class OnEntry>
  bool read_groups(OnEntry on_entry) {
    if (json_.peek() != '[') return read_map(on_entry);
    return json_.array([&] { return json_.peek() == '{' ? on_entry("") : json_.skip_value(); });
  }

  bool read_switch(const std::string& key) {
    ModelGroup group;
    if (!read_model_group(json_, group)) return false;
    if (group.name.empty()) group.name = key;
    if (!group.name.empty() && switches_.size() < SlurmTree::kMaxGroups) add_nodes(group.name, group);
    return true;
  }

  bool read_block(const std::string& key) {
    ModelGroup group;
    if (!read_model_group(json_, group)) return false;
    if (group.name.empty()) group.name = key;
    if (!group.above.empty()) add_nodes(group.above, group);
    const auto names = expand_hostlist(group.nodes);
    if (!names) {
      facts_.leave_out("block " + (group.name.empty() ? group.domain : group.name), names.error().message);
      return true;
    }
    for (const std::string& node : *names) {
      facts_.add_host(node);
      if (!group.domain.empty()) facts_.add_domain(node, group.domain);
    }
    if (!group.name.empty()) blocks_[group.name] = group.nodes;
    return true;
  }

  // Blocks that switches name; they may come before or after these.
  void add_blocks() {
    for (auto& [name, group] : switches_) {
      const auto names = expand_hostlist(group.blocks);
      if (!names) {
        facts_.leave_out("switch " + name, names.error().message);
        continue;
      }
      for (const std::string& block : *names) {
        const auto found = blocks_.find(block);
        if (found == blocks_.end()) {
          facts_.leave_out("switch " + name, "there is no block " + block);
        } else if (!found->second.empty()) {
          group.nodes += (group.nodes.empty() ? "" : ",") + found->second;
        }
      }
    }
  }

  bool read_node(const std::string& name) {
    ModelGroup node;
    if (!read_model_group(json_, node)) return false;
    facts_.add_host(name);
    if (!node.domain.empty()) facts_.add_domain(name, node.domain);
    return true;
  }

  void add_nodes(const std::string& name, const ModelGroup& group) {
    const auto add = [](std::string& list, const std::string& more) {
      if (!more.empty()) list += (list.empty() ? "" : ",") + more;
    };
    ModelGroup& known = switches_[name];
    add(known.nodes, group.nodes);
    add(known.switches, group.switches);
    add(known.blocks, group.blocks);
  }

  JsonReader json_;
  const ReadOptions& options_;
  SiteFacts& facts_;
  std::map<std::string, ModelGroup> switches_;
  std::map<std::string, std::string> blocks_;  // nodes by name
  SlurmTree tree_;
};

}  // namespace

Result<void> read_topograph_model(std::string_view text, const ReadOptions& options, SiteFacts& facts) {
  return TopographReader(text, options, facts).read();
}

}  // namespace railweave::fabric
