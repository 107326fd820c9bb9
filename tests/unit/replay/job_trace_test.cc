// Valid and invalid traces.
#include "services/railweave/lab/replay/job_trace.h"

#include <cstdio>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railweave::cli {
namespace {

using testing::HasSubstr;

constexpr const char* kHead = "timestamp,duration,num_gpus,gpu_time,cluster\n";

TEST(PhillyTrace, IsReadInOrderOfSubmission) {
  const auto trace = read_philly_trace(std::string(kHead) +
                                           "2017-10-09 07:01:55,66.4,1,66.0,a\r\n"
                                           "\n"
                                           "2017-10-09 06:13:03,0.0,24,1,b\n"
                                           "2017-10-10T00:00:00Z,7,2,1,a",
                                       "t");
  ASSERT_TRUE(trace) << trace.error().text();
  ASSERT_EQ(trace->jobs.size(), 3U);
  EXPECT_EQ(trace->jobs[0].gpus, 24U);
  EXPECT_EQ(trace->jobs[0].submitted_s, 0);
  EXPECT_EQ(trace->jobs[0].runs_s, 1);
  EXPECT_EQ(trace->jobs[1].submitted_s, 48 * 60 + 52);
  EXPECT_EQ(trace->jobs[1].runs_s, 66);
  EXPECT_EQ(trace->jobs[2].submitted_s, 17 * 3600 + 46 * 60 + 57);
  EXPECT_EQ(trace->tenants, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(trace->jobs[0].tenant, 1U);
}

TEST(PhillyTrace, FindsItsColumns) {
  const auto trace = read_philly_trace("num_gpus,timestamp,duration\n8,2017-10-09 07:01:55,5\n", "t");
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->jobs[0].gpus, 8U);
  EXPECT_EQ(trace->tenants, std::vector<std::string>{"all"});
}

TEST(PhillyTrace, SaysWhatIsWrongAndWhere) {
  struct Case {
    std::string text, expected;
  };
  const std::string head = kHead;
  const Case cases[] = {
      {"", "no jobs"},
      {head, "no jobs"},
      {"a,b,c\n", "no column 'timestamp'"},
      {"timestamp,num_gpus\n", "no column 'duration'"},
      {head + "yesterday,66.0,1,66.0,a\n", "line 2: timestamp 'yesterday'"},
      {head + "2017-13-09 07:01:55,66.0,1,66.0,a\n", "line 2: timestamp"},
      {head + "2017-10-09 07:01:55,66.0,1,6,a\n2017-10-09 07:01:55,-1,1,6,a\n", "line 3: duration '-1'"},
      {head + "2017-10-09 07:01:55,nan,1,6,a\n", "line 2: duration 'nan'"},
      {head + "2017-10-09 07:01:55,1e99,1,6,a\n", "line 2: duration"},
      {head + "2017-10-09 07:01:55,5,0,6,a\n", "line 2: num_gpus '0'"},
      {head + "2017-10-09 07:01:55,5,-3,6,a\n", "line 2: num_gpus '-3'"},
      {head + "2017-10-09 07:01:55,5,99999999999,6,a\n", "line 2: num_gpus"},
      {head + "2017-10-09 07:01:55\n", "line 2: duration ''"},
      {"\x1f\x8b\x08", "gzip"}};
  for (const auto& [text, expected] : cases) {
    const auto trace = read_philly_trace(text, "t");
    ASSERT_FALSE(trace) << text;
    EXPECT_THAT(trace.error().text(), HasSubstr(expected)) << text;
    EXPECT_EQ(trace.error().code, "lab.unreadableTrace");
  }
}

TEST(PhillyTrace, MapsGpusToGroups) {
  const auto groups = [](std::uint32_t gpus) {
    const auto spec = trace_job_spec(gpus, 8);
    EXPECT_TRUE(scheduler::check_job_spec([&] {
      auto named = spec;
      named.name = "n";
      named.tenant = "t";
      return named;
    }()));
    return std::pair(spec.parallelism.tensor, spec.parallelism.data);
  };
  EXPECT_EQ(groups(1), std::pair(1U, 1U));
  EXPECT_EQ(groups(4), std::pair(4U, 1U));
  EXPECT_EQ(groups(12), std::pair(4U, 3U));
  EXPECT_EQ(groups(24), std::pair(8U, 3U));
  EXPECT_EQ(groups(128), std::pair(8U, 16U));
  EXPECT_EQ(groups(7), std::pair(1U, 7U));
}

TEST(PhillyTrace, TheRealOne) {
  const std::string path = RAILWEAVE_SHARED_DATA "/traces/philly.csv.gz";
  std::unique_ptr<FILE, int (*)(FILE*)> unpacked(popen(("gunzip -c " + path + " 2>/dev/null").c_str(), "r"), pclose);
  std::string text;
  char buffer[65536];
  while (const std::size_t got = fread(buffer, 1, sizeof buffer, unpacked.get())) text.append(buffer, got);
  if (text.empty()) GTEST_SKIP() << "skipped: traces/philly.csv.gz is absent from " << RAILWEAVE_SHARED_DATA;
  const auto trace = read_philly_trace(text, "philly");
  ASSERT_TRUE(trace) << trace.error().text();
  EXPECT_EQ(trace->jobs.size(), 82'247U);
  EXPECT_EQ(trace->tenants.size(), 15U);
  double gpu_s = 0;
  for (const auto& job : trace->jobs) gpu_s += static_cast<double>(job.runs_s) * job.gpus;
  EXPECT_NEAR(gpu_s, 3.52108e9, 1e5);
}

}  // namespace
}  // namespace railweave::cli
