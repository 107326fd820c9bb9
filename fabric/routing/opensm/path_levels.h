// Service levels of the routes that switches hold, as dumps of OpenSM tell them beside its tables (opensm_dumps.h). Pure.
//
// opensm-path-records.dump (DUMP_FULL_PATH_RECORDS=1), per source port; LIDs of destinations:
//   Channel Adapter 0x0000000000100001, base LID 4, "H-1", port 1
//   # LID  : SL : MTU : RATE
//   0x0001 : 2  : 4   : 3
//   0x0002 : UNREACHABLE
// saquery -p, a record for each path:
//   PathRecord dump:
//                   dgid....................fe80::10:1
//                   sgid....................fe80::10:2
//                   dlid....................1
//                   slid....................4
//                   sl......................0x2
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/routing/plane/routing_scope.h"

namespace railweave::fabric {

struct PathLevels {
  static constexpr std::uint8_t kUntold = UINT8_MAX;
  std::vector<std::vector<std::uint8_t>> of_plane;  // by PlaneId: homes x destinations, as PlaneLanes has them
  std::size_t paths = 0;                            // read
  std::size_t unknown = 0;                          // between ports that this fabric does not have; skipped
  // Told another level than that of another port of the same switch to the same port, which counts.
  std::size_t differ = 0;
  // From a switch with end ports to an adapter elsewhere in its subnet: no record tells them.
  std::size_t missing = 0;
  unsigned levels = 1;  // the highest one, and one
};

// Ports are known by GUID, else by LID as in read_tables(). Errors: malformed, with the line's number; invalid, where no path
// is of this fabric.
Result<PathLevels> read_path_levels(const RoutingScopePtr& scope, std::string_view text, std::string_view subnet_list);

// Takes what `more` tells as well; where both tell a path, what was there before counts.
void add_levels(const RoutingScope& scope, const PathLevels& more, PathLevels& levels);

}  // namespace railweave::fabric
