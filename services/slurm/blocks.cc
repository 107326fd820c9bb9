#include "services/slurm/blocks.h"

#include <algorithm>
#include <set>

#include "fabric/base/whole_number.h"
#include "fabric/formats/slurm/hostlist.h"

namespace railweave::slurm {
namespace {

std::string_view word_of(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + name.size());
  return line.substr(0, line.find(' '));
}

std::size_t least_blocks(std::size_t nodes, std::size_t size) { return (nodes + size - 1) / size; }

}  // namespace

bool Blocks::allow(std::span<const std::string> nodes) const {
  if (!exist()) return true;
  std::set<std::string_view> used;
  for (const std::string& node : nodes) {
    const auto block = of.find(node);
    if (block == of.end()) return false;
    used.insert(block->second);
  }
  return used.size() <= least_blocks(nodes.size(), size);
}

Blocks read_blocks(std::string_view text) {
  Blocks blocks;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::string_view name = word_of(line, "BlockName=");
    const auto size = whole_number<std::size_t>(word_of(line, "BlockSize=")).value_or(0);
    const auto nodes = fabric::expand_hostlist(word_of(line, "Nodes="));
    if (name.empty() || !nodes || nodes->empty() || size == 0) continue;
    // Blocks of blocks follow, whose sizes are larger.
    if (blocks.exist() && size > blocks.size) continue;
    if (size < blocks.size) blocks.of.clear();
    blocks.size = size;
    for (const std::string& node : *nodes) blocks.of.insert_or_assign(node, std::string(name));
  }
  return blocks;
}

void keep_in_blocks(const Blocks& blocks, std::size_t nodes, std::size_t gpus_per_node, cli::Json& body) {
  if (!blocks.exist() || blocks.level.empty() || nodes == 0) return;
  cli::Json& topology = body["topology"];
  if (nodes <= blocks.size) {
    if (!topology.contains("job")) topology["job"]["required"] = blocks.level;
    return;
  }
  // Equal shares of as few blocks as Slurm wants; where they cannot be equal, what is placed is looked at.
  const std::size_t shares = least_blocks(nodes, blocks.size);
  if (nodes % shares == 0) topology["slices"] = {{{"level", blocks.level}, {"size", nodes / shares * gpus_per_node}}};
  if (topology.empty()) body.erase("topology");
}

}  // namespace railweave::slurm
