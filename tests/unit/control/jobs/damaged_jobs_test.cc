// Which jobs are found damaged, by caches that follow the states and by new ones, which look at every job.
#include <random>

#include <gtest/gtest.h>

#include "services/control/codec/journal_codec.h"
#include "services/control/events/apply.h"
#include "services/control/guarantees/job_repair.h"
#include "tests/support/fat_trees.h"

namespace railweave::control::damaged_jobs_test {
namespace {

constexpr std::int64_t kNow_us = 1'700'000'000'000'000;

class Cluster {
 public:
  explicit Cluster(std::uint64_t seed) : random_(seed) {
    state.set_topology(fabric::testing::make_fat_tree({.hosts_per_leaf = 3,
                                                       .leaves_per_pod = 3,
                                                       .spines_per_pod = 1,
                                                       .pods = 2,
                                                       .cores_per_spine = 1,
                                                       .gpus_per_host = 2}));
    free_.resize(state.topology().hosts().size());
    for (std::uint32_t h = 0; h < free_.size(); ++h) free_[h] = h;
  }
  void step() {
    const auto choice = random_() % 4;
    if (choice < 2) {
      const fabric::LinkId link(static_cast<std::uint32_t>(random_() % state.topology().links().size()));
      state.set_link(link, state.view.alive(link) ? fabric::LinkState::down : fabric::LinkState::up);
      state.view_version = ++state.seq;
    } else if (choice == 2 && free_.size() >= 3) {
      place(1 + random_() % 3);
    } else if (!placed_.empty()) {
      end(std::next(placed_.begin(), static_cast<std::ptrdiff_t>(random_() % placed_.size())));
    }
  }

  ClusterState state;

 private:
  using Placed = std::map<std::uint64_t, std::vector<std::uint32_t>>;  // hosts by job

  void place(std::uint64_t hosts) {
    std::ranges::shuffle(free_, random_);
    auto job = std::make_shared<Job>();
    job->id = state.jobs.next_id();
    job->state = JobState::placed;
    job->nodes = {"some"};
    for (std::uint64_t i = 0; i < hosts; ++i) {
      for (const auto gpu : state.topology().gpus(fabric::HostId(free_.back()))) {
        job->placement.gpu_of_rank.push_back(gpu);
      }
      placed_[job->id.number()].push_back(free_.back());
      free_.pop_back();
    }
    job->spec.parallelism.data = static_cast<std::uint32_t>(job->placement.gpu_of_rank.size());
    state.restore(std::move(job));
    state.queue_version = ++state.seq;
  }
  void end(Placed::iterator gone) {
    const JobPtr before = state.jobs.find(JobId(gone->first));
    state.hold_gpus(*before, false);
    auto job = std::make_shared<Job>(*before);
    job->state = JobState::completed;
    state.jobs.put(std::move(job));
    state.queue_version = ++state.seq;
    free_.insert(free_.end(), gone->second.begin(), gone->second.end());
    placed_.erase(gone);
  }

  std::mt19937_64 random_;
  std::vector<std::uint32_t> free_;
  Placed placed_;
};

TEST(DamagedJobs, AreTheSameToACacheThatFollows) {
  const api::JournalCodec codec;
  std::size_t damaged = 0, whole_again = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Cluster cluster(seed);
    ClusterState& state = cluster.state;
    PlacerCache kept;
    for (int step = 0; step < 60; ++step) {
      cluster.step();
      for (int round = 0;; ++round) {
        ASSERT_LT(round, 200);
        PlacerCache fresh;
        std::int64_t due_us = 0, fresh_due_us = 0;
        const auto bodies = next_damage(state, kept, kNow_us, due_us);
        const auto expected = next_damage(state, fresh, kNow_us, fresh_due_us);
        ASSERT_EQ(bodies.size(), expected.size()) << "seed " << seed << ", step " << step;
        ASSERT_EQ(due_us, fresh_due_us);
        for (std::size_t i = 0; i < bodies.size(); ++i) {
          const Event event{state.seq + 1, 1, kNow_us, "local", bodies[i]};
          const Event other{state.seq + 1, 1, kNow_us, "local", expected[i]};
          ASSERT_EQ(codec.encode(event, state).record, codec.encode(other, state).record)
              << "seed " << seed << ", step " << step;
          if (const auto* change = std::get_if<JobDamaged>(&bodies[i]))
            ++(change->damage.empty() ? whole_again : damaged);
          apply(state, event);
        }
        if (bodies.empty()) break;
      }
    }
  }
  EXPECT_GT(damaged, 50U);
  EXPECT_GT(whole_again, 20U);
}

}  // namespace
}  // namespace railweave::control::damaged_jobs_test
