#include "services/railweave/commands/jobs/job_request.h"

#include <gtest/gtest.h>

#include "services/railweave/terminal/command_failure.h"
#include "tests/unit/cli/railweave_process.h"

namespace railweave::cli {
namespace {

Json request(const std::vector<std::string>& arguments) {
  CLI::App app;
  JobOptions options;
  add_job_options(app, options);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  app.parse(reversed);
  return job_request(options);
}

ExitCode refusal(const std::vector<std::string>& arguments) {
  try {
    request(arguments);
  } catch (const CommandFailure& failure) {
    return failure.code();
  }
  return ExitCode::ok;
}

TEST(JobRequest, MapsEveryOptionToItsField) {
  EXPECT_EQ(request({"--tp",
                     "8",
                     "--pp",
                     "4",
                     "--dp",
                     "3",
                     "--cp",
                     "2",
                     "--ep",
                     "5",
                     "--tenant",
                     "research",
                     "--name",
                     "llama",
                     "--priority",
                     "high",
                     "--duration",
                     "PT36H",
                     "--gpus-per-node",
                     "8",
                     "--require",
                     "tensor=nvlinkDomain",
                     "--require",
                     "pp=leaf-group",
                     "--prefer",
                     "pp=rack",
                     "--exclude",
                     "dgx-1",
                     "--exclude",
                     "dgx-2",
                     "--select",
                     "gpu=h100",
                     "--select",
                     "empty="}),
            Json::parse(R"({
              "parallelism": {"tensor": 8, "pipeline": 4, "data": 3, "context": 2, "expert": 5},
              "tenant": "research", "name": "llama", "priority": "high", "expectedDuration": "PT36H", "gpusPerNode": 8,
              "topology": {"tensor": {"required": "nvlinkDomain"}, "pipeline": {"required": "leafGroup", "preferred": "rack"}},
              "excludeNodes": ["dgx-1", "dgx-2"], "nodeSelector": {"gpu": "h100", "empty": ""}})"));
}

TEST(JobRequest, AsksForRoomBesideTheRanks) {
  EXPECT_EQ(
      request({"--gpus", "64", "--exclusive", "leaf-group", "--spares-per-domain", "2", "--spread-job", "rack=16"}),
      Json::parse(R"({"gpus": 64, "topology": {"spread": {"level": "rack", "maxGpusPerGroup": 16},
                            "exclusive": "leafGroup"}, "sparesPerDomain": 2})"));
  EXPECT_EQ(refusal({"--gpus", "8", "--spread-job", "rack"}), ExitCode::usage);
}

TEST(JobRequest, MaySpanSites) {
  EXPECT_EQ(request({"--gpus", "64", "--across-sites", "--spread-job", "site=32"}),
            Json::parse(R"({"gpus": 64, "topology": {"acrossSites": true, "spread": {"level": "site",
                            "maxGpusPerGroup": 32}}})"));
}

TEST(JobRequest, CountsExpertsOverDataAndMixesGpusWhereAsked) {
  EXPECT_EQ(request({"--gpus", "8", "--prefer-nodes", "tier=gold:20", "--avoid-nodes", "at=a:b:5"}),
            Json::parse(R"({"gpus": 8, "preferNodes": [{"nodeSelector": {"tier": "gold"}, "weight": 20},
                                                       {"nodeSelector": {"at": "a:b"}, "weight": 5, "avoid": true}]})"));
  EXPECT_EQ(request({"--dp", "16", "--ep", "4", "--experts-over-data", "--mixed-gpus"}),
            Json::parse(R"({"parallelism": {"data": 16, "expert": 4, "expertsOver": "data"}, "mixedGpus": true})"));
  EXPECT_EQ(refusal({"--dp", "16", "--experts-over-data"}), ExitCode::usage);
}

