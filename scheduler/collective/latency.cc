#include "scheduler/collective/latency.h"

#include <cmath>

namespace railweave::scheduler {

double path_us(const PathShape& path, const LatencyConstants& constants) {
  return path.switches * constants.switch_us + path.cable_m * constants.cable_us_per_m;
}

double ring_step_us(const PathShape& path, Protocol protocol, const LatencyConstants& constants) {
  const auto& step = path.network ? constants.ring_network_us : constants.ring_nvlink_us;
  return step[index_of(protocol)] + path_us(path, constants);
}

double ring_all_reduce_latency_us(std::uint64_t members, std::uint64_t domains, Protocol protocol,
                                  const LatencyConstants& constants) {
  const std::size_t p = index_of(protocol);
  const auto m = static_cast<double>(members), k = static_cast<double>(domains);
  if (m * k < 2) return 0;
  const double inside = domains == 1 ? 2 * (m - 1) : 2 * (m - 1) * k;
  const double outside = 2 * (k - 1);
  return constants.ring_base_us[p] + inside * constants.ring_nvlink_us[p] + outside * constants.ring_network_us[p];
}

double tree_all_reduce_latency_us(std::uint64_t members, std::uint64_t domains, Protocol protocol,
                                  const LatencyConstants& constants) {
  const std::size_t p = index_of(protocol);
  const auto m = static_cast<double>(members), k = static_cast<double>(domains);
  if (m * k < 2) return 0;
  return constants.tree_base_us[p] +
         2 * ((m - 1) * constants.tree_nvlink_us[p] + std::log2(k) * constants.tree_network_us[p]);
}

}  // namespace railweave::scheduler
