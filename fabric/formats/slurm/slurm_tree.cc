#include "fabric/formats/slurm/slurm_tree.h"

#include <utility>

#include <fmt/core.h>

#include "fabric/formats/slurm/hostlist.h"

namespace railweave::fabric {

bool SlurmTree::add(const std::string& name, const std::string& nodes, const std::string& children, std::size_t line,
                    SiteFacts& facts) {
  const std::string where = (line == 0 ? "" : fmt::format("line {}, ", line)) + name;
  const auto expand = [&](const std::string& list, std::vector<std::string>& into) {
    if (list.empty()) return true;
    auto names = expand_hostlist(list);
    if (!names) facts.leave_out(where, names.error().message);
    if (names) into = std::move(*names);
    return names.has_value();
  };
  Group group;
  if (!expand(nodes, group.nodes) || !expand(children, group.children)) return false;
  if (groups_.size() >= kMaxGroups || !groups_.emplace(name, std::move(group)).second) {
    facts.leave_out(where, "a group of this name was there before");
    return false;
  }
  order_.push_back(name);
  return true;
}

void SlurmTree::move_into(SiteFacts& facts) && {
  std::map<std::string, std::string> parent;
  for (const std::string& name : order_) {
    for (const std::string& child : groups_.at(name).children) parent.emplace(child, name);
  }
  for (const std::string& name : order_) {
    std::vector<std::string> path{name};
    for (auto up = parent.find(name); up != parent.end() && path.size() < SiteFacts::kMaxTiers;
         up = parent.find(up->second)) {
      path.push_back(up->second);
    }
    for (const std::string& node : groups_.at(name).nodes) facts.add_tiers(node, path);
  }
}

}  // namespace railweave::fabric
