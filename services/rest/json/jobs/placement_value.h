// Parts of answers about a placement: where it lies, its ranks, and why there is none. Also printed by `railweave lab`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/placement/fit/placement.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/rank_map.h"
#include "scheduler/placement/score/contention.h"
#include "services/json/json_out.h"

namespace railweave::api {

constexpr std::string_view to_string(scheduler::Outcome outcome) { return railweave::to_text(outcome); }

Out placement_json(const scheduler::Placement& placement, const fabric::Topology& topology,
                   const std::vector<std::string>& unmet_preferences = {});
// Ranks [from, from + count), or up to the last one.
Out ranks_json(const scheduler::RankMap& map, const scheduler::PlacementFabric& fabric, std::uint64_t from,
               std::uint64_t count);
// How far the groups of each kind (tensor, pipeline, ...) reach.
Out groups_json(const scheduler::PlacementFabric& fabric, const scheduler::Parallelism& parallelism,
                const scheduler::Placement& placement);
// What would become of the job in each of its shapes.
Out shapes_json(const std::vector<scheduler::ShapeAnswer>& shapes, const MessageReader& reader);
Out predicted_json(const scheduler::Placement& placement);  // null: no prediction
// compared: each beside other jobs, on one basis with the placement's own contention; empty: not known.
Out alternatives_json(const std::vector<scheduler::Alternative>& alternatives,
                      std::span<const scheduler::Contention> compared);
// Names the fastest alternative that bundles of links, which the choice was made on, call no faster, and that the basis of
// the placement's own contention calls faster by more than 1%; empty: there is none.
std::string faster_alternative(const scheduler::PlacementResult& result, const scheduler::Contention& chosen,
                               std::span<const scheduler::Contention> compared);
// Which of two predictions without other jobs holds, and why they differ: on bundles (`predicted`) and on routes. Empty:
// there is one, or they are within 10%.
std::string two_predictions(const scheduler::Placement& placement, const scheduler::Contention& own);
Out explanation_json(const scheduler::Explanation& explanation);

}  // namespace railweave::api
