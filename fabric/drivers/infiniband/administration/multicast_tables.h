// The multicast forwarding tables of switches, block by block, as last written or read back.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "fabric/base/guid.h"
#include "fabric/drivers/infiniband/mad/table_blocks.h"

namespace railweave::fabric::infiniband {

struct MulticastTableBlock {
  std::uint16_t block = 0;
  std::uint8_t position = 0;
  MulticastEntries entries{};
};
// By node GUID; blocks ascending, only those that are known.
using MulticastTables = std::map<Guid, std::vector<MulticastTableBlock>>;
using MulticastTablesPtr = std::shared_ptr<const MulticastTables>;

}  // namespace railweave::fabric::infiniband
