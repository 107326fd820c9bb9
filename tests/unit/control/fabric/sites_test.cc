// Jobs across sites beside others: their ranks reach each other over the long-haul links, which no subnet's routes cross.
#include "fabric/generate/generate.h"
#include "services/control/guarantees/admitted_placement.h"
#include "services/control/views/contention_book.h"
#include "tests/unit/control/control_fixture.h"

namespace railweave::control::sites_test {
namespace {

class AcrossSitesTest : public ControlTest {
 protected:
  void start_on_two_sites() {
    start();
    must(accept(std::make_shared<const fabric::Topology>(
        fabric::generate("rail-optimized",
                         {{"hosts", "4"}, {"gpus-per-host", "4"}, {"nvlink-domain", "4"}, {"sites", "2"}})
            .value())));
    must(PutTenant{{.name = "research"}, {}});
  }
  static SubmitJob across() {
    auto command = submit_job("research", 4, 8);  // all GPUs of both
    command.spec.across_sites = true;
    return command;
  }
};

TEST_F(AcrossSitesTest, TheyAreReachableOnTheRealRoutes) {
  start_on_two_sites();
  const auto placed = ask(across());
  ASSERT_TRUE(placed) << placed.error().error.text();
  ContentionBook book;
  book.bring_to(*loop_->state());
  const auto beside = book.of(placed->job);
  ASSERT_TRUE(beside);
  EXPECT_TRUE(beside->own.shared.reachable);
  EXPECT_GT(beside->own.shared.communication_us, 0);
  // At least what the long-haul links alone need.
  const auto job = loop_->state()->jobs.find(placed->job);
  ASSERT_TRUE(job->placement.predicted);
  EXPECT_NEAR(beside->own.alone.communication_us / job->placement.predicted->communication_us, 1, 0.5);
}

TEST_F(AcrossSitesTest, AContractKeepsItsPromiseInsideEachSite) {
  for (const auto promise : {fabric::TrafficPromise::hose, fabric::TrafficPromise::pattern}) {
    stop();
    start_on_two_sites();
    scheduler::Contract terms;
    terms.tenant = "research";
    terms.guaranteed = from_gbps(10);
    terms.promise = promise;
    const auto contract = ask(PutContract{terms, {}});
    ASSERT_TRUE(contract) << contract.error().error.text();
    const auto placed = ask(across());
    ASSERT_TRUE(placed) << placed.error().error.text();
    must(EndJob{placed->job, JobState::completed, ""});
    must(RemoveContract{"research", {}});
  }
}

}  // namespace
}  // namespace railweave::control::sites_test
