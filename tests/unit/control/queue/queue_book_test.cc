// The facts of the queue kept from state to state against those made of each state alone, and the pace of its cycles.
#include "services/control/decide/queue_book.h"

#include <algorithm>
#include <map>
#include <random>

#include "services/control/decide/queue_runner.h"
#include "tests/unit/control/control_fixture.h"

namespace railweave::control::queue_book_test {
namespace {

class QueueBookTest : public ControlTest {
 protected:
  void start_with_hosts(unsigned hosts) {
    start();
    must(accept(star_of_hosts(hosts, 8)));
    must(PutTenant{{.name = "research", .max_priority = "high"}, {}});
    must(PutTenant{{.name = "guests", .max_priority = "high"}, {}});
  }
  JobId submit(const std::string& tenant, std::uint32_t gpus, const std::string& priority, bool says_duration) {
    SubmitJob command = submit_job(tenant, 1, gpus);
    command.spec.priority = priority;
    if (says_duration) command.spec.expected_duration_s = 3600;
    command.queue = true;
    const auto result = ask(command);
    EXPECT_TRUE(result) << result.error().error.text();
    return result ? result->job : JobId();
  }
};

std::int8_t told_of(const Job& job) { return static_cast<std::int8_t>(job.waits.size()); }

void expect_equal(const ClusterState& state, const QueueFacts& kept, const QueueFacts& made) {
  ASSERT_EQ(kept.queued.size(), made.queued.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::string, std::string>> names;
  for (std::size_t i = 0; i < made.queued.size(); ++i) {
    const scheduler::QueuedJob &a = kept.queued[i], &b = made.queued[i];
    ASSERT_EQ(a.id, b.id);
    EXPECT_EQ(*a.spec, *b.spec);
    EXPECT_EQ(a.submitted_us, b.submitted_us);
    EXPECT_EQ(a.not_before_us, b.not_before_us);
    EXPECT_EQ(a.turn, b.turn);
    EXPECT_EQ(a.held, b.held);
    EXPECT_EQ(a.awaits_release, b.awaits_release);
    EXPECT_EQ(a.place_until_us, b.place_until_us);
    EXPECT_EQ(a.takes_any_place, b.takes_any_place) << "job " << a.id;
    EXPECT_EQ(a.keeps_place, b.keeps_place);
    EXPECT_EQ(a.told, told_of(*state.jobs.find(JobId(a.id))));
    EXPECT_EQ(a.digest.gpus, scheduler::rank_count(b.spec->parallelism));
    EXPECT_EQ(a.digest.expected_duration_s, b.spec->expected_duration_s);
    const std::pair name(b.spec->tenant, b.spec->priority);
    EXPECT_EQ(names.emplace(std::pair(a.digest.tenant, a.digest.priority), name).first->second, name);
  }
  ASSERT_EQ(kept.running.size(), made.running.size());
  for (std::size_t i = 0; i < made.running.size(); ++i) {
    const scheduler::RunningJob &a = kept.running[i], &b = made.running[i];
    ASSERT_EQ(a.id, b.id);
    EXPECT_EQ(*a.spec, *b.spec);
    EXPECT_EQ(a.started_us, b.started_us);
    EXPECT_EQ(a.saved_us, b.saved_us);
    EXPECT_EQ(a.releases_us, b.releases_us);
    EXPECT_TRUE(std::ranges::equal(a.gpus, b.gpus));
  }
}

TEST_F(QueueBookTest, KeepsWhatEachStateGives) {
  start_with_hosts(3);
  std::mt19937_64 random(1);
  QueueBook book(told_of);
  std::vector<JobId> jobs;
  std::vector<ClusterStatePtr> states;
  std::size_t waited = 0, other_terms = 0;
  for (int step = 0; step < 150; ++step) {
    if (jobs.empty() || random() % 3 != 0) {
      const char* tenant = random() % 2 == 0 ? "research" : "guests";
      const char* priority = random() % 2 == 0 ? "normal" : "high";
      jobs.push_back(submit(tenant, 1 + static_cast<std::uint32_t>(random() % 12), priority, random() % 2 == 0));
    } else {
      const std::size_t at = random() % jobs.size();
      must(EndJob{jobs[at], JobState::cancelled, "", {}});
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(at));
    }
    states.push_back(loop_->state());
    // Also of states that never come to be, and of earlier ones.
    ClusterState state = *(random() % 8 == 0 ? states[random() % states.size()] : states.back());
    if (random() % 4 == 0) {
      ContractTable contracts;
      contracts["guests"].terms.guaranteed = RateMbps(1000);
      state.contracts = std::make_shared<const ContractTable>(std::move(contracts));
    }
    const QueueFacts made(state, clock_us_);
    expect_equal(state, book.facts(state, clock_us_), made);
    waited += made.queued.size();
    other_terms += static_cast<std::size_t>(std::ranges::count_if(
        made.queued, [](const auto& job) { return job.takes_any_place && job.spec->expected_duration_s; }));
  }
  EXPECT_GT(waited, 500U);
  EXPECT_GT(other_terms, 20U);
}

// What others change is looked at at once, until cycles have taken more than their share for some time.
TEST_F(QueueBookTest, CyclesFollowEachOtherAfterAPauseAndTakeAThirdInTheLongRun) {
  constexpr std::int64_t kCycle_us = 20'000;
  start_with_hosts(1);
  submit("research", 8, "normal", true);
  submit("research", 8, "normal", true);
  loop_->stop();
  ClusterState state = *loop_->state();
  std::int64_t steady_us = 1'000'000;
  int readings = 2;  // of the cycle that runs: when it begins and when it has ended
  PlacerCache placers;
  QueueRunner queue(placers, 2, [&] { return steady_us += ++readings == 2 ? kCycle_us : 0; });
  const auto run = [&] {
    readings = 0;
    EXPECT_TRUE(queue.run(state, clock_us_).empty());
    ASSERT_EQ(readings, 2);
  };
  run();
  EXPECT_GT(queue.due_in_us(state, clock_us_), 3'000'000'000) << "nothing has changed";
  queue.reset();
  EXPECT_EQ(queue.due_in_us(state, clock_us_), 2 * kCycle_us) << "its own follow-up rests";
  for (int cycles = 2; cycles <= 5; ++cycles) {
    state.queue_version = ++state.seq;
    EXPECT_EQ(queue.due_in_us(state, clock_us_), 0) << cycles;
    run();
  }
  state.queue_version = ++state.seq;
  EXPECT_EQ(queue.due_in_us(state, clock_us_), 0);
  run();  // the sixth: 40 ms of rest for each
  state.queue_version = ++state.seq;
  EXPECT_EQ(queue.due_in_us(state, clock_us_), 2 * kCycle_us);
  const std::int64_t from_us = steady_us;
  std::int64_t cycles = 0;
  for (; cycles < 200; ++cycles) {
    state.queue_version = ++state.seq;
    steady_us += queue.due_in_us(state, clock_us_).value();
    run();
  }
  EXPECT_LE(cycles * kCycle_us, (steady_us - from_us) / 3 + kCycle_us);
  steady_us += QueueRunner::kBurst_us + 2 * kCycle_us;
  state.queue_version = ++state.seq;
  EXPECT_EQ(queue.due_in_us(state, clock_us_), 0) << "the rests are over";
}

}  // namespace
}  // namespace railweave::control::queue_book_test
