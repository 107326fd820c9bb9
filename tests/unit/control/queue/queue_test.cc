// The queue in the control loop: waiting jobs start in order, in the transaction that freed their GPUs; decisions are
// in histories; everything survives a restart.
#include <random>
#include <set>

#include "services/control/decide/follow_up.h"
#include "services/control/decide/queue_runner.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/job_repair.h"
#include "tests/unit/control/queue_fixture.h"

namespace railweave::control::queue_test {
namespace {

TEST_F(QueueTest, WhatFitsStartsInTheSameTransactionAndTheRestWaits) {
  start_with_hosts(2);
  const JobId first = submit("research", 16);
  EXPECT_EQ(state_of(first), JobState::placed);
  const JobId second = submit("research", 8);
  const JobId third = submit("guests", 8);
  EXPECT_EQ(state_of(second), JobState::queued);
  EXPECT_EQ(loop_->state()->jobs.queued(), 2U);
  ASSERT_EQ(job(second)->history.size(), 2U);
  EXPECT_NE(job(second)->history[1].reason.whole_text().find("GPUs free"), std::string::npos)
      << job(second)->history[1].reason.whole_text();
  ASSERT_EQ(loop_->queue()->waiting.size(), 2U);
  restart();
  end(first);
  EXPECT_EQ(state_of(second), JobState::placed);
  EXPECT_EQ(state_of(third), JobState::placed);
  EXPECT_EQ(job(second)->history.back().reason.whole_text(), "GPUs are free");
  EXPECT_EQ(job(second)->history.front().state, JobState::queued);
  EXPECT_EQ(loop_->state()->jobs.queued(), 0U);
  restart();
}

TEST_F(QueueTest, WhatCanNeverFitIsRefusedRatherThanQueued) {
  start_with_hosts(1);
  const auto never = ask(command("research", 9));
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().error.kind, ErrorKind::impossible);
  EXPECT_EQ(loop_->state()->jobs.size(), 0U);
}

TEST_F(QueueTest, JobThatDoesNotQueueMayNotDelayThoseThatWait) {
  start_with_hosts(2);
  const JobId running = submit("research", 8, "normal", 1000);
  submit("research", 16, "normal", 1000);  // waits for the other node
  const auto pushed = ask(command("research", 8, "normal", 5000, false));
  ASSERT_FALSE(pushed);
  EXPECT_EQ(pushed.error().error.code, "jobs.mustWait");
  EXPECT_NE(pushed.error().error.whole().whole_text().find("would delay job-000002"), std::string::npos)
      << pushed.error().error.message;
  const JobId small = submit("research", 8, "normal", 500, false);  // over before
  EXPECT_EQ(state_of(small), JobState::placed);
  EXPECT_EQ(job(small)->history.back().reason.whole_text(), "backfilled: it delays no waiting job");
  end(running);
  end(small);
  EXPECT_EQ(loop_->state()->jobs.queued(), 0U);
}

TEST_F(QueueTest, WaitingJobsAreCancelledButDoNotComplete) {
  start_with_hosts(1);
  submit("research", 8);
  const JobId waiting = submit("research", 8);
  const auto completed = ask(EndJob{waiting, JobState::completed, "", {}});
  ASSERT_FALSE(completed);
  EXPECT_EQ(completed.error().error.code, "jobs.notRunning");
  must(EndJob{waiting, JobState::cancelled, "not needed", {}});
  EXPECT_EQ(state_of(waiting), JobState::cancelled);
  EXPECT_EQ(loop_->state()->jobs.queued(), 0U);
  restart();
}

TEST_F(QueueTest, HighPriorityEvictsTheJobThatLosesLeastWhichIsQueuedAgain) {
  start_with_hosts(2);
  const JobId older = submit("guests", 8, "low");
  pass(4000);
  const JobId newer = submit("guests", 8, "low");
  pass(100);
  must(CheckpointJob{older, 0});
  const JobId urgent = submit("research", 8, "high");
  EXPECT_EQ(state_of(urgent), JobState::placed);
  EXPECT_EQ(state_of(older), JobState::queued);  // it saved its state a moment ago
  EXPECT_EQ(state_of(newer), JobState::placed);
  EXPECT_EQ(job(older)->started_us, 0);
  EXPECT_TRUE(job(older)->nodes.empty());
  bool told = false;
  for (const auto& change : job(older)->history)
    told = told || change.reason.whole_text() == "evicted for " + to_string(urgent) + " of higher priority";
  EXPECT_TRUE(told);
  restart();
  end(urgent);
  EXPECT_EQ(state_of(older), JobState::placed);
}

TEST_F(QueueTest, QuotaIsBorrowedAndReclaimed) {
  start_with_hosts(2);
  must(PutTenant{{.name = "research", .quota_gpus = 8, .cohort = "all", .max_priority = "high"}, {}});
  must(PutTenant{{.name = "guests", .quota_gpus = 8, .cohort = "all", .max_priority = "high"}, {}});
  const JobId own = submit("guests", 8);
  pass(100);
  const JobId borrowed = submit("guests", 8);
  EXPECT_EQ(state_of(borrowed), JobState::placed);
  pass(100);
  const JobId owed = submit("research", 8);
  EXPECT_EQ(state_of(owed), JobState::placed);
  EXPECT_TRUE((state_of(own) == JobState::queued) != (state_of(borrowed) == JobState::queued));
  restart();
}

TEST_F(QueueTest, WhatTheQuotaCanNeverHoldIsRefused) {
  start_with_hosts(4);
  must(PutTenant{{.name = "research", .quota_gpus = 8, .max_priority = "high"}, {}});
  const auto refused = [&](std::uint32_t gpus) {
    for (const bool queue : {true, false}) {
      const auto never = ask(command("research", gpus, "normal", 3600, queue));
      ASSERT_FALSE(never);
      EXPECT_EQ(never.error().error.code, "tenants.quotaTooSmall") << never.error().error.text();
      EXPECT_EQ(never.error().error.kind, ErrorKind::impossible);
    }
  };
  refused(9);
  must(PutTenant{{.name = "research", .quota_gpus = 8, .cohort = "all", .max_priority = "high"}, {}});
  refused(9);
  must(PutTenant{{.name = "guests", .quota_gpus = 8, .cohort = "all", .max_priority = "high"}, {}});
  refused(17);
  EXPECT_EQ(state_of(submit("research", 16)), JobState::placed) << "the cohort lends it";
  must(PutTenant{{.name = "research", .quota_gpus = 8, .cohort = "all", .borrow_gpus = 2, .max_priority = "high"}, {}});
  refused(11);
}

TEST_F(QueueTest, TheWaitingJobsOfATenantAreBounded) {
  start({.max_waiting_of_tenant = 3});
  must(accept(star_of_hosts(1, 8)));
  must(PutTenant{{.name = "research", .max_priority = "high"}, {}});
  must(PutTenant{{.name = "guests", .max_priority = "high"}, {}});
  const JobId running = submit("guests", 8);
  for (int i = 0; i < 3; ++i) submit("research", 8);
  const auto refused = ask(command("research", 8));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().error.code, "tenants.tooManyWaiting");
  EXPECT_EQ(refused.error().error.kind, ErrorKind::busy);
  EXPECT_EQ(state_of(submit("guests", 8)), JobState::queued) << "another tenant is not held up";
  end(running);
  EXPECT_EQ(state_of(submit("research", 8)), JobState::queued) << "one of the three has started";
}

