// Model, traffic, slices and spread of a job: what is read is written and read again the same, and what is wrong is
// answered by its place.
#include "services/rest/json/jobs/job_spec.h"

#include <gtest/gtest.h>

namespace railweave::api::job_spec_test {
namespace {

constexpr const char* kEverything = R"({
  "parallelism": {"tensor": 8, "pipeline": 4, "data": 16, "expert": 2},
  "model": {"name": "m", "parameters": 70e9, "layers": 80, "hiddenSize": 8192, "sequenceLength": 8192,
            "microBatchSize": 2, "globalBatchSize": 1024, "kvFraction": 0.125, "precision": "fp8",
            "gradientPrecision": "bf16",
            "experts": {"count": 8, "perToken": 2, "parameters": 5e10, "every": 2}, "sharding": "optimizer",
            "virtualStages": 2, "recompute": true, "gradientCompression": 1.5, "synchroniseEvery": 3,
            "overlap": {"tensor": 0.1, "context": 0.2, "expert": 0.3, "data": 0.4, "pipeline": 0.6}},
  "traffic": {"tensor": {"bytesPerStep": 1e9, "callsPerStep": 320}, "data": {"bytesPerStep": 8e9},
              "expertData": {"bytesPerStep": 1}, "pipeline": {"bytesPerStep": 0.5, "callsPerStep": 2}},
  "topology": {"pipeline": {"preferred": "rack", "spread": "rack"},
               "slices": [{"level": "node", "size": 8}, {"level": "rack", "size": 32}],
               "spread": {"level": "leafGroup", "maxGpusPerGroup": 64}, "exclusive": "nvlinkDomain", "acrossSites": true},
  "sparesPerDomain": 2, "nodes": ["a", "b"]})";

TEST(JobSpecJson, ModelTrafficSlicesAndSpreadSurviveARoundTrip) {
  const auto spec = read_job_spec(kEverything);
  ASSERT_TRUE(spec) << spec.error().text();
  ASSERT_TRUE(spec->model && spec->traffic);
  EXPECT_EQ(spec->model->parameters, 70e9);
  EXPECT_EQ(spec->model->micro_batch, 2U);
  EXPECT_EQ(spec->model->precision, scheduler::Precision::fp8);
  EXPECT_EQ(spec->model->experts->every, 2U);
  EXPECT_EQ(spec->model->sharding, scheduler::Sharding::optimizer);
  EXPECT_EQ(spec->model->overlap_pipeline, 0.6);
  EXPECT_EQ(spec->traffic->tensor, (scheduler::GroupTraffic{1e9, 320}));
  EXPECT_EQ(spec->traffic->data, (scheduler::GroupTraffic{8e9, 1}));
  EXPECT_EQ(spec->slices.size(), 2U);
  EXPECT_EQ(spec->spread_stages, fabric::LevelKind::rack);
  EXPECT_EQ(spec->spread, (scheduler::SpreadLimit{fabric::LevelKind::leaf_group, 64}));
  EXPECT_EQ(spec->exclusive, fabric::LevelKind::nvlink_domain);
  EXPECT_TRUE(spec->across_sites);
  EXPECT_EQ(spec->spares_per_domain, 2U);
  EXPECT_EQ(spec->only_nodes, (std::vector<std::string>{"a", "b"}));
  const auto again = read_job_spec(write_job_spec(*spec));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, *spec);
}

TEST(JobSpecJson, ExpertsAreCountedAsTheJobSays) {
  const auto spec = read_job_spec(R"({"parallelism": {"tensor": 2, "data": 12, "expert": 4, "expertsOver": "data"}})");
  ASSERT_TRUE(spec) << spec.error().text();
  EXPECT_EQ(scheduler::rank_count(spec->parallelism), 24U) << "experts are no factor";
  EXPECT_EQ(spec->parallelism.data_ranks(), 12U);
  EXPECT_EQ(
      scheduler::rank_count(read_job_spec(R"({"parallelism": {"tensor": 2, "data": 12, "expert": 4}})")->parallelism),
      96U)
      << "a factor";
  const auto again = read_job_spec(write_job_spec(*spec));
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, *spec);
  // Megatron's ranks: tensor fastest, then data-parallel ones; experts differ among neighbours of these.
  for (std::uint64_t rank = 0; rank < 24; ++rank) {
    const auto at = scheduler::coordinates_of(spec->parallelism, rank);
    EXPECT_EQ(scheduler::data_rank(spec->parallelism, at), rank / 2);
    EXPECT_EQ(at.ep, rank / 2 % 4);
  }
}

TEST(JobSpecJson, AJobWithoutThemHasNone) {
  const auto spec = read_job_spec(R"({"gpus": 8, "model": null, "traffic": null})");
  ASSERT_TRUE(spec) << spec.error().text();
  EXPECT_FALSE(spec->model);
  EXPECT_FALSE(spec->traffic);
  EXPECT_FALSE(spec->spread);
  EXPECT_FALSE(spec->exclusive);
  for (const char* field : {"model", "spread", "exclusive", "sparesPerDomain", "acrossSites"}) {
    EXPECT_EQ(write_job_spec(*spec).find(field), std::string::npos) << field;
  }
}

