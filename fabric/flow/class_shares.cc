#include "fabric/flow/class_shares.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace railweave::fabric {

namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1 + 1e-12;  // sums of loads differ by this much, which must not limit a flow
constexpr std::uint32_t kNone = UINT32_MAX;

}  // namespace

void ClassShareSolver::number_cells(const ClassProblem& problem) {
  const FlowProblem& flows = problem.flows;
  const std::size_t classes = problem.classes;
  // Resets only the cells that the last problem numbered.
  if (classes_ != classes || cell_of_.size() != flows.capacity.size() * classes) {
    classes_ = classes;
    cell_of_.assign(flows.capacity.size() * classes, kNone);
  } else {
    for (std::size_t u = 0; u + 1 < used_.size(); ++u) {
      std::fill_n(cell_of_.begin() + static_cast<std::ptrdiff_t>(used_[u].link * classes), classes, kNone);
    }
  }
  used_.clear();
  for (std::size_t f = 0; f < flows.flows(); ++f) {
    for (const std::uint32_t link : flows.path(f)) {
      std::uint32_t* cells = cell_of_.data() + link * classes;
      if (std::all_of(cells, cells + classes, [](std::uint32_t cell) { return cell == kNone; })) {
        used_.push_back({link, 0});
      }
      cells[problem.class_of[f]] = 0;
    }
  }
  std::ranges::sort(used_, {}, &UsedLink::link);
  class_of_cell_.clear();
  for (UsedLink& used : used_) {
    used.first = static_cast<std::uint32_t>(class_of_cell_.size());
    for (std::size_t c = 0; c < classes; ++c) {
      std::uint32_t& cell = cell_of_[used.link * classes + c];
      if (cell == kNone) continue;
      cell = static_cast<std::uint32_t>(class_of_cell_.size());
      class_of_cell_.push_back(static_cast<std::uint8_t>(c));
    }
  }
  used_.push_back({kNone, static_cast<std::uint32_t>(class_of_cell_.size())});
  cells_of_flows_.resize(flows.links.size());
  for (std::size_t f = 0; f < flows.flows(); ++f) {
    for (std::uint32_t i = flows.first[f]; i < flows.first[f + 1]; ++i) {
      cells_of_flows_[i] = cell_of_[flows.links[i] * classes + problem.class_of[f]];
    }
  }
}

// The level per unit of class weight at which the classes fill the link: limited classes get weight x level, the others
// their load where that is less. Infinite where they do not fill it.
double ClassShareSolver::fill_level(double capacity) {
  double residual = capacity, open = 0;
  satisfied_.clear();
  for (std::size_t i = 0; i < demand_.size(); ++i) {
    open += demand_[i].weight;
    if (!demand_[i].limited) satisfied_.push_back(i);
  }
  std::ranges::sort(satisfied_, {}, [&](std::size_t i) { return demand_[i].load / demand_[i].weight; });
  for (const std::size_t i : satisfied_) {
    const Demand& one = demand_[i];
    if (one.load * open > residual * one.weight) break;  // the level is below its load: it is not satisfied
    residual -= one.load;
    open -= one.weight;
  }
  return open > 1e-12 ? std::max(residual, 0.0) / open : kUnbounded;
}

// Budgets from the present loads; feasible: such that their sum does not exceed the link's capacity.
void ClassShareSolver::set_targets(const ClassProblem& problem, std::vector<double>& budget, bool feasible) {
  for (std::size_t u = 0; u + 1 < used_.size(); ++u) {
    const std::uint32_t first = used_[u].first, end = used_[u + 1].first;
    const double capacity = problem.flows.capacity[used_[u].link];
    demand_.clear();
    for (std::uint32_t i = first; i < end; ++i) {
      demand_.push_back({load_[i], limited_[i] != 0, problem.weight(used_[u].link, class_of_cell_[i])});
    }
    const double level = std::isfinite(capacity) ? fill_level(capacity) : kUnbounded;
    double spare = capacity, open = 0;
    for (std::uint32_t i = first; i < end; ++i) {
      const Demand& one = demand_[i - first];
      budget[i] = std::min(capacity, level * one.weight);
      if (feasible && !one.limited) budget[i] = std::min(budget[i], one.load * kRounding);
      spare -= budget[i];
      open += one.weight;
    }
    if (!feasible || !(spare > 0) || !std::isfinite(capacity)) continue;
    // Rounding must not limit any class on a link that is not full.
    for (std::uint32_t i = first; i < end; ++i) budget[i] += spare * demand_[i - first].weight / open;
  }
}

