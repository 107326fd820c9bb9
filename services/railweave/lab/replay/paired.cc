#include "services/railweave/lab/replay/paired.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace railweave::cli {
namespace {

// The 97.5% point of Student's t, by degrees of freedom from 1 on.
constexpr double kT[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                         2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                         2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};

}  // namespace

PairedDifference paired(std::span<const double> differences) {
  const auto n = static_cast<double>(differences.size());
  PairedDifference result;
  result.mean = std::accumulate(differences.begin(), differences.end(), 0.0) / n;
  double squares = 0;
  for (const double difference : differences) squares += (difference - result.mean) * (difference - result.mean);
  const std::size_t freedom = std::min(differences.size() - 1, std::size(kT));  // beyond the table: its last, wider
  result.half_width = kT[freedom - 1] * std::sqrt(squares / (n - 1) / n);
  return result;
}

}  // namespace railweave::cli
