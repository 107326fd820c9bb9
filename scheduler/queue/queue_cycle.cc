#include "scheduler/queue/queue_cycle.h"

#include "scheduler/queue/cycle/cycle_run.h"

namespace railweave::scheduler {

struct QueueCycle::Placers {
  Placers(const PlacementFabricPtr& fabric, PlacerOptions options)
      : now(fabric, options), later(fabric, options), best(fabric) {}
  Placer now, later;
  BestPlaces best;
};

QueueCycle::QueueCycle(const PlacementFabricPtr& fabric, PlacerOptions options)
    : placers_(std::make_unique<Placers>(fabric, options)) {}
QueueCycle::~QueueCycle() = default;
QueueCycle::QueueCycle(QueueCycle&&) noexcept = default;
QueueCycle& QueueCycle::operator=(QueueCycle&&) noexcept = default;

void QueueCycle::set_capacities(const std::vector<double>& bundle_mbps, const std::vector<double>& up_mbps) {
  placers_->now.set_capacities(bundle_mbps, up_mbps);
  placers_->later.set_capacities(bundle_mbps, up_mbps);
  placers_->best.set_capacities(bundle_mbps, up_mbps);
}
void QueueCycle::set_residual(std::shared_ptr<const std::vector<double>> bundle_mbps) {
  placers_->now.set_residual(std::move(bundle_mbps));
}

void QueueCycle::set_parts(const std::shared_ptr<const NetworkParts>& parts) {
  placers_->now.set_parts(parts);
  placers_->later.set_parts(parts);
  placers_->best.set_parts(parts);
}

CycleResult QueueCycle::run(const Allocations& allocations, const QueueInput& input) {
  placers_->now.sync(allocations);
  placers_->later.sync(allocations);
  placers_->best.sync(allocations);
  QueueInput with_best = input;
  with_best.best = &placers_->best;
  return CycleRun(placers_->now, placers_->later, with_best).run();
}

}  // namespace railweave::scheduler
