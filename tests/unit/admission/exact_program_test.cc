// The largest rate that admission grants a job on a degraded fabric, against a linear program per link (GLPK) that asks
// for the worst traffic among the pairs that cross it. The pairs come from trace_route.
#include <gtest/gtest.h>

#include "scheduler/admission/bandwidth_admission.h"
#include "tests/unit/capacity/hose_program.h"
#include "tests/unit/capacity/naive_hose.h"
#include "tests/unit/capacity/routed_fabrics.h"

namespace railweave::scheduler {
namespace {

using namespace fabric;  // NOLINT

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
      std::vector<fabric::testing::Crossing> crossing;
      for (const auto& [from, to] : pairs) crossing.push_back({from, to});
      exact = std::min(exact, limit / worst_load(ports, crossing));
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
