// The routes that switches hold, as OpenSM's dumps tell them: of one subnet or of several, each with its own dump of tables, and beside it
// those of service levels and lanes. Constant after construction.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fabric/routing/opensm/lane_maps.h"
#include "fabric/routing/opensm/path_levels.h"
#include "fabric/routing/plane/forwarding_tables.h"
#include "services/railweave/site/site_files.h"

namespace railweave::cli {

struct HeldRoutes {
  fabric::ForwardingTables tables;    // those of planes that no dump tells are Railweave's own
  std::vector<bool> told;             // by PlaneId: a dump tells its tables
  std::vector<std::string> from;      // the dumps of tables
  std::vector<std::string> links;     // the list of links that tells the LIDs of each; empty: none was needed
  std::vector<std::string> left_out;  // files that gave nothing, and why
  std::size_t unknown_switches = 0, unknown_lids = 0;
  std::optional<fabric::PathLevels> levels;  // none: no dump of them
  std::optional<fabric::LaneMaps> maps;      // none: not told, so that lanes are taken to be the levels

  // Planes without hosts do not count.
  [[nodiscard]] bool whole() const;
};

// own: Railweave's tables of the fabric. None: no file tells what switches hold. Throws CommandFailure where a file cannot be read, or
// none of the tables is of this fabric.
std::optional<HeldRoutes> read_held_routes(const std::vector<SiteFile>& files, const fabric::ForwardingTables& own);

}  // namespace railweave::cli
