#include "fabric/flow/max_min.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fabric/base/check.h"

namespace railweave::fabric {

namespace {
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNotFrozen = -1;
}  // namespace

void MaxMinSolver::index_links(const FlowProblem& problem) {
  const std::size_t links = problem.capacity.size(), flows = problem.flows();
  levels_.assign(links, {});
  for (std::size_t l = 0; l < links; ++l) levels_[l].residual = problem.capacity[l];
  for (std::size_t f = 0; f < flows; ++f) {
    const double weight = problem.weight_of(f) * problem.members_of(f);
    RAILWEAVE_CHECK(weight >= 0, "flow weights are positive");
    for (const std::uint32_t l : problem.path(f)) {
      levels_[l].weight += weight;
      ++levels_[l].active;
    }
  }
  first_flow_.resize(links + 1);
  first_flow_[0] = 0;
  for (std::size_t l = 0; l < links; ++l) first_flow_[l + 1] = first_flow_[l] + levels_[l].active;
  flow_of_.resize(first_flow_[links]);
  // first_flow_[l] advances to the end of link l's part and is restored afterwards.
  for (std::size_t f = 0; f < flows; ++f) {
    for (const std::uint32_t l : problem.path(f)) flow_of_[first_flow_[l]++] = static_cast<std::uint32_t>(f);
  }
  for (std::size_t l = links; l > 0; --l) first_flow_[l] = first_flow_[l - 1];
  first_flow_[0] = 0;
}

void MaxMinSolver::order_caps(const FlowProblem& problem) {
  by_cap_.clear();
  if (problem.cap.empty()) return;
  for (std::size_t f = 0; f < problem.flows(); ++f) {
    if (problem.cap[f] < kInfinity) by_cap_.push_back(static_cast<std::uint32_t>(f));
  }
  std::ranges::sort(by_cap_, {}, [&](std::uint32_t f) { return problem.cap[f] / problem.weight_of(f); });
}

void MaxMinSolver::sift_down(std::size_t at) {
  const HeapEntry entry = heap_[at];
  const std::size_t size = heap_.size();
  for (;;) {
    std::size_t child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && heap_[child + 1].level < heap_[child].level) ++child;
    if (heap_[child].level >= entry.level) break;
    heap_[at] = heap_[child];
    at = child;
  }
  heap_[at] = entry;
}

void MaxMinSolver::fill_heap() {
  heap_.clear();
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    const LinkLevel& at = levels_[l];
    if (at.active > 0 && at.residual < kInfinity) {
      heap_.push_back({at.residual / at.weight, static_cast<std::uint32_t>(l)});
    }
  }
  for (std::size_t at = heap_.size() / 2; at-- > 0;) sift_down(at);
}

bool MaxMinSolver::refresh_top() {
  while (!heap_.empty()) {
    HeapEntry& top = heap_.front();
    const LinkLevel& at = levels_[top.link];
    if (at.active == 0) {
      top = heap_.back();
      heap_.pop_back();
      if (!heap_.empty()) sift_down(0);
      continue;
    }
    const double level = std::max(at.residual, 0.0) / at.weight;
    // Levels fall by rounding only.
    if (level <= top.level) return true;
    top.level = level;
    sift_down(0);
    if (heap_.front().level == level) return true;
  }
  return false;
}

void MaxMinSolver::freeze(const FlowProblem& problem, std::uint32_t flow, double rate, std::uint32_t bottleneck,
                          FlowRates& rates) {
  rates.rate[flow] = rate;
  rates.bottleneck[flow] = bottleneck;
  const double members = problem.members_of(flow);
  const double load = rate * members, weight = problem.weight_of(flow) * members;
  for (const std::uint32_t l : problem.path(flow)) {
    LinkLevel& at = levels_[l];
    at.residual -= load;
    at.weight -= weight;
    --at.active;
  }
}

void MaxMinSolver::solve(const FlowProblem& problem, FlowRates& rates) {
  const std::size_t flows = problem.flows();
  index_links(problem);
  order_caps(problem);
  fill_heap();
  rates.rate.assign(flows, kNotFrozen);
  rates.bottleneck.assign(flows, FlowRates::kUnbounded);
  rates.load.assign(problem.capacity.size(), 0);

  std::size_t next_cap = 0;
  double filled = 0;  // the level at which the last flows froze: it never falls
  for (;;) {
    while (next_cap < by_cap_.size() && rates.rate[by_cap_[next_cap]] != kNotFrozen) ++next_cap;
    const bool any_link = refresh_top();
    const double link_level = any_link ? heap_.front().level : kInfinity;
    if (next_cap < by_cap_.size()) {
      const std::uint32_t flow = by_cap_[next_cap];
      if (problem.cap[flow] / problem.weight_of(flow) <= link_level) {
        freeze(problem, flow, problem.cap[flow], FlowRates::kOwnCap, rates);
        ++next_cap;
        continue;
      }
    }
    if (!any_link) break;
    const std::uint32_t link = heap_.front().link;
    filled = std::max(filled, link_level);
    for (std::uint32_t i = first_flow_[link]; i < first_flow_[link + 1]; ++i) {
      const std::uint32_t flow = flow_of_[i];
      if (rates.rate[flow] == kNotFrozen) freeze(problem, flow, filled * problem.weight_of(flow), link, rates);
    }
  }
  for (std::size_t f = 0; f < flows; ++f) {
    if (rates.rate[f] == kNotFrozen) rates.rate[f] = kInfinity;
    const double load = rates.rate[f] * problem.members_of(f);
    for (const std::uint32_t l : problem.path(f)) rates.load[l] += load;
  }
}

FlowRates max_min_rates(const FlowProblem& problem) {
  MaxMinSolver solver;
  FlowRates rates;
  solver.solve(problem, rates);
  return rates;
}

}  // namespace railweave::fabric
