#include "fabric/routing/multipath/hash_collisions.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace railweave::fabric {

namespace {

// P(no member gets more than `most`).
double all_at_most(std::uint32_t flows, std::uint32_t members, std::uint32_t most,
                   const std::vector<double>& log_factorial) {
  std::vector<double> remaining(flows + 1, 0), next(flows + 1);  // by number of flows that remain: its probability
  remaining[flows] = 1;
  for (std::uint32_t m = members; m > 1; --m) {
    const double log_in = -std::log(m), log_out = std::log1p(-1.0 / m);
    std::ranges::fill(next, 0);
    for (std::uint32_t n = 0; n <= flows; ++n) {
      if (remaining[n] == 0) continue;
      for (std::uint32_t j = 0; j <= std::min(most, n); ++j) {
        const double log_choose = log_factorial[n] - log_factorial[j] - log_factorial[n - j];
        next[n - j] += remaining[n] * std::exp(log_choose + j * log_in + (n - j) * log_out);
      }
    }
    std::swap(remaining, next);
  }
  double sum = 0;
  for (std::uint32_t n = 0; n <= std::min(most, flows); ++n) sum += remaining[n];
  return sum;
}

}  // namespace

double expected_max_flows(std::uint32_t flows, std::uint32_t members) {
  if (flows == 0 || members == 0) return 0;
  if (members == 1) return flows;
  const double mean = static_cast<double>(flows) / members;
  if (flows > kExactFlows) {
    return std::clamp(mean + std::sqrt(2 * mean * std::log(members)), std::ceil(mean), static_cast<double>(flows));
  }
  std::vector<double> log_factorial{0};
  for (std::uint32_t n = 1; n <= flows; ++n) log_factorial.push_back(log_factorial.back() + std::log(n));
  const auto least = static_cast<std::uint32_t>(std::ceil(mean));  // the fullest member never has fewer
  double expected = least;
  for (std::uint32_t most = least; most < flows; ++most) {
    const double more = 1 - all_at_most(flows, members, most, log_factorial);
    if (more < 1e-9) break;
    expected += more;
  }
  return expected;
}

double expected_collision_factor(std::uint32_t flows, std::uint32_t members) {
  if (flows == 0 || members == 0) return 1;
  return std::max(1.0, expected_max_flows(flows, members) * members / flows);
}

}  // namespace railweave::fabric
