#include "scheduler/queue/queue_cycle.h"

#include "scheduler/queue/cycle_run.h"

namespace railweave::scheduler {

struct QueueCycle::Placers {
  explicit Placers(const PlacementFabricPtr& fabric) : now(fabric), later(fabric) {}
  Placer now, later;
};

QueueCycle::QueueCycle(PlacementFabricPtr fabric) : placers_(std::make_unique<Placers>(fabric)) {}
QueueCycle::~QueueCycle() = default;
QueueCycle::QueueCycle(QueueCycle&&) noexcept = default;
QueueCycle& QueueCycle::operator=(QueueCycle&&) noexcept = default;

void QueueCycle::set_capacities(const std::vector<double>& bundle_mbps, const std::vector<double>& up_mbps) {
  placers_->now.set_capacities(bundle_mbps, up_mbps);
  placers_->later.set_capacities(bundle_mbps, up_mbps);
}
void QueueCycle::set_left(std::shared_ptr<const std::vector<double>> bundle_mbps) {
  placers_->now.set_left(std::move(bundle_mbps));
}

CycleResult QueueCycle::run(const Allocations& allocations, const QueueInput& input) {
  placers_->now.sync(allocations);
  placers_->later.sync(allocations);
  return CycleRun(placers_->now, placers_->later, input).run();
}

std::string StartedJob::reason() const {
  if (evicted.empty()) return passed_others ? "backfilled: it delays nobody who waits" : "GPUs are free";
  std::string text = "takes the GPUs of evicted ";
  for (std::size_t i = 0; i < evicted.size() && i < 3; ++i) text += (i == 0 ? "" : ", ") + job_text(evicted[i]);
  if (evicted.size() > 3) text += " and " + std::to_string(evicted.size() - 3) + " more";
  return text;
}

std::string EvictedJob::reason() const {
  return "evicted for " + job_text(in_favour_of) +
         (reclaimed ? ", whose tenant takes its quota back" : " of higher priority");
}

}  // namespace railweave::scheduler