TEST_F(QueueTest, AJobStartsWhenItsEarliestStartHasPassed) {
  start_with_hosts(1);
  SubmitJob later = command("research", 8);
  later.not_before_us = clock_us_ + 3'600'000'000;
  const auto result = ask(later);
  ASSERT_TRUE(result);
  EXPECT_EQ(state_of(result->job), JobState::queued);
  clock_us_ += 3'700'000'000;  // no command follows: the loop's own timer must see it
  EXPECT_TRUE(published_until([&] { return state_of(result->job) == JobState::placed; }));
}

// The head of the queue then waits longer, so that a shorter job no longer delays it.
TEST_F(QueueTest, AJobIsBackfilledWhenOneThatRunsHasRunOver) {
  start_with_hosts(1);
  (void)submit("research", 4, "normal", 100);
  const JobId head = submit("research", 8, "normal", 1'000);
  const JobId shorter = submit("research", 4, "normal", 200);
  EXPECT_EQ(state_of(shorter), JobState::queued);
  clock_us_ += 101'000'000;  // no command follows: the loop's own timer must see it
  EXPECT_TRUE(published_until([&] { return state_of(shorter) == JobState::placed; }));
  EXPECT_EQ(state_of(head), JobState::queued);
}

TEST_F(QueueTest, RunsOnWhenTheTimeOfDayIsSetBack) {
  queue_rest_ = 2;
  start_with_hosts(1);
  const JobId first = submit("research", 8);
  const JobId second = submit("research", 8);
  EXPECT_EQ(state_of(second), JobState::queued);
  clock_us_ -= 3'600'000'000;
  end(first);
  EXPECT_TRUE(published_until([&] { return state_of(second) == JobState::placed; }));
}

// After a cycle that took long by the steady clock the queue rests for longer than is tolerable while GPUs are free.
TEST_F(QueueTest, AQueueThatDoesNotRunWhileGpusAreFreeRaisesAnAlarm) {
  start_with_hosts(1);
  const JobId first = submit("research", 8);
  const JobId second = submit("research", 8);
  loop_->stop();
  ClusterState state = *loop_->state();
  std::int64_t steady_us = 1, reading_takes_us = QueueRunner::kOverdue_us;
  PlacerCache placers;
  QueueRunner queue(placers, 2, [&] { return steady_us += reading_takes_us; });
  FollowUp follow_up(placers, queue, false);
  const auto settle = [&] {
    follow_up.begin();
    for (int steps = 0; steps < 100; ++steps) {
      auto events = follow_up.next(state, clock_us_);
      if (events.empty()) return;
      for (auto& body : events) apply(state, {state.seq + 1, 0, clock_us_, "", std::move(body)});
    }
  };
  EXPECT_TRUE(queue.run(state, clock_us_).empty());  // takes kOverdue_us, so the rest takes twice that
  reading_takes_us = 0;
  apply(state, {state.seq + 1, 0, clock_us_, "", JobEnded{first, JobState::completed, ""}});
  settle();
  EXPECT_EQ(state.jobs.find(second)->state, JobState::queued);
  EXPECT_TRUE(state.alarms->empty());
  ASSERT_EQ(follow_up.due_in_us(state, clock_us_), QueueRunner::kOverdue_us);
  steady_us += QueueRunner::kOverdue_us;
  settle();
  ASSERT_EQ(state.alarms->count("queue.notRun:queue"), 1U);
  EXPECT_NE(state.alarms->begin()->second.text.whole_text().find("1 jobs wait and 8 GPUs are free"), std::string::npos);
  EXPECT_EQ(follow_up.due_in_us(state, clock_us_), QueueRunner::kOverdue_us - QueueRunner::kBurst_us)
      << "the rest is over then";
  steady_us += QueueRunner::kOverdue_us;
  settle();
  EXPECT_EQ(state.jobs.find(second)->state, JobState::placed);
  EXPECT_TRUE(state.alarms->empty());
}

TEST_F(QueueTest, MaintenanceAndReservationsKeepGpusFree) {
  start_with_hosts(2);
  const std::int64_t now = clock_us_;
  PutReservation maintenance;
  maintenance.name = "firmware";
  maintenance.kind = scheduler::QueueWindow::Kind::maintenance;
  maintenance.from_us = now + 1'000'000'000;
  maintenance.to_us = now + 2'000'000'000;
  maintenance.nodes = {"node-0"};
  must(maintenance);
  const JobId beside = submit("research", 8, "normal", 3600);
  EXPECT_EQ(job(beside)->nodes, std::vector<std::string>{"node-1"});
  const JobId held = submit("research", 8, "normal", 3600);
  EXPECT_EQ(state_of(held), JobState::queued);
  const JobId quick = submit("research", 8, "normal", 500);
  EXPECT_EQ(state_of(quick), JobState::placed) << "it is over before the maintenance";
  restart();
  end(quick);
  pass(2100);
  EXPECT_TRUE(loop_->state()->reservations->empty());
  EXPECT_EQ(state_of(held), JobState::placed);

  PutReservation reserved;
  reserved.name = "demo";
  reserved.from_us = clock_us_ + 1'000'000'000;
  reserved.to_us = reserved.from_us + 1'000'000'000;
  reserved.shape = command("guests", 24).spec;
  const auto no_room = ask(reserved);
  ASSERT_FALSE(no_room);
  EXPECT_EQ(no_room.error().error.code, "queue.noRoomForReservation");
  end(held);
  end(beside);
  reserved.shape = command("guests", 16).spec;
  must(reserved);
  EXPECT_EQ(state_of(submit("research", 8, "normal", 3600)), JobState::queued);
  EXPECT_EQ(state_of(submit("guests", 8, "normal", 3600)), JobState::placed);
}

TEST_F(QueueTest, PolicyIsCheckedVersionedAndKept) {
  start_with_hosts(1);
  scheduler::QueuePolicy policy = default_queue_policy();
  policy.backfill = scheduler::Backfill::conservative;
  policy.fair_share = scheduler::FairShareRule::decayed;
  policy.half_life_us = 3'600'000'000;
  must(PutQueueRules{policy, 0});
  EXPECT_FALSE(ask(PutQueueRules{policy, 0}));
  policy.classes.push_back(policy.classes.front());
  const auto twice = ask(PutQueueRules{policy, {}});
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().error.code, "queue.invalidPolicy");
  const JobId id = submit("research", 8);
  pass(1000);
  end(id);
  EXPECT_GT(loop_->state()->used->usage_gpu_s("research", clock_us_), 7000);
  restart();
}

