// Jobs that their users change, hold, release and reorder while they wait; jobs that are adopted; many submitted at once.
// What follows is in the journal: every test ends with a restart.
#include <algorithm>
#include <random>

#include "services/control/events/apply.h"
#include "tests/unit/control/control_fixture.h"

namespace railweave::control::job_change_test {
namespace {

class JobChangeTest : public ControlTest {
 protected:
  void start_with_hosts(unsigned hosts) {
    start();
    must(accept(star_of_hosts(hosts, 8)));
    for (const char* tenant : {"research", "guests"}) must(PutTenant{{.name = tenant, .max_priority = "high"}, {}});
  }
  static SubmitJob command(const std::string& tenant, std::uint32_t gpus, const std::string& priority = "normal") {
    SubmitJob command = submit_job(tenant, 1, gpus);
    command.spec.priority = priority;
    command.spec.expected_duration_s = 3600;
    command.queue = true;
    return command;
  }
  JobId submit(const std::string& tenant, std::uint32_t gpus, const std::string& priority = "normal") {
    const auto result = ask(command(tenant, gpus, priority));
    EXPECT_TRUE(result) << result.error().error.text();
    return result ? result->job : JobId();
  }
  std::string refused(ChangeJob change) {
    const auto result = ask(std::move(change));
    return result ? "" : result.error().error.code;
  }
  std::string refused_submission(SubmitJob submission) {
    const auto result = ask(std::move(submission));
    return result ? "" : result.error().error.code;
  }
  [[nodiscard]] JobPtr job(JobId id) const { return loop_->state()->jobs.find(id); }
  [[nodiscard]] JobState state_of(JobId id) const { return job(id)->state; }
  void end(JobId id) { must(EndJob{id, JobState::completed, "", {}}); }
  [[nodiscard]] std::vector<JobId> order() const {
    std::vector<JobId> ids;
    for (const auto& waiting : loop_->queue()->waiting) ids.emplace_back(waiting.job);
    return ids;
  }
};

TEST_F(JobChangeTest, AHeldJobKeepsItsPlaceAndDoesNotStart) {
  start_with_hosts(1);
  const JobId running = submit("research", 8);
  const JobId first = submit("research", 8);
  const JobId second = submit("research", 8);
  must(ChangeJob{.id = first, .hold = true, .reason = "copying", .by_member = true});
  EXPECT_EQ(job(first)->queue.hold->text(), "held by tester: copying");
  EXPECT_EQ(job(first)->waits, "held");
  end(running);
  EXPECT_EQ(state_of(first), JobState::queued);
  EXPECT_EQ(state_of(second), JobState::placed);
  restart();
  end(second);
  EXPECT_EQ(state_of(first), JobState::queued) << "held over the restart";
  must(ChangeJob{.id = first, .hold = false, .by_member = true});
  EXPECT_EQ(state_of(first), JobState::placed);
  restart();
}

TEST_F(JobChangeTest, AMemberDoesNotReleaseWhatAnOperatorHolds) {
  start_with_hosts(1);
  submit("research", 8);
  const JobId waits = submit("research", 8);
  must(ChangeJob{.id = waits, .hold = true, .reason = "ours", .by_member = true});
  must(ChangeJob{.id = waits, .hold = true, .reason = "upkeep"});
  EXPECT_TRUE(job(waits)->queue.hold->by_operator);
  EXPECT_EQ(refused({.id = waits, .hold = false, .by_member = true}), "jobs.heldByOperator");
  must(ChangeJob{.id = waits, .hold = true, .by_member = true});
  EXPECT_TRUE(job(waits)->queue.hold->by_operator) << "it stays the operator's";
  must(ChangeJob{.id = waits, .priority = "low", .by_member = true});
  must(ChangeJob{.id = waits, .hold = false});
  EXPECT_FALSE(job(waits)->queue.hold);
  restart();
}

TEST_F(JobChangeTest, OnlyWhatMakesSenseInItsStateIsChanged) {
  start_with_hosts(1);
  const JobId running = submit("research", 8);
  EXPECT_EQ(refused({.id = running, .priority = "high"}), "jobs.notQueued");
  EXPECT_EQ(refused({.id = running, .hold = true}), "jobs.notQueued");
  EXPECT_EQ(refused({.id = running, .exclude_nodes = std::vector<std::string>{"node-0"}}), "jobs.notQueued");
  must(ChangeJob{.id = running, .expected_duration_s = std::optional<std::int64_t>(60)});
  EXPECT_EQ(job(running)->spec.expected_duration_s, 60);
  EXPECT_EQ(refused({.id = running, .min_runtime_s = std::optional<std::int64_t>(7200), .by_member = true}),
            "jobs.minRuntimeTooLong");
  must(ChangeJob{.id = running, .min_runtime_s = std::optional<std::int64_t>(7200)});
  const JobId waits = submit("research", 8);
  EXPECT_EQ(refused({.id = waits, .priority = "urgent"}), "jobs.unknownPriority");
  EXPECT_EQ(refused({.id = waits, .exclude_nodes = std::vector<std::string>{"node-0"}}), "jobs.neverFits");
  EXPECT_EQ(refused({.id = waits, .hold = true, .if_version = 1}), "precondition.versionDiffers");
  end(running);
  EXPECT_EQ(refused({.id = running, .expected_duration_s = std::optional<std::int64_t>(60)}), "jobs.ended");
  EXPECT_EQ(refused({.id = JobId(99)}), "jobs.notFound");
  restart();
}

TEST_F(JobChangeTest, TheLeastRuntimeOfAJobCountsInsteadOfThePolicys) {
  start_with_hosts(2);
  const JobId safe = submit("research", 8, "low");
  const JobId loses = submit("research", 8, "low");
  must(ChangeJob{.id = safe, .min_runtime_s = std::optional<std::int64_t>(3600)});
  must(ChangeJob{.id = loses, .min_runtime_s = std::optional<std::int64_t>(0)});
  const JobId urgent = submit("guests", 8, "high");
  EXPECT_EQ(state_of(urgent), JobState::placed) << "long before the policy's minute";
  EXPECT_EQ(state_of(loses), JobState::queued);
  EXPECT_EQ(state_of(safe), JobState::placed);
  const JobId another = submit("guests", 8, "high");
  EXPECT_EQ(state_of(another), JobState::queued);
  clock_us_ += 600'000'000;
  must(ReportAlarms{{}, {}});
  EXPECT_EQ(state_of(safe), JobState::placed) << "ten minutes are not an hour";
  restart();
}

// The order that jobs of one tenant and class are asked into, against a list that is reordered by hand; and the turns of
// the other tenant's jobs, which stay what they were.
TEST_F(JobChangeTest, OrdersAreWhatWasAskedForAndOtherTenantsLoseNothing) {
  start_with_hosts(1);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    std::mt19937_64 random(seed);
    const JobId running = submit("research", 8);
    std::vector<JobId> mine;
    std::vector<JobId> others;
    for (int i = 0; i < 12; ++i) (random() % 3 == 0 ? others : mine).push_back(JobId());
    std::size_t m = 0;
    std::size_t o = 0;
    while (m < mine.size() || o < others.size()) {
      if (o == others.size() || (m < mine.size() && random() % 2 == 0)) {
        mine[m++] = submit("research", 8);
      } else {
        others[o++] = submit("guests", 8);
      }
    }
    ASSERT_GT(mine.size(), 2U);
    std::vector<QueuePlace> places;
    for (const JobId id : mine) places.push_back(job(id)->place());
    std::vector<JobId> wanted = mine;
    for (int i = 0; i < 30; ++i) {
      const JobId moved = wanted[random() % wanted.size()];
      const JobId beside = wanted[random() % wanted.size()];
      const bool before = random() % 2 == 0;
      if (moved == beside) continue;
      must(ChangeJob{.id = moved, .beside = ChangeJob::Beside{beside, before}});
      std::erase(wanted, moved);
      const auto at = std::ranges::find(wanted, beside);
      wanted.insert(before ? at : std::next(at), moved);
      std::vector<JobId> now;
      for (const JobId id : order()) {
        if (job(id)->spec.tenant == "research") now.push_back(id);
      }
      ASSERT_EQ(now, wanted) << "seed " << seed << " move " << i;
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_EQ(job(wanted[i])->place(), places[i]) << "places are exchanged, none is made";
    }
    for (const JobId id : others) EXPECT_EQ(job(id)->place(), (QueuePlace{job(id)->submitted_us, id.number()}));
    for (const auto& jobs : {wanted, others, {running}}) {
      for (const JobId id : jobs) must(EndJob{id, JobState::cancelled, "", {}});
    }
  }
  restart();
}

TEST_F(JobChangeTest, AJobGoesOnlyBesideItsTenantsOwnOfItsClass) {
  start_with_hosts(1);
  const JobId running = submit("research", 8);
  const JobId first = submit("research", 8);
  const JobId high = submit("research", 8, "high");
  const JobId other = submit("guests", 8);
  const auto beside = [](JobId id, JobId to, bool by_member = false) {
    return ChangeJob{.id = id, .beside = ChangeJob::Beside{to, true}, .by_member = by_member};
  };
  EXPECT_EQ(refused(beside(first, high)), "jobs.cannotGoThere");
  EXPECT_EQ(refused(beside(first, other)), "jobs.cannotGoThere");
  EXPECT_EQ(refused(beside(first, other, true)), "jobs.notFound") << "another tenant's job is not there for a member";
  EXPECT_EQ(refused(beside(first, running)), "jobs.cannotGoThere");
  EXPECT_EQ(refused(beside(first, first)), "jobs.cannotGoThere");
  EXPECT_EQ(refused(beside(first, JobId(99))), "jobs.notFound");
  auto both = beside(first, high);
  both.priority = "high";
  must(both);
  EXPECT_EQ(order().front(), first);
  restart();
}

TEST_F(JobChangeTest, AnAdoptedJobHasExactlyItsGpus) {
  start_with_hosts(2);
  SubmitJob adopt = submit_job("research", 2, 2, "key");
  adopt.adopt =
      AdoptedPlace{{{"node-1", std::vector<std::uint32_t>{7, 6}}, {"node-0", std::vector<std::uint32_t>{0, 1}}}};
  const auto adopted = ask(adopt);
  ASSERT_TRUE(adopted) << adopted.error().error.text();
  const JobPtr made = job(adopted->job);
  const auto& topology = loop_->state()->topology();
  const auto gpus = [&](const char* node) { return topology.gpus(topology.find_host(node)); };
  const std::vector<fabric::GpuId> wanted{gpus("node-1")[7], gpus("node-1")[6], gpus("node-0")[0], gpus("node-0")[1]};
  EXPECT_EQ(made->placement.gpu_of_rank, wanted);
  EXPECT_EQ(made->nodes, (std::vector<std::string>{"node-1", "node-0"}));
  EXPECT_TRUE(made->placement.predicted);
  EXPECT_TRUE(made->adopted && made->adopted->findings.empty());
  EXPECT_EQ(loop_->state()->free_gpus, 12U);
  EXPECT_TRUE(ask(adopt)->replayed);
  SubmitJob held = submit_job("research", 1, 1);
  held.adopt = AdoptedPlace{{{"node-0", std::vector<std::uint32_t>{1}}}};
  EXPECT_EQ(ask(held).error().error.code, "adopt.gpuHeld");
  held.adopt = AdoptedPlace{{{"node-0", std::vector<std::uint32_t>{8}}}};
  EXPECT_EQ(ask(held).error().error.code, "adopt.unknownGpu");
  held.by_member = true;
  EXPECT_EQ(ask(held).error().error.code, "adopt.operatorsOnly");
  restart();
}

TEST_F(JobChangeTest, ADrainedNodeAndAFullTenantAreFindingsOfAnAdoptedJob) {
  start_with_hosts(2);
  must(PutTenant{{.name = "research", .max_gpus = 4, .max_priority = "high"}, {}});
  must(RequestDrain{{DrainKind::node, "node-0"}, "upkeep", true, {}, loop_->state()->view_version});
  SubmitJob adopt = submit_job("research", 1, 8);
  adopt.spec.job.required = fabric::LevelKind::node;
  adopt.adopt = AdoptedPlace{
      {{"node-0", std::vector<std::uint32_t>{0, 1, 2, 3}}, {"node-1", std::vector<std::uint32_t>{0, 1, 2, 3}}}};
  const auto adopted = ask(adopt);
  ASSERT_TRUE(adopted) << adopted.error().error.text();
  std::string findings;
  for (const auto& finding : job(adopted->job)->adopted->findings) findings += finding.whole_text() + "\n";
  EXPECT_NE(findings.find("node node-0 is drained"), std::string::npos) << findings;
  EXPECT_NE(findings.find("may hold 4 GPUs"), std::string::npos) << findings;
  EXPECT_GE(job(adopted->job)->adopted->findings.size(), 3U) << "and it is not within one node: " << findings;
  restart();
}

TEST_F(JobChangeTest, ABatchIsOneTransactionWithAnAnswerForEach) {
  start_with_hosts(4);
  SubmitJobs batch;
  for (int i = 0; i < 5; ++i) {
    batch.items.push_back(command("research", 8));
    batch.items.back().idempotency_key = "key-" + std::to_string(i);
  }
  batch.items.push_back(command("not-there", 8));
  batch.items.push_back(batch.items.front());
  const auto before = loop_->figures();
  const auto result = ask(batch);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->items.size(), 7U);
  EXPECT_LE(loop_->figures().batches, before.batches + 2) << "the batch, and a step of the loop's own before it";
  std::size_t placed = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_EQ(result->items[i].refused, nullptr);
    placed += result->state->jobs.find(result->items[i].job)->state == JobState::placed ? 1 : 0;
  }
  EXPECT_EQ(placed, 4U) << "one waits";
  ASSERT_NE(result->items[5].refused, nullptr);
  EXPECT_EQ(result->items[5].refused->error.code, "tenants.unknown");
  EXPECT_TRUE(result->items[6].replayed);
  EXPECT_EQ(result->items[6].job, result->items[0].job);
  const auto again = ask(batch);
  ASSERT_TRUE(again);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(again->items[i].replayed);
  EXPECT_EQ(loop_->state()->jobs.size(), 5U);
  restart();
}

