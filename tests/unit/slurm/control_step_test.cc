#include "services/slurm/control_step.h"

#include <gtest/gtest.h>

namespace railweave::slurm {
namespace {

TEST(ControlStep, OfSeveralPartitionsTheOneCountsThatDecidesLeast) {
  Steps steps;
  EXPECT_EQ(steps.of("batch"), Step::place);
  for (const char* text : {"debug=observe", "batch=order"}) ASSERT_TRUE(add_partition_step(text, steps)) << text;
  EXPECT_EQ(steps.of("debug"), Step::observe);
  EXPECT_EQ(steps.of("batch"), Step::order);
  EXPECT_EQ(steps.of("large"), Step::place);
  EXPECT_EQ(steps.of("large,batch"), Step::order);
  EXPECT_EQ(steps.of("batch,debug,large"), Step::observe);
  EXPECT_EQ(steps.of(""), Step::place) << "a job that says none";

  steps = {.cluster = Step::observe};
  ASSERT_TRUE(add_partition_step("trial=place", steps));
  EXPECT_EQ(steps.of("trial"), Step::place);
  EXPECT_EQ(steps.of("trial,batch"), Step::observe);
}

TEST(ControlStep, WhatIsNoStepOfAPartitionIsRefusedByName) {
  Steps steps;
  for (const char* text : {"debug", "=place", "debug=", "debug=all", ""}) {
    const auto added = add_partition_step(text, steps);
    ASSERT_FALSE(added) << text;
    EXPECT_NE(added.error().text().find(std::string("'") + text + "'"), std::string::npos) << added.error().text();
  }
  EXPECT_TRUE(steps.partitions.empty());
}

}  // namespace
}  // namespace railweave::slurm
