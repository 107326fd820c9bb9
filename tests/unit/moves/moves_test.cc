// Running jobs that are offered other GPUs: a place is held for whoever is to go there, all jobs of a plan move or none does,
// and whoever waited starts. Every test ends with a restart: what follows is in the journal.
#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "services/control/decide/move_plans.h"
#include "tests/unit/control/control_fixture.h"

namespace railweave::control::moves_test {
namespace {

class MovesTest : public ControlTest {
 protected:
  static constexpr std::int64_t kSecond = 1'000'000;

  void start_with_hosts(unsigned hosts) {
    start();
    topology_ = star_of_hosts(hosts, 8);
    must(accept(topology_));
    for (const char* tenant : {"research", "guests"}) must(PutTenant{{.name = tenant, .max_priority = "high"}, {}});
  }
  JobId submit(const std::string& tenant, std::uint32_t tensor, std::uint32_t data, bool checkpointable = true,
               bool queue = true) {
    SubmitJob command = submit_job(tenant, tensor, data);
    command.spec.expected_duration_s = 360'000;
    command.queue = queue;
    command.launch = LaunchTerms{};
    command.launch->checkpointable = checkpointable;
    const auto result = ask(std::move(command));
    EXPECT_TRUE(result) << result.error().error.text();
    return result ? result->job : JobId();
  }
  void run(JobId id) {
    must(AdvanceLaunch{id, LaunchPhase::accepted});
    must(AdvanceLaunch{id, LaunchPhase::running});
  }
  JobId running(const std::string& tenant, std::uint32_t gpus, bool checkpointable = true, bool queue = true) {
    const JobId id = submit(tenant, 1, gpus, checkpointable, queue);
    run(id);
    return id;
  }
  // Three jobs of five GPUs, one on each of three hosts, of which the second saved its state last; and one that waits for six
  // GPUs of one host.
  void fragment(bool queue = true) {
    start_with_hosts(3);
    for (JobId& id : at_) id = running("research", 5, true, queue);
    waits_ = submit("guests", 6, 1);
    pass(1'000 * kSecond);
    must(CheckpointJob{at_[1], clock_us_ - 100 * kSecond});
    ASSERT_EQ(job(waits_)->state, JobState::queued);
  }
  void pass(std::int64_t us) {
    clock_us_ += us;
    must(ReportAlarms{{}, {}});  // the loop looks at the time
  }
  std::string refused(decltype(Command::body) body) {
    const auto result = ask(std::move(body));
    return result ? "" : result.error().error.code;
  }
  void set_rules(const std::function<void(scheduler::MoveRules&)>& change) {
    auto policy = loop_->state()->queue_rules->policy;
    change(policy.moves);
    must(PutQueueRules{policy, {}});
  }
  [[nodiscard]] JobPtr job(JobId id) const { return loop_->state()->jobs.find(id); }
  [[nodiscard]] LaunchPhase phase(JobId id) const { return job(id)->launch->phase; }
  // "" or what is wrong: each GPU has one job, each held place is of one move and free but for its own job, and no other GPU
  // is closed.
  [[nodiscard]] std::string fault() const {
    const auto state = loop_->state();
    std::map<fabric::GpuId, JobId> owner, held;
    std::set<JobId> moving;
    std::string wrong;
    state->jobs.visit_after(JobId(0), [&](const JobPtr& one) {
      if (one->holds_gpus()) {
        for (const auto gpu : one->placement.held_gpus()) {
          if (!owner.emplace(gpu, one->id).second) wrong = "a GPU has two jobs";
        }
      }
      if (!one->move) return true;
      if (one->has_ended()) wrong = "a job that ended moves";
      moving.insert(one->id);
      for (const auto gpu : one->move->gpu_of_rank) {
        if (!held.emplace(gpu, one->id).second) wrong = "a GPU is held twice";
      }
      return true;
    });
    for (const auto& [gpu, id] : held) {
      const auto has = owner.find(gpu);
      if (has != owner.end() && has->second != id) wrong = "a held GPU has another job";
    }
    for (const auto gpu : topology_->gpus()) {
      const auto& host = state->allocations[topology_->host(gpu).index()];
      const std::uint64_t bit = std::uint64_t{1} << topology_->local_index(gpu);
      if (((host.used & bit) != 0) != owner.contains(gpu)) wrong = "what is taken is not what jobs hold";
      if (((host.closed & bit) != 0) != held.contains(gpu)) wrong = "what is closed is not what is held";
    }
    if (state->moves->held != held || state->moves->jobs != moving) wrong = "the book is not what jobs say";
    return wrong;
  }

  fabric::TopologyPtr topology_;
  JobId at_[3];
  JobId waits_;
};

// Another scheduler has its queue, as Slurm has: it moves as well, and ends where its place is lost meanwhile.
TEST_F(MovesTest, AJobOfAnotherQueueMoves) {
  fragment(false);
  must(OfferMoves{});
  ASSERT_TRUE(job(at_[1])->move);
  const auto place = job(at_[1])->move->gpu_of_rank;
  must(AnswerMove{at_[1], true});
  must(FreeJob{at_[1], {}, false});
  EXPECT_EQ(job(at_[1])->placement.gpu_of_rank, place);
  EXPECT_EQ(phase(at_[1]), LaunchPhase::offered);
  EXPECT_EQ(job(waits_)->state, JobState::placed);
  EXPECT_EQ(fault(), "");
  restart();
}

TEST_F(MovesTest, AJobOfAnotherQueueEndsWithoutItsPlace) {
  fragment(false);
  must(OfferMoves{});
  const auto to = topology_->host(job(at_[1])->move->gpu_of_rank.front());
  must(AnswerMove{at_[1], true});
  must(RequestDrain{
      {DrainKind::node, std::string(topology_->name(to))}, "a fan", true, {}, loop_->state()->view_version});
  must(FreeJob{at_[1], {}, false});
  EXPECT_EQ(job(at_[1])->state, JobState::cancelled) << "it would wait in a queue that no launcher looks at";
  EXPECT_EQ(fault(), "");
  restart();
}

TEST_F(MovesTest, TheCheapestJobMovesAndTheFirstOneStarts) {
  fragment();
  must(OfferMoves{});
  const JobPtr offered = job(at_[1]);
  ASSERT_TRUE(offered->move) << "it loses 500 GPU seconds, the others 5000";
  EXPECT_NEAR(offered->move->lost_gpu_s, 500, 1);
  EXPECT_EQ(offered->move->in_favour_of, waits_);
  const auto place = offered->move->gpu_of_rank;
  EXPECT_EQ(fault(), "");
  EXPECT_EQ(refused(OfferMoves{}), "moves.none") << "at most one plan for it";
  const JobId other = submit("guests", 1, 5, false);
  EXPECT_EQ(job(other)->state, JobState::queued) << "nine are free, and five of them are held";
  must(EndJob{other, JobState::cancelled, "", {}});
  restart();
  must(AnswerMove{at_[1], true});
  EXPECT_EQ(phase(at_[1]), LaunchPhase::releasing);
  EXPECT_EQ(job(at_[1])->launch->in_favour_of, waits_);
  EXPECT_EQ(refused(AnswerMove{at_[1], false}), "jobs.moves");
  restart();
  EXPECT_EQ(job(waits_)->state, JobState::queued);
  must(FreeJob{at_[1], {}, false});
  EXPECT_EQ(job(at_[1])->state, JobState::placed);
  EXPECT_EQ(job(at_[1])->placement.gpu_of_rank, place);
  EXPECT_EQ(phase(at_[1]), LaunchPhase::offered) << "its launcher starts it again";
  EXPECT_EQ(job(waits_)->state, JobState::placed) << "in the same transaction";
  EXPECT_FALSE(job(at_[1])->move);
  ASSERT_EQ(loop_->state()->moves->charges.size(), 1U);
  EXPECT_NEAR(loop_->state()->moves->charges.front().lost_gpu_s, 500, 1);
  EXPECT_EQ(fault(), "");
  run(at_[1]);
  restart();
}

TEST_F(MovesTest, AnOfferWithoutAnAnswerChangesNothing) {
  fragment();
  must(OfferMoves{});
  pass(299 * kSecond);
  EXPECT_TRUE(job(at_[1])->move);
  pass(2 * kSecond);
  EXPECT_FALSE(job(at_[1])->move);
  EXPECT_EQ(phase(at_[1]), LaunchPhase::running);
  EXPECT_EQ(job(waits_)->state, JobState::queued);
  EXPECT_TRUE(loop_->state()->moves->charges.empty());
  EXPECT_EQ(fault(), "");
  EXPECT_EQ(refused(AnswerMove{at_[1], true}), "jobs.noMove");
  restart();
}

TEST_F(MovesTest, ByPolicyAnOfferWithoutAnAnswerIsAnEviction) {
  fragment();
  set_rules([](auto& rules) { rules.evict_unanswered = true; });
  must(OfferMoves{});
  pass(301 * kSecond);
  EXPECT_EQ(phase(at_[1]), LaunchPhase::releasing);
  must(FreeJob{at_[1], {}, false});
  EXPECT_EQ(job(waits_)->state, JobState::placed);
  EXPECT_EQ(fault(), "");
  restart();
}

TEST_F(MovesTest, WhoDeclinesKeepsTheOthersOfThePlanWhereTheyAre) {
  start_with_hosts(4);
  std::vector<JobId> jobs;
  for (int i = 0; i < 2; ++i) jobs.push_back(running("research", 4));  // on one host
  for (int i = 0; i < 3; ++i) running("guests", 5, false);             // on the others
  waits_ = submit("guests", 8, 1);
  pass(100 * kSecond);
  must(OfferMoves{});
  ASSERT_EQ(loop_->state()->moves->jobs, (std::set<JobId>{jobs[0], jobs[1]}));
  must(AnswerMove{jobs[0], true});
  EXPECT_EQ(phase(jobs[0]), LaunchPhase::running) << "the other one has not answered";
  restart();
  must(AnswerMove{jobs[1], false});
  for (const JobId id : jobs) {
    EXPECT_FALSE(job(id)->move);
    EXPECT_EQ(phase(id), LaunchPhase::running);
  }
  EXPECT_EQ(fault(), "");
  must(OfferMoves{});
  must(AnswerMove{jobs[1], true});
  must(AnswerMove{jobs[0], true});
  for (const JobId id : jobs) EXPECT_EQ(phase(id), LaunchPhase::releasing);
  must(FreeJob{jobs[0], {}, false});
  EXPECT_EQ(job(jobs[0])->state, JobState::placed);
  EXPECT_EQ(job(waits_)->state, JobState::queued);
  must(FreeJob{jobs[1], {}, false});
  EXPECT_EQ(job(waits_)->state, JobState::placed);
  EXPECT_EQ(fault(), "");
  restart();
}

TEST_F(MovesTest, OnlyWhoMayMoves) {
  fragment();
  set_rules([](auto& rules) { rules.budget_gpu_s = 499; });
  EXPECT_EQ(refused(OfferMoves{}), "moves.none");
  set_rules([](auto& rules) {
    rules.budget_gpu_s = 5'000;
    rules.at_once = 0;
  });
  EXPECT_EQ(refused(OfferMoves{}), "moves.none");
  set_rules([](auto& rules) { rules.at_once = 1; });
  must(PutTenant{{.name = "research", .max_priority = "high", .moves = false}, {}});
  EXPECT_EQ(refused(OfferMoves{}), "moves.none");
  must(PutTenant{{.name = "research", .max_priority = "high"}, {}});
  must(OfferMoves{});
  // What is charged counts for an hour.
  must(AnswerMove{at_[1], true});
  must(FreeJob{at_[1], {}, false});
  run(at_[1]);
  ASSERT_EQ(job(waits_)->state, JobState::placed);
  run(waits_);
  EXPECT_NEAR(move_budget(*loop_->state(), clock_us_).gpu_s, 4'500, 5);
  pass(3'601 * kSecond);
  EXPECT_NEAR(move_budget(*loop_->state(), clock_us_).gpu_s, 5'000, 5);
  EXPECT_EQ(refused(OfferMoves{}), "moves.nothingWaits");
  EXPECT_EQ(refused(OfferMoves{{MoveTarget::For::job, waits_}}), "jobs.notQueued");
  restart();
}

TEST_F(MovesTest, JobsThatDoNotSaveTheirStateStay) {
  start_with_hosts(3);
  for (JobId& id : at_) id = running("research", 5, false);
  waits_ = submit("guests", 6, 1);
  pass(1'000 * kSecond);
  EXPECT_EQ(refused(OfferMoves{}), "moves.none");
  EXPECT_EQ(refused(AnswerMove{at_[0], true}), "jobs.noMove");
  restart();
}

TEST_F(MovesTest, ByPolicyTheFirstJobIsPlannedForWhenItHasWaited) {
  start_with_hosts(3);
  set_rules([](auto& rules) { rules.automatic = true; });
  for (JobId& id : at_) id = running("research", 5);
  waits_ = submit("guests", 6, 1);
  pass(290 * kSecond);
  EXPECT_TRUE(loop_->state()->moves->jobs.empty());
  pass(11 * kSecond);
  ASSERT_EQ(loop_->state()->moves->jobs.size(), 1U);
  const JobId moves = *loop_->state()->moves->jobs.begin();
  EXPECT_EQ(job(moves)->move->in_favour_of, waits_);
  // It waits no longer: nothing is left to move for.
  must(EndJob{waits_, JobState::cancelled, "", {}});
  EXPECT_FALSE(job(moves)->move);
  EXPECT_EQ(fault(), "");
  restart();
}

TEST_F(MovesTest, WhereItsNewPlaceIsLostAJobIsQueuedAsAnyOther) {
  fragment();
  must(OfferMoves{});
  const auto place = job(at_[1])->move->gpu_of_rank;
  must(AnswerMove{at_[1], true});
  const std::string node(topology_->name(topology_->host(place.front())));
  must(RequestDrain{{DrainKind::node, node}, "fans", true, {}, loop_->state()->view_version});
  must(FreeJob{at_[1], {}, false});
  EXPECT_FALSE(job(at_[1])->move);
  const auto& history = job(at_[1])->history;
  EXPECT_TRUE(std::ranges::any_of(history, [](const JobChange& one) { return one.reason.code() == "move.ended"; }));
  // It is placed again on what the first one has left.
  EXPECT_EQ(job(at_[1])->state, JobState::placed);
  EXPECT_TRUE(std::ranges::find(job(at_[1])->nodes, node) == job(at_[1])->nodes.end());
  EXPECT_EQ(job(waits_)->state, JobState::placed);
  EXPECT_EQ(fault(), "");
  restart();
}

TEST_F(MovesTest, OthersAreNotToldForWhom) {
  fragment();
  must(OfferMoves{});
  MessageReader research;
  research.job = [&](std::uint64_t number) { return number != waits_.number(); };
  const std::string text = job(at_[1])->move->reason.text(research);
  EXPECT_EQ(text.find(to_string(waits_)), std::string::npos) << text;
  EXPECT_NE(job(at_[1])->move->reason.text(MessageReader::all()).find(to_string(waits_)), std::string::npos);
}

class MovesRandom : public MovesTest, public ::testing::WithParamInterface<int> {};

// Whatever launchers say and whenever time passes: one job on a GPU, places held for moves alone, and no job lost.
TEST_P(MovesRandom, NoGpuHasTwoJobsAndNoJobIsLost) {
  std::mt19937_64 random(static_cast<std::uint64_t>(GetParam()));
  start_with_hosts(4);
  set_rules([&](auto& rules) {
    rules.automatic = random() % 2 == 0;
    rules.after_us = 20 * kSecond;
    rules.evict_unanswered = random() % 3 == 0;
    rules.budget_gpu_s = 1e9;
  });
  std::set<JobId> alive;
  std::size_t offered = 0, moved = 0;
  for (int step = 0; step < 260; ++step) {
    std::vector<JobId> ids(alive.begin(), alive.end());
    const JobId any = ids.empty() ? JobId() : ids[random() % ids.size()];
    switch (random() % 10) {
      case 0:
      case 1:
        if (random() % 3 != 0) {
          alive.insert(submit("research", 1, 3 + random() % 4, random() % 8 != 0));
        } else {
          alive.insert(submit("guests", 4 + random() % 4, 1));
        }
        break;
      case 2:
        pass(61 * kSecond);  // they have run for their minimum
        (void)ask(OfferMoves{random() % 4 != 0 ? MoveTarget{} : MoveTarget{MoveTarget::For::domains, {}}});
        break;
      case 3:
        pass(static_cast<std::int64_t>(random() % 200) * kSecond);
        break;
      case 4:
        if (any != JobId()) {
          (void)ask(EndJob{any, JobState::completed, "", {}, true});
          if (job(any)->has_ended()) alive.erase(any);
        }
        break;
      case 5:
        if (random() % 8 == 0) restart();
        break;
      default:
        for (const JobId id : ids) {
          const JobPtr one = job(id);
          if (!one->holds_gpus()) continue;
          if (one->move && !one->move->accepted) {
            (void)ask(AnswerMove{id, random() % 6 != 0});
          } else if (one->is_releasing()) {
            moved += one->move ? 1 : 0;
            (void)ask(FreeJob{id, {}, false});
          } else if (one->launch->phase < LaunchPhase::running) {
            (void)ask(AdvanceLaunch{id, LaunchPhase::running});
          } else if (random() % 3 == 0) {
            (void)ask(CheckpointJob{id, 0});
          }
        }
    }
    offered += loop_->state()->moves->jobs.size();
    ASSERT_EQ(fault(), "") << "step " << step;
    for (const JobId id : alive) {
      ASSERT_NE(job(id), nullptr);
      ASSERT_FALSE(job(id)->has_ended()) << to_string(id) << " is lost at step " << step;
    }
  }
  restart();
  EXPECT_GT(offered, 0U);
  EXPECT_GT(moved, 0U);
}
// Of the first seeds those whose jobs are offered moves: in the others hardly any job waits.
INSTANTIATE_TEST_SUITE_P(Seeds, MovesRandom, ::testing::Values(2, 3, 4, 9, 10, 13, 14, 15, 16, 18, 19, 23));

}  // namespace
}  // namespace railweave::control::moves_test
