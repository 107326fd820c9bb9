#include "fabric/routing/shaped/detour_lanes.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "fabric/base/check.h"
#include "fabric/routing/plane/acyclic_turns.h"
#include "fabric/routing/plane/port_arcs.h"
#include "fabric/routing/up_down/up_down_tables.h"

namespace railweave::fabric {

namespace {

// Checking for circles takes about 20 us per path and lane on lanes with the scheme's turns.
constexpr std::size_t kMany = 300'000;

// The scheme's lanes with single lanes [first, last) as further levels.
PlaneLanes with_single_lanes(const PlaneLanes& scheme, unsigned first, unsigned last) {
  PlaneLanes lanes = scheme;
  const unsigned extra = std::min<unsigned>(last > first ? last - first : 0, kMaxServiceLevels - scheme.levels);
  lanes.levels = static_cast<std::uint8_t>(scheme.levels + extra);
  lanes.lanes = static_cast<std::uint8_t>(extra > 0 ? std::max<unsigned>(scheme.lanes, first + extra) : scheme.lanes);
  lanes.lane_table.clear();
  for (unsigned turn = 0; turn < unsigned{scheme.classes} * scheme.classes; ++turn) {
    for (unsigned level = 0; level < lanes.levels; ++level) {
      lanes.lane_table.push_back(level < scheme.levels ? scheme.lane_table[turn * scheme.levels + level]
                                                       : static_cast<std::uint8_t>(first + level - scheme.levels));
    }
  }
  return lanes;
}

class Packing {
 public:
  // Lanes and levels as in `lanes`, of which paths may use those below `most_lanes`. A few paths are tried on the
  // scheme's own lanes first, to save lanes; many on the others first, where they meet only each other, to save time.
  Packing(const Plane& plane, const LaneScheme& scheme, PlaneLanes& lanes, unsigned most_lanes, bool many)
      : plane_(plane),
        lanes_(lanes),
        port_arcs_(plane),
        turns_(scheme.turns(lanes.lanes)),
        last_placed_(plane.homes.size()) {
    const auto is_own = [&](unsigned level) {  // paths on it meet no path of the scheme
      return level >= scheme.lanes.levels && lanes.lane_table[level] >= scheme.lanes.lanes;
    };
    for (unsigned level = 0; level < lanes.levels; ++level) {
      if (level < scheme.lanes.levels || lanes.lane_table[level] < most_lanes) order_.push_back(level);
    }
    if (many) std::ranges::stable_partition(order_, is_own);
    if (lanes_.path_level.empty()) lanes_.path_level.assign(plane.homes.size() * plane.destination_count(), 0);
  }

  bool place(const PlaneTables& tables, const Detour& detour) {
    walk(tables, detour);
    // Destinations of one switch mostly share their paths.
    auto& last = last_placed_[detour.home];
    std::uint8_t& path_level = lanes_.path_level[detour.home * plane_.destination_count() + detour.destination];
    for (const Placed& placed : last) {
      if (placed.path != path_) continue;
      path_level = placed.level;
      return true;
    }
    for (const unsigned level : order_) {
      channels_.clear();
      std::uint32_t in = PlaneLanes::kFromEndPort;
      for (const std::uint32_t arc : path_) {
        channels_.push_back(arc * lanes_.lanes + lanes_.lane(in, arc, level));
        in = arc;
      }
      if (!turns_.add_path(channels_)) continue;
      path_level = static_cast<std::uint8_t>(level);
      last = {Placed{path_, path_level}, std::move(last[0])};
      return true;
    }
    return false;
  }

 private:
  void walk(const PlaneTables& tables, const Detour& detour) {
    path_.clear();
    const std::uint32_t end = plane_.homes[plane_.destination_home[detour.destination]].sw;
    for (std::uint32_t at = plane_.homes[detour.home].sw; at != end;) {
      const std::uint32_t arc = port_arcs_.arc(at, tables.at(at, detour.destination));
      RAILWEAVE_CHECK(arc != Plane::kNone, "detours reach their destination");
      path_.push_back(arc);
      at = plane_.arcs[arc].to;
      RAILWEAVE_CHECK(path_.size() <= plane_.switch_count(), "detours are free of loops");
    }
  }

