// The refusal of a job that has no place now or never, with the explanation. For this folder and decide/.
#pragma once

#include <memory>
#include <utility>

#include "services/control/events/command.h"

namespace railweave::control {

inline Rejection refused_placement(scheduler::PlacementResult result) {
  const bool never = result.outcome == scheduler::Outcome::never;
  Rejection rejection{{never ? ErrorKind::impossible : ErrorKind::conflict,
                       result.explanation.code,
                       result.explanation.message,
                       {},
                       {}},
                      nullptr};
  if (!result.explanation.more.empty()) {
    rejection.error = error_of(rejection.error.kind, result.explanation.code, result.explanation.whole());
  }
  rejection.placement = std::make_shared<const scheduler::PlacementResult>(std::move(result));
  return rejection;
}

}  // namespace railweave::control
