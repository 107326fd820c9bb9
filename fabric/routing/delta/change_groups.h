// In which groups the destinations whose entries change may be changed, so that no packets can wait for each other in a
// circle at any moment. Within a group, and until every packet sent before its end has left the fabric, packets for a
// destination of it may meet old and then new entries; those for earlier ones meet new, for later ones old
// entries. Destinations are added to a group as long as the waits of all these packets together close no circle. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/routing/audit/column_walk.h"
#include "fabric/routing/plane/lanes.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"

namespace railweave::fabric {

// A change of a plane's tables, in the numbers of the plane.
struct TableChange {
  const Plane& plane;
  const PortMap& ports;
  const PlaneTables& before;
  const PlaneTables& after;
  const PlaneLanes& before_lanes;
  const PlaneLanes& after_lanes;
  struct Earlier {
    const PlaneTables* tables;
    const PlaneLanes* lanes;
  };
  std::vector<Earlier> earlier{};  // whose entries packets on their way may have met beside those of `before`
};

struct ChangeGroups {
  std::vector<std::vector<std::uint32_t>> proven;  // in their order
  std::vector<std::uint32_t> unproven;             // no group was found for these
};

// destinations: all that change, those to be changed first in front. most: of groups.
ChangeGroups group_changes(const TableChange& change, std::span<const std::uint32_t> destinations, std::size_t most);

// Of these destinations, those that some end port reaches by the tables after, and not by those before.
std::vector<std::uint32_t> broken_before(const TableChange& change, std::span<const std::uint32_t> destinations);

}  // namespace railweave::fabric