TEST(JobSpecJson, WhatIsWrongIsNamedByItsPlace) {
  const std::string usual = R"("parameters":1e9,"layers":8,"hiddenSize":64,"sequenceLength":64,"globalBatchSize":8)";
  const auto with = [&](const std::string& more) { return R"({"gpus":8,"model":{)" + usual + more + "}}"; };
  const std::string cases[][2] = {
      {R"({"parallelism":{"data":6,"expert":4,"expertsOver":"data"}})", "/parallelism/expert"},
      {R"({"parallelism":{"data":8,"expert":4,"expertsOver":"tensor"}})", "/parallelism/expertsOver"},
      {R"({"gpus":8,"mixedGpus":1})", "/mixedGpus"},
      {R"({"gpus":8,"preferNodes":{}})", "/preferNodes"},
      {R"({"gpus":8,"preferNodes":[{"weight":5}]})", "/preferNodes/0"},
      {R"({"gpus":8,"preferNodes":[{"nodes":["a"]}]})", "/preferNodes/0/weight"},
      {R"({"gpus":8,"preferNodes":[{"nodes":["a"],"weight":101}]})", "/preferNodes/0/weight"},
      {R"({"gpus":8,"preferNodes":[{"nodes":["a"],"weight":1},{"nodes":[""],"weight":1}]})", "/preferNodes/1/nodes/0"},
      {R"({"gpus":8,"preferNodes":[{"nodeSelector":{"a":1},"weight":1}]})", "/preferNodes/0/nodeSelector"},
      {R"({"gpus":8,"preferNodes":[{"nodes":["a"],"weight":1,"avoid":1}]})", "/preferNodes/0/avoid"},
      {R"({"gpus":8,"topology":{"spread":{"level":"row","maxGpusPerGroup":1}}})", "/topology/spread/level"},
      {R"({"gpus":8,"topology":{"spread":{"level":null,"maxGpusPerGroup":1}}})", "/topology/spread"},
      {R"({"gpus":8,"topology":{"spread":{"level":"rack","maxGpusPerGroup":0}}})", "/topology/spread/maxGpusPerGroup"},
      {R"({"gpus":8,"topology":{"exclusive":8}})", "/topology/exclusive"},
      {R"({"gpus":8,"sparesPerDomain":-1})", "/sparesPerDomain"},
      {R"({"gpus":8,"sparesPerDomain":1025})", "/sparesPerDomain"},
      {R"({"gpus":8,"model":{"parameters":1e9}})", "/model/layers"},
      {R"({"gpus":8,"model":[]})", "/model"},
      {with(R"(,"precision":"fp16")"), "/model/precision"},
      {with(R"(,"sharding":"all")"), "/model/sharding"},
      {with(R"(,"microBatchSize":2)"), "/model/globalBatchSize"},
      {with(R"(,"microBatchSize":0)"), "/model/microBatchSize"},
      {with(R"(,"kvFraction":0)"), "/model/kvFraction"},
      {with(R"(,"kvFraction":"1")"), "/model/kvFraction"},
      {with(R"(,"overlap":{"data":1.5})"), "/model/overlap/data"},
      {with(R"(,"overlap":{"all":1})"), "/model/overlap/all"},
      {with(R"(,"experts":{"count":8,"parameters":2e9})"), "/model/experts/parameters"},
      {with(R"(,"experts":{"count":1,"parameters":2e8})"), "/model/experts/perToken"},
      {with(R"(,"name":"a\u0007")"), "/model/name"},
      {with(R"(,"batch":1)"), "/model/batch"},
      {R"({"gpus":8,"traffic":{"data":5}})", "/traffic/data"},
      {R"({"gpus":8,"traffic":{"data":{"callsPerStep":1}}})", "/traffic/data/bytesPerStep"},
      {R"({"gpus":8,"traffic":{"data":{"bytesPerStep":-1}}})", "/traffic/data"},
      {R"({"gpus":8,"traffic":{"rings":{"bytesPerStep":1}}})", "/traffic/rings"},
      {R"({"gpus":8,"topology":{"slices":{}}})", "/topology/slices"},
      {R"({"gpus":8,"topology":{"slices":[{"level":"rack","size":3}]}})", "/topology/slices/0/size"},
      {R"({"gpus":8,"topology":{"slices":[{"level":"rack"}]}})", "/topology/slices/0/size"},
      {R"({"gpus":8,"topology":{"slices":[{"level":"moon","size":2}]}})", "/topology/slices/0/level"},
      {R"({"gpus":8,"topology":{"slices":[{"level":"rack","size":4},{"level":"pod","size":2}]}})",
       "/topology/slices/1/size"},
      {R"({"gpus":8,"topology":{"tensor":{"spread":"rack"}}})", "/topology/tensor/spread"},
      {R"({"gpus":8,"nodes":[""]})", "/nodes/0"},
  };
  for (const auto& [body, at] : cases) {
    const auto spec = read_job_spec(body);
    ASSERT_FALSE(spec) << body;
    EXPECT_EQ(spec.error().location, at) << body << ": " << spec.error().text();
    EXPECT_EQ(spec.error().kind, ErrorKind::invalid);
  }
}

}  // namespace
}  // namespace railweave::api::job_spec_test
