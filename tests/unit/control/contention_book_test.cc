// How much jobs slow each other down: one shared uplink computed by hand, no other jobs, and an updated book against a
// new one.
#include "services/control/views/contention_book.h"

#include <random>

#include <gtest/gtest.h>

#include "scheduler/placement/placer.h"
#include "services/rest/json/jobs/job.h"
#include "services/rest/json/jobs/job_spec.h"
#include "tests/support/fat_trees.h"

namespace railweave::control::contention_book_test {
namespace {

using fabric::GpuId;
using scheduler::ContentionBasis;

constexpr double kBytes = 1e9;

ClusterState state_of(const fabric::testing::FatTreeShape& shape, bool routed = true) {
  ClusterState state;
  state.set_topology(fabric::testing::make_fat_tree(shape));
  if (routed) state.accepted.digest = "d";
  return state;
}

// Two leaves of two hosts with one GPU each, one cable from each leaf to the one spine.
const fabric::testing::FatTreeShape kNarrow{
    .hosts_per_leaf = 2, .leaves_per_pod = 2, .spines_per_pod = 1, .pods = 1, .cores_per_spine = 0, .gpus_per_host = 1};

scheduler::JobSpec ring_of(std::uint32_t ranks, double bytes = kBytes) {
  scheduler::JobSpec spec;
  spec.name = "ring";
  spec.tenant = "research";
  spec.parallelism.data = ranks;
  spec.traffic = scheduler::TrafficSpec{.data = {.bytes = bytes, .calls = 1}};
  return spec;
}

void put(ClusterState& state, std::uint64_t number, const scheduler::JobSpec& spec, const std::vector<GpuId>& gpus) {
  auto job = std::make_shared<Job>();
  job->id = JobId(number);
  job->spec = spec;
  job->state = JobState::placed;
  job->placement.gpu_of_rank = gpus;
  job->nodes = {"some"};
  state.restore(std::move(job));
  ++state.seq;
}

void end(ClusterState& state, std::uint64_t number) {
  const JobPtr before = state.jobs.find(JobId(number));
  state.hold_gpus(*before, false);
  auto job = std::make_shared<Job>(*before);
  job->state = JobState::completed;
  state.jobs.put(std::move(job));
  ++state.seq;
}

// All fields of a result.
std::string text(const JobContention& contention) { return api::beside_digest({.contention = contention}); }

TEST(ContentionBook, TwoRingsOverOneUplinkByHand) {
  for (const bool routed : {true, false}) {
    ClusterState state = state_of(kNarrow, routed);
    put(state, 1, ring_of(2), {GpuId(0), GpuId(2)});  // hosts of both leaves
    ContentionBook book;
    book.bring_to(state);
    EXPECT_EQ(book.basis(), routed ? ContentionBasis::routes : ContentionBasis::bundles);
    const auto alone = book.of(JobId(1));
    ASSERT_TRUE(alone);
    EXPECT_EQ(alone->own.shared, alone->own.alone) << "no other job";
    EXPECT_EQ(alone->own.link, scheduler::Contention::kNone);
    EXPECT_TRUE(alone->slows.empty());

    const auto asked = book.what_if(ring_of(2), std::vector{GpuId(1), GpuId(3)});
    put(state, 2, ring_of(2), {GpuId(1), GpuId(3)});
    book.bring_to(state);
    const auto one = book.of(JobId(1)), two = book.of(JobId(2));
    ASSERT_TRUE(one && two);
    // Each passes a gigabyte twice half round the ring of two; what one sends over its step of communication alone is
    // a little less than the cable carries, so that each gets half of it: as long again as the bytes take alone.
    const double bytes_us = kBytes * 8 / 400'000 / scheduler::find_generation("H100")->constants.network_efficiency;
    for (const auto* each : {&*one, &*two, &asked}) {
      EXPECT_NEAR(each->own.shared.communication_us - each->own.alone.communication_us, bytes_us, 0.02 * bytes_us);
      EXPECT_GT(each->own.slowdown(), 1.8);
      EXPECT_LT(each->own.slowdown(), 2.0);
      ASSERT_EQ(each->own.crossing.size(), 1U);
      EXPECT_NEAR(each->own.capacity_mbps, 400'000, 1);
      EXPECT_LT(each->own.others_mbps, 400'000);
      EXPECT_GT(each->own.others_mbps, 300'000);
      EXPECT_NE(each->link.find(routed ? "spine" : "links"), std::string::npos) << each->link;
      ASSERT_EQ(each->slows.size(), 1U);
      EXPECT_GT(each->slows[0].factor(), 1.8);
    }
    EXPECT_EQ(one->own.crossing[0].job, 2U);
    EXPECT_EQ(two->own.crossing[0].job, 1U);
    EXPECT_EQ(asked.slows[0].job->id, JobId(1));
    EXPECT_EQ(text(asked), text(*two)) << "a what-if says what then comes";
    EXPECT_EQ(one->slows[0].before.communication_us, two->own.alone.communication_us);
    EXPECT_EQ(one->slows[0].after.communication_us, two->own.shared.communication_us);
    EXPECT_FALSE(book.of(JobId(3)));

    end(state, 2);
    book.bring_to(state);
    EXPECT_EQ(text(*book.of(JobId(1))), text(*alone));
  }
}

TEST(ContentionBook, JobsOfOneLeafEachDoNotMeet) {
  ClusterState state = state_of(kNarrow);
  put(state, 1, ring_of(2), {GpuId(0), GpuId(1)});
  put(state, 2, ring_of(2), {GpuId(2), GpuId(3)});
  ContentionBook book;
  book.bring_to(state);
  for (const std::uint64_t job : {1U, 2U}) {
    const auto contention = book.of(JobId(job));
    EXPECT_EQ(contention->own.slowdown(), 1);
    EXPECT_TRUE(contention->slows.empty() && contention->own.crossing.empty());
  }
}

// A job that sends for a tenth of its step leaves nine tenths of the link to others, on average.
TEST(ContentionBook, OthersSendAtTheMeanRateOfTheirStep) {
  ClusterState state = state_of(kNarrow);
  scheduler::JobSpec computes = ring_of(2);
  computes.model = scheduler::ModelSpec{
      .parameters = 7e9, .layers = 32, .hidden_size = 4096, .sequence_length = 4096, .global_batch = 64};
  put(state, 1, computes, {GpuId(0), GpuId(2)});
  put(state, 2, ring_of(2), {GpuId(1), GpuId(3)});
  ContentionBook book;
  book.bring_to(state);
  const auto one = book.of(JobId(1)), two = book.of(JobId(2));
  const double efficiency = scheduler::find_generation("H100")->constants.network_efficiency;
  const double mean = kBytes * 8 / efficiency / *one->own.alone.step_us;
  EXPECT_NEAR(two->own.others_mbps, mean, 0.01 * mean);
  const double bytes_us = kBytes * 8 / efficiency;
  EXPECT_NEAR(two->own.shared.communication_us - two->own.alone.communication_us,
              bytes_us / (400'000 - mean) - bytes_us / 400'000, 1);
  EXPECT_GT(*one->own.shared.step_us, *one->own.alone.step_us);
}

TEST(ContentionBook, AnUpdatedBookEqualsANewOne) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    ClusterState state = state_of({.hosts_per_leaf = 4,
                                   .leaves_per_pod = 4,
                                   .spines_per_pod = 2,
                                   .pods = 2,
                                   .cores_per_spine = 2,
                                   .gpus_per_host = 2},
                                  seed % 3 != 2);
    std::mt19937_64 random(seed);
    std::vector<std::uint32_t> free(32);
    for (std::uint32_t h = 0; h < 32; ++h) free[h] = h;
    std::map<std::uint64_t, std::vector<std::uint32_t>> placed;
    ContentionBook book;
    std::uint64_t next = 1;
    for (int step = 0; step < 25; ++step) {
      if (step % 7 == 6) {
        const auto link = fabric::LinkId(static_cast<std::uint32_t>(random() % state.topology().links().size()));
        if (state.topology().joins_switches(link)) {
          state.set_link(link, state.view.alive(link) ? fabric::LinkState::down : fabric::LinkState::up);
          state.view_version = ++state.seq;
        }
      } else if (!placed.empty() && (free.size() < 4 || random() % 3 == 0)) {
        auto gone = std::next(placed.begin(), static_cast<std::ptrdiff_t>(random() % placed.size()));
        end(state, gone->first);
        free.insert(free.end(), gone->second.begin(), gone->second.end());
        placed.erase(gone);
      } else {
        std::ranges::shuffle(free, random);
        const std::uint32_t count = 2 + static_cast<std::uint32_t>(random() % 3);
        std::vector<GpuId> gpus;
        for (std::uint32_t i = 0; i < count; ++i) {
          const std::uint32_t h = free.back();
          free.pop_back();
          placed[next].push_back(h);
          for (std::uint32_t g = 0; g < 2; ++g) gpus.emplace_back(2 * h + g);
        }
        scheduler::JobSpec spec = ring_of(count, 1e8 * static_cast<double>(1 + random() % 20));
        spec.parallelism.tensor = 2;
        put(state, next++, spec, gpus);
      }
      if (random() % 2 == 0) continue;  // several steps at once
      book.bring_to(state);
      ContentionBook fresh;
      fresh.bring_to(state);
      ASSERT_EQ(book.basis(), fresh.basis());
      for (const auto& [number, where] : placed) {
        const auto caught_up = book.of(JobId(number)), rebuilt = fresh.of(JobId(number));
        ASSERT_TRUE(caught_up && rebuilt);
        EXPECT_EQ(text(*caught_up), text(*rebuilt)) << "seed " << seed << ", step " << step;
        EXPECT_GE(caught_up->own.slowdown(), 1);
      }
    }
  }
}

TEST(ContentionBook, AJobWithTooManyFlowsPutsAllOnBundlesUntilItEnds) {
  ClusterState state = state_of({.hosts_per_leaf = 16,
                                 .leaves_per_pod = 12,
                                 .spines_per_pod = 2,
                                 .pods = 1,
                                 .cores_per_spine = 0,
                                 .gpus_per_host = 8});
  const auto gpus = [](std::uint32_t first, std::uint32_t count) {
    std::vector<GpuId> list;
    for (std::uint32_t g = first; g < first + count; ++g) list.emplace_back(g);
    return list;
  };
  scheduler::JobSpec large;
  large.name = "experts";
  large.tenant = "research";
  large.parallelism.expert = 1'504;
  large.traffic = scheduler::TrafficSpec{.expert = {.bytes = kBytes, .calls = 1}};
  ContentionBook book;
  const auto basis_now = [&] {
    book.bring_to(state);
    ContentionBook fresh;
    fresh.bring_to(state);
    EXPECT_EQ(book.basis(), fresh.basis());
    EXPECT_EQ(text(*book.of(JobId(1))), text(*fresh.of(JobId(1))));
    return book.basis();
  };
  put(state, 1, ring_of(16), gpus(0, 16));
  EXPECT_EQ(basis_now(), ContentionBasis::routes);
  put(state, 2, large, gpus(16, 1'504));
  EXPECT_EQ(basis_now(), ContentionBasis::bundles);
  put(state, 3, ring_of(8), gpus(1'520, 8));
  EXPECT_EQ(basis_now(), ContentionBasis::bundles);
  end(state, 2);
  EXPECT_EQ(basis_now(), ContentionBasis::routes);
}

TEST(ContentionBook, OneMoreJobMakesNoJobFaster) {
  ClusterState state = state_of({.hosts_per_leaf = 4,
                                 .leaves_per_pod = 4,
                                 .spines_per_pod = 2,
                                 .pods = 2,
                                 .cores_per_spine = 1,
                                 .gpus_per_host = 1});
  std::mt19937_64 random(5);
  std::vector<std::uint32_t> hosts(32);
  for (std::uint32_t h = 0; h < 32; ++h) hosts[h] = h;
  std::ranges::shuffle(hosts, random);
  ContentionBook book;
  std::map<std::uint64_t, double> before;
  for (std::uint64_t job = 1; job <= 8; ++job) {
    std::vector<GpuId> gpus;
    for (int i = 0; i < 4; ++i) {
      gpus.emplace_back(hosts.back());
      hosts.pop_back();
    }
    put(state, job, ring_of(4), gpus);
    book.bring_to(state);
    for (std::uint64_t one = 1; one <= job; ++one) {
      const double now = book.of(JobId(one))->own.shared.communication_us;
      EXPECT_GE(now, before.contains(one) ? before[one] * (1 - 1e-12) : 0);
      before[one] = now;
    }
  }
}

// Every option of the gradient exchange changes the prediction.
TEST(TrafficOfJobs, GivenInJsonChangesThePrediction) {
  const ClusterState state = state_of({.hosts_per_leaf = 4,
                                       .leaves_per_pod = 4,
                                       .spines_per_pod = 4,
                                       .pods = 1,
                                       .cores_per_spine = 0,
                                       .gpus_per_host = 4});
  scheduler::Placer placer(state.placement_fabric);
  const auto predicted = [&](const std::string& more) {
    const auto spec = api::read_job_spec(
        R"({"parallelism":{"tensor":4,"data":8},"model":{"parameters":7e9,"layers":32,"hiddenSize":4096,
            "sequenceLength":4096)" +
        more + "}}");
    EXPECT_TRUE(spec) << spec.error().text();
    const auto again = api::read_job_spec(api::write_job_spec(*spec));
    EXPECT_TRUE(again && *again == *spec) << more;
    const auto result = placer.place(*spec);
    EXPECT_EQ(result.outcome, scheduler::Outcome::placed);
    return *result.placement.predicted;
  };
  constexpr auto kData = static_cast<std::size_t>(scheduler::CommGroup::data);
  const std::string batch = R"(,"globalBatchSize":64)";
  const auto usual = predicted(batch);
  const double us = usual.by_group_us[kData];
  EXPECT_LT(predicted(batch + R"(,"synchroniseEvery":8)").by_group_us[kData], us / 4);
  EXPECT_LT(predicted(batch + R"(,"gradientCompression":10)").by_group_us[kData], us / 4);
  EXPECT_DOUBLE_EQ(predicted(batch + R"(,"gradientExchange":"inNetwork")").by_group_us[kData], us)
      << "no switch of this fabric aggregates";
  const auto one = predicted(batch + R"(,"gradientExchange":"parameterServers")");
  const auto four = predicted(batch + R"(,"gradientExchange":"parameterServers","parameterServers":4)");
  EXPECT_GT(one.by_group_us[kData], 2 * us) << "one server takes what all send";
  EXPECT_LT(four.by_group_us[kData], one.by_group_us[kData] / 2);
  // Twice the micro-batches before gradients are exchanged: as many exchanges, for twice the tokens.
  const auto accumulated = predicted(R"(,"globalBatchSize":128)");
  EXPECT_EQ(accumulated.by_group_us[kData], us);
  // So the step is longer by the micro-batches alone, each of which takes as long as any other; the first ones hide more of the exchange.
  const double third_us = *predicted(R"(,"globalBatchSize":256)").step_us;
  const double each_us = (third_us - *accumulated.step_us) / 2;  // for 64 more
  EXPECT_NEAR(*predicted(R"(,"globalBatchSize":512)").step_us - third_us, 4 * each_us, 0.001 * each_us);
  EXPECT_GT(*accumulated.step_us, 2 * each_us);
  EXPECT_LE(*accumulated.step_us - *usual.step_us, each_us);
  EXPECT_GE(*usual.step_us, each_us) << "nothing but the exchange came beside it";

  for (const char* refused :
       {R"({"gpus":8,"traffic":{"pipeline":{"bytesPerStep":1,"exchange":"inNetwork"}}})",
        R"({"gpus":8,"traffic":{"data":{"bytesPerStep":1,"servers":2}}})",
        R"({"gpus":8,"traffic":{"data":{"bytesPerStep":1,"exchange":"parameterServers","servers":0}}})",
        R"({"gpus":8,"traffic":{"data":{"bytesPerStep":1,"exchange":"gossip"}}})"}) {
    EXPECT_FALSE(api::read_job_spec(refused)) << refused;
  }
  EXPECT_TRUE(api::read_job_spec(
      R"({"gpus":8,"traffic":{"data":{"bytesPerStep":1,"exchange":"parameterServers","servers":2}}})"));
}

}  // namespace
}  // namespace railweave::control::contention_book_test
