// Two policies on the same streams of jobs, seed by seed: the mean difference, and how far it can be trusted.
#pragma once

#include <span>

namespace railweave::cli {

struct PairedDifference {
  double mean = 0;
  double half_width = 0;  // of the 95% interval, by Student's t
  [[nodiscard]] bool excludes_zero() const { return mean - half_width > 0 || mean + half_width < 0; }
};

// Of at least two differences.
PairedDifference paired(std::span<const double> differences);

}  // namespace railweave::cli
