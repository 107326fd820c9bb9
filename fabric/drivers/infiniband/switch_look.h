// Looks at switches as they are now: identity, tables, ports and what is behind them, by datagrams of its own. The map
// serves only to find them; nothing of it is believed or changed.
#pragma once

#include <vector>

#include "fabric/drivers/fabric_driver.h"
#include "fabric/drivers/infiniband/mad/table_blocks.h"
#include "fabric/drivers/infiniband/mad_exchange.h"
#include "fabric/drivers/infiniband/subnet_map.h"

namespace railweave::fabric::infiniband {

// Puts a block's entries to where they belong in `ports`, which is by LID; those beyond its end are left out.
void take_entries(std::vector<std::uint16_t>& ports, std::uint32_t block, const LftEntries& entries);
// LinearFDBTop: packets for higher LIDs are dropped.
void drop_above(std::vector<std::uint16_t>& ports, Lid top);

class SwitchLook {
 public:
  SwitchLook(MadExchange& exchange, const SubnetMap& map, const Topology& topology, Lid top)
      : exchange_(exchange), map_(map), topology_(topology), top_(top) {}
  // Error: the local port failed.
  Result<std::vector<SwitchSight>> run(std::span<const SwitchId> switches);

 private:
  using Reply = const MadReply&;
  void look(std::size_t i);
  void look_at_port(std::size_t i, std::uint8_t port);
  void look_behind(std::size_t i, std::uint8_t port);
  // An answer that does not come makes the whole sight of the switch incomplete.
  void ask(std::size_t i, Attribute attribute, std::uint32_t modifier, std::function<void(AttributeBytes)> take);

  MadExchange& exchange_;
  const SubnetMap& map_;
  const Topology& topology_;
  const Lid top_;
  std::vector<SwitchSight> sights_;
  std::vector<std::uint32_t> nodes_;  // of sights_
  std::vector<Lid> tops_;             // of sights_: LinearFDBTop
};

}  // namespace railweave::fabric::infiniband
