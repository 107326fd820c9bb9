// Models of GPUs, and paths between ranks.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/check.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/placement/placer_impl.h"

namespace railweave::scheduler {

using fabric::HostId;

// Where one model is chosen by the job, or several may be mixed: any.
std::span<const unsigned> Placer::Impl::models_of(const JobSpec& spec) const {
  static constexpr std::array<unsigned, 1> kAny{NodeFilters::kAnyModel};
  if (models_.size() < 2 || spec.mixed_gpus || spec.node_selector.contains("gpu")) return kAny;
  return models_;
}

PlacementResult Placer::Impl::place_on(const JobSpec& spec, unsigned model, bool with_alternatives,
                                       const std::vector<HostId>& excluded) {
  const NodeFilters::Filters& filters = filters_of(spec, model);
  PlacementResult result;
  {
    const Claims claims(search_, tree_, spec, filters.allowed);
    const auto list = candidates_of(spec, model, claims, filters);
    if (!list) return refused(list.error());
    if (!list->empty()) {
      result.outcome = Outcome::placed;
      result.placement = choose(spec, claims, *list, with_alternatives ? &result.alternatives : nullptr);
      result.routed = std::move(routed_);
      if (with_alternatives && options_.policy == PlacementPolicy::cost) {
        add_wider_levels(spec, claims, result);
        if (result.placement.level == fabric::LevelKind::wan) add_one_site(spec, filters.allowed, excluded, result);
      }
    }
  }
  if (result.outcome != Outcome::placed) return refuse(spec, filters.allowed, excluded);
  if (has_path(result.placement)) return result;
  if (auto other = on_one_part(spec, model)) {
    result.placement = std::move(*other);
    result.alternatives.clear();
    result.routed = std::move(routed_);
    return result;
  }
  return refuse_path(spec, model, result.placement);
}

// The model on which the job is fastest; of those within LayoutChoice::kAsGood the slowest.
PlacementResult Placer::Impl::place_on_one_model(const JobSpec& spec, std::span<const unsigned> models,
                                                 bool with_alternatives, const std::vector<HostId>& excluded) {
  const auto unmet = [&](const PlacementResult& result) { return preferences_.unmet(result.placement.gpu_of_rank); };
  const auto time_us = [&](const Placement& placement) {
    if (!placement.beside) return 0.0;
    return placement.beside->step_us.value_or(placement.beside->communication_us) +
           placement.beside->communication_us * preferences_.unmet(placement.gpu_of_rank);
  };
  std::optional<PlacementResult> best;
  unsigned best_model = 0;
  std::vector<std::pair<unsigned, Alternative>> others;
  for (const unsigned model : models) {
    PlacementResult result = place_on(spec, model, false, excluded);
    const bool placed = result.outcome == Outcome::placed;
    if (placed && result.placement.predicted) {
      others.emplace_back(
          model,
          Alternative{fmt::format("on {} GPUs", fabric_->gpu_models().name(model)), result.placement.predicted->step_us,
                      result.placement.predicted->communication_us, result.placement.beside->step_us,
                      result.placement.beside->communication_us, result.placement.gpu_of_rank});
    }
    // Refusals: that of the model which has most free GPUs, those that may fit later first.
    const auto rank = [](const PlacementResult& one) {
      return std::pair(one.outcome == Outcome::never     ? 0
                       : one.outcome == Outcome::not_now ? 1
                                                         : 2,
                       one.outcome == Outcome::placed ? 0 : one.explanation.free_gpus);
    };
    const bool both = placed && best && best->outcome == Outcome::placed;
    const bool preferred = both && unmet(result) < unmet(*best) &&
                           time_us(result.placement) <= time_us(best->placement) * (1 + LayoutChoice::kAsGood);
    const bool faster = both && time_us(result.placement) < time_us(best->placement) * (1 - LayoutChoice::kAsGood);
    if (best && !(rank(*best) < rank(result)) && !faster && !preferred) continue;
    best = std::move(result);
    best_model = model;
  }
  const std::string name(fabric_->gpu_models().name(best_model));
  if (best->outcome == Outcome::placed) {
    if (with_alternatives) best = place_on(spec, best_model, true, excluded);
    for (auto& [model, other] : others) {
      if (with_alternatives && model != best_model) best->alternatives.push_back(std::move(other));
    }
    return std::move(*best);
  }
  // Refused before any search, for what the job says.
  const std::string& code = best->explanation.code;
  if (code == "jobs.invalid" || code == "jobs.unknownLevel") return std::move(*best);
  JobSpec mixed = spec;
  mixed.mixed_gpus = true;
  const JobSearch::Filter any = filters_of(mixed, NodeFilters::kAnyModel).allowed;
  if (!search_.fits(mixed, tree_, any)) {
    PlacementResult whole = refuse(mixed, any, excluded);
    if (whole.outcome == Outcome::never) return whole;  // not for its models
  }
  best->explanation.message = "on " + (name.empty() ? "GPUs of an unknown model" : name + " GPUs") +
                              " alone (a job does not mix models unless it says so): " + best->explanation.message;
  return std::move(*best);
}

void Placer::Impl::add_models(const Placement& placement, std::vector<std::string>& warnings) const {
  const GpuModels& models = fabric_->gpu_models();
  if (models.count() < 2) return;
  std::set<unsigned> used;
  for (const auto gpu : placement.gpu_of_rank) used.insert(models.of(fabric_->leaf(gpu)));
  if (used.size() < 2) return;
  std::string text = "the job mixes GPUs:";
  for (const unsigned model : used) {
    const std::string_view name = models.name(model);
    text += (model == *used.begin() ? " " : ", ") + std::string(name.empty() ? "of an unknown model" : name);
  }
  warnings.push_back(
      fmt::format("{}; it is predicted as on {}, the slowest", text, generation_of(*fabric_, *used.begin()).name));
}

// A job that asks for reduction in switches, which the network of its GPUs does not have, is predicted as rings.
void Placer::Impl::add_reduction(const JobSpec& spec, const Placement& placement,
                                 std::vector<std::string>& warnings) const {
  const TrafficSpec traffic = traffic_of_job(spec).traffic;
  const auto asks = [](const GroupTraffic& group) {
    return group.bytes > 0 && group.exchange == GradientExchange::in_network;
  };
  if (placement.domains_used < 2 || !(asks(traffic.data) || asks(traffic.expert_data))) return;
  const auto without = std::ranges::count_if(placement.gpu_of_rank,
                                             [&](fabric::GpuId gpu) { return !fabric_->bundles().place(gpu).reduces; });
  if (without == 0) return;
  const bool all = static_cast<std::size_t>(without) == placement.gpu_of_rank.size();
  warnings.push_back("no switch that " + (all ? std::string("its GPUs") : fmt::format("{} of its GPUs", without)) +
                     " can reach has an aggregation node: gradients are predicted as rings between NVLink domains, "
                     "not reduced in the network");
}

// Whether what talks to each other is joined by links that are up. A fabric that knows no adapters says nothing of it.
bool Placer::Impl::has_path(const Placement& placement) const {
  return !placement.predicted || placement.predicted->reachable || fabric_->gpu_ports().ports.empty();
}

// With the GPUs of one part of the network alone: where each rail is a network of its own, ranks on different nodes have
// to be on one rail. Only tried where other choices have no path.
std::optional<Placement> Placer::Impl::on_one_part(const JobSpec& spec, unsigned model) {
  constexpr std::size_t kMaxParts = 32;
  const NetworkParts& parts = scorer_.parts();
  if (parts.all().size() < 2 || parts.all().size() > kMaxParts) return std::nullopt;
  const auto& topology = fabric_->topology();
  std::vector<fabric::GpuId> elsewhere;
  for (const std::uint32_t part : parts.all()) {
    elsewhere.clear();
    for (const auto gpu : topology.gpus()) {
      const std::uint64_t used = tree_.allocation(topology.host(gpu)).used;
      if ((used >> topology.local_index(gpu) & 1U) != 0) continue;
      if (!std::ranges::binary_search(parts.of(gpu), part)) elsewhere.push_back(gpu);
    }
    PlacementTransaction others(tree_, topology);
    RAILWEAVE_CHECK(others.take(elsewhere), "what is free can be taken");
    const NodeFilters::Filters& filters = filters_of(spec, model);
    const Claims claims(search_, tree_, spec, filters.allowed);
    const auto list = candidates_of(spec, model, claims, filters);
    if (!list || list->empty()) continue;
    Placement placement = choose(spec, claims, *list, nullptr);
    if (has_path(placement)) return placement;
  }
  return std::nullopt;
}

PlacementResult Placer::Impl::refuse_path(const JobSpec& spec, unsigned model, const Placement& placement) {
  const auto& topology = fabric_->topology();
  (void)scorer_.cost_alone(placement.gpu_of_rank);
  const auto cut = scorer_.cut();
  PlacementResult result;
  result.explanation.code = "jobs.unreachable";
  result.explanation.free_gpus = tree_.total_free();
  result.explanation.total_gpus = fabric_->hierarchy().total_capacity();
  result.explanation.level = placement.level;
  result.explanation.block_gpus = placement.block_gpus;
  const auto rank_text = [&](std::uint32_t rank) {
    const auto gpu = placement.gpu_of_rank[rank];
    return fmt::format("rank {} ({}, GPU {})", rank, topology.name(topology.host(gpu)), topology.local_index(gpu));
  };
  std::string& message = result.explanation.message;
  message = "the ranks that GPUs are found for could not communicate: ";
  if (!cut) {
    message += "every link out of some of their nodes or groups is down or drained";
  } else if (cut->first == cut->second) {
    message += rank_text(cut->first) + " has no link that is in use";
  } else {
    message += "no route from " + rank_text(cut->first) + " to " + rank_text(cut->second) +
               ": their adapters are in parts of the network that no link joins";
  }
  // Without a path even where every link is up and no job runs: never.
  result.outcome = Outcome::not_now;
  if (!scorer_.nominal()) return result;
  if (!empty_) empty_.emplace(fabric_->hierarchy_ptr());
  std::swap(tree_, *empty_);
  const auto alone = try_on(spec, model);
  std::swap(tree_, *empty_);
  if (!alone) result.outcome = Outcome::never;
  return result;
}

std::optional<Placement> Placer::Impl::try_on(const JobSpec& spec, unsigned model) {
  std::optional<Placement> placement;
  {
    const NodeFilters::Filters& filters = filters_of(spec, model);
    const Claims claims(search_, tree_, spec, filters.allowed);
    const auto list = candidates_of(spec, model, claims, filters);
    if (!list || list->empty()) return std::nullopt;
    placement = choose(spec, claims, *list, nullptr);
  }
  return has_path(*placement) ? std::move(placement) : on_one_part(spec, model);
}

const GpuGeneration& Placer::Impl::generation_on(const JobSpec& spec, unsigned model) const {
  if (model != NodeFilters::kAnyModel) return generation_of(*fabric_, model);
  const auto wanted = spec.node_selector.find("gpu");
  const auto* named = wanted == spec.node_selector.end() ? nullptr : generation_named(wanted->second);
  if (named != nullptr) return *named;
  return fabric_->gpu_models().count() == 0 ? generation_of(*fabric_) : generation_of(*fabric_, 0U);
}

}  // namespace railweave::scheduler
