#include <gtest/gtest.h>

#include "services/railweave/lab/plan/planned_fabric.h"
#include "services/railweave/terminal/command_failure.h"

namespace railweave::cli {
namespace {

TEST(LabPlan, PricesAreGivenOrAssumedAndWrongOnesAreNamed) {
  const Prices prices = read_prices("gpu=1000,years=2,overhead=0");
  EXPECT_EQ(prices.gpu, 1000);
  EXPECT_EQ(prices.adapter, Prices().adapter);
  EXPECT_NEAR(prices.of_hour(2 * 8766), 1, 1e-9);  // one a hour for two years
  EXPECT_EQ(read_prices("").host, Prices().host);
  EXPECT_EQ(prices_json(prices)["gpu"], 1000);
  for (const char* wrong : {"gpu=", "gpu=x", "gpus=1", "gpu=-1", "years=0", "no/such/file"}) {
    EXPECT_THROW(static_cast<void>(read_prices(wrong)), CommandFailure) << wrong;
  }
}

TEST(LabPlan, ShapesAreThoseThatMakeSense) {
  ShapeChoices choices;
  choices.domains = {8};
  choices.adapters_per_gpu = {1, 0.3};  // 2.4 adapters of a host: there are none
  const auto shapes = shapes_of(choices);
  EXPECT_EQ(shapes.size(), 2 * 2 * 3 + 1U);  // rail-only has neither tiers nor ratios
  EXPECT_EQ(shapes.front().name(), "rail-optimized, 2 tiers, 1:1, 8 rails, NVL8");
  EXPECT_EQ(shapes.back().name(), "rail-only, 8 rails, NVL8");
  EXPECT_EQ((FabricShape{.adapters_per_gpu = 0.5, .domain = 72}.rails()), 2U);
}

TEST(LabPlan, PartsAreCountedAndAddedUp) {
  // 1,000 GPUs on 8 rails: 4 units of up to 32 hosts have 8 leaves each, which 16 spines join.
  scheduler::JobSpec job;
  job.parallelism = {.tensor = 8, .data = 25, .pipeline = 5};
  const Prices prices;
  const auto planned = plan_fabric({.kind = "rail-optimized"}, job, prices);
  ASSERT_TRUE(planned) << planned.error().text();
  EXPECT_EQ(planned->hosts, 125U);
  EXPECT_EQ(planned->gpus, 1000U);
  EXPECT_EQ(planned->switches, 48U);
  EXPECT_EQ(planned->host_cables, 1000U);
  EXPECT_EQ(planned->switch_cables, 1024U);
  const double network =
      1000 * prices.adapter + 48 * 64 * prices.switch_port + 1000 * prices.host_cable + 1024 * prices.switch_cable;
  EXPECT_DOUBLE_EQ(planned->network_cost, network);
  EXPECT_DOUBLE_EQ(planned->total_cost, network + 1000 * prices.gpu + 125 * prices.host);
  EXPECT_FALSE(planned->efficiency()) << "without a model it is not known what is computed";
  const auto thin = plan_fabric({.kind = "rail-optimized", .oversubscription = 4}, job, prices);
  ASSERT_TRUE(thin);
  EXPECT_LT(thin->network_cost, planned->network_cost);
  EXPECT_GE(thin->step_us, planned->step_us);
  const auto racks = plan_fabric({.kind = "rail-optimized", .domain = 72}, job, prices);
  ASSERT_TRUE(racks) << racks.error().text();
  EXPECT_EQ(racks->gpus, 14 * 72U) << "whole domains are bought";
  EXPECT_GT(racks->network_cost, 1008 * prices.nvlink_gpu);
  const auto small = plan_fabric({.kind = "fat-tree", .radix = 4}, job, prices);
  ASSERT_FALSE(small) << "1,000 adapters do not fit on two tiers of switches of four ports";
}

TEST(LabPlan, FailuresTakeLeastWithTheBestCheckpoints) {
  const FailureModel model;
  const auto loss = failure_loss(model, 16'384);
  EXPECT_NEAR(loss.hours_between, 54 * 24 / 419.0, 0.01);
  const auto lost = [&](double every) {
    const double between = loss.hours_between * 3600;
    return model.checkpoint_s / every + (every / 2 + model.restart_s) / between;
  };
  EXPECT_NEAR(loss.lost_share, lost(loss.checkpoint_every_s), 1e-12);
  EXPECT_GT(lost(loss.checkpoint_every_s * 1.2), loss.lost_share);
  EXPECT_GT(lost(loss.checkpoint_every_s / 1.2), loss.lost_share);
}

}  // namespace
}  // namespace railweave::cli
