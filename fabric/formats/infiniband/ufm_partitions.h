// Reads what UFM answers to GET /ufmRest/resources/pkeys?guids_data=true (its REST API guide, "PKey GUIDs REST API"): the
// partitions of a subnet, with the GUIDs of the ports in each.
//
//   {"0x12": {"partition": "tenant-a", "ip_over_ib": false,
//             "guids": [{"guid": "248a0703008a850b", "membership": "full", "index0": true}]}}
//
// Errors: no such JSON, no partition, no GUIDs (asked without guids_data), tooLarge.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/guid.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/formats/text/row_left_out.h"

namespace railweave::fabric {

struct UfmPartition {
  struct Member {
    Guid guid;  // of a port
    bool full = true;
  };
  std::uint16_t pkey = 0;  // without the bit of membership: 0x0001 to 0x7fff
  std::string name;
  std::vector<Member> members;
};

// "0x12", "0x8012" -> 0x0012; none: not the key of a partition.
std::optional<std::uint16_t> parse_pkey(std::string_view text);

struct UfmPartitions {
  std::vector<UfmPartition> partitions;  // in the order of their keys, each once
  RowsLeftOut left_out;                  // what could not be used, and why
};

Result<UfmPartitions> read_ufm_partitions(std::string_view text, const ReadOptions& options);

}  // namespace railweave::fabric
