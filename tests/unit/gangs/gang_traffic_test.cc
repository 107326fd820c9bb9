// What roles of a gang exchange, as their jobs keep it; and caches that follow it while jobs start, move and end.
#include "services/control/decide/gang_traffic.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "services/control/views/peer_places.h"
#include "services/control/views/placed_jobs.h"

namespace railweave::control::gang_traffic_test {
namespace {

using scheduler::JobSpec;
using scheduler::RolePeer;
using scheduler::RolePlace;
using scheduler::RoleSpread;
using Random = std::mt19937_64;

std::vector<RolePlace> jobs_named(const std::vector<std::string>& names) {
  std::vector<RolePlace> jobs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    jobs.push_back({100 + i, {}, {}});
    jobs.back().spec.name = names[i];
  }
  return jobs;
}
std::vector<JobSpec> specs_of(const std::vector<RolePlace>& jobs) {
  std::vector<JobSpec> specs;
  for (const RolePlace& job : jobs) specs.push_back(job.spec);
  return specs;
}

TEST(GangTraffic, EveryByteIsKeptByBothJobsAndCountedOnce) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < 2 + random() % 6; ++i)
      names.push_back(std::string(1, static_cast<char>('a' + random() % 3)));
    auto jobs = jobs_named(names);
    const auto specs = specs_of(jobs);
    std::vector<GangTraffic> traffic;
    double wanted = 0;
    for (std::size_t i = 0; i < 1 + random() % 3; ++i) {
      GangTraffic one{.from = std::string(1, static_cast<char>('a' + random() % 3)), .to = {}};
      one.to = std::string(1, static_cast<char>('a' + (one.from[0] - 'a' + 1 + random() % 2) % 3));
      one.bytes = static_cast<double>(1 + random() % 1000);
      one.spread = random() % 2 == 0 ? RoleSpread::all_to_all : RoleSpread::by_rank;
      const auto has = [&](const std::string& role) { return std::ranges::find(names, role) != names.end(); };
      if (has(one.from) && has(one.to)) wanted += one.bytes;
      traffic.push_back(one);
    }
    add_peers(specs, traffic, jobs);
    double counted = 0, kept = 0;
    for (const RolePlace& job : jobs) {
      for (const RolePeer& peer : job.spec.peers) {
        const RolePlace& other = jobs.at(peer.job - 100);
        EXPECT_EQ(other.spec.name, peer.role);
        EXPECT_EQ(peer.counted, job.job > peer.job) << "the later one";
        RolePeer back = peer;
        back.job = job.job;
        back.role = job.spec.name;
        back.sends = !peer.sends;
        back.counted = !peer.counted;
        EXPECT_NE(std::ranges::find(other.spec.peers, back), other.spec.peers.end()) << "seed " << seed;
        const bool said = std::ranges::any_of(traffic, [&](const GangTraffic& one) {
          return peer.sends ? one.from == job.spec.name && one.to == peer.role
                            : one.to == job.spec.name && one.from == peer.role;
        });
        EXPECT_TRUE(said) << "seed " << seed;
        kept += peer.bytes;
        if (peer.counted) counted += peer.bytes;
      }
    }
    EXPECT_NEAR(counted, wanted, 1e-6) << "seed " << seed;
    EXPECT_NEAR(kept, 2 * wanted, 1e-6);
  }
}

// While a gang is started one job after the other, those that are there know of each other alone.
TEST(GangTraffic, PeersThatAreNotThereYetAreLeftOut) {
  auto jobs = jobs_named({"a", "b", "c"});
  const auto specs = specs_of(jobs);
  const std::vector<GangTraffic> traffic{{.from = "a", .to = "b", .bytes = 1}, {.from = "c", .to = "a", .bytes = 2}};
  jobs.resize(2);
  add_peers(specs, traffic, jobs);
  ASSERT_EQ(jobs[0].spec.peers.size(), 1U);
  EXPECT_EQ(jobs[0].spec.peers[0], (RolePeer{101, "b", true, 1, RoleSpread::all_to_all, false}));
  EXPECT_EQ(jobs[1].spec.peers[0], (RolePeer{100, "a", false, 1, RoleSpread::all_to_all, true}));
}

// A cache that notes where a job and its counted peers are when it is added is right at every step of a random story.
TEST(GangTraffic, WhatFollowsPlacedJobsSeesPeersMove) {
  using Gpus = std::vector<fabric::GpuId>;
  std::size_t seen_moves = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Random random(seed);
    JobTable jobs;
    PlacedJobs placed;
    const auto table = std::make_shared<JobTable>();
    const auto peers = peer_places(table);
    std::map<std::uint64_t, std::vector<Gpus>> cache;
    const auto places_of = [&](const Job& job) {
      std::vector<Gpus> places{job.placement.gpu_of_rank};
      for (const RolePeer& peer : job.spec.peers) {
        const auto gpus = peers(peer.job);
        if (peer.counted) places.emplace_back(gpus.begin(), gpus.end());
      }
      return places;
    };
    for (int step = 0; step < 60; ++step) {
      for (std::uint64_t changes = 1 + random() % 3; changes > 0; --changes) {
        const std::uint64_t number = 1 + random() % 8;
        const JobPtr was = jobs.find(JobId(number));
        auto job = was == nullptr ? std::make_shared<Job>() : std::make_shared<Job>(*was);
        if (was == nullptr) {
          job->id = JobId(number);
          for (std::uint64_t other = 1; other < number; ++other) {
            if (random() % 3 == 0) job->spec.peers.push_back({other, "x", random() % 2 == 0, 1, {}, random() % 4 != 0});
          }
        }
        job->state = random() % 3 == 0 ? JobState::completed : JobState::placed;
        job->placement.gpu_of_rank = {fabric::GpuId(static_cast<std::uint32_t>(random() % 5))};
        jobs.put(std::move(job));
      }
      *table = jobs;
      const PlacedJobs::Changes changes = placed.follow(jobs);
      for (const JobId id : changes.removed) EXPECT_EQ(cache.erase(id.number()), 1U) << "seed " << seed;
      seen_moves += changes.removed.size();
      for (const JobPtr& job : changes.added) {
        EXPECT_TRUE(cache.emplace(job->id.number(), places_of(*job)).second) << "seed " << seed;
      }
      std::map<std::uint64_t, std::vector<Gpus>> wanted;
      jobs.visit_after(JobId(0), [&](const JobPtr& job) {
        if (job->holds_gpus()) wanted.emplace(job->id.number(), places_of(*job));
        return true;
      });
      ASSERT_EQ(cache, wanted) << "seed " << seed << " step " << step;
    }
  }
  EXPECT_GT(seen_moves, 1000U);
}

}  // namespace
}  // namespace railweave::control::gang_traffic_test
