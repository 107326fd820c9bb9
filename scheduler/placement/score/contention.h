// How long a placed job's communication takes beside that of other jobs, and which link costs it most.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/base/enum_text.h"
#include "scheduler/collective/link_senders.h"
#include "scheduler/placement/fit/prediction.h"
#include "scheduler/placement/score/job_traffic.h"

namespace railweave::scheduler {

// What links stand for: directed links crossed by the real routes, or bundles of them that routing is taken to spread
// traffic over evenly (fabric_bundles.h).
enum class ContentionBasis : std::uint8_t { routes, bundles };
BOOST_DESCRIBE_ENUM(ContentionBasis, routes, bundles)

struct Contention {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kMaxJobs = 5;

  ContentionBasis basis = ContentionBasis::bundles;
  Prediction alone, shared;  // both on that basis
  // The link that holds back the group which loses most, and the others on it; none: no job slows it down.
  std::uint32_t link = kNone;
  CommGroup group = CommGroup::tensor;
  double capacity_mbps = 0, others_mbps = 0;
  struct Crossing {
    std::uint64_t job = 0;
    double mbps = 0;
  };
  std::vector<Crossing> crossing;  // who sends most first, at most kMaxJobs
  std::uint64_t jobs_crossing = 0;

  [[nodiscard]] double slowdown() const;  // of communication; 1: none
};

struct ContentionInput {
  const JobSpec& spec;
  const JobTraffic& traffic;
  const GpuGeneration& generation;
  const LinkTraffic& loads;
  std::span<const double> capacity_mbps;  // by link
  const LinkSenders& senders;
  std::uint64_t own = 0;  // of them, the job itself; 0: it is none of them
};
Contention contention_of(const ContentionInput& in, ContentionBasis basis);

// By CommGroup; alone: as if no other job sent.
std::array<double, kCommGroups> group_times_us(const ContentionInput& in, bool alone);

}  // namespace railweave::scheduler
