#include "fabric/routing/audit/changed_routes.h"

#include <algorithm>
#include <vector>

#include <fmt/core.h>

#include "fabric/routing/audit/column_block.h"
#include "fabric/routing/audit/column_walk.h"
#include "fabric/routing/audit/plane_audit.h"
#include "fabric/routing/plane/table_differences.h"

namespace railweave::fabric {
namespace {

class PlaneCheck {
 public:
  PlaneCheck(const FabricView& view, const RoutingScope& scope, const Plane& plane, const SwitchOrder& order,
             ChangedRoutes& report)
      : scope_(scope),
        plane_(plane),
        order_(order),
        report_(report),
        ports_(plane, view),
        walk_(plane, ports_),
        distances_(plane, ports_) {}

  void run(const PlaneTables& before, const PlaneTables& after) {
    std::vector<bool> changed(plane_.destination_count(), false);
    for_each_difference(before, after, [&](const TableDifference& entry) { changed[entry.destination] = true; });
    ColumnBlock block(after);
    for (std::size_t first = 0; first < changed.size(); first += ColumnBlock::kColumns) {
      const std::size_t count = std::min(ColumnBlock::kColumns, changed.size() - first);
      const auto begin = changed.begin() + static_cast<std::ptrdiff_t>(first);
      if (std::none_of(begin, begin + static_cast<std::ptrdiff_t>(count), [](bool yes) { return yes; })) continue;
      block.read(first, count);
      for (std::size_t i = 0; i < count; ++i) {
        if (changed[first + i]) check(static_cast<std::uint32_t>(first + i), block.column(i));
      }
    }
  }

 private:
  void check(std::uint32_t destination, const std::uint16_t* entries) {
    ++report_.destinations;
    const bool is_end_port = plane_.destination_port[destination] != kPortZero;
    walk_.walk(destination, entries);
    if (ports_.destination_alive[destination] == 0) {
      report_.cut_off_pairs += ports_.all_sources - (is_end_port ? 1 : 0);
    } else if (!walk_.all_arrive()) {
      count_lost(destination, is_end_port);
    }
    count_bends(destination);
  }

  void count_lost(std::uint32_t destination, bool is_end_port) {
    const std::uint32_t home = plane_.homes[plane_.destination_home[destination]].sw;
    distances_.compute(home);
    for (const Home& from : plane_.homes) {
      const std::uint64_t sources = ports_.sources[from.sw] - (from.sw == home && is_end_port ? 1 : 0);
      if (walk_.depth(from.sw) != ColumnWalk::kLost || sources == 0) continue;
      if (distances_.undrained(from.sw) == LiveDistances::kFar) {
        report_.cut_off_pairs += sources;
        continue;
      }
      const auto loss = walk_.loss(from.sw);
      if (!is_end_port && loss.reason == ColumnWalk::Reason::no_entry) continue;  // AuditReport::unmanaged_pairs
      report_.lost_pairs += sources;
      if (report_.example.empty()) {
        report_.example = fmt::format("{} to an end port of {}: {} at {}", name(from.sw), name(home),
                                      to_string(loss.reason), name(loss.at));
      }
    }
  }

  void count_bends(std::uint32_t destination) {
    const std::uint32_t home = plane_.homes[plane_.destination_home[destination]].sw;
    for (const std::uint32_t s : walk_.by_depth()) {
      if (walk_.depth(s) <= 1) break;
      const std::uint32_t next = plane_.arcs[walk_.arc(s)].to;
      if (next == home || order_.position[next] > order_.position[s]) continue;
      const std::uint32_t after = plane_.arcs[walk_.arc(next)].to;
      if (order_.position[after] < order_.position[next] || !is_used(s)) continue;
      ++report_.bends;
      if (report_.example.empty()) report_.example = "down and up again at " + name(next);
    }
  }
  // Whether packets pass s: it has end ports, or a switch that has them sends through it. Turns at switches that no
  // packets pass are harmless.
  [[nodiscard]] bool is_used(std::uint32_t s) const {
    if (ports_.sources[s] > 0) return true;
    for (const std::uint32_t other : walk_.by_depth()) {
      if (walk_.depth(other) <= walk_.depth(s)) break;
      if (ports_.sources[other] == 0) continue;
      for (std::uint32_t at = other; walk_.depth(at) > walk_.depth(s);) {
        at = plane_.arcs[walk_.arc(at)].to;
        if (at == s) return true;
      }
    }
    return false;
  }
  [[nodiscard]] std::string name(std::uint32_t s) const {
    return std::string(scope_.topology().name(plane_.switches[s]));
  }

  const RoutingScope& scope_;
  const Plane& plane_;
  const SwitchOrder& order_;
  ChangedRoutes& report_;
  PortMap ports_;
  ColumnWalk walk_;
  LiveDistances distances_;
};

}  // namespace

ChangedRoutesReport check_changed_routes(const FabricView& view, const Routing& before, const Routing& after) {
  const auto all = after.tables.scope().planes();
  return check_changed_routes(view, before, after, std::vector<PlaneId>(all.begin(), all.end()));
}

ChangedRoutesReport check_changed_routes(const FabricView& view, const Routing& before, const Routing& after,
                                         std::span<const PlaneId> planes) {
  ChangedRoutesReport report;
  const RoutingScope& scope = after.tables.scope();
  for (const PlaneId id : planes) {
    const Plane& plane = scope.plane(id);
    if (plane.destination_count() == 0 || after.tables.shares_plane(before.tables, id)) continue;
    if (id.index() >= after.orders.size() || !after.orders[id.index()]) {
      report.complete = false;
      continue;
    }
    PlaneCheck(view, scope, plane, *after.orders[id.index()], report.changed)
        .run(before.tables.plane(id), after.tables.plane(id));
  }
  return report;
}

}  // namespace railweave::fabric
