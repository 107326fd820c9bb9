// How much longer a job runs on the place that it got than at its best one. A trace says how long a job ran somewhere;
// without this a placement costs a replayed job nothing.
//
//   none       every place is as good: what a policy gains then, it gains from the order in which jobs start (a control)
//   predicted  by the predicted time of a training step, relative to the best place on the empty fabric
//   spread     a plain slow-down of 30% for a job over more NVLink domains or leaf groups than it needs: a judge that
//              knows nothing of Railweave's predictions
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "fabric/base/enum_text.h"
#include "scheduler/queue/queue_cycle.h"

namespace railweave::cli {

enum class Stretch : std::uint8_t { none, predicted, spread };
BOOST_DESCRIBE_ENUM(Stretch, none, predicted, spread)

class StretchedRuns {
 public:
  static constexpr double kSpreadFactor = 1.3;

  StretchedRuns(const scheduler::PlacementFabricPtr& fabric, Stretch rule);

  // At least 1.
  [[nodiscard]] double factor(const scheduler::JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank);

 private:
  [[nodiscard]] bool spreads(std::span<const fabric::GpuId> gpus) const;

  scheduler::PlacementFabricPtr fabric_;
  Stretch rule_;
  scheduler::Placer placer_;
  scheduler::BestPlaces best_;
  std::vector<unsigned> levels_;  // at which a job may be spread
};

}  // namespace railweave::cli
