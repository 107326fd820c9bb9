#include "services/railweave/lab/replay/generated_trace.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "fabric/base/draws.h"

namespace railweave::cli {
namespace {

constexpr double kMedianS = 2 * 3600;
constexpr double kSigma = 1.2;
constexpr double kLeastS = 60, kMaxS = 5 * 24 * 3600;

// From 0 to 1, neither of them.
double uniform(Draws& draws) {
  constexpr double kSteps = 9007199254740992;  // 2^53
  constexpr unsigned kUnused = 11;
  return (static_cast<double>(draws() >> kUnused) + 0.5) / kSteps;
}

double normal(Draws& draws) {  // Box and Muller
  const double radius = std::sqrt(-2 * std::log(uniform(draws)));
  return radius * std::cos(2 * std::numbers::pi * uniform(draws));
}

std::vector<std::uint32_t> sizes_to(std::uint64_t most) {
  constexpr std::uint32_t kLeastOdd = 16;  // smaller jobs are powers of two
  std::vector<std::uint32_t> sizes;
  for (std::uint32_t size = 1; size <= most && size <= scheduler::JobSpec::kMaxRanks; size *= 2) {
    if (size >= kLeastOdd) sizes.push_back(size / 4 * 3);
    sizes.push_back(size);
  }
  return sizes;
}

// The chance of a size falls as 1/size.
std::uint32_t draw_size(const std::vector<std::uint32_t>& sizes, Draws& draws) {
  double whole = 0;
  for (const auto size : sizes) whole += 1.0 / size;
  double left = uniform(draws) * whole;
  for (const auto size : sizes) {
    left -= 1.0 / size;
    if (left <= 0) return size;
  }
  return sizes.back();
}

}  // namespace

JobTrace generate_trace(const GeneratedLoad& load, std::uint64_t seed) {
  constexpr std::uint64_t kLargest = 4;  // of the fabric, a part
  constexpr std::uint64_t kApart = 1'000'003;
  Draws draws(seed * kApart);
  const auto sizes = sizes_to(std::max<std::uint64_t>(1, load.gpus / kLargest));
  JobTrace trace;
  trace.tenants = {"all"};
  double gpu_s = 0;
  for (std::size_t i = 0; i < load.jobs; ++i) {
    TraceJob job;
    job.gpus = draw_size(sizes, draws);
    job.runs_s = std::llround(std::clamp(kMedianS * std::exp(kSigma * normal(draws)), kLeastS, kMaxS));
    gpu_s += static_cast<double>(job.gpus) * static_cast<double>(job.runs_s);
    trace.jobs.push_back(job);
  }
  // At random over the time in which the fabric has these GPU hours.
  const double span_s = gpu_s / (static_cast<double>(load.gpus) * load.load);
  for (TraceJob& job : trace.jobs) job.submitted_s = std::llround(uniform(draws) * span_s);
  std::ranges::stable_sort(trace.jobs, {}, &TraceJob::submitted_s);
  return trace;
}

}  // namespace railweave::cli
