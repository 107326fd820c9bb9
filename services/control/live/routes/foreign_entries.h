// Entries of switches for end ports of the same subnet that no accepted cable joins them to, from when one did: another plane is not
// part of a switch's row of the tables, so nothing would change them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "fabric/drivers/fabric_driver.h"
#include "fabric/routing/delta/forwarding_delta.h"
#include "fabric/routing/plane/routing_engine.h"

namespace railweave::control {

// By switch and number of the block: how many.
using ForeignEntries = std::map<std::pair<fabric::SwitchId, std::uint16_t>, std::uint16_t>;

// Replaces what is known of the switches that answered.
void note_foreign(const fabric::RoutingScope& scope, std::span<const fabric::TableReading> readings,
                  ForeignEntries& foreign);

// Writes these blocks last, as wanted, which drops what is foreign; a block that the delta writes drops it already.
void add_drops(const ForeignEntries& foreign, const fabric::Routing& wanted, fabric::ForwardingDelta& delta);

}  // namespace railweave::control