void ClassShareSolver::solve_inside_budgets(const ClassProblem& problem, FlowRates& rates) {
  FlowProblem inner = problem.flows;
  inner.capacity = budget_;
  inner.links = cells_of_flows_;
  solver_.solve(inner, rates);
  load_ = rates.load;
  std::ranges::fill(limited_, 0);
  for (const std::uint32_t at : rates.bottleneck) {
    if (at < limited_.size()) limited_[at] = 1;
  }
}

// New budgets from the capacity that the last solution did not use. Returns the largest change, as a part of the link's
// capacity.
double ClassShareSolver::move_budgets(const ClassProblem& problem, double damping) {
  target_.resize(budget_.size());
  set_targets(problem, target_, false);
  double most = 0;
  for (std::size_t u = 0; u + 1 < used_.size(); ++u) {
    const double capacity = problem.flows.capacity[used_[u].link];
    for (std::uint32_t i = used_[u].first; i < used_[u + 1].first; ++i) {
      if (target_[i] == budget_[i]) continue;
      // A change matters only where the budget is used up before or after it.
      if (limited_[i] || target_[i] < load_[i]) most = std::max(most, std::abs(target_[i] - budget_[i]) / capacity);
      budget_[i] = std::isfinite(target_[i]) ? budget_[i] + damping * (target_[i] - budget_[i]) : target_[i];
    }
  }
  return most;
}

void ClassShareSolver::solve(const ClassProblem& problem, ClassRates& rates, const ClassOptions& options) {
  constexpr unsigned kFreeRounds = 4;  // most problems settle at once; those that oscillate need damping
  const std::size_t links = problem.flows.capacity.size(), classes = problem.classes;
  number_cells(problem);
  const std::size_t cells = class_of_cell_.size();
  limited_.assign(cells, 1);
  load_.assign(cells, 0);
  budget_.assign(cells, 0);
  set_targets(problem, budget_, false);
  solve_inside_budgets(problem, rates.flows);
  rates.rounds = 1;
  rates.settled = false;
  while (rates.rounds < options.max_rounds && !rates.settled) {
    rates.settled = move_budgets(problem, rates.rounds <= kFreeRounds ? 1.0 : 0.5) <= options.tolerance;
    solve_inside_budgets(problem, rates.flows);
    ++rates.rounds;
  }
  set_targets(problem, budget_, true);
  solve_inside_budgets(problem, rates.flows);

  rates.class_load.assign(links * classes, 0);
  rates.flows.load.assign(links, 0);
  std::vector<std::uint32_t>& link_of_cell = cells_of_flows_;  // no longer needed
  link_of_cell.resize(cells);
  for (std::size_t u = 0; u + 1 < used_.size(); ++u) {
    for (std::uint32_t i = used_[u].first; i < used_[u + 1].first; ++i) {
      rates.class_load[used_[u].link * classes + class_of_cell_[i]] = load_[i];
      rates.flows.load[used_[u].link] += load_[i];
      link_of_cell[i] = used_[u].link;
    }
  }
  for (std::uint32_t& at : rates.flows.bottleneck) {
    if (at < FlowRates::kUnbounded) at = link_of_cell[at];
  }
}

ClassRates class_shared_rates(const ClassProblem& problem, const ClassOptions& options) {
  ClassRates rates;
  ClassShareSolver solver;
  solver.solve(problem, rates, options);
  return rates;
}

}  // namespace railweave::fabric