TEST(JobRequest, ListsShapes) {
  EXPECT_EQ(request({"--tp", "8", "--pp", "2", "--dp", "16", "--shape", "tp=4,dp=32", "--shape", "dp=8"}),
            Json::parse(R"({"parallelism": {"tensor": 8, "pipeline": 2, "data": 16}, "shapes": [
                            {"tensor": 4, "pipeline": 2, "data": 32}, {"tensor": 8, "pipeline": 2, "data": 8}]})"));
  EXPECT_EQ(request({"--dp", "16", "--dp-at-least", "12"}),
            Json::parse(R"({"parallelism": {"data": 16}, "dataAtLeast": 12})"));
  EXPECT_EQ(refusal({"--dp", "16", "--shape", "12"}), ExitCode::usage);
}

TEST(JobRequest, SendsOnlyWhatIsGiven) {
  EXPECT_EQ(request({"--tp", "8"}), Json::parse(R"({"parallelism": {"tensor": 8}})"));
  EXPECT_EQ(request({"--gpus", "64"}), Json::parse(R"({"gpus": 64})"));
}

TEST(JobRequest, LeavesAbsurdNumbersForTheServiceToRefuse) {
  EXPECT_EQ(request({"--gpus", "1000000000000"}), Json::parse(R"({"gpus": 1000000000000})"));
  EXPECT_EQ(request({"--tp", "0"}), Json::parse(R"({"parallelism": {"tensor": 0}})"));
}

TEST(JobRequest, RefusesNumbersThatAreNone) {
  for (const char* text : {"-1", "1.5", "1e3", "x", "99999999999999999999999", ""}) {
    EXPECT_THROW(request({"--gpus", text}), CLI::ParseError) << text;
  }
}

TEST(JobRequest, RefusesOptionsThatContradictEachOther) {
  EXPECT_EQ(refusal({"--gpus", "8", "--tp", "8"}), ExitCode::usage);
  EXPECT_EQ(refusal({}), ExitCode::usage);
  EXPECT_EQ(refusal({"--gpus", "8", "--require", "tensor"}), ExitCode::usage);
  EXPECT_EQ(refusal({"--gpus", "8", "--require", "=node"}), ExitCode::usage);
  EXPECT_EQ(refusal({"--gpus", "8", "--prefer", "ring=node"}), ExitCode::usage);
  EXPECT_EQ(refusal({"--gpus", "8", "--select", "h100"}), ExitCode::usage);
}

TEST(JobRequest, OptionsOverrideTheFile) {
  const std::string file =
      scratch_file("job.json", R"({"name": "a", "gpus": 64, "external": {"scheduler": "slurm", "id": "7"},
                                                        "topology": {"job": {"preferred": "pod"}}})");
  EXPECT_EQ(request({"-f", file, "--name", "b", "--require", "job=pod"}),
            Json::parse(R"({"name": "b", "gpus": 64, "external": {"scheduler": "slurm", "id": "7"},
                            "topology": {"job": {"preferred": "pod", "required": "pod"}}})"));
  EXPECT_EQ(request({"-f", file, "--tp", "8"})["parallelism"], Json::parse(R"({"tensor": 8})"));
  EXPECT_FALSE(request({"-f", file, "--tp", "8"}).contains("gpus"));
}

TEST(JobRequest, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(refusal({"-f", scratch_path("absent.json")}), ExitCode::not_found);
  EXPECT_EQ(refusal({"-f", "/"}), ExitCode::invalid_input);
  EXPECT_EQ(refusal({"-f", scratch_file("cut.json", R"({"gpus": 6)")}), ExitCode::invalid_input);
  EXPECT_EQ(refusal({"-f", scratch_file("list.json", "[1]")}), ExitCode::invalid_input);
  EXPECT_EQ(refusal({"-f", scratch_file("binary.json", std::string("\0\xff\x1b", 3))}), ExitCode::invalid_input);
  EXPECT_EQ(
      refusal({"-f", scratch_file("types.json", R"({"gpus": 1, "topology": {"job": 7}})"), "--prefer", "job=pod"}),
      ExitCode::invalid_input);
  EXPECT_EQ(refusal({"-f", scratch_file("big.json", std::string(2U << 20U, ' '))}), ExitCode::invalid_input);
}

}  // namespace
}  // namespace railweave::cli
