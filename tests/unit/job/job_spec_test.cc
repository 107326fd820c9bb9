#include "scheduler/job/job_spec.h"

#include <functional>

#include <gtest/gtest.h>

#include "fabric/base/text/utf8.h"

namespace railweave::scheduler {
namespace {

using fabric::LevelKind;

JobSpec valid_spec() {
  JobSpec spec;
  spec.name = "llama-70b-pretrain";
  spec.tenant = "research";
  spec.parallelism = {.tensor = 8, .context = 1, .expert = 1, .data = 16, .pipeline = 4};
  return spec;
}

TEST(Parallelism, TensorRanksAreConsecutiveAndPipelineStagesAreRuns) {
  const Parallelism p{.tensor = 4, .context = 2, .expert = 2, .data = 3, .pipeline = 2};
  EXPECT_EQ(coordinates_of(p, 0), (RankCoordinates{0, 0, 0, 0, 0}));
  EXPECT_EQ(coordinates_of(p, 3).tp, 3U);
  EXPECT_EQ(coordinates_of(p, 4), (RankCoordinates{.tp = 0, .cp = 1}));
  EXPECT_EQ(coordinates_of(p, 8), (RankCoordinates{.tp = 0, .cp = 0, .ep = 1}));
  EXPECT_EQ(coordinates_of(p, 16), (RankCoordinates{.dp = 1}));
  EXPECT_EQ(coordinates_of(p, 48), (RankCoordinates{.pp = 1}));
}

TEST(Parallelism, RankAndCoordinatesAreEachOthersInverse) {
  const Parallelism p{.tensor = 3, .context = 2, .expert = 5, .data = 4, .pipeline = 7};
  ASSERT_EQ(rank_count(p), 840U);
  for (std::uint64_t rank = 0; rank < rank_count(p); ++rank) EXPECT_EQ(rank_of(p, coordinates_of(p, rank)), rank);
}

TEST(Parallelism, AProductThatOverflowsIsNoRankCount) {
  EXPECT_EQ(rank_count({.tensor = 0}), 0U);
  EXPECT_EQ(rank_count({.tensor = 1U << 20U}), JobSpec::kMaxRanks);
  EXPECT_EQ(rank_count({.tensor = 2, .data = 1U << 20U}), 0U);
  // 2^32 * 2^32 would be 0 in 64 bits, 65536^4 as well.
  EXPECT_EQ(rank_count({.tensor = UINT32_MAX, .context = UINT32_MAX, .data = UINT32_MAX, .pipeline = UINT32_MAX}), 0U);
  EXPECT_EQ(rank_count({.tensor = 65536, .context = 65536, .expert = 65536, .data = 65536}), 0U);
}

TEST(PlainJob, HasOneDataParallelRankPerGpu) {
  const auto parallelism = plain_parallelism(64);
  ASSERT_TRUE(parallelism);
  EXPECT_EQ(rank_count(*parallelism), 64U);
  EXPECT_EQ(parallelism->data, 64U);
}

TEST(PlainJob, AMillionMillionGpusAreRefusedByName) {
  for (const std::uint64_t gpus : {std::uint64_t{0}, std::uint64_t{1'000'000'000'000}, UINT64_MAX}) {
    const auto parallelism = plain_parallelism(gpus);
    ASSERT_FALSE(parallelism);
    EXPECT_EQ(parallelism.error().kind, ErrorKind::invalid);
    EXPECT_EQ(parallelism.error().code, "jobs.invalid");
    EXPECT_EQ(parallelism.error().location, "/gpus");
  }
}

TEST(JobSpec, AUsualOneIsAccepted) {
  EXPECT_TRUE(check_job_spec(valid_spec()));
  JobSpec spec = valid_spec();
  spec.gpus_per_node = 8;
  spec.exclude_nodes = {"dgx-044"};
  spec.node_selector = {{"example.com/gpu", "h100"}};
  spec.expected_duration_s = 36 * 3600;
  spec.external.scheduler = "slurm";
  spec.external.id = "48213_7";
  spec.stage = {LevelKind::rack, LevelKind::rack};
  spec.name = "Vorhersage für Köln";
  EXPECT_TRUE(check_job_spec(spec)) << check_job_spec(spec).error().text();
}

struct Refused {
  const char* what;
  std::function<void(JobSpec&)> spoil;
  const char* location;
};

class RefusedJobSpec : public testing::TestWithParam<Refused> {};

TEST_P(RefusedJobSpec, SaysWhere) {
  JobSpec spec = valid_spec();
  GetParam().spoil(spec);
  const auto checked = check_job_spec(spec);
  ASSERT_FALSE(checked) << GetParam().what;
  EXPECT_EQ(checked.error().kind, ErrorKind::invalid);
  EXPECT_EQ(checked.error().code, "jobs.invalid");
  EXPECT_EQ(checked.error().location, GetParam().location) << checked.error().text();
  EXPECT_TRUE(is_printable_utf8(checked.error().text()));
}

INSTANTIATE_TEST_SUITE_P(
    each_rule, RefusedJobSpec,
    testing::Values(
        Refused{"no tensor", [](JobSpec& s) { s.parallelism.tensor = 0; }, "/parallelism/tensor"},
        Refused{"no pipeline", [](JobSpec& s) { s.parallelism.pipeline = 0; }, "/parallelism/pipeline"},
        Refused{"no expert", [](JobSpec& s) { s.parallelism.expert = 0; }, "/parallelism/expert"},
        Refused{"too many", [](JobSpec& s) { s.parallelism.data = UINT32_MAX; }, "/parallelism/data"},
        Refused{"overflow", [](JobSpec& s) { s.parallelism = {65536, 65536, 65536, 65536, 1}; }, "/parallelism/data"},
        Refused{"no GPUs per node", [](JobSpec& s) { s.gpus_per_node = 0; }, "/gpusPerNode"},
        Refused{"too many per node", [](JobSpec& s) { s.gpus_per_node = 65; }, "/gpusPerNode"},
        Refused{"does not divide", [](JobSpec& s) { s.gpus_per_node = 7; }, "/gpusPerNode"},
        Refused{"cuts tensor groups",
                [](JobSpec& s) {
                  s.parallelism = {.tensor = 8, .data = 6};
                  s.gpus_per_node = 6;
                },
                "/gpusPerNode"},
        Refused{"control character", [](JobSpec& s) { s.name = "a\x1b[31mb"; }, "/name"},
        Refused{"zero byte", [](JobSpec& s) { s.name = std::string("a\0b", 3); }, "/name"},
        Refused{"no UTF-8", [](JobSpec& s) { s.tenant = "\xff\xfe"; }, "/tenant"},
        Refused{"reads backwards", [](JobSpec& s) { s.priority = "hi\xe2\x80\xaegh"; }, "/priority"},
        Refused{"too long", [](JobSpec& s) { s.name = std::string(254, 'x'); }, "/name"},
        Refused{"external id", [](JobSpec& s) { s.external.id = "1\n2"; }, "/external/id"},
        Refused{"external scheduler", [](JobSpec& s) { s.external.scheduler = "\t"; }, "/external/scheduler"},
        Refused{"nameless node", [](JobSpec& s) { s.exclude_nodes = {"a", ""}; }, "/excludeNodes/1"},
        Refused{"too many nodes", [](JobSpec& s) { s.exclude_nodes.assign(4097, "a"); }, "/excludeNodes"},
        Refused{"unprintable label", [](JobSpec& s) { s.node_selector = {{"a\nb", "c"}}; }, "/nodeSelector"},
        Refused{"unprintable value", [](JobSpec& s) { s.node_selector = {{"a/b~c", "\x7f"}}; },
                "/nodeSelector/a~1b~0c"},
        Refused{"preferred beyond required", [](JobSpec& s) { s.stage = {LevelKind::rack, LevelKind::cluster}; },
                "/topology/pipeline/preferred"},
        Refused{"preferred beyond the node", [](JobSpec& s) { s.tensor = {LevelKind::node, LevelKind::rack}; },
                "/topology/tensor/preferred"},
        Refused{"across sites without saying so", [](JobSpec& s) { s.job.required = LevelKind::wan; }, "/topology/job"},
        Refused{"expert groups across sites",
                [](JobSpec& s) {
                  s.across_sites = true;
                  s.expert.preferred = LevelKind::wan;
                },
                "/topology/expert"},
        Refused{"preferred beyond the site", [](JobSpec& s) { s.stage = {LevelKind::cluster, LevelKind::site}; },
                "/topology/pipeline/preferred"},
        Refused{"no duration", [](JobSpec& s) { s.expected_duration_s = 0; }, "/expectedDuration"},
        Refused{"endless", [](JobSpec& s) { s.expected_duration_s = INT64_MAX; }, "/expectedDuration"}));

TEST(JobSpec, RacksMayBeLargerOrSmallerThanLeafGroups) {
  JobSpec spec = valid_spec();
  spec.stage = {LevelKind::rack, LevelKind::leaf_group};
  EXPECT_TRUE(check_job_spec(spec));
  spec.stage = {LevelKind::leaf_group, LevelKind::rack};
  EXPECT_TRUE(check_job_spec(spec));
  spec.tensor = {LevelKind::nvlink_domain, LevelKind::node};
  EXPECT_TRUE(check_job_spec(spec));
}

TEST(JobSpec, TooManySelectorsAreRefused) {
  JobSpec spec = valid_spec();
  for (int i = 0; i < 33; ++i) spec.node_selector["label-" + std::to_string(i)] = "x";
  ASSERT_FALSE(check_job_spec(spec));
  EXPECT_EQ(check_job_spec(spec).error().location, "/nodeSelector");
}

}  // namespace
}  // namespace railweave::scheduler
