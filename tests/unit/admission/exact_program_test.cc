// The largest rate that admission grants a job on a degraded fabric, against a linear program per link (GLPK) that asks
// for the worst traffic among the pairs that cross it. The pairs come from trace_route.
#include <gtest/gtest.h>

#include "scheduler/admission/bandwidth_admission.h"
#include "tests/unit/capacity/naive_hose.h"
#include "tests/unit/capacity/routed_fabrics.h"

#ifdef RAILWEAVE_HAS_GLPK
#include <glpk.h>
#endif

namespace railweave::scheduler {
namespace {

using namespace fabric;  // NOLINT

#ifdef RAILWEAVE_HAS_GLPK
double worst_load(std::size_t ports, const std::vector<std::pair<std::size_t, std::size_t>>& pairs) {
  glp_prob* program = glp_create_prob();
  glp_set_obj_dir(program, GLP_MAX);
  glp_add_rows(program, static_cast<int>(2 * ports));
  for (int row = 1; row <= static_cast<int>(2 * ports); ++row) glp_set_row_bnds(program, row, GLP_UP, 0, 1);
  glp_add_cols(program, static_cast<int>(pairs.size()));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const int column = static_cast<int>(i + 1);
    glp_set_col_bnds(program, column, GLP_LO, 0, 0);
    glp_set_obj_coef(program, column, 1);
    const int rows[] = {0, static_cast<int>(pairs[i].first + 1), static_cast<int>(ports + pairs[i].second + 1)};
    const double ones[] = {0, 1, 1};
    glp_set_mat_col(program, column, 2, rows, ones);
  }
  glp_smcp quiet;
  glp_init_smcp(&quiet);
  quiet.msg_lev = GLP_MSG_OFF;
  EXPECT_EQ(glp_simplex(program, &quiet), 0);
  const double worst = glp_get_obj_val(program);
  glp_delete_prob(program);
  return worst;
}
#endif

TEST(ExactProgram, AdmissionGrantsAtLeast95PercentOfWhatItAllows) {
#ifndef RAILWEAVE_HAS_GLPK
  GTEST_SKIP() << "skipped: libglpk-dev is not installed";
#else
  const QosClasses classes = default_qos_classes();
  double granted_sum = 0, exact_sum = 0, least = 1e9;
  std::size_t jobs = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto fabric = fabric::testing::random_fabric(seed, fabric::testing::Health::failures);
    std::mt19937_64 random(seed);
    std::vector<PortId> ends = fabric.ends;
    std::ranges::shuffle(ends, random);
    ends.resize(std::min<std::size_t>(ends.size(), 3 + random() % 14));
    const Ledger ledger(whole_capacities_mbps(fabric.view), capacity_rules(classes));
    HoseLoads loads(fabric.view, fabric.routing.tables);
    BandwidthAdmission admission(classes, ledger, loads);
    Contract contract{.tenant = "t", .classes = {"all-reduce"}};
    std::int64_t low = 0, high = 1'000'000;  // the largest rate that is admitted
    while (low + 1 < high) {
      contract.guaranteed = RateMbps((low + high) / 2);
      const auto result = admission.admit(contract, {.job = "j", .ports = ends});
      (std::holds_alternative<Admitted>(result) ? low : high) = (low + high) / 2;
    }
    if (low == 0) continue;  // cut off
    std::vector<fabric::testing::NaivePort> ports;
    for (const PortId port : ends) ports.push_back({port, 1, 1});
    double exact = 1e18;
    for (const auto& [link, pairs] : fabric::testing::crossing_pairs(fabric.view, fabric.routing.tables, ports)) {
      const auto rate = static_cast<double>(fabric.view.topology().rate(LinkId(link.first)).value());
      const double limit = rate * 0.95 * classes[2].share_permille / 1000;
      exact = std::min(exact, limit / worst_load(ports.size(), pairs));
    }
    if (exact > 1e17) continue;  // ports that never meet
    ++jobs;
    granted_sum += static_cast<double>(low);
    exact_sum += exact;
    least = std::min(least, static_cast<double>(low) / exact);
    EXPECT_LE(static_cast<double>(low), exact * (1 + 1e-9)) << "seed " << seed << ": more than there is";
  }
  std::printf("%zu jobs on degraded fabrics: granted %.4f of the exact program, at least %.4f\n", jobs,
              granted_sum / exact_sum, least);
  EXPECT_GT(jobs, 20U);
  EXPECT_GE(least, 0.95);
#endif
}

}  // namespace
}  // namespace railweave::scheduler
