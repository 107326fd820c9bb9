#include "fabric/flow/class_shares.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace railweave::fabric {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1 + 1e-12;  // sums of loads differ so much, and no flow is to be held back by that

// What each class would take of a link: its load where it is satisfied there, all it can get where it is hungry.
struct Demand {
  double load = 0;
  bool hungry = false;
  bool present = false;
};

// The level per unit of class weight at which the classes fill the link: hungry ones take weight x level, the others
// their load where that is less. Infinite where they do not fill it.
double fill_level(double capacity, const std::vector<Demand>& demand, const std::vector<double>& weight,
                  std::vector<std::size_t>& satisfied) {
  double left = capacity, open = 0;
  satisfied.clear();
  for (std::size_t c = 0; c < demand.size(); ++c) {
    if (!demand[c].present) continue;
    open += weight[c];
    if (!demand[c].hungry) satisfied.push_back(c);
  }
  std::ranges::sort(satisfied, {}, [&](std::size_t c) { return demand[c].load / weight[c]; });
  for (const std::size_t c : satisfied) {
    if (demand[c].load * open > left * weight[c]) break;  // the level is below what it takes: it is not satisfied
    left -= demand[c].load;
    open -= weight[c];
  }
  return open > 1e-12 ? std::max(left, 0.0) / open : kInfinity;
}

class Budgets {
 public:
  explicit Budgets(const ClassProblem& problem)
      : problem_(problem), classes_(problem.classes), demand_(classes_), weight_(classes_) {
    const FlowProblem& flows = problem.flows;
    links_of_flows_.resize(flows.links.size());
    present_.assign(flows.capacity.size() * classes_, 0);
    for (std::size_t f = 0; f < flows.flows(); ++f) {
      for (std::uint32_t i = flows.first[f]; i < flows.first[f + 1]; ++i) {
        links_of_flows_[i] = static_cast<std::uint32_t>(flows.links[i] * classes_ + problem.class_of[f]);
        present_[links_of_flows_[i]] = 1;
      }
    }
    for (std::size_t l = 0; l < flows.capacity.size(); ++l) {
      const auto own = std::span(present_).subspan(l * classes_, classes_);
      if (std::ranges::count(own, 1) > 0) used_.push_back(static_cast<std::uint32_t>(l));
    }
    hungry_.assign(present_.size(), 1);
    load_.assign(present_.size(), 0);
    budget_.assign(present_.size(), 0);
    target(budget_, false);
  }

  void solve(FlowRates& rates) {
    FlowProblem inner = problem_.flows;
    inner.capacity = budget_;
    inner.links = links_of_flows_;
    solver_.solve(inner, rates);
    load_ = rates.load;
    std::ranges::fill(hungry_, 0);
    for (const std::uint32_t at : rates.bottleneck) {
      if (at < hungry_.size()) hungry_[at] = 1;
    }
  }

  // New budgets from what the last solution left over; how far they moved, as a part of the link's capacity.
  double move(double damping) {
    std::vector<double>& wanted = wanted_;
    wanted.resize(budget_.size());
    target(wanted, false);
    double most = 0;
    for (std::size_t i = 0; i < budget_.size(); ++i) {
      if (!present_[i] || wanted[i] == budget_[i]) continue;
      // A budget that is not used up before or after says nothing.
      const double capacity = problem_.flows.capacity[i / classes_];
      if (hungry_[i] || wanted[i] < load_[i]) most = std::max(most, std::abs(wanted[i] - budget_[i]) / capacity);
      budget_[i] = std::isfinite(wanted[i]) ? budget_[i] + damping * (wanted[i] - budget_[i]) : wanted[i];
    }
    return most;
  }

  // Budgets that together are no more than the link has.
  void make_feasible() { target(budget_, true); }

  [[nodiscard]] const std::vector<double>& load() const { return load_; }

 private:
  void target(std::vector<double>& budget, bool feasible) {
    for (const std::uint32_t l : used_) {
      const double capacity = problem_.flows.capacity[l];
      for (std::size_t c = 0; c < classes_; ++c) {
        const std::size_t i = l * classes_ + c;
        demand_[c] = {load_[i], hungry_[i] != 0, present_[i] != 0};
        weight_[c] = problem_.weight(l, c);
      }
      const double level = std::isfinite(capacity) ? fill_level(capacity, demand_, weight_, satisfied_) : kInfinity;
      double spare = capacity, open = 0;
      for (std::size_t c = 0; c < classes_; ++c) {
        if (!demand_[c].present) continue;
        double& own = budget[l * classes_ + c];
        own = std::min(capacity, level * weight_[c]);
        if (feasible && !demand_[c].hungry) own = std::min(own, demand_[c].load * kRounding);
        spare -= own;
        open += weight_[c];
      }
      if (!feasible || !(spare > 0) || !std::isfinite(capacity)) continue;
      // Nobody is to be held back by the last bit of a link that is not full.
      for (std::size_t c = 0; c < classes_; ++c) {
        if (demand_[c].present) budget[l * classes_ + c] += spare * weight_[c] / open;
      }
    }
  }

  const ClassProblem& problem_;
  std::size_t classes_;
  MaxMinSolver solver_;
  std::vector<std::uint32_t> links_of_flows_;  // each link split into one per class
  std::vector<std::uint8_t> present_, hungry_;
  std::vector<std::uint32_t> used_;  // links that flows cross
  std::vector<double> load_, budget_, wanted_;
  std::vector<Demand> demand_;
  std::vector<double> weight_;
  std::vector<std::size_t> satisfied_;
};

}  // namespace

ClassRates class_shared_rates(const ClassProblem& problem, const ClassOptions& options) {
  constexpr unsigned kFreeRounds = 4;  // most problems settle at once; those that swing need damping
  ClassRates result;
  Budgets budgets(problem);
  budgets.solve(result.flows);
  result.rounds = 1;
  while (result.rounds < options.max_rounds && !result.settled) {
    result.settled = budgets.move(result.rounds <= kFreeRounds ? 1.0 : 0.5) <= options.tolerance;
    budgets.solve(result.flows);
    ++result.rounds;
  }
  budgets.make_feasible();
  budgets.solve(result.flows);
  result.class_load = budgets.load();

  for (std::uint32_t& at : result.flows.bottleneck) {
    if (at < FlowRates::kUnbounded) at /= static_cast<std::uint32_t>(problem.classes);
  }
  result.flows.load.assign(problem.flows.capacity.size(), 0);
  for (std::size_t i = 0; i < result.class_load.size(); ++i) {
    result.flows.load[i / problem.classes] += result.class_load[i];
  }
  return result;
}

}  // namespace railweave::fabric
