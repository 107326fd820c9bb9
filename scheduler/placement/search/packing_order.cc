#include "scheduler/placement/search/packing_order.h"

namespace railweave::scheduler {

std::uint64_t rank_at(const Parallelism& parallelism, bool expert_inside, std::uint64_t position, PackingOrder order) {
  if (!expert_inside && order == PackingOrder::stages) return position;
  RankCoordinates coordinates;
  const auto digit = [&position](std::uint32_t base) {
    const auto value = static_cast<std::uint32_t>(position % base);
    position /= base;
    return value;
  };
  coordinates.tp = digit(parallelism.tensor);
  if (expert_inside) coordinates.ep = digit(parallelism.expert);
  coordinates.cp = digit(parallelism.context);
  if (!expert_inside) coordinates.ep = digit(parallelism.expert);
  if (order == PackingOrder::replicas) coordinates.pp = digit(parallelism.pipeline);
  coordinates.dp = digit(parallelism.data);
  if (order == PackingOrder::stages) coordinates.pp = static_cast<std::uint32_t>(position);
  return rank_of(parallelism, coordinates);
}

}  // namespace railweave::scheduler
