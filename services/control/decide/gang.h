// Gangs: jobs of different size, each a role or a part of one, that start together or not at all, with rules between roles and
// data that they exchange. What follows from a rule is asked of the jobs themselves, as nodes that they are confined to or keep
// off, so that a repair keeps to it as well; each job knows its peers. Groups that a rule may choose are tried one after the
// other, a bounded number of them. Where roles exchange data their places are then searched together.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "services/control/events/command.h"
#include "services/control/state/cluster_state.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

struct GangRequest {
  std::span<const scheduler::JobSpec> specs;
  std::span<const GangRule> rules;
  std::span<const GangTraffic> traffic;
};

struct GangRefusal {
  std::size_t item = 0;  // that has no place
  Rejection why;
};

struct PlannedRole {
  scheduler::JobSpec spec;
  std::shared_ptr<const scheduler::Placement> place;  // found together with others; null: where the spec alone leads to
};

// Starts the job of an item on the state, which then has it.
using StartRole = std::function<std::expected<JobId, Rejection>(ClusterState&, std::size_t, const PlannedRole&)>;

// What every item starts with on the state, one after the other; or which one has no place, after as many tries as there may
// be. Changes nothing.
std::expected<std::vector<PlannedRole>, GangRefusal> plan_gang(const ClusterState& state, const GangRequest& request,
                                                               PlacerCache& placers, const StartRole& start);

// What the other items of a gang are refused with. name: of the one that has no place.
Rejection refused_with(const std::string& name, bool never);

}  // namespace railweave::control
