#include "services/control/guarantees/placement_tries.h"

#include <array>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fabric/capacity/lane_owners.h"
#include "scheduler/placement/fit/placement_transaction.h"
#include "services/control/guarantees/other_places.h"
#include "services/control/guarantees/refused_placement.h"
#include "services/control/views/closed_gpus.h"
#include "services/control/views/job_ports.h"

namespace railweave::control {
namespace {

using fabric::HostId;
using scheduler::Contract;
using scheduler::JobSpec;
using scheduler::Outcome;
using Blocked = std::vector<scheduler::Rejected::Where>;

void add_names(Message& said, const std::vector<std::string>& windows) {
  constexpr std::size_t kNamed = 5;
  for (std::size_t i = 0; i < std::min(kNamed, windows.size()); ++i) {
    said += i == 0 ? "'" : ", '";
    said += ReservationPart{windows[i]};
    said += "'";
  }
  if (windows.size() > kNamed) said += fmt::format(" and {} more", windows.size() - kNamed);
}

// What a placement was chosen by.
double communication_us(const scheduler::Placement& placement) {
  const auto& by = placement.beside ? placement.beside : placement.predicted;
  return by ? by->communication_us : 0;
}

Rejection not_placed(scheduler::PlacementResult result, const ClosedGpus& closed) {
  if (result.outcome == Outcome::not_now && !closed.gpus.empty()) {
    result.explanation.more += "; set aside for others meanwhile: ";
    add_names(result.explanation.more, closed.windows);
  }
  return refused_placement(std::move(result));
}

}  // namespace

std::expected<AdmittedPlacement, Rejection> PlacementTries::admit(const JobSpec& spec,
                                                                  scheduler::PlacementResult result,
                                                                  const std::optional<Contract>& terms,
                                                                  Blocked& blocked) {
  auto granted = grant_within_quota(state_, spec, result.placement, terms, placers_.guarantees(), &blocked);
  tried_.push_back({.gpu_of_rank = result.placement.gpu_of_rank,
                    .is_admitted = granted.has_value(),
                    .lane = {},
                    .communication_us = communication_us(result.placement)});
  if (!granted) return std::unexpected(std::move(granted.error()));
  if (granted->reservation != nullptr) tried_.back().lane = granted->reservation->lane;
  if (!first_us_) first_us_ = tried_.back().communication_us;
  for (const auto& warning : granted->warnings) result.warnings.push_back(warning);
  return AdmittedPlacement{std::move(result), std::move(granted->guarantee), std::move(granted->reservation),
                           std::move(granted->warnings)};
}

bool PlacementTries::opens_lane(const AdmittedPlacement& one) const {
  if (one.reservation == nullptr || !one.reservation->lane) return false;
  const unsigned in_use = fabric::lanes_in_use(placers_.guarantees().ledger());
  return in_use > 0 && *one.reservation->lane >= in_use;  // the first lane is not spared
}

bool PlacementTries::comes_before(const AdmittedPlacement& one, const AdmittedPlacement& other) const {
  if (communication_us(one.result.placement) > *first_us_ * kMaxSlower) return false;
  return !opens_lane(one) || (opens_lane(other) && *one.reservation->lane < *other.reservation->lane);
}

Blocked PlacementTries::lanes_met(const AdmittedPlacement& one) const {
  Blocked met;
  const auto& wanted = *one.reservation;
  for (auto& link : fabric::crowded_links(placers_.guarantees().ledger(), wanted.loads, wanted.qos_class)) {
    met.push_back({scheduler::directed_link_text(state_.topology(), link.link), std::move(link)});
  }
  return met;
}

std::expected<AdmittedPlacement, Rejection> PlacementTries::place(JobSpec tried_spec,
                                                                  const std::optional<Contract>& terms, unsigned most) {
  auto& placer = placers_.at(state_);
  const ClosedGpus closed =
      closed_gpus(state_, tried_spec.tenant, now_us_, expected_end_us(state_, tried_spec, now_us_));
  scheduler::PlacementTransaction tree(placer.tree(), state_.topology());
  for (const auto gpu : closed.gpus) (void)tree.take(std::span(&gpu, 1));
  const std::vector<std::string> excluded = tried_spec.exclude_nodes;
  std::set<HostId> avoided;
  std::optional<AdmittedPlacement> best;  // it opens a lane
  std::optional<Rejection> refused;
  for (unsigned attempt = 0; attempt < most; ++attempt) {
    auto result = with_alternatives_ ? placer.place_with_alternatives(tried_spec) : placer.place_or_say_why(tried_spec);
    if (result.outcome != Outcome::placed) {
      if (best || refused) break;  // placement is possible, but only on links that are too full
      return std::unexpected(not_placed(std::move(result), closed));
    }
    if (auto cut = cut_off(state_, tried_spec, result.placement, placers_.reach(state_))) {
      if (best) break;
      return std::unexpected(as_answer(state_, std::move(*cut)));
    }
    const auto ports = job_ports(*state_.placement_fabric, result.placement.gpu_of_rank);
    Blocked blocked;
    auto tried = admit(tried_spec, std::move(result), terms, blocked);
    if (tried) {
      const bool is_best = !best || comes_before(*tried, *best);
      if (opens_lane(*tried)) blocked = lanes_met(*tried);
      if (is_best) best = std::move(*tried);
      if (!opens_lane(*best) || blocked.empty()) break;
    } else {
      if (blocked.empty() && !best) return std::unexpected(as_answer(state_, std::move(tried.error())));
      if (!refused) refused = std::move(tried.error());
    }
    const std::size_t before = avoided.size();
    add_hosts_behind(state_, placers_.guarantees(), ports, blocked, avoided);
    if (avoided.size() == before) break;
    tried_spec.exclude_nodes = excluded;
    for (const HostId host : avoided) tried_spec.exclude_nodes.emplace_back(state_.topology().name(host));
    if (tried_spec.exclude_nodes.size() > JobSpec::kMaxExcludeNodes) break;
  }
  if (best) return std::move(*best);
  return std::unexpected(std::move(*refused));
}

std::expected<AdmittedPlacement, Rejection> PlacementTries::place_anywhere(const JobSpec& spec,
                                                                           const std::optional<Contract>& terms,
                                                                           scheduler::SearchWork* work) {
  tried_.clear();
  first_us_.reset();
  auto placed = place_near(spec, terms);
  if (placed || !terms || !may_hold_elsewhere(placed.error().error.code)) return placed;
  scheduler::SearchWork own{kWorkForPlaces};
  return place_elsewhere(spec, *terms, work == nullptr ? own : *work, std::move(placed.error()));
}

std::expected<AdmittedPlacement, Rejection> PlacementTries::place_elsewhere(const JobSpec& spec, const Contract& terms,
                                                                            scheduler::SearchWork& work,
                                                                            Rejection refused) {
  auto& placer = placers_.at(state_);
  GuaranteeBook& book = placers_.guarantees();
  const ClosedGpus closed = closed_gpus(state_, spec.tenant, now_us_, expected_end_us(state_, spec, now_us_));
  scheduler::PlacementTransaction tree(placer.tree(), state_.topology());
  for (const auto gpu : closed.gpus) (void)tree.take(std::span(&gpu, 1));
  const std::string job = "this job";
  auto searched = other_place({state_, spec, terms, book.ledger(), job}, placer, book, placers_.reach(state_), work);
  if (!searched.found) {
    refused.error.append("; " + searched.text);
    return std::unexpected(std::move(refused));
  }
  auto& [result, granted] = *searched.found;
  tried_.push_back({.gpu_of_rank = result.placement.gpu_of_rank,
                    .is_admitted = true,
                    .lane = granted.reservation == nullptr ? std::nullopt : granted.reservation->lane,
                    .communication_us = communication_us(result.placement)});
  return AdmittedPlacement{std::move(result), std::move(granted.guarantee), std::move(granted.reservation),
                           std::move(granted.warnings)};
}

// Near each other ranks cross fewer links than placement by predicted cost alone would have them cross.
std::expected<AdmittedPlacement, Rejection> PlacementTries::place_near(const JobSpec& spec,
                                                                       const std::optional<Contract>& terms) {
  auto placed = place(spec, terms, kPlacementTries);
  if (spec.job.required || spec.across_sites) return placed;
  if (placed ? !opens_lane(*placed) : !may_hold_elsewhere(placed.error().error.code)) return placed;
  constexpr std::array kNear{fabric::LevelKind::leaf_group, fabric::LevelKind::rack, fabric::LevelKind::pod};
  for (const auto level : kNear) {
    JobSpec nearer = spec;
    nearer.job.required = level;
    auto near = place(std::move(nearer), terms, 2);
    if (!near) continue;
    if (!placed || comes_before(*near, *placed)) placed = std::move(near);
    if (!opens_lane(*placed)) break;
  }
  return placed;
}

}  // namespace railweave::control
