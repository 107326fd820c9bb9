#include "fabric/routing/audit/old_levels.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/plural.h"
#include "fabric/routing/audit/audit.h"
#include "fabric/routing/plane/lanes.h"
#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

std::string OldLevels::text() const {
  switch (outcome) {
    case Outcome::kept:
      return "paths keep their service levels, which passed the audit on the new tables";
    case Outcome::free_of_loops:
      return "senders that keep the service levels from before close no credit loop";
    case Outcome::unknown_to_switches:
      return "new routes have fewer service levels than those before: senders must ask again";
    case Outcome::credit_loops:
      break;
  }
  return fmt::format("senders that keep the service levels from before close credit loops on {} until they ask again",
                     plural(loop_lanes, "lane", "lanes"));
}

// Where levels are the same, they passed the audit with the routes; others are audited on the new tables and maps.
std::optional<OldLevels> audit_old_levels(const FabricView& view, std::span<const PlaneId> planes, const Lanes& before,
                                          const Routing& now) {
  const std::size_t count = std::min(before.planes.size(), now.lanes.planes.size());
  bool several = false, same = true, known = true;
  for (const PlaneId plane : planes) {
    if (plane.index() >= count) continue;
    const PlaneLanes &had = before.planes[plane.index()], &has = now.lanes.planes[plane.index()];
    several = several || !has.single();
    same = same && had == has;
    known = known && had.levels <= has.levels;
  }
  if (!several) return std::nullopt;
  if (!known) return OldLevels{.outcome = OldLevels::Outcome::unknown_to_switches};
  if (same) return OldLevels{};
  Lanes kept = now.lanes;
  PlaneReports reports(now.tables.scope().planes().size(), std::make_shared<const PlaneReport>());
  for (const PlaneId plane : planes) {
    if (plane.index() >= count) continue;
    kept.planes[plane.index()].path_level = before.planes[plane.index()].path_level;
    reports[plane.index()] = nullptr;  // to be made
  }
  AuditOptions options = AuditOptions::on_all_cores();
  options.shift_samples = 0;
  unsigned loops = 0;
  for (const auto& one : audit_planes(view, now.tables, kept, options, std::move(reports))) {
    loops += one->report.credit_loops;
  }
  return OldLevels{.outcome = loops == 0 ? OldLevels::Outcome::free_of_loops : OldLevels::Outcome::credit_loops,
                   .loop_lanes = loops};
}

}  // namespace railweave::fabric
