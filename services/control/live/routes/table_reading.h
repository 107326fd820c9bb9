// Forwarding tables as read from switches, in the form that engines compute, so that they can be compared with the
// wanted ones and changed to them safely.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "fabric/drivers/fabric_driver.h"
#include "fabric/routing/delta/forwarding_delta.h"
#include "fabric/routing/plane/routing_engine.h"

namespace railweave::control {

// The highest LID that tables of the scope have an entry for.
fabric::Lid top_lid(const fabric::RoutingScope& scope);

// `like` with the rows of the switches that answered replaced by their answers. Without orders where rows differ: how
// they were computed is not known. lids: by DestinationId, of the scope; empty: the scope's own.
fabric::Routing with_readings(const fabric::Routing& like, std::span<const fabric::TableReading> readings,
                              std::span<const fabric::Lid> lids = {});

// The entries of these switches as `from` has them, which is of the same scope.
fabric::Routing with_switches_of(const fabric::Routing& like, const fabric::Routing& from,
                                 const std::set<fabric::SwitchId>& switches);

// What switches hold when all blocks of lower stages are written, and no others.
fabric::Routing before_stage(const fabric::Routing& like, const fabric::ForwardingDelta& delta, std::uint16_t stage);

// By DestinationId: the LIDs that end ports and switches of the subnet were last seen with, else those of the scope.
std::vector<fabric::Lid> lids_seen(const fabric::RoutingScope& scope, fabric::SubnetId subnet,
                                   const fabric::FabricDriver& driver);

// Entries of the switch, for destinations of the scope, whose port is `port` and that are not for `but_home`'s own end
// ports (none: any).
std::uint64_t entries_by_port(const fabric::ForwardingTables& tables, fabric::SwitchId sw, unsigned port,
                              fabric::SwitchId but_home);

// The planes that the switches are in, ascending.
std::vector<fabric::PlaneId> planes_of(const fabric::RoutingScope& scope, std::span<const fabric::SwitchId> switches);

// Each once.
std::vector<fabric::SwitchId> switches_of(const fabric::ForwardingDelta& delta);

// 64-entry blocks of the switches given: how many the scope's destinations fill.
std::uint64_t block_count(const fabric::RoutingScope& scope, std::span<const fabric::SwitchId> switches);
// In how many of these blocks the two tables differ.
std::uint64_t differing_blocks(const fabric::ForwardingTables& a, const fabric::ForwardingTables& b,
                               std::span<const fabric::SwitchId> switches);
// As /v1/routes names tables, where the fabric is the one subnet of these switches.
std::uint64_t digest_of(const fabric::Routing& routing, std::span<const fabric::SwitchId> switches);
// The switches have no entries for end ports: there is no traffic that mixed tables could misroute.
bool carry_nothing(const fabric::ForwardingTables& tables, std::span<const fabric::SwitchId> switches);
// One is a copy of the other, unchanged since.
bool same_tables(const fabric::ForwardingTables& a, const fabric::ForwardingTables& b);

}  // namespace railweave::control
