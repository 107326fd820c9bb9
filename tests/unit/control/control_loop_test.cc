// The control loop on a real store: answered commands are durable, refused ones change nothing, restarts lose nothing.
#include "services/control/control_loop.h"

#include <atomic>
#include <map>
#include <new>
#include <random>
#include <set>
#include <thread>

#include "tests/unit/control/control_fixture.h"

namespace railweave::control::control_loop_test {
namespace {

TEST_F(ControlTest, PlacesAJobAndFreesItsGpusWhenItEnds) {
  start();
  must(accept(star_of_hosts(2, 8)));
  must(PutTenant{{.name = "research", .description = {}, .max_gpus = {}}, {}});
  const auto placed = ask(submit_job("research", 8, 1));
  ASSERT_TRUE(placed) << placed.error().error.text();
  EXPECT_EQ(to_string(placed->job), "job-000001");
  EXPECT_EQ(placed->state->free_gpus, 8U);
  must(EndJob{placed->job, JobState::completed, "done", {}});
  EXPECT_EQ(loop_->state()->free_gpus, 16U);
  EXPECT_EQ(loop_->state()->jobs.find(placed->job)->state, JobState::completed);
  EXPECT_EQ(loop_->state()->jobs.find(placed->job)->history.size(), 2U);
}

TEST_F(ControlTest, IdleGpusOfAJobAreHeldKeptAndReleased) {
  start();
  must(accept(star_of_hosts(3, 8)));
  must(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
  auto alone = submit_job("t", 2, 1);
  alone.spec.exclusive = fabric::LevelKind::node;
  auto mending = submit_job("t", 2, 2);
  mending.spec.spares_per_domain = 3;
  const auto first = ask(alone);
  const auto second = ask(mending);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(second->state->jobs.find(first->job)->placement.idle_gpus.size(), 6U);
  EXPECT_EQ(second->state->jobs.find(second->job)->placement.idle_gpus.size(), 3U);
  EXPECT_EQ(second->state->free_gpus, 24U - 8U - 7U);
  EXPECT_EQ(second->state->gpus_held->at("t"), 15U);
  const std::string text = state_text();
  stop();
  start();
  EXPECT_EQ(state_text(), text) << "a restart keeps it";
  must(accept(star_of_hosts(5, 8)));
  EXPECT_EQ(loop_->state()->free_gpus, 40U - 15U) << "and so does a new topology";
  const auto used = loop_->state()->jobs.find(first->job)->placement.idle_gpus.front();
  EXPECT_NE(loop_->state()->allocations[loop_->state()->topology().host(used).index()].used, 0U);
  must(EndJob{first->job, JobState::completed, "done", {}});
  must(EndJob{second->job, JobState::completed, "done", {}});
  EXPECT_EQ(loop_->state()->free_gpus, 40U);
}

// Instead of start(): the owner's thread runs the batches, saves snapshots, and stops the loop like any other.
TEST_F(ControlTest, AnOwnerRunsBatchesOnItsOwnThread) {
  open({.snapshot_every = 1});
  std::vector<std::string> answers;
  const auto send = [&](decltype(Command::body) body) {
    EXPECT_TRUE(loop_->submit({"tester", std::move(body)}, [&](const CommandResult& result) {
      answers.push_back(result ? std::to_string(result->state->seq) : result.error().error.code);
    }));
  };
  EXPECT_FALSE(loop_->step()) << "nothing to do";
  send(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
  EXPECT_TRUE(answers.empty());
  EXPECT_TRUE(loop_->step());
  EXPECT_EQ(answers, std::vector<std::string>{"1"});
  EXPECT_FALSE(loop_->step());
  EXPECT_EQ(loop_->figures().snapshots, 0U);
  loop_->save_snapshot();
  EXPECT_EQ(loop_->figures().snapshots, 1U);
  EXPECT_EQ(journal_->latest_snapshot().value()->seq, 1U);
  send(RemoveTenant{"t", {}});
  loop_->stop();
  EXPECT_EQ(answers.back(), "service.notReady");
  EXPECT_EQ(replayed().seq, 1U);
}

TEST_F(ControlTest, AnAnswerTellsTheCallersOwnChangeAndNotTheNextOneOfTheSameSubject) {
  open({.snapshot_every = 100});
  std::vector<std::string> answers;
  const auto put = [&](const std::string& name, const std::string& description) {
    EXPECT_TRUE(loop_->submit({"tester", PutTenant{{.name = name, .description = description, .max_gpus = {}}, {}}},
                              [&answers, name](const CommandResult& result) {
                                const auto& tenants = *result->state->tenants;
                                const auto at = tenants.find(name);
                                answers.push_back(at == tenants.end() ? "gone" : at->second.description);
                              }));
  };
  put("t", "first");
  put("u", "another's");
  put("t", "second");
  EXPECT_TRUE(loop_->submit({"tester", RemoveTenant{"t", {}}}, [](const CommandResult&) {}));
  EXPECT_TRUE(loop_->step());
  EXPECT_EQ(answers, (std::vector<std::string>{"first", "another's"})) << "others of the batch go with it";
  while (loop_->step()) {
  }
  EXPECT_EQ(answers, (std::vector<std::string>{"first", "another's", "second"}));
  EXPECT_FALSE(loop_->state()->tenants->contains("t"));
}

TEST_F(ControlTest, APublishedStateNeverChanges) {
  start();
  must(accept(star_of_hosts(2, 8)));
  must(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
  const auto before = loop_->state();
  const std::string text = codec_.encode_state(*before);
  for (int i = 0; i < 4; ++i) must(submit_job("t", 4, 1));
  EXPECT_EQ(codec_.encode_state(*before), text);
  EXPECT_EQ(before->free_gpus, 16U);
  EXPECT_EQ(loop_->state()->free_gpus, 0U);
}

TEST_F(ControlTest, RefusesWithAReasonAndChangesNothing) {
  start();
  must(accept(star_of_hosts(2, 8)));
  must(PutTenant{{.name = "small", .description = {}, .max_gpus = 8}, {}});
  must(PutTenant{{.name = "big", .description = {}, .max_gpus = {}}, {}});
  const std::string before = state_text();
  const std::map<std::string, SubmitJob> commands{{"tenants.unknown", submit_job("unknown", 1, 1)},
                                                  {"tenants.gpuLimit", submit_job("small", 8, 2)},
                                                  {"jobs.neverFits", submit_job("big", 16, 1)},
                                                  {"jobs.invalid", submit_job("big", 0, 1)}};
  for (const auto& [code, command] : commands) {
    const auto result = ask(command);
    ASSERT_FALSE(result) << code;
    EXPECT_EQ(result.error().error.code, code);
    EXPECT_FALSE(result.error().error.message.empty());
  }
  must(submit_job("big", 8, 2));
  const auto full = ask(submit_job("big", 8, 1));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().error.kind, ErrorKind::conflict);
  ASSERT_NE(full.error().placement, nullptr);
  EXPECT_EQ(full.error().placement->outcome, scheduler::Outcome::not_now);
  must(EndJob{JobId(1), JobState::cancelled, "", {}});
  EXPECT_NE(state_text(), before);  // the job is remembered
  EXPECT_EQ(loop_->state()->free_gpus, 16U);
}

TEST_F(ControlTest, ATenantsChangesLeaveRoomForOthers) {
  ControlOptions options;
  options.queue_limit = 16;
  open(std::move(options));  // nothing is decided yet
  std::atomic<int> answers = 0;
  const auto send = [&](const std::string& tenant) {
    Command command{"tester", PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}}};
    command.origin.tenant = tenant;
    return loop_->submit(std::move(command), [&](const CommandResult&) { ++answers; });
  };
  int greedy = 0;
  while (send("greedy")) ++greedy;
  EXPECT_EQ(greedy, 7);
  EXPECT_TRUE(send("other"));
  int operators = 0;
  while (send("")) ++operators;
  EXPECT_EQ(greedy + 1 + operators, 16);
  loop_->start();
  while (answers < 16) std::this_thread::yield();
  EXPECT_TRUE(send("greedy"));
  while (answers < 17) std::this_thread::yield();
}

TEST_F(ControlTest, ANewTopologyKeepsJobsByNodeNameAndIsRefusedIfItLosesThem) {
  start();
  must(accept(star_of_hosts(4, 8)));
  must(PutTenant{{.name = "t", .description = {}, .max_gpus = {}}, {}});
  must(submit_job("t", 8, 4));
  const auto smaller = ask(accept(star_of_hosts(3, 8)));
  ASSERT_FALSE(smaller);
  EXPECT_EQ(smaller.error().error.code, "topology.losesJobs");
  must(accept(star_of_hosts(6, 8)));
  EXPECT_EQ(loop_->state()->free_gpus, 16U);
  const auto job = loop_->state()->jobs.find(JobId(1));
  ASSERT_FALSE(job->placement.gpu_of_rank.empty());
  for (const auto gpu : job->placement.gpu_of_rank) {
    EXPECT_NE(std::ranges::find(job->nodes, loop_->state()->topology().name(loop_->state()->topology().host(gpu))),
              job->nodes.end());
  }
  must(accept(star_of_hosts(3, 8), true));
  EXPECT_EQ(loop_->state()->jobs.find(JobId(1))->state, JobState::lost);
  EXPECT_EQ(loop_->state()->free_gpus, 24U);
  const std::string text = state_text();
  stop();
  start();
  EXPECT_EQ(state_text(), text);
}

TEST_F(ControlTest, VersionsGuardChanges) {
  start();
  must(PutTenant{{.name = "t", .description = {}, .max_gpus = 5}, 0});
  const auto version = loop_->state()->tenants->at("t").version;
  const auto stale = ask(PutTenant{{.name = "t", .description = {}, .max_gpus = 6}, 0});
  ASSERT_FALSE(stale);
  EXPECT_EQ(stale.error().error.kind, ErrorKind::precondition);
  must(PutTenant{{.name = "t", .description = {}, .max_gpus = 6}, version});
  EXPECT_EQ(loop_->state()->tenants->at("t").max_gpus, 6U);
}

TEST_F(ControlTest, AFullQueueIsBusyAndEveryAcceptedCommandIsAnsweredOnce) {
  start({.queue_limit = 4, .batch_limit = 2});
  must(accept(star_of_hosts(1, 8)));
  std::atomic<int> answered = 0;
  int accepted = 0;
  int busy = 0;
  for (int i = 0; i < 2000; ++i) {
    const bool queued =
        loop_->submit({"tester", PutTenant{{.name = "t" + std::to_string(i), .description = {}, .max_gpus = {}}, {}}},
                      [&](const CommandResult&) { ++answered; });
    ++(queued ? accepted : busy);
  }
  EXPECT_GT(busy, 0);
  stop();
  EXPECT_EQ(answered, accepted);
}

// Random commands by seed, against a model that knows only which job holds how many GPUs.
class ControlRandomTest : public ControlTest, public ::testing::WithParamInterface<unsigned> {};

TEST_P(ControlRandomTest, HoldsExactlyTheGpusOfPlacedJobsAndSurvivesRestarts) {
  std::mt19937 random(GetParam());
  start({.snapshot_every = 1 + random() % 40});
  unsigned hosts = 6;
  must(accept(star_of_hosts(hosts, 8)));
  for (const auto* name : {"a", "b", "c"})
    must(PutTenant{{.name = name, .description = {}, .max_gpus = 20 + random() % 30}, {}});
  std::map<JobId, std::uint64_t> held;
  for (int step = 0; step < 120; ++step) {
    const auto state = loop_->state();
    switch (random() % 8) {
      case 0:
      case 1:
      case 2: {
        auto command =
            submit_job(std::string(1, static_cast<char>('a' + random() % 3)), 1U << random() % 4, 1 + random() % 3);
        if (random() % 4 == 0) command.spec.exclusive = fabric::LevelKind::node;
        if (random() % 4 == 0) command.spec.spares_per_domain = 1 + random() % 2;
        const auto result = ask(command);
        if (result) held[result->job] = std::uint64_t{command.spec.parallelism.tensor} * command.spec.parallelism.data;
        break;
      }
      case 3:
      case 4:
        if (!held.empty()) {
          const auto job = std::next(held.begin(), static_cast<long>(random() % held.size()));
          must(EndJob{job->first, random() % 2 != 0 ? JobState::completed : JobState::cancelled, "", {}});
          held.erase(job);
        }
        break;
      case 5: {
        hosts = 4 + random() % 5;
        const bool force = random() % 2 != 0;
        if (ask(accept(star_of_hosts(hosts, 8), force)) && force) {
          std::erase_if(held, [&](const auto& entry) { return !loop_->state()->jobs.find(entry.first)->holds_gpus(); });
        }
        break;
      }
      case 6: {
        const std::string text = state_text();
        stop();
        start({.snapshot_every = 1 + random() % 40});
        ASSERT_EQ(state_text(), text) << "after a restart at step " << step;
        break;
      }
      default: {
        const auto name = std::string(1, static_cast<char>('a' + random() % 3));
        must(PutTenant{{.name = name, .description = {}, .max_gpus = 20 + random() % 30}, {}});
      }
    }
    const auto now = loop_->state();
    std::uint64_t total = 0;
    std::set<fabric::GpuId> taken;
    for (const auto& [id, gpus] : held) {
      const auto job = now->jobs.find(id);
      ASSERT_NE(job, nullptr);
      ASSERT_EQ(job->placement.gpu_of_rank.size(), gpus);
      for (const auto gpu : job->placement.held_gpus()) {
        ASSERT_TRUE(taken.insert(gpu).second) << "a GPU is given twice";
        ASSERT_TRUE(now->allocations[now->topology().host(gpu).index()].used >> now->topology().local_index(gpu) & 1U);
      }
      total += gpus + job->placement.idle_gpus.size();
    }
    ASSERT_EQ(now->free_gpus, now->topology().gpus().size() - total);
    std::uint64_t held_by_tenants = 0;
    for (const auto& [tenant, gpus] : *now->gpus_held) held_by_tenants += gpus;
    ASSERT_EQ(held_by_tenants, total);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ControlRandomTest, ::testing::Range(1U, 21U));

}  // namespace
}  // namespace railweave::control::control_loop_test
