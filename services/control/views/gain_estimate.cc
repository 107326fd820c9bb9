#include "services/control/views/gain_estimate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace railweave::control {
namespace {

// The share of Student's t between -x and x, where x = sqrt(freedom) * tan(angle). Abramowitz and Stegun, 26.7.3 and 26.7.4.
double t_share(double angle, std::size_t freedom) {
  const double sine = std::sin(angle), square = std::cos(angle) * std::cos(angle);
  const bool odd = freedom % 2 == 1;
  double term = odd ? std::cos(angle) : 1, sum = 0;
  for (std::size_t k = odd ? 1 : 0; k + 2 <= freedom; k += 2) {
    sum += term;
    const auto at = static_cast<double>(k);
    term *= square * (at + 1) / (at + 2);
  }
  return odd ? 2 / std::numbers::pi * (angle + sine * sum) : sine * sum;
}

GainEstimate estimate(double saved_log, std::optional<double> half_width) {
  const auto share = [](double log) { return -std::expm1(-log); };
  GainEstimate found{share(saved_log), std::nullopt};
  if (half_width) found.interval = {share(saved_log - *half_width), share(saved_log + *half_width)};
  return found;
}

struct Logs {
  double mean = 0, squares = 0;  // squares: of the differences from the mean, summed
};
Logs logs_of(std::span<const double> times_s) {
  Logs logs;
  for (const double time : times_s) logs.mean += std::log(time) / static_cast<double>(times_s.size());
  for (const double time : times_s) logs.squares += std::pow(std::log(time) - logs.mean, 2);
  return logs;
}

}  // namespace

double t_quantile(std::size_t freedom) {
  constexpr double kShare = 0.95;
  constexpr std::size_t kAsNormal = 2000;  // beyond it the difference is less than 0.1%
  const std::size_t counted = std::min(freedom, kAsNormal);
  double low = 0, high = std::numbers::pi / 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (t_share(middle, counted) < kShare ? low : high) = middle;
  }
  return std::sqrt(static_cast<double>(counted)) * std::tan((low + high) / 2);
}

std::optional<GainEstimate> gain_of_pairs(std::span<const StepPair> pairs) {
  if (pairs.empty()) return std::nullopt;
  std::vector<double> ratios;
  ratios.reserve(pairs.size());
  for (const StepPair& pair : pairs) ratios.push_back(pair.without_s / pair.with_s);
  const Logs logs = logs_of(ratios);
  if (pairs.size() == 1) return estimate(logs.mean, std::nullopt);
  const auto count = static_cast<double>(pairs.size());
  const double error = std::sqrt(logs.squares / (count - 1) / count);
  return estimate(logs.mean, error * t_quantile(pairs.size() - 1));
}

std::optional<GainEstimate> gain_of_strata(std::span<const StepStratum> strata) {
  double weights = 0, saved = 0, squares = 0, saved_squares = 0;
  std::size_t jobs = 0, counted = 0;
  for (const StepStratum& stratum : strata) {
    if (!stratum.counts()) continue;
    const Logs without = logs_of(stratum.without_s), with = logs_of(stratum.with_s);
    const auto n = static_cast<double>(stratum.without_s.size()), m = static_cast<double>(stratum.with_s.size());
    const double weight = n * m / (n + m), difference = without.mean - with.mean;
    weights += weight;
    saved += weight * difference;
    saved_squares += weight * difference * difference;
    squares += without.squares + with.squares;
    jobs += stratum.without_s.size() + stratum.with_s.size();
    ++counted;
  }
  if (counted == 0) return std::nullopt;
  saved /= weights;
  const std::size_t freedom = jobs - counted - 1;
  const double left = std::max(0.0, squares + saved_squares - weights * saved * saved);
  const double error = std::sqrt(left / static_cast<double>(freedom) / weights);
  return estimate(saved, error * t_quantile(freedom));
}

}  // namespace railweave::control
