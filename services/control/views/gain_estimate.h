// How much less time steps take with something than without it, of samples of mean step times: a job each. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace railweave::control {

// Shares of a step's time that are saved; negative: steps take longer.
struct GainEstimate {
  double gain = 0;
  struct Interval {
    double low = 0, high = 0;
  };
  std::optional<Interval> interval;  // of 95%; none: a single pair
};

// Mean step times of one job before and after.
struct StepPair {
  double without_s = 0, with_s = 0;
};
// Of the ratios' logarithms, by Student's t. None: there are no pairs.
std::optional<GainEstimate> gain_of_pairs(std::span<const StepPair> pairs);

// Jobs that differ in nothing but what is asked about.
struct StepStratum {
  static constexpr std::size_t kLeastJobs = 2;  // on each side

  std::vector<double> without_s, with_s;
  [[nodiscard]] bool counts() const { return without_s.size() >= kLeastJobs && with_s.size() >= kLeastJobs; }
};
// Least squares on the logarithms: a level for each stratum, and one effect for all of them; strata that do not count are left
// out. None: there are no others.
std::optional<GainEstimate> gain_of_strata(std::span<const StepStratum> strata);

// The quantile of Student's t that 2.5% are above. freedom: at least 1.
double t_quantile(std::size_t freedom);

}  // namespace railweave::control