TEST_F(JobChangeTest, PriorityIsBoundedByTheTenant) {
  start_with_hosts(2);
  must(PutTenant{{.name = "guests"}, {}});
  EXPECT_EQ(refused_submission(command("guests", 8, "high")), "jobs.priorityTooHigh");
  submit("guests", 16);
  const JobId waits = submit("guests", 16);
  EXPECT_EQ(refused({.id = waits, .priority = "high"}), "jobs.priorityTooHigh");
  EXPECT_EQ(refused({.id = waits, .priority = "unheard"}), "jobs.unknownPriority");
  must(ChangeJob{.id = waits, .priority = "low"});
  must(ChangeJob{.id = waits, .priority = "normal"});
  must(PutTenant{{.name = "guests", .max_priority = "high"}, {}});
  must(ChangeJob{.id = waits, .priority = "high"});
  must(PutTenant{{.name = "guests", .max_priority = "low"}, {}});
  must(ChangeJob{.id = waits, .priority = "high", .expected_duration_s = 60});  // it keeps what it has
  EXPECT_EQ(refused_submission(command("guests", 8)), "jobs.priorityTooHigh");
  const auto unknown = ask(PutTenant{{.name = "guests", .max_priority = "unheard"}, {}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().error.code, "jobs.unknownPriority");
  EXPECT_EQ(unknown.error().error.location, "/maxPriority");
  restart();
}

TEST_F(JobChangeTest, ATenantIsNotTheEarlierOneOfItsName) {
  start_with_hosts(2);
  const JobId before = submit("guests", 8);
  Webhook webhook{.name = "hook", .url = "https://example.org/", .tenant = "guests", .secret = "0123456789abcdef"};
  must(PutWebhook{.webhook = webhook});
  must(EndJob{before, JobState::completed, {}, {}});
  must(RemoveTenant{"guests", {}});
  EXPECT_TRUE(loop_->state()->webhooks->empty()) << "they would be sent what the next tenant does";
  EXPECT_FALSE(loop_->state()->used->tenants().contains("guests"));
  must(PutTenant{{.name = "guests"}, {}});
  const auto created = loop_->state()->tenants->at("guests");
  EXPECT_EQ(created.created, loop_->state()->seq);
  EXPECT_GT(created.first_job, before.number());
  must(PutTenant{{.name = "guests", .description = "changed"}, {}});
  EXPECT_EQ(loop_->state()->tenants->at("guests").created, created.created);
  EXPECT_EQ(loop_->state()->tenants->at("guests").first_job, created.first_job);
  restart();
}

TEST_F(JobChangeTest, TimesDoNotGoBackWithTheClock) {
  start_with_hosts(1);
  const JobId id = submit("guests", 8);
  const std::int64_t started_us = job(id)->started_us;
  clock_us_ -= 7'200'000'000;
  end(id);
  EXPECT_GE(job(id)->ended_us, started_us);
  EXPECT_GE(loop_->state()->time_us, started_us);
  const auto records = journal_->read({.kinds = {}, .subject_kind = {}, .subject_id = {}});
  ASSERT_TRUE(records);
  for (std::size_t i = 1; i < records->size(); ++i) EXPECT_GE((*records)[i].time_us, (*records)[i - 1].time_us) << i;
  restart();
  EXPECT_GE(loop_->state()->time_us, started_us);
}

}  // namespace
}  // namespace railweave::control::job_change_test
