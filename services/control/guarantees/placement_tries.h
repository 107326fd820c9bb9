// The search for GPUs on whose links a guarantee has room, and its job a lane where it owns one. Used by admitted_placement()
// and its counterfactuals.
//
// What it promises: every placement that it returns was admitted. Of those that it tried (tried()), none that is at most
// kMaxSlower times as slow as the first admitted one needs fewer lanes in the fabric: a job that could have a lane that is
// in use anyway is not given one more. A refusal tells who holds the links or the lanes of the placement that was tried
// first, and how it is known that no other one would have been admitted, or that the search for one gave up
// (other_places.h).
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <vector>

#include "services/control/guarantees/admitted_placement.h"

namespace railweave::control {

struct TriedPlacement {
  std::vector<fabric::GpuId> gpu_of_rank;
  bool is_admitted = false;
  std::optional<std::uint8_t> lane;  // of its own, where it is admitted
  double communication_us = 0;       // predicted; 0: not known
};

class PlacementTries {
 public:
  // Borrows both.
  PlacementTries(const ClusterState& state, PlacerCache& placers, std::int64_t now_us, bool with_alternatives)
      : state_(state), placers_(placers), now_us_(now_us), with_alternatives_(with_alternatives) {}

  // Places by the residual capacity of links and admits. If links are too full or their lanes taken, or the job would need
  // one lane more than are in use, tries again without the hosts behind these links, at most kPlacementTries times in all;
  // then within one group of each near level, then wherever other_place() finds room.
  static constexpr unsigned kPlacementTries = 4;
  static constexpr double kMaxSlower = 1.1;
  // work: for the last; null: as much as one request may.
  std::expected<AdmittedPlacement, Rejection> place_anywhere(const scheduler::JobSpec& spec,
                                                             const std::optional<scheduler::Contract>& terms,
                                                             scheduler::SearchWork* work = nullptr);
  // By the last place_anywhere(), in order.
  [[nodiscard]] const std::vector<TriedPlacement>& tried() const { return tried_; }

 private:
  std::expected<AdmittedPlacement, Rejection> place_near(const scheduler::JobSpec& spec,
                                                         const std::optional<scheduler::Contract>& terms);
  // What a refusal becomes once other places were searched.
  std::expected<AdmittedPlacement, Rejection> place_elsewhere(const scheduler::JobSpec& spec,
                                                              const scheduler::Contract& terms,
                                                              scheduler::SearchWork& work, Rejection refused);
  std::expected<AdmittedPlacement, Rejection> place(scheduler::JobSpec tried_spec,
                                                    const std::optional<scheduler::Contract>& terms, unsigned most);
  std::expected<AdmittedPlacement, Rejection> admit(const scheduler::JobSpec& spec, scheduler::PlacementResult result,
                                                    const std::optional<scheduler::Contract>& terms,
                                                    std::vector<scheduler::Rejected::Where>& blocked);
  // Whether it needs a lane above all that are in use, where any is.
  [[nodiscard]] bool opens_lane(const AdmittedPlacement& one) const;
  [[nodiscard]] bool comes_before(const AdmittedPlacement& one, const AdmittedPlacement& other) const;
  // Where the lanes are that it cannot have.
  [[nodiscard]] std::vector<scheduler::Rejected::Where> lanes_met(const AdmittedPlacement& one) const;

  const ClusterState& state_;
  PlacerCache& placers_;
  const std::int64_t now_us_;
  const bool with_alternatives_;
  std::vector<TriedPlacement> tried_;
  std::optional<double> first_us_;  // predicted for the first admitted one
};

}  // namespace railweave::control
