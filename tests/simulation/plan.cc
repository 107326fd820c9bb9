#include "tests/simulation/plan.h"

#include "tests/simulation/random.h"

namespace railweave::simulation {
namespace {

// How often each kind comes, in the order of Act::Kind. A seed leaves out some kinds, so that others meet more often.
constexpr std::array<unsigned, 29> kWeights{9, 4, 1, 2, 3, 1, 1, 2, 1, 1, 1, 8, 2, 1, 4,
                                            4, 1, 2, 1, 3, 1, 1, 3, 3, 1, 2, 2, 2, 2};

}  // namespace

Plan make_plan(std::uint64_t seed) {
  Random random(seed);
  std::vector<Act::Kind> kinds;
  for (std::size_t k = 0; k < kWeights.size(); ++k) {
    const bool is_left_out = random.one_in(4) && k != 0;
    kinds.insert(kinds.end(), is_left_out ? 0 : kWeights[k], static_cast<Act::Kind>(k));
  }
  Plan plan{seed, {}};
  for (unsigned n = 6 + random.pick(20); n > 0; --n) {
    const unsigned steps = random.pick(5);
    const unsigned wait_ms = random.one_in(4) ? 1 + random.pick(6'000) : 1 + random.pick(300);
    plan.acts.push_back({random.any(kinds), random.next(), steps, wait_ms});
  }
  return plan;
}

std::string to_string(const Act& act) {
  return std::string(Act::kNames[static_cast<std::size_t>(act.kind)]) + " (" + std::to_string(act.salt % 10'000) +
         "), then " + std::to_string(act.steps) + " steps of " + std::to_string(act.wait_ms) + " ms";
}

}  // namespace railweave::simulation
