// Max-min fair rates where every link first shares its capacity among traffic classes by weight, as weighted round
// robin over virtual lanes or ETS queues does, and each class then among its flows. Work conserving: capacity that a
// class does not use goes to the others by weight. Rates and capacities are in one unit of the caller's choice.
//
// A solution is one in which every flow crosses a full link where no flow of its class has more per unit of weight, and
// where no class has more per unit of class weight than its own ("bottlenecked twice"). Such rates exist, but with
// classes they need not be unique: two classes may each wait for the other on two links. The solution found here is
// deterministic: budgets start at every class's guaranteed share; max-min rates within the budgets, and new budgets
// from the capacity that classes did not use, alternate, damped so that they do not oscillate. `settled` says whether
// budgets stopped changing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/flow/max_min.h"

namespace railweave::fabric {

struct ClassProblem {
  FlowProblem flows;
  std::span<const std::uint8_t> class_of;  // by flow, below `classes`
  std::size_t classes = 1;
  // Above 0; one row of `classes` for all links, or one per link.
  std::span<const double> class_weight;

  [[nodiscard]] double weight(std::size_t link, std::size_t c) const {
    return class_weight.size() == classes ? class_weight[c] : class_weight[link * classes + c];
  }
};

struct ClassRates {
  FlowRates flows;
  std::vector<double> class_load;  // links x classes
  unsigned rounds = 0;             // number of max-min solutions computed
  bool settled = false;
};

struct ClassOptions {
  unsigned max_rounds = 200;
  double tolerance = 1e-6;  // of a link's capacity: 0.4 Mb/s of NDR
};

// No link exceeds its capacity (by more than 1e-12 of it), settled or not. Keeps its memory from one problem to the
// next and serves one thread at a time. The cost of a problem depends on the links that its flows cross, not on the
// number of all links.
class ClassShareSolver {
 public:
  // Overwrites `rates`, whose memory is used again.
  void solve(const ClassProblem& problem, ClassRates& rates, const ClassOptions& options = {});

 private:
  // The demand of a class on a link: its load, or, where the link limits one of its flows, all that it can get.
  struct Demand {
    double load = 0;
    bool limited = false;
    double weight = 0;
  };
  struct UsedLink {
    std::uint32_t link = 0;
    std::uint32_t first = 0;  // of its cells; to that of the next
  };
  void number_cells(const ClassProblem& problem);
  void solve_inside_budgets(const ClassProblem& problem, FlowRates& rates);
  double move_budgets(const ClassProblem& problem, double damping);
  void set_targets(const ClassProblem& problem, std::vector<double>& budget, bool feasible);
  double fill_level(double capacity);

  MaxMinSolver solver_;
  // A cell is a class on a link that its flows cross; numbered by link and class.
  std::size_t classes_ = 0;
  std::vector<std::uint32_t> cell_of_;  // by link and class, kNone: none
  std::vector<UsedLink> used_;
  std::vector<std::uint8_t> class_of_cell_;
  std::vector<std::uint32_t> cells_of_flows_;
  std::vector<std::uint8_t> limited_;
  std::vector<double> load_, budget_, target_;
  std::vector<Demand> demand_;  // of one link
  std::vector<std::size_t> satisfied_;
};

ClassRates class_shared_rates(const ClassProblem& problem, const ClassOptions& options = {});

}  // namespace railweave::fabric
