// What a refused what-if costs, and that what it offers holds: a place is worked out for no change that GPUs alone decide.
#include <gmock/gmock.h>

#include "fabric/generate/generate.h"
#include "services/control/decide/submission.h"
#include "tests/unit/control/control_fixture.h"

namespace railweave::control::refusal_work_test {
namespace {

constexpr unsigned kHosts = 24, kGpus = 8;

class RefusalWorkTest : public ControlTest {
 protected:
  void SetUp() override { fill(star_of_hosts(kHosts, kGpus)); }
  void fill(const fabric::TopologyPtr& topology) {
    start();
    must(accept(topology));
    must(PutTenant{{.name = "research"}, {}});
    for (unsigned i = 0; i < 14; ++i) must(submit_job("research", kGpus, 1));
  }
  struct Answer {
    Rejection refused;
    std::uint64_t scored = 0;  // layouts, by what followed the refusal
  };
  // As a what-if is answered. The job does not fit now.
  Answer refuse(const scheduler::JobSpec& spec) {
    const auto state = loop_->state();
    const SubmissionInput in{*state, placers_, queue_, clock_us_};
    auto job = std::make_shared<Job>();
    job->id = state->jobs.next_id();
    job->spec = spec;
    const std::shared_ptr<const Job> submitted = std::move(job);
    auto started = start_job(in, submitted);
    EXPECT_FALSE(started);
    const std::uint64_t before = placers_.at(*state).scored();
    Answer answer{with_changes(in, submitted, std::move(started.error()))};
    answer.scored = placers_.at(*state).scored() - before;
    return answer;
  }
  bool starts(const scheduler::JobSpec& spec) {
    const auto state = loop_->state();
    auto job = std::make_shared<Job>();
    job->id = state->jobs.next_id();
    job->spec = spec;
    return start_job({*state, placers_, queue_, clock_us_}, job).has_value();
  }

  PlacerCache placers_;
  QueueRunner queue_{placers_, 0};
};

scheduler::JobSpec replicas(std::uint32_t pipeline, std::uint32_t data) {
  scheduler::JobSpec spec;
  spec.name = "large";
  spec.tenant = "research";
  spec.parallelism = {.tensor = kGpus, .data = data, .pipeline = pipeline};
  return spec;
}

TEST_F(RefusalWorkTest, WorksOutNoPlaceAndOffersWhatStarts) {
  for (const auto& spec : {replicas(1, 12), replicas(4, 3), replicas(2, 9), replicas(1, kHosts + 1)}) {
    const Answer answer = refuse(spec);
    EXPECT_EQ(answer.scored, 0U);
    ASSERT_NE(answer.refused.placement, nullptr);
    const auto& changes = answer.refused.placement->explanation.counterfactuals;
    EXPECT_FALSE(changes.empty());
    for (const auto& change : changes) {
      ASSERT_NE(change.request, nullptr) << change.change;
      EXPECT_EQ(starts(*change.request), change.outcome == scheduler::Outcome::placed) << change.change;
    }
  }
}

// Where each rail is a network of its own, one layout tells whether links join the ranks of a change: the best of several
// is not looked for.
class RailNetworksTest : public RefusalWorkTest {
 protected:
  void SetUp() override {
    auto planes = fabric::generate("rail-optimized", {{"hosts", std::to_string(kHosts)}, {"planes", "8"}});
    ASSERT_TRUE(planes) << planes.error().text();
    fill(std::make_shared<const fabric::Topology>(std::move(*planes)));
  }
};
TEST_F(RailNetworksTest, LaysOutOncePerChange) {
  for (const auto& spec : {replicas(1, 12), replicas(4, 3), replicas(2, 9), replicas(1, kHosts)}) {
    const Answer answer = refuse(spec);
    ASSERT_NE(answer.refused.placement, nullptr);
    const auto& changes = answer.refused.placement->explanation.counterfactuals;
    EXPECT_FALSE(changes.empty());
    EXPECT_LE(answer.scored, changes.size());
    for (const auto& change : changes) {
      ASSERT_NE(change.request, nullptr) << change.change;
      EXPECT_EQ(starts(*change.request), change.outcome == scheduler::Outcome::placed) << change.change;
    }
  }
}

// Where more than GPUs decides, a change is asked in full.
TEST_F(RefusalWorkTest, AsksInFullWhereAQuotaDecides) {
  must(PutTenant{{.name = "research", .quota_gpus = 15 * kGpus}, {}});
  const Answer answer = refuse(replicas(1, 12));
  ASSERT_NE(answer.refused.placement, nullptr);
  for (const auto& change : answer.refused.placement->explanation.counterfactuals) {
    ASSERT_NE(change.request, nullptr) << change.change;
    EXPECT_EQ(starts(*change.request), change.outcome == scheduler::Outcome::placed) << change.change;
    EXPECT_LE(scheduler::rank_count(change.request->parallelism), kGpus) << "its tenant may have no more";
  }
}

}  // namespace
}  // namespace railweave::control::refusal_work_test
