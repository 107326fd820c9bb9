// How much longer a job runs on the place that it got than at its best one. A trace says how long a job ran somewhere;
// without this a placement costs a replayed job nothing.
//
//   none       every place is as good: what a policy gains then, it gains from the order in which jobs start (a control)
//   predicted  by the predicted time of a training step, relative to the best place on the empty fabric
//   spread     a plain slow-down of 30% for a job over more NVLink domains or leaf groups than it needs: a judge that
//              knows nothing of Railweave's predictions
//   flows      by a step whose groups' flows get max-min fair rates on the routes, each group's at once and the job alone,
//              relative to the best place as predicted: a judge that follows cables where placement counts bundles of links, and
//              solves for rates where choices on routes take the fullest link
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/flow/flow_paths.h"
#include "scheduler/placement/score/bundle_traffic.h"
#include "scheduler/queue/queue_cycle.h"
#include "services/railweave/lab/replay/replay_routes.h"

namespace railweave::cli {

enum class Stretch : std::uint8_t { none, predicted, spread, flows };
BOOST_DESCRIBE_ENUM(Stretch, none, predicted, spread, flows)

class StretchedRuns {
 public:
  static constexpr double kSpreadFactor = 1.3;

  // follows: flows are on routes that follow the job.
  StretchedRuns(const scheduler::PlacementFabricPtr& fabric, Stretch rule, bool follows = false);

  // At least 1.
  [[nodiscard]] double factor(const scheduler::JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank);

 private:
  // Of a step; none: some flow has no route.
  [[nodiscard]] std::optional<double> flows_us(const scheduler::JobSpec& spec,
                                               std::span<const fabric::GpuId> gpu_of_rank);
  [[nodiscard]] std::vector<fabric::Demand> demands(const scheduler::JobSpec& spec,
                                                    std::span<const fabric::GpuId> gpu_of_rank);
  [[nodiscard]] bool spreads(std::span<const fabric::GpuId> gpus) const;

  scheduler::PlacementFabricPtr fabric_;
  Stretch rule_;
  bool follows_;
  scheduler::Placer placer_;
  scheduler::BestPlaces best_;
  std::vector<unsigned> levels_;  // at which a job may be spread
  // Of the flows.
  std::unique_ptr<const ReplayRoutes> routes_;
  std::optional<fabric::PathWalker> walker_;
  std::vector<double> capacity_mbps_;  // by directed link
  scheduler::BundleTraffic bundles_;
};

}  // namespace railweave::cli