  const Plane& plane_;
  PlaneLanes& lanes_;
  PortArcs port_arcs_;
  AcyclicTurns turns_;
  struct Placed {
    std::vector<std::uint32_t> path;
    std::uint8_t level = 0;
  };
  std::vector<std::array<Placed, 2>> last_placed_;  // by home where they begin
  std::vector<unsigned> order_;                     // levels in the order in which they are tried
  std::vector<std::uint32_t> path_, channels_;
};

// Destinations with a detour that found no level.
std::vector<std::uint32_t> place_all(Packing& packing, const PlaneTables& tables, const std::vector<Detour>& detours) {
  std::vector<std::uint32_t> failed;
  for (const Detour& detour : detours) {
    if (!failed.empty() && failed.back() == detour.destination) continue;
    if (!packing.place(tables, detour)) failed.push_back(detour.destination);
  }
  return failed;
}

// Removes the highest levels and lanes that no path uses.
void trim(const LaneScheme& scheme, PlaneLanes& lanes) {
  const unsigned used = lanes.path_level.empty() ? 1U : std::ranges::max(lanes.path_level) + 1U;
  const unsigned levels = std::max<unsigned>(scheme.lanes.levels, used);
  PlaneLanes trimmed = with_single_lanes(scheme.lanes, scheme.first_single_lane,
                                         scheme.first_single_lane + levels - scheme.lanes.levels);
  trimmed.path_level = std::move(lanes.path_level);
  lanes = std::move(trimmed);
}

}  // namespace

DetourOutcome place_detours(const RoutingInput& input, const Plane& plane, const LivePlane& live,
                            const std::vector<Detour>& detours, PlaneTables& tables, LaneScheme& scheme) {
  DetourOutcome outcome;
  if (detours.empty()) return outcome;
  const unsigned most = std::min(input.max_lanes, kMaxDataLanes);
  PlaneLanes lanes = with_single_lanes(scheme.lanes, scheme.first_single_lane, most);
  std::vector<std::uint32_t> failed;
  {
    Packing packing(plane, scheme, lanes, lanes.lanes, detours.size() > kMany);
    failed = place_all(packing, tables, detours);
  }
  if (!failed.empty()) {
    // Again without the last lane, which is for the destinations that then fail.
    UpDownTables fallback = up_down_tables(input, plane, live, false);
    lanes = with_single_lanes(scheme.lanes, scheme.first_single_lane, most);
    const unsigned last_lane = lanes.lanes - 1U;
    if (last_lane < scheme.lanes.lanes) {
      tables = std::move(fallback.tables);
      scheme.lanes = PlaneLanes();
      outcome.all_up_and_down = true;
      outcome.order = std::move(fallback.order);
      return outcome;
    }
    Packing packing(plane, scheme, lanes, last_lane, detours.size() > kMany);
    failed = place_all(packing, tables, detours);
    PlaneTables::Editor editor(tables);
    for (const std::uint32_t d : failed) {
      for (std::size_t s = 0; s < plane.switch_count(); ++s) editor.set(s, d, fallback.tables.at(s, d));
      for (std::size_t h = 0; h < plane.homes.size(); ++h) {
        lanes.path_level[h * plane.destination_count() + d] = static_cast<std::uint8_t>(lanes.levels - 1U);
      }
    }
  }
  outcome.up_and_down = failed.size();
  outcome.on_levels = static_cast<std::size_t>(std::ranges::count_if(
      detours, [&](const Detour& d) { return !std::ranges::binary_search(failed, d.destination); }));
  trim(scheme, lanes);
  scheme.lanes = std::move(lanes);
  return outcome;
}

}  // namespace railweave::fabric
