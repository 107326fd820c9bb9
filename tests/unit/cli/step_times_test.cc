// What people are told of step times and of gains measured by them.
#include "services/railweave/views/step_times.h"

#include <gtest/gtest.h>

namespace railweave::cli {
namespace {

Json gain(const char* of, int permille, Json interval) {
  return {{"step", "place"},   {"scheduler", "slurm"},     {"parts", {"all", "debug"}},
          {"of", of},          {"gainPermille", permille}, {"jobsWith", 4U},
          {"jobsWithout", 3U}, {"workloads", 1U},          {"interval", std::move(interval)}};
}

TEST(StepTimesView, SaysWhatAGainWasMeasuredOn) {
  const Json interval{{"lowPermille", 40}, {"highPermille", 198}};
  EXPECT_EQ(gain_text(gain("workloadJobs", 123, interval)),
            "place (slurm: all, debug): steps take 12.3% less time (95%: 4.0% to 19.8%), measured: 4 jobs with it, 3 "
            "without");
  EXPECT_EQ(
      gain_text(gain("sameJobs", 123, interval)),
      "place (slurm: all, debug): steps take 12.3% less time (95%: 4.0% to 19.8%), measured: 4 jobs before and after");
  EXPECT_EQ(gain_text(gain("oneJob", 123, nullptr)),
            "place (slurm: all, debug): steps take 12.3% less time, measured on one job before and after: no more than "
            "a hint");
  Json route = gain("sameJobs", -50, Json{{"lowPermille", -120}, {"highPermille", 20}});
  route["step"] = "route";
  route["scheduler"] = nullptr;
  EXPECT_EQ(gain_text(route),
            "route: steps take 5.0% more time (95%: -2.0% to 12.0%), measured: 4 jobs before and after");
}

TEST(StepTimesView, PutsStepsBesideThePrediction) {
  const Json period{{"placing", "place"}, {"routed", true}, {"guaranteed", false}, {"steps", 40},
                    {"stepMs", 900.0},    {"factor", 1.2},  {"predictedMs", 750.0}};
  Json before = period;
  before["placing"] = "observe";
  before["routed"] = false;
  before["factor"] = before["predictedMs"] = nullptr;
  before["until"] = "2026-11-21T08:00:00Z";
  Json steps{{"periods", {before, period}},
             {"slow", false},
             {"factor", 1.2},
             {"onPath", nullptr},
             {"reportedAt", "2026-11-21T09:00:00Z"}};
  const Terminal plain;
  Sheet sheet;
  add_steps(sheet, steps);
  const std::string text = sheet.text(plain);
  EXPECT_NE(text.find("900 ms, 1.20 times the 750 ms predicted (mean of 40 steps, at place, own routes), reported "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Steps before:"), std::string::npos) << text;
  EXPECT_NE(text.find("900 ms (mean of 40 steps, at observe), until 2026-11-21"), std::string::npos) << text;
  EXPECT_EQ(text.find("Slow"), std::string::npos) << text;
  steps["slow"] = true;
  steps["factor"] = 1.7;
  Sheet slow;
  add_steps(slow, steps);
  EXPECT_NE(slow.text(plain).find("1.70 times as long as predicted; nothing on its path is known to be the cause"),
            std::string::npos)
      << slow.text(plain);
  Sheet none;
  add_steps(none, Json{{"periods", Json::array()}});
  EXPECT_EQ(none.text(plain), "");
}

}  // namespace
}  // namespace railweave::cli