// The star's cables are 400 Gb/s, the class has 133 Gb/s of each: a guarantee of 100 Gb/s at a port leaves no room for
// another on the same adapter.
TEST_F(QueueTest, JobsWaitForTheBandwidthTheyWerePromised) {
  start_with_hosts(2);
  scheduler::Contract terms{.tenant = "research", .guaranteed = RateMbps(100'000)};
  terms.classes = {"all-reduce"};
  must(PutContract{terms, {}});
  SubmitJob over_both = command("research", 4);  // sends through both adapters
  over_both.spec.gpus_per_node = 2;
  must(over_both);
  const JobId first(1);
  ASSERT_EQ(state_of(first), JobState::placed);
  ASSERT_TRUE(job(first)->guarantee);
  must(over_both);
  const JobId second(2);
  EXPECT_EQ(state_of(second), JobState::queued);
  EXPECT_EQ(job(second)->waits, "bandwidth") << job(second)->history.back().reason.whole_text();
  EXPECT_NE(job(second)->history.back().reason.whole_text().find("job-000001"), std::string::npos)
      << job(second)->history.back().reason.whole_text();
  const JobId free = submit("guests", 4);  // promised nothing
  EXPECT_EQ(state_of(free), JobState::placed);
  restart();
  end(free);
  end(first);
  EXPECT_EQ(state_of(second), JobState::placed);
  EXPECT_EQ(job(second)->guarantee->rate, RateMbps(100'000));
  restart();
}

TEST_F(QueueTest, EvictionReleasesAndRepairMovesTheGuarantee) {
  start_with_hosts(3);
  for (const char* tenant : {"research", "guests"}) {
    scheduler::Contract terms{.tenant = tenant, .guaranteed = RateMbps(100'000)};
    terms.classes = {"all-reduce"};
    must(PutContract{terms, {}});
  }
  must(PutTenant{{.name = "guests", .repair = RepairPolicy::apply, .repair_after_s = 0, .max_priority = "high"}, {}});
  const JobId low = submit("guests", 16, "low");
  ASSERT_TRUE(job(low)->guarantee);
  const std::string node = job(low)->nodes.front();
  must(ReportLinks{"fabric",
                   {link_of(static_cast<unsigned>(topology_->find_host(node).index()), fabric::LinkState::down)}});
  EXPECT_EQ(std::ranges::count(job(low)->nodes, node), 0);
  ASSERT_TRUE(job(low)->guarantee);
  EXPECT_FALSE(job(low)->guarantee->at_risk()) << job(low)->guarantee->reason.whole_text();
  must(ReportLinks{"fabric",
                   {link_of(static_cast<unsigned>(topology_->find_host(node).index()), fabric::LinkState::up)}});
  pass(100);
  const JobId urgent = submit("research", 24, "high");
  EXPECT_EQ(state_of(urgent), JobState::placed);
  EXPECT_EQ(state_of(low), JobState::queued);
  EXPECT_FALSE(job(low)->guarantee);
  EXPECT_EQ(loop_->state()->guaranteed->size(), 1U);
  restart();
  end(urgent);
  EXPECT_EQ(state_of(low), JobState::placed);
  EXPECT_TRUE(job(low)->guarantee);
}

// Random submissions, ends, evictions and cuts: GPUs are conserved, no GPU has two jobs, every job that fits has
// started.
TEST_F(QueueTest, RandomEventsConserveGpus) {
  start_with_hosts(6);
  must(PutTenant{{.name = "research",
                  .quota_gpus = 24,
                  .cohort = "all",
                  .repair = RepairPolicy::apply,
                  .repair_after_s = 0,
                  .max_priority = "high"},
                 {}});
  must(PutTenant{{.name = "guests", .quota_gpus = 24, .cohort = "all", .max_priority = "high"}, {}});
  std::mt19937 random(7);
  std::vector<JobId> ids;
  const char* const priorities[] = {"low", "normal", "high"};
  for (int step = 0; step < 400; ++step) {
    clock_us_ += 30'000'000;
    const auto what = random() % 10;
    if (what < 5) {
      const auto result = ask(command(random() % 2 ? "research" : "guests", 1 + random() % 20, priorities[random() % 3],
                                      60 + random() % 3000, random() % 4 != 0));
      if (result) ids.push_back(result->job);
    } else if (what < 9 && !ids.empty()) {
      const JobId id = ids[random() % ids.size()];
      if (job(id) != nullptr && !job(id)->has_ended()) must(EndJob{id, JobState::cancelled, "", {}});
    } else {
      must(ReportLinks{"fabric",
                       {link_of(random() % 6, random() % 2 ? fabric::LinkState::up : fabric::LinkState::down)}});
    }
    const auto state = loop_->state();
    std::set<std::uint32_t> held;
    std::uint64_t queued = 0;
    state->jobs.visit_after(JobId(0), [&](const JobPtr& each) {
      queued += each->state == JobState::queued ? 1 : 0;
      if (!each->holds_gpus()) return true;
      EXPECT_FALSE(each->placement.gpu_of_rank.empty());
      for (const auto gpu : each->placement.gpu_of_rank) EXPECT_TRUE(held.insert(gpu.index()).second);
      return true;
    });
    ASSERT_EQ(held.size() + state->free_gpus, 48U);
    ASSERT_EQ(queued, state->jobs.queued());
  }
  restart();
}

}  // namespace
}  // namespace railweave::control::queue_test
