// What `railweave status` says of the schedulers beside the service, by sums worked out by hand.
#include "services/railweave/views/control_steps.h"

#include <gtest/gtest.h>

namespace railweave::cli {
namespace {

Json job(const char* state, std::uint64_t gpus, const char* at, Json external) {
  return {{"state", state}, {"gpus", gpus}, {"submittedAt", at}, {"external", std::move(external)}};
}

Json slurm(const Json& step, const Json& gain, const char* part = "all") {
  return {{"scheduler", "slurm"}, {"id", "7"}, {"part", part}, {"step", step}, {"gainPermille", gain}};
}

TEST(ControlSteps, CountsGainsByGpusForEachStepThatAPartIsAt) {
  const Json jobs = Json::array({job("placed", 32, "2026-11-21T08:00:00Z", slurm("observe", 0U)),
                                 job("completed", 96, "2026-11-21T07:00:00Z", slurm("observe", 400U)),
                                 job("placed", 8, "2026-11-21T07:30:00Z", slurm("observe", nullptr, "debug")),
                                 job("placed", 8, "2026-11-21T09:00:00Z", slurm("place", nullptr)),
                                 job("completed", 8, "2026-11-20T09:00:00Z", slurm("order", 250U)),
                                 job("completed", 8, "2026-11-20T08:00:00Z", slurm(nullptr, nullptr)),
                                 job("placed", 8, "2026-11-21T09:00:00Z", nullptr)});
  const auto steps = control_steps(jobs);
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(control_step_text(steps[0]), "step place (all), 1 job placed");
  EXPECT_EQ(control_step_json(steps[1]), (Json{{"scheduler", "slurm"},
                                               {"parts", {"all", "debug"}},
                                               {"step", "observe"},
                                               {"jobs", 2},
                                               {"jobsAdvised", 2},
                                               {"jobsFasterElsewhere", 1},
                                               {"gainPermille", 300}}));  // (96 * 400 + 32 * 0) / 128
  EXPECT_EQ(control_step_text(steps[1]),
            "step observe (all, debug), 2 jobs placed; elsewhere 1 of 2 would have been faster, 30.0% less "
            "communication over all of them "
            "(predicted)");
  EXPECT_EQ(control_step_text(steps[2]),
            "was at step order; elsewhere 1 of 1 would have been faster, 25.0% less communication over all of them "
            "(predicted)");
}

TEST(ControlSteps, SaysNothingOfGainsThatAreNotKnown) {
  const auto steps = control_steps(Json::array({job("placed", 8, "2026-11-21T07:30:00Z", slurm(nullptr, nullptr))}));
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_EQ(control_step_text(steps[0]), "1 job placed");
  EXPECT_EQ(control_step_json(steps[0])["gainPermille"], nullptr);
  EXPECT_TRUE(control_steps(Json::array()).empty());
}

}  // namespace
}  // namespace railweave::cli
