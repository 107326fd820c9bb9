// Gangs of a batch: planned on a copy of the state before any of their jobs is decided.
#include <expected>
#include <memory>
#include <utility>

#include "services/control/control_loop.h"
#include "services/control/decide/decide.h"
#include "services/control/decide/gang.h"
#include "services/control/events/apply.h"

namespace railweave::control {

// Each item with the spec that its gang's rules lead to; or refused, all of them.
std::optional<std::vector<Accepted::Item>> ControlLoop::plan(const ClusterState& state, const Command& command,
                                                             SubmitJobs& several) {
  std::vector<scheduler::JobSpec> specs;
  for (const auto& item : several.items) specs.push_back(item.spec);
  const auto start = [&](ClusterState& trial, std::size_t i,
                         const PlannedRole& role) -> std::expected<JobId, Rejection> {
    SubmitJob item = several.items[i];
    item.spec = role.spec;
    item.place = role.place;
    const std::int64_t now_us = options_.now_us();
    auto decision = decide(trial, {command.actor, std::move(item), command.origin}, now_us, placers_, queue_runner_);
    if (!decision) return std::unexpected(std::move(decision.error()));
    for (auto& event : decision->events)
      apply(trial, {trial.seq + 1, trial.term, now_us, command.actor, std::move(event)});
    return decision->job;
  };
  auto planned = plan_gang(state, {specs, several.rules, several.traffic}, placers_, start);
  if (planned) {
    for (std::size_t i = 0; i < planned->size(); ++i) {
      several.items[i].spec = std::move((*planned)[i].spec);
      several.items[i].place = std::move((*planned)[i].place);
    }
    return std::nullopt;
  }
  const std::size_t none = planned.error().item;
  const bool never = planned.error().why.error.kind == ErrorKind::impossible;
  const auto why = std::make_shared<const Rejection>(std::move(planned.error().why));
  const auto others = std::make_shared<const Rejection>(refused_with(specs[none].name, never));
  std::vector<Accepted::Item> refused;
  for (std::size_t i = 0; i < specs.size(); ++i) refused.push_back({{}, false, i == none ? why : others});
  return refused;
}

}  // namespace railweave::control
