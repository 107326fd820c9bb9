#include "fabric/formats/kubernetes/topograph_model.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fabric/formats/slurm/hostlist.h"
#include "fabric/formats/slurm/slurm_tree.h"
#include "fabric/formats/text/json_reader.h"

namespace railweave::fabric {
namespace {

constexpr std::string_view kLevel = "accelerated.topology.nvidia.com/level-0";

struct ModelGroup {
  std::string nodes, switches, above, domain;
};

bool read_model_group(JsonReader& json, ModelGroup& group) {
  return json.entries([&](std::string_view key) {
    if (key == "nodes") return json.names(group.nodes);
    if (key == "switches") return json.names(group.switches);
    if (key == "switch") return json.names(group.above);
    if ((key != "labels" && key != "attributes") || json.peek() != '{') return json.skip_value();
    return json.entries([&](std::string_view label) {
      return (label == kLevel || label == "nvlink") && json.peek() == '"' ? json.string(group.domain)
                                                                          : json.skip_value();
    });
  });
}

class TopographReader {
 public:
  TopographReader(std::string_view text, const ReadOptions& options, SiteFacts& facts)
      : json_(text, options.source), options_(options), facts_(facts) {}

  Result<void> read() {
    const bool ok = json_.entries([&](std::string_view key) {
      if (key == "switches") return read_map([&](const std::string& name) { return read_switch(name); });
      if (key == "blocks") return read_blocks();
      if (key == "nodes" && json_.peek() == '{')
        return read_map([&](const std::string& name) { return read_node(name); });
      return json_.skip_value();
    });
    if (!ok || !json_.end()) return std::unexpected(json_.error());
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

  bool read_switch(const std::string& name) {
    ModelGroup group;
    if (!read_model_group(json_, group)) return false;
    if (switches_.size() < SlurmTree::kMaxGroups) add_nodes(name, group);
    return true;
  }

  bool read_blocks() {
    const auto block = [&](const std::string&) {
      ModelGroup group;
      if (!read_model_group(json_, group)) return false;
      if (!group.above.empty()) add_nodes(group.above, group);
      if (!group.domain.empty()) add_domain(group.nodes, group.domain);
      return true;
    };
    if (json_.peek() != '[') return read_map(block);
    return json_.array([&] { return json_.peek() == '{' ? block("") : json_.skip_value(); });
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
  }

  void add_domain(const std::string& nodes, const std::string& domain) {
    const auto names = expand_hostlist(nodes);
    if (!names) return facts_.leave_out("block " + domain, names.error().message);
    for (const std::string& node : *names) facts_.add_domain(node, domain);
  }

  JsonReader json_;
  const ReadOptions& options_;
  SiteFacts& facts_;
  std::map<std::string, ModelGroup> switches_;
  SlurmTree tree_;
};

}  // namespace

Result<void> read_topograph_model(std::string_view text, const ReadOptions& options, SiteFacts& facts) {
  return TopographReader(text, options, facts).read();
}

}  // namespace railweave::fabric
