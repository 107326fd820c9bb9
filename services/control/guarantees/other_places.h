// Where else a guarantee has room, once the places that placement prefers have none: a search over the nodes that are
// free (scheduler/admission/seat_search.h), bounded by work. Each place that it finds was placed by the placer on those
// nodes alone and admitted. Used by PlacementTries and GuaranteeGate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "scheduler/admission/seat.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/views/job_reach.h"
#include "services/control/views/placer_cache.h"

namespace railweave::control {

// What one request may compute to find another place. The same for a what-if as for a submission, so that both find the
// same.
inline constexpr std::uint64_t kWorkForPlaces = 200'000;

struct OtherPlace {
  scheduler::PlacementResult result;
  Grant grant;
};

struct SearchedPlaces {
  std::optional<OtherPlace> found;
  bool proven = false;  // there is none, as the routes and the other guarantees are
  std::string text;     // for people: how that is known, or what was looked at
};

struct PlaceQuestion {
  const ClusterState& state;
  const scheduler::JobSpec& spec;
  const scheduler::Contract& terms;  // of job_terms()
  const fabric::Ledger& ledger;      // beside which it has to fit; of the book's view
  const std::string& job;            // as reservations name it
};

// On GPUs that are free in the placer's tree, which is afterwards as it was. Precondition: the book is at the state.
SearchedPlaces other_place(const PlaceQuestion& question, scheduler::Placer& placer, GuaranteeBook& book,
                           const JobReach& reach, scheduler::SearchWork& work);

// Whether another place may hold what one was refused for.
bool may_hold_elsewhere(const std::string& code);

}  // namespace railweave::control
