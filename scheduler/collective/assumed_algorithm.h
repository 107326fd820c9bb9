// How the collectives of a group are assumed to run, by the names that NCCL gives its algorithms.
#pragma once

#include <cstdint>

#include "fabric/base/enum_text.h"

namespace railweave::scheduler {

enum class AssumedAlgorithm : std::uint8_t {
  none,              // nothing is sent
  ring,              // flat rings over all ranks
  tree,              // double binary trees between NVLink domains, chains inside
  nvls,              // the switches of one NVLink domain reduce (NVLink SHARP)
  nvls_tree,         // ... and double binary trees between domains
  in_network,        // the switches of the network reduce (SHARP)
  all_to_all,        // each rank to each
  point_to_point,    // between stages
  parameter_servers  // pushes to servers and pulls from them
};
BOOST_DESCRIBE_ENUM(AssumedAlgorithm, none, ring, tree, nvls, nvls_tree, in_network, all_to_all, point_to_point,
                    parameter_servers)

}  // namespace railweave::scheduler
