// Max-min fair rates where every link first shares its capacity among traffic classes by weight, as weighted round
// robin over virtual lanes or ETS queues does, and each class then among its flows. Work conserving: what a class
// leaves over goes to the others by weight.
//
// A solution is one in which every flow crosses a full link where, of its class, no flow has more per unit of weight,
// and where no class has more per unit of class weight than its own ("bottlenecked twice"). Such rates exist, but with
// classes they need not be unique: two classes may each wait for the other on two links. Which one gets here is
// deterministic: budgets start at every class's guaranteed share; max-min rates inside the budgets and new budgets from
// what classes left over alternate, damped so that they do not swing. `settled` says whether budgets stopped moving.
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
  unsigned rounds = 0;             // max-min solutions it took
  bool settled = false;
};

struct ClassOptions {
  unsigned max_rounds = 200;
  double tolerance = 1e-6;  // of a link's capacity: 0.4 Mb/s of NDR
};

// No link is ever over its capacity (but for 1e-12 of it), settled or not.
ClassRates class_shared_rates(const ClassProblem& problem, const ClassOptions& options = {});

}  // namespace railweave::fabric
