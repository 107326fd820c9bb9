// Reads a model of Topograph as JSON (its files are YAML, which the caller converts): switches with what is below them,
// and blocks of nodes that share an NVLink domain, in any of the forms that its releases have:
//
//   switches: {core: {switches: [leaf-1]}, leaf-1: {nodes: ["n[1-2]"]}}
//   blocks: [{switch: leaf-1, nodes: ["n[1-2]"], labels: {accelerated.topology.nvidia.com/level-0: nvl-1}}]
//   capacity_blocks: {cb1: {nodes: ["n[1-2]"]}}
//   nodes: {n1: {type: H100, capacity_block: cb1, attributes: {nvlink: nvl-1}}}
//
// A capacity block is no NVLink domain; the attribute nvlink and the labels of level 0 are.
#pragma once

#include <string_view>

#include "fabric/base/error.h"
#include "fabric/formats/site/site_facts.h"
#include "fabric/formats/text/read_options.h"

namespace railweave::fabric {

Result<void> read_topograph_model(std::string_view text, const ReadOptions& options, SiteFacts& facts);

}  // namespace railweave::fabric
