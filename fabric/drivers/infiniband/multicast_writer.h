// The multicast forwarding tables of switches: what they are known to hold, and what they are to hold instead. Written in two steps:
// entries first lose the ports that they are not to have, in all switches, and then get those that they lack. So at any moment all that
// is in switches is a part of the old trees or a part of the new ones, and no packet goes round in a circle.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "fabric/base/guid.h"
#include "fabric/drivers/administration.h"
#include "fabric/drivers/infiniband/administration/administered_subnet.h"
#include "fabric/drivers/infiniband/administration/multicast_book.h"
#include "fabric/drivers/infiniband/administration/multicast_tables.h"
#include "fabric/drivers/infiniband/administration/multicast_trees.h"
#include "fabric/drivers/infiniband/administration/proven_cables.h"
#include "fabric/drivers/infiniband/mad/table_blocks.h"
#include "fabric/drivers/infiniband/mad_exchange.h"
#include "fabric/drivers/infiniband/subnet_map.h"

namespace railweave::fabric::infiniband {

class MulticastWriter {
 public:
  // Counts blocks and members into the report. verify: what was written before is read again. Errors: the port failed.
  Result<void> keep(MadExchange& exchange, const SubnetMap& map, const AdministeredSubnetPtr& subnet,
                    const std::vector<MulticastMembers>& groups, bool verify, MulticastReport& report);
  // As last written or read back.
  [[nodiscard]] MulticastTablesPtr tables() const;
  // Others may have written since.
  void forget_all() { switches_.clear(); }

 private:
  struct Block {
    std::optional<MulticastEntries> has;  // none: not known
    MulticastEntries wanted{};
    bool is_broken = false;  // the switch did not take it this time
  };
  using Place = std::pair<std::uint16_t, std::uint8_t>;  // block, position
  struct Switch {
    std::uint32_t node = kNoNode;  // of the map
    std::map<Place, Block> blocks;
  };
  // What to write of a block now; none: nothing.
  using Step = std::optional<MulticastEntries> (*)(const Block&);

  void plan(const SubnetMap& map, const AdministeredSubnet& subnet, const std::vector<MulticastMembers>& groups,
            MulticastReport& report);
  Result<void> read(MadExchange& exchange, const SubnetMap& map, bool all);
  Result<void> write(MadExchange& exchange, const SubnetMap& map, Step step, MulticastReport& report);

  std::map<Guid, Switch> switches_;
  // From the snapshot that was used last.
  AdministeredSubnetPtr proven_of_;
  AttachedSwitches attached_;
  ProvenCables proven_;
};

}  // namespace railweave::fabric::infiniband
