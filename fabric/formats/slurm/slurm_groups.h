// What Slurm knows of its nodes, read as facts of hosts (fabric/formats/site):
//
//   topology.conf         SwitchName=leaf-1 Nodes=dgx-[001-032]
//                         SwitchName=spine Switches=leaf-[1-4]
//                         BlockName=block-1 Nodes=gb-[001-018]         groups of hosts, nearest first
//   topology.yaml         as JSON (the caller converts it): a list of topologies with a tree or blocks
//   scontrol show nodes --json   {"nodes": [{"name": "dgx-001", "gres": "gpu:h100:8(S:0-1)", ...}]}: GPUs
//
// Rows that say nothing usable are left out with their line or node. Errors: text that is no such file, with its place.
#pragma once

#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/site/site_facts.h"
#include "fabric/formats/text/read_options.h"

namespace railweave::fabric {

Result<void> read_slurm_topology(std::string_view text, const ReadOptions& options, SiteFacts& facts);
Result<void> read_slurm_topology_json(std::string_view text, const ReadOptions& options, SiteFacts& facts);
Result<void> read_slurm_nodes(std::string_view text, const ReadOptions& options, SiteFacts& facts);

}  // namespace railweave::fabric
