// Jobs that a launcher acknowledges: no GPU passes on before it is freed, and what is not answered in time goes back.
// Every test ends with a restart: what follows is in the journal.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "services/control/decide/launch_deadlines.h"
#include "tests/unit/control/control_fixture.h"

namespace railweave::control::launch_test {
namespace {

class LaunchTest : public ControlTest {
 protected:
  static constexpr std::int64_t kSecond = 1'000'000;

  void start_with_hosts(unsigned hosts) {
    start();
    must(accept(star_of_hosts(hosts, 8)));
    must(PutTenant{{.name = "research", .max_priority = "high"}, {}});
  }
  JobId submit(std::uint32_t gpus, const std::string& priority = "normal", bool queue = true) {
    SubmitJob command = submit_job("research", 1, gpus);
    command.spec.priority = priority;
    command.spec.expected_duration_s = 3600;
    command.queue = queue;
    command.launch = LaunchTerms{};
    const auto result = ask(std::move(command));
    EXPECT_TRUE(result) << result.error().error.text();
    return result ? result->job : JobId();
  }
  void run(JobId id) {
    must(AdvanceLaunch{id, LaunchPhase::accepted});
    must(AdvanceLaunch{id, LaunchPhase::running});
  }
  std::string refused(decltype(Command::body) body) {
    const auto result = ask(std::move(body));
    return result ? "" : result.error().error.code;
  }
  void pass(std::int64_t us) {
    clock_us_ += us;
    must(PutTenant{{.name = "clock" + std::to_string(clock_us_.load()), .max_priority = "high"},
                   {}});  // the loop looks at the time
  }
  [[nodiscard]] JobPtr job(JobId id) const { return loop_->state()->jobs.find(id); }
  [[nodiscard]] LaunchPhase phase(JobId id) const { return job(id)->launch->phase; }
  void start_processes(std::set<fabric::GpuId>& processes, JobId id) const {
    const auto gpus = job(id)->placement.held_gpus();
    processes.insert(gpus.begin(), gpus.end());
  }
  // Of the first job that has left a node and goes on: its processes there end, and that is said. False: there is none.
  bool end_left(const std::vector<JobId>& jobs, std::map<JobId, std::set<fabric::GpuId>>& processes) {
    for (const JobId id : jobs) {
      const JobPtr now = job(id);
      if (now->launch->left.empty() || now->is_releasing()) continue;
      const std::string& left = now->launch->left.front();
      const std::string node = left.substr(0, left.rfind(':'));
      std::erase_if(processes[id], [&](fabric::GpuId gpu) {
        return topology().name(topology().host(gpu)) == node &&
               std::ranges::find(now->placement.gpu_of_rank, gpu) == now->placement.gpu_of_rank.end();
      });
      must(FreeJob{id, {node}, false, now->version});
      return true;
    }
    return false;
  }
  [[nodiscard]] const fabric::Topology& topology() const { return loop_->state()->topology(); }
  // Held to a look at every job: what is due then, and when something is.
  void expect_followed(LaunchDeadlines& deadlines, std::int64_t now_us, const std::string& when) const {
    const auto state = loop_->state();
    std::set<JobId> due;
    std::optional<std::int64_t> first_us;
    state->jobs.visit_after(JobId(0), [&](const JobPtr& one) {
      if (!one->holds_gpus() || !one->launch || one->launch->deadline_us == 0) return true;
      if (one->launch->deadline_us <= now_us) due.insert(one->id);
      first_us = std::min(first_us.value_or(INT64_MAX), one->launch->deadline_us);
      return true;
    });
    std::set<JobId> told;
    for (const EventBody& event : deadlines.next(*state, now_us)) {
      if (const auto* offer = std::get_if<OfferExpired>(&event)) told.insert(offer->id);
      if (const auto* leaves = std::get_if<JobReleasing>(&event)) told.insert(leaves->id);
      if (const auto* late = std::get_if<JobOverdue>(&event)) told.insert(late->id);
      if (const auto* ended = std::get_if<JobEnded>(&event)) told.insert(ended->id);
    }
    ASSERT_EQ(told, due) << when;
    const auto due_in_us = deadlines.due_in_us(now_us);
    ASSERT_EQ(due_in_us.has_value(), first_us.has_value()) << when;
    if (first_us) {
      ASSERT_EQ(*due_in_us, *first_us - now_us) << when;
    }
  }
  [[nodiscard]] bool has_alarm(JobId id) const {
    return loop_->state()->alarms->contains(std::string(LaunchDeadlines::kAlarm) + ":" + to_string(id));
  }
};

TEST_F(LaunchTest, GoesFromOfferedToFreed) {
  start_with_hosts(1);
  const JobId id = submit(8);
  EXPECT_EQ(phase(id), LaunchPhase::offered);
  EXPECT_EQ(refused(FreeJob{id, {}}), "jobs.notReleasing");
  must(AdvanceLaunch{id, LaunchPhase::accepted});
  must(AdvanceLaunch{id, LaunchPhase::accepted});
  EXPECT_EQ(phase(id), LaunchPhase::accepted);
  must(AdvanceLaunch{id, LaunchPhase::running});
  restart();
  EXPECT_EQ(phase(id), LaunchPhase::running);
  EXPECT_EQ(job(id)->launch->deadline_us, 0);
  const JobId next = submit(8);
  must(EndJob{id, JobState::completed, "done", {}});
  EXPECT_EQ(phase(id), LaunchPhase::releasing);
  EXPECT_EQ(job(next)->state, JobState::queued) << "its processes may still run there";
  EXPECT_EQ(refused(AdvanceLaunch{id, LaunchPhase::running}), "jobs.releasing");
  EXPECT_EQ(refused(FreeJob{id, {"node-9"}}), "jobs.notItsNode");
  must(FreeJob{id, {}});
  EXPECT_EQ(job(id)->state, JobState::completed);
  EXPECT_EQ(job(next)->state, JobState::placed);
  must(FreeJob{id, {}});
  EXPECT_EQ(refused(AdvanceLaunch{id, LaunchPhase::running}), "jobs.ended");
  restart();
}

TEST_F(LaunchTest, AnOfferThatIsNotAcceptedGoesBackAndIsMadeAgainLater) {
  start_with_hosts(1);
  const JobId id = submit(8);
  const auto submitted_us = job(id)->submitted_us;
  pass(LaunchTerms{}.accept_us + kSecond);
  EXPECT_EQ(job(id)->state, JobState::queued);
  EXPECT_EQ(job(id)->submitted_us, submitted_us);
  EXPECT_EQ(job(id)->launch->expired, 1U);
  EXPECT_EQ(refused(AdvanceLaunch{id, LaunchPhase::accepted}), "jobs.notOffered");
  pass(LaunchDeadlines::kFirstPause_us + kSecond);
  EXPECT_EQ(job(id)->state, JobState::placed);
  run(id);
  pass(365 * 24 * 3600 * kSecond);
  EXPECT_EQ(phase(id), LaunchPhase::running) << "what runs has no deadline";
  const JobId other = submit(8);
  must(EndJob{other, JobState::cancelled, "", {}});
  EXPECT_EQ(job(other)->state, JobState::cancelled) << "nothing of it runs";
  restart();
}

TEST_F(LaunchTest, AJobOutsideTheQueueEndsWithItsOffer) {
  start_with_hosts(1);
  const JobId id = submit(8, "normal", false);
  pass(LaunchTerms{}.accept_us + kSecond);
  EXPECT_EQ(job(id)->state, JobState::cancelled);
  restart();
}

TEST_F(LaunchTest, WhatDoesNotRunInTimeMakesWay) {
  start_with_hosts(1);
  const JobId id = submit(8);
  must(AdvanceLaunch{id, LaunchPhase::accepted});
  pass(LaunchTerms{}.run_us + kSecond);
  EXPECT_EQ(phase(id), LaunchPhase::releasing);
  must(FreeJob{id, {}});
  // Nothing else waits, and it is not offered GPUs again at once.
  EXPECT_EQ(job(id)->state, JobState::queued);
  pass(LaunchDeadlines::kFirstPause_us - kSecond);
  EXPECT_EQ(job(id)->state, JobState::queued);
  restart();
  EXPECT_EQ(job(id)->state, JobState::queued);
  pass(2 * kSecond);
  EXPECT_EQ(phase(id), LaunchPhase::offered);
  EXPECT_EQ(job(id)->state, JobState::placed);
  restart();
}

TEST_F(LaunchTest, AnEvictedJobsGpusPassOnWhenTheyAreFree) {
  start_with_hosts(2);
  const JobId low = submit(16, "low");
  run(low);
  pass(3600 * kSecond);
  const JobId high = submit(16, "high");
  EXPECT_EQ(phase(low), LaunchPhase::releasing);
  EXPECT_EQ(job(low)->launch->becomes, JobState::queued);
  EXPECT_EQ(job(low)->launch->in_favour_of, high);
  EXPECT_EQ(job(high)->state, JobState::queued);
  must(FreeJob{low, {"node-0"}});
  EXPECT_EQ(job(high)->state, JobState::queued) << "one node is not free";
  EXPECT_EQ(refused(FreeJob{low, {"node-1"}, true}), "jobs.launcherFirst");
  pass(LaunchTerms{}.notice_us + LaunchTerms{}.release_us + kSecond);
  EXPECT_TRUE(has_alarm(low));
  EXPECT_EQ(job(high)->state, JobState::queued) << "an alarm frees no GPU";
  restart();
  EXPECT_TRUE(has_alarm(low));
  must(FreeJob{low, {"node-1"}, true});
  EXPECT_EQ(job(low)->state, JobState::queued);
  EXPECT_EQ(phase(high), LaunchPhase::offered);
  EXPECT_FALSE(has_alarm(low));
  restart();
}

TEST_F(LaunchTest, NoOtherJobIsEvictedWhileOneMakesWay) {
  start_with_hosts(2);
  const JobId first = submit(8, "low");
  const JobId second = submit(8, "low");
  run(first);
  run(second);
  pass(3600 * kSecond);
  const JobId high = submit(8, "high");
  pass(kSecond);
  const bool one = (phase(first) == LaunchPhase::releasing) != (phase(second) == LaunchPhase::releasing);
  EXPECT_TRUE(one);
  const JobId victim = phase(first) == LaunchPhase::releasing ? first : second;
  must(EndJob{victim, JobState::completed, "done anyway", {}});
  EXPECT_EQ(job(victim)->launch->becomes, JobState::completed);
  pass(kSecond);
  EXPECT_EQ(phase(victim == first ? second : first), LaunchPhase::running);
  must(FreeJob{victim, {}});
  EXPECT_EQ(job(victim)->state, JobState::completed);
  EXPECT_EQ(phase(high), LaunchPhase::offered);
  restart();
}

// A repair does not wait for the launcher, but what its ranks left passes on only when that says so.
TEST_F(LaunchTest, GpusThatARepairLeavesPassOnWhenTheyAreFree) {
  start_with_hosts(2);
  const JobId id = submit(8);
  run(id);
  const std::string node = job(id)->nodes.front();
  const DrainTarget drain{DrainKind::node, node};
  must(RepairJob{id, {node}, {}, "Xid 79", {}});
  ASSERT_NE(job(id)->nodes.front(), node);
  EXPECT_EQ(job(id)->launch->left.size(), 8U);
  EXPECT_EQ(loop_->state()->drains->at(drain).state, DrainState::requested) << "its processes may still run there";
  must(ClearDrain{drain, "back"});
  const JobId next = submit(8);
  EXPECT_EQ(job(next)->state, JobState::queued);
  restart();
  EXPECT_EQ(job(next)->state, JobState::queued);
  EXPECT_EQ(refused(FreeJob{id, {job(id)->nodes.front()}}), "jobs.notItsNode") << "it runs on there";
  EXPECT_EQ(refused(FreeJob{id, {node}, true}), "jobs.launcherFirst");
  EXPECT_EQ(refused(FreeJob{id, {node}, false, job(id)->version - 1}), "precondition.versionDiffers");
  pass(LaunchTerms{}.release_us + kSecond);
  EXPECT_TRUE(has_alarm(id));
  EXPECT_EQ(phase(id), LaunchPhase::running);
  must(FreeJob{id, {node}, true});
  EXPECT_FALSE(has_alarm(id));
  EXPECT_TRUE(job(id)->launch->left.empty());
  EXPECT_EQ(job(id)->launch->deadline_us, 0);
  EXPECT_EQ(job(next)->state, JobState::placed);
  EXPECT_EQ(job(next)->nodes.front(), node);
  EXPECT_EQ(refused(FreeJob{id, {}}), "jobs.notReleasing");
  restart();
}

TEST_F(LaunchTest, AJobThatEndsFreesWhatItsRanksLeftToo) {
  start_with_hosts(2);
  const JobId id = submit(8);
  must(AdvanceLaunch{id, LaunchPhase::accepted});
  const std::string node = job(id)->nodes.front();
  must(RepairJob{id, {node}, {}, "", {}});
  must(ClearDrain{{DrainKind::node, node}, ""});
  const std::int64_t to_run_by_us = job(id)->launch->deadline_us;
  EXPECT_NEAR(static_cast<double>(to_run_by_us - clock_us_), static_cast<double>(LaunchTerms{}.run_us), 1'000.0)
      << "that of its start stays";
  must(AdvanceLaunch{id, LaunchPhase::running});
  EXPECT_LT(job(id)->launch->deadline_us, to_run_by_us);
  EXPECT_NE(job(id)->launch->deadline_us, 0);
  must(EndJob{id, JobState::completed, "done", {}});
  must(FreeJob{id, job(id)->nodes});
  EXPECT_TRUE(job(id)->is_releasing()) << "of the other node nothing was said";
  const JobId next = submit(16);
  must(FreeJob{id, {node}});
  EXPECT_EQ(job(id)->state, JobState::completed);
  EXPECT_TRUE(loop_->state()->left_gpus->empty());
  EXPECT_EQ(job(next)->state, JobState::placed);
  restart();
}

// No one started anything for an offer.
TEST_F(LaunchTest, AnOfferThatIsRepairedLeavesNothing) {
  start_with_hosts(2);
  const JobId id = submit(8);
  must(RepairJob{id, {job(id)->nodes.front()}, {}, "", {}});
  EXPECT_TRUE(job(id)->launch->left.empty());
  EXPECT_TRUE(loop_->state()->left_gpus->empty());
}

// Random requests of users and launchers: what a launcher was told to run and has not freed is on no other job's GPUs.
TEST_F(LaunchTest, NoGpuHasProcessesOfTwoJobs) {
  start_with_hosts(3);
  std::uint64_t evicted = 0, expired = 0, freed = 0, repaired = 0, left_freed = 0;
  std::mt19937_64 random(7);
  std::vector<JobId> jobs;
  std::map<JobId, std::set<fabric::GpuId>> processes;  // as the launcher knows them: from accepted to freed
  LaunchDeadlines deadlines;                           // follows all states, asked for another time at each
  std::mt19937_64 later(11);
  std::uint64_t late = 0;
  for (int step = 0; step < 2'000; ++step) {
    if (jobs.size() < (step % 400 < 200 ? 4U : 12U) && random() % 2 == 0) {  // with room for repairs, and without
      const char* priorities[] = {"low", "normal", "high"};
      jobs.push_back(
          submit(1 + static_cast<std::uint32_t>(random() % (random() % 3 == 0 ? 24 : 5)), priorities[random() % 3]));
      if (job(jobs.back()) == nullptr) jobs.pop_back();
    }
    if (jobs.empty()) continue;
    const JobId id = jobs[random() % jobs.size()];
    const JobPtr before = job(id);
    switch (random() % 8) {
      case 0:
        if (ask(AdvanceLaunch{id, LaunchPhase::accepted})) start_processes(processes[id], id);
        break;
      case 1:
        if (ask(AdvanceLaunch{id, LaunchPhase::running})) start_processes(processes[id], id);
        break;
      case 2:
        (void)ask(EndJob{id, random() % 2 == 0 ? JobState::completed : JobState::cancelled, "", {}});
        break;
      case 3:
        if (before->is_releasing()) {
          processes.erase(id);  // ended first, said afterwards
          must(FreeJob{id, {}});
          ++freed;
        }
        break;
      case 4:
      case 6:
        if (before->launch->phase != LaunchPhase::offered && !before->nodes.empty() &&
            ask(RepairJob{id, {before->nodes[random() % before->nodes.size()]}, {}, "", {}})) {
          const auto& gpus = job(id)->placement.gpu_of_rank;
          if (processes.contains(id)) processes[id].insert(gpus.begin(), gpus.end());
          ++repaired;
        }
        for (const auto& [target, drain] : DrainTable(*loop_->state()->drains)) must(ClearDrain{target, ""});
        break;
      case 5:
        left_freed += end_left(jobs, processes) ? 1 : 0;
        break;
      default:
        pass(static_cast<std::int64_t>(random() % 200) * kSecond);
    }
    const std::int64_t later_us = static_cast<std::int64_t>(later() % 1'000) * kSecond;
    expect_followed(deadlines, clock_us_ + later_us, "step " + std::to_string(step));
    if (HasFatalFailure()) return;
    late += deadlines.due_in_us(clock_us_ + later_us).value_or(1) <= 0 ? 1 : 0;
    std::set<fabric::GpuId> used;
    for (const auto& [owner, gpus] : processes) {
      for (const auto gpu : gpus) ASSERT_TRUE(used.insert(gpu).second) << "step " << step << ", " << to_string(owner);
    }
    std::erase_if(jobs, [&](JobId one) {
      const JobPtr now = job(one);
      if (now->launch->becomes == JobState::queued && now->is_releasing()) ++evicted;
      expired += now->launch->expired;
      return now->has_ended();
    });
  }
  EXPECT_GT(evicted, 20U);
  EXPECT_GT(expired, 20U);
  EXPECT_GT(freed, 20U);
  EXPECT_GT(late, 100U);
  EXPECT_GT(repaired, 20U);
  EXPECT_GT(left_freed, 10U);
  restart();
}

}  // namespace
}  // namespace railweave::control::launch_test
