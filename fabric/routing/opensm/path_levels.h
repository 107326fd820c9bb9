// Service levels and lanes of the routes that switches hold, as dumps of OpenSM tell them beside its tables (opensm_dumps.h). Pure.
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
// opensm-sl2vl.dump, per switch, a row for each pair of ports, or for each port of an adapter; the lane of each level:
//   Switch 0x0000000000200000, base LID 16, "S-1"
//   #in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15
//   #--------------------------------------------------------
//   0   1   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "fabric/base/error.h"
#include "fabric/routing/plane/lanes.h"
#include "fabric/routing/plane/routing_scope.h"

namespace railweave::fabric {

// Of each service level its lane.
using LaneMap = std::array<std::uint8_t, kMaxServiceLevels>;

struct ReadLaneMaps {
  std::optional<LaneMap> map;  // that of all links between switches; none: they differ
  std::size_t rows = 0;
};

// Errors: malformed, with the line's number; invalid, where there is no row.
Result<ReadLaneMaps> read_lane_maps(std::string_view text);

struct ReadLevels {
  Lanes lanes;
  std::size_t paths = 0;    // read
  std::size_t unknown = 0;  // between ports that this fabric does not have; skipped
  std::size_t differ =
      0;  // of another level than that of another port of the same switch to the same port, which counts
  std::size_t missing =
      0;                // from a switch with end ports to a port of its subnet: no record tells them; level 0 is taken
  unsigned levels = 1;  // the highest one, and one
};

// Levels of paths, as lanes by `map`; without one each level is a lane of its own. Ports are known by GUID, else by LID as in
// read_tables(). Errors as above; invalid, where no path is of this fabric.
Result<ReadLevels> read_path_levels(const RoutingScopePtr& scope, std::string_view text, std::string_view subnet_list,
                                    const std::optional<LaneMap>& map);

}  // namespace railweave::fabric
