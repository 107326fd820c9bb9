#include "scheduler/collective/training_step.h"

#include <gtest/gtest.h>

namespace railweave::scheduler::training_step_test {
namespace {

// GPT-3 as Narayanan et al. train it: 96 layers of 12,288, sequences of 2,048.
ModelSpec gpt3() {
  return {.name = "gpt-3",
          .parameters = 175e9,
          .layers = 96,
          .hidden_size = 12'288,
          .sequence_length = 2'048,
          .micro_batch = 1,
          .global_batch = 1'536,
          .precision = Precision::bf16,
          .gradient_precision = Precision::fp32};
}
constexpr Parallelism kMegatron{.tensor = 8, .data = 8, .pipeline = 16};

TEST(Traffic, OfGpt3IsThatOfTheFormulas) {
  const ModelSpec model = gpt3();
  ASSERT_TRUE(check_model(model, kMegatron));
  EXPECT_DOUBLE_EQ(micro_batches(model, kMegatron), 192);
  const TrafficSpec traffic = traffic_of(model, kMegatron);
  // An activation of one micro-batch: 2,048 x 12,288 x 2 bytes = 50,331,648.
  EXPECT_DOUBLE_EQ(traffic.tensor.calls, 4.0 * 6 * 192);
  EXPECT_DOUBLE_EQ(traffic.tensor.bytes, 4.0 * 6 * 192 * 50'331'648);
  EXPECT_DOUBLE_EQ(traffic.pipeline.bytes, 192 * 50'331'648.0 / 8);
  EXPECT_DOUBLE_EQ(traffic.data.bytes, 175e9 / 128 * 4);
  EXPECT_EQ(traffic.context, GroupTraffic{});
  EXPECT_EQ(traffic.expert, GroupTraffic{});
  EXPECT_EQ(traffic.expert_data, GroupTraffic{});
}

TEST(Traffic, FollowsShardingCompressionAndPeriod) {
  ModelSpec model = gpt3();
  const double full = traffic_of(model, kMegatron).data.bytes;
  model.sharding = Sharding::optimizer;  // gradients of 4 bytes scattered, parameters of 2 gathered
  EXPECT_DOUBLE_EQ(traffic_of(model, kMegatron).data.bytes, full * (4 + 2) / 2 / 4);
  model.sharding = Sharding::parameters;
  EXPECT_DOUBLE_EQ(traffic_of(model, kMegatron).data.bytes, full * (4 + 2 * 192 * 2) / 2 / 4);
  model.sharding = Sharding::none;
  model.gradient_compression = 4;
  model.synchronise_every = 10;
  EXPECT_DOUBLE_EQ(traffic_of(model, kMegatron).data.bytes, full / 40);
  model.recompute = true;
  EXPECT_DOUBLE_EQ(traffic_of(model, kMegatron).tensor.calls, 6.0 * 6 * 192);
}

TEST(Traffic, OfExpertsAndContextIsThatOfTheFormulas) {
  ModelSpec model = gpt3();
  model.experts = MixtureOfExperts{.experts = 64, .experts_per_token = 2, .expert_parameters = 128e9, .every = 2};
  model.kv_fraction = 0.125;
  const Parallelism p{.tensor = 2, .context = 4, .expert = 8, .data = 3, .pipeline = 4};
  ASSERT_TRUE(check_model(model, p));
  const double batches = 1536.0 / (3 * 8), layers = 24;
  const TrafficSpec traffic = traffic_of(model, p);
  EXPECT_DOUBLE_EQ(traffic.expert.bytes, 4 * layers / 2 * batches * 50'331'648 / 4 * 2 / 2);
  EXPECT_DOUBLE_EQ(traffic.context.bytes, 3 * layers * batches * 2 * 50'331'648 * 0.125 / 2);
  EXPECT_DOUBLE_EQ(traffic.data.bytes, 47e9 / 8 * 4);
  EXPECT_DOUBLE_EQ(traffic.expert_data.bytes, 128e9 / 8 / 8 * 4);
}

TEST(Traffic, RefusesImpossibleModels) {
  const auto refused = [](auto change, const char* where) {
    ModelSpec model = gpt3();
    change(model);
    const auto checked = check_model(model, kMegatron);
    ASSERT_FALSE(checked) << where;
    EXPECT_EQ(checked.error().code, "jobs.invalid");
    EXPECT_EQ(checked.error().location, where);
  };
  refused([](ModelSpec& m) { m.parameters = 0; }, "/model/parameters");
  refused([](ModelSpec& m) { m.layers = 15; }, "/model/layers");
  refused([](ModelSpec& m) { m.global_batch = 7; }, "/model/globalBatchSize");
  refused([](ModelSpec& m) { m.gradient_compression = 0.5; }, "/model/gradientCompression");
  refused([](ModelSpec& m) { m.synchronise_every = 0; }, "/model/synchroniseEvery");
  refused([](ModelSpec& m) { m.experts = MixtureOfExperts{.expert_parameters = 1e15}; }, "/model/experts/parameters");
}

TEST(Traffic, HasADefaultForJobsWithoutAModel) {
  for (const Parallelism& p :
       {Parallelism{.data = 4}, Parallelism{.tensor = 8, .data = 2, .pipeline = 16},
        Parallelism{.tensor = 2, .context = 4, .expert = 8, .data = 3, .pipeline = 60}, Parallelism{.pipeline = 3}}) {
    const ModelSpec model = assumed_model(p);
    ASSERT_TRUE(check_model(model, p)) << check_model(model, p).error().text();
    const TrafficSpec traffic = traffic_of(model, p);
    EXPECT_EQ(traffic.tensor.bytes > 0, p.tensor > 1);
    EXPECT_EQ(traffic.context.bytes > 0, p.context > 1);
    EXPECT_EQ(traffic.expert.bytes > 0, p.expert > 1);
    EXPECT_EQ(traffic.data.bytes > 0, p.data * p.context * p.expert > 1);
    EXPECT_EQ(traffic.pipeline.bytes > 0, p.pipeline > 1);
  }
}

TEST(TrainingStep, IsComputationBubbleAndWhatIsNotHidden) {
  ModelSpec model = gpt3();
  const GpuGeneration& a100 = *find_generation("A100");
  // (6 x 175e9 + 12 x 96 x 12,288 x 2,048) x 1,536 x 2,048 tokens.
  const double flops = (6 * 175e9 + 28'991'029'248.0) * 3'145'728;
  EXPECT_DOUBLE_EQ(step_flops(model), flops);
  const double compute = flops / (1024 * 312e12 * 0.45) * 1e6;
  const std::array<double, kCommGroups> communication{4e6, 0, 0, 2e6, 0, 1e6};
  model.overlap_tensor = 0;
  model.overlap_data = 0.75;
  model.overlap_pipeline = 0.5;
  const StepTime step = training_step(model, kMegatron, a100, communication);
  EXPECT_NEAR(step.compute_us, compute, 1);
  const double bubble = (compute + 4e6) * 15 / 192;
  EXPECT_NEAR(step.bubble_us, bubble, 1);
  EXPECT_NEAR(step.step_us, compute + 4e6 + bubble + 0.5e6 + 0.5e6, 1);
  EXPECT_NEAR(step.tokens_per_s, 3'145'728 / step.step_us * 1e6, 1e-3);
  EXPECT_NEAR(step.model_flops_utilization, 0.45 * compute / step.step_us, 1e-9);
}

TEST(TrainingStep, GetsNoSlowerWithOverlapInterleavingOrFasterNetworks) {
  ModelSpec model = gpt3();
  const GpuGeneration& h100 = *find_generation("H100");
  const std::array<double, kCommGroups> slow{4e6, 1e6, 1e6, 9e6, 1e6, 1e6}, fast{3e6, 1e6, 5e5, 8e6, 1e6, 0};
  const double before = training_step(model, kMegatron, h100, slow).step_us;
  EXPECT_LT(training_step(model, kMegatron, h100, fast).step_us, before);
  model.virtual_stages = 4;
  const double interleaved = training_step(model, kMegatron, h100, slow).step_us;
  EXPECT_LT(interleaved, before);
  model.overlap_tensor = 0.5;
  EXPECT_LT(training_step(model, kMegatron, h100, slow).step_us, interleaved);
  model.recompute = true;
  EXPECT_GT(training_step(model, kMegatron, h100, slow).compute_us,
            1.33 * training_step(gpt3(), kMegatron, h100, slow).compute_us);
}

// Communication that is longer than all computation cannot hide behind it.
TEST(TrainingStep, HidesNoMoreThanThereIsToHideBehind) {
  ModelSpec model = gpt3();
  model.overlap_data = 1;
  const GpuGeneration& h100 = *find_generation("H100");
  const double compute = training_step(model, kMegatron, h100, std::array<double, kCommGroups>{}).compute_us;
  const StepTime step = training_step(model, kMegatron, h100, {0, 0, 0, 3 * compute, 0, 0});
  EXPECT_NEAR(step.exposed_us[3], 2 * compute, 1e-6 * compute);
}

}  // namespace
}  // namespace railweave::scheduler::training_step_test
