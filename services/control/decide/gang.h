// Gangs: jobs of different size, each a role or a part of one, that start together or not at all, with rules between roles.
// What follows from a rule is asked of the jobs themselves, as nodes that they are confined to or keep off, so that a repair
// keeps to it as well. Groups that a rule may choose are tried one after the other, a bounded number of them.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <span>
#include <vector>

#include "services/control/events/command.h"
#include "services/control/state/cluster_state.h"

namespace railweave::control {

// Starts the job of an item on the state, which then has it.
using StartRole = std::function<std::expected<JobId, Rejection>(ClusterState&, std::size_t, const scheduler::JobSpec&)>;

struct GangRefusal {
  std::size_t item = 0;  // that has no place
  Rejection why;
};

// The specs with which every item starts on the state, one after the other; or which one has no place, after as many tries
// as there may be. Changes nothing.
std::expected<std::vector<scheduler::JobSpec>, GangRefusal> plan_gang(const ClusterState& state,
                                                                      std::span<const scheduler::JobSpec> specs,
                                                                      std::span<const GangRule> rules,
                                                                      const StartRole& start);

// What the other items of a gang are refused with. name: of the one that has no place.
Rejection refused_with(const std::string& name, bool never);

}  // namespace railweave::control
