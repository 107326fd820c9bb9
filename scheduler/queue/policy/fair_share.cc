#include "scheduler/queue/policy/fair_share.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace railweave::scheduler {

double FairShare::decay(std::int64_t us) const {
  return std::exp2(-static_cast<double>(us) / static_cast<double>(half_life_us_));
}

void FairShare::charge(std::string_view tenant, std::uint64_t gpus, std::int64_t from_us, std::int64_t to_us) {
  if (to_us <= from_us) return;
  auto at = tenants_.find(tenant);
  if (at == tenants_.end()) at = tenants_.emplace(std::string(tenant), Usage{0, to_us}).first;
  Usage& usage = at->second;
  const double half_life_s = static_cast<double>(half_life_us_) * 1e-6;
  const double held =
      static_cast<double>(gpus) * half_life_s / std::numbers::ln2 * (1 - decay(to_us - from_us));  // as of to_us
  const std::int64_t now = std::max(usage.as_of_us, to_us);
  usage.gpu_s = usage.gpu_s * decay(now - usage.as_of_us) + held * decay(now - to_us);
  usage.as_of_us = now;
}

double FairShare::usage_gpu_s(std::string_view tenant, std::int64_t at_us) const {
  const auto at = tenants_.find(tenant);
  if (at == tenants_.end()) return 0;
  return at->second.gpu_s * decay(std::max<std::int64_t>(0, at_us - at->second.as_of_us));
}

double FairShare::average_gpus(std::string_view tenant, std::int64_t at_us) const {
  return usage_gpu_s(tenant, at_us) * std::numbers::ln2 / (static_cast<double>(half_life_us_) * 1e-6);
}

}  // namespace railweave::scheduler
