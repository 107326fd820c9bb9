// Slurm's topology/block, as far as it decides where Slurm begins a job: nodes are in blocks of a size, and a job's nodes are in as
// few of them as its number of nodes needs. A list of nodes over more blocks is refused, and so is any list (ReqNodeList) for a
// job of several segments; nodes to leave out (ExcNodeList) are not. Pure. Seen in 24.11.5.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "services/railweave/terminal/json.h"

namespace railweave::slurm {

struct Blocks {
  std::size_t size = 0;                                // nodes of a block; 0: Slurm has no blocks
  std::map<std::string, std::string, std::less<>> of;  // node -> block
  // Level of Railweave whose groups the blocks are: "nvlinkDomain", "leafGroup".
  std::string level;

  [[nodiscard]] bool exist() const { return size > 0; }
  // Whether Slurm begins a job without segments there.
  [[nodiscard]] bool allow(std::span<const std::string> nodes) const;
};

// `scontrol show topology`. Text without blocks has none.
Blocks read_blocks(std::string_view text);

// Makes a request for that number of nodes one that Slurm's blocks allow, as far as it can be said. What the user asked for stays.
void keep_in_blocks(const Blocks& blocks, std::size_t nodes, std::size_t gpus_per_node, cli::Json& body);

}  // namespace railweave::slurm
