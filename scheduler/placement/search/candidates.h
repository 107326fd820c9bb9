// The placements worth comparing for one job: BestFit's own choice and a few that differ from it in one respect each,
// all of which keep what the job requires and prefers.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scheduler/placement/search/fewest_groups.h"
#include "scheduler/placement/search/job_search.h"
#include "scheduler/placement/search/packing_order.h"

namespace railweave::scheduler {

struct Candidate {
  enum class Change : std::uint8_t {
    none,             // BestFit's choice
    unaligned,        // stages not aligned with the groups of a level: may fill broken racks
    replicas,         // the stages of a replica side by side, in place of the replicas of a stage
    own_replicas,     // the same, and each replica within one group of a level
    another_group,    // of the same level
    fewest_groups,    // leaf groups as few as can be, wherever they are
    fewest_uplinks,   // few leaf groups of few pods
    farther,          // spread over several groups of that level
    full_rate_links,  // only behind links that have all or most of their rate
    even,             // each NVLink domain gives about as much
    near_peers,       // in the groups of a level where jobs are that it exchanges data with
    preferred_nodes,  // only on nodes that it prefers to others
  };
  Found found;
  PackingOrder order = PackingOrder::stages;
  Change change = Change::none;
  std::vector<GroupPortion> portions;  // of groups of portion_level, in place of BestFit's choice inside found.fit
  unsigned portion_level = 0;
};

// "stages of a replica side by side"
std::string text_of(const Candidate& candidate, const Hierarchy& hierarchy);

// The same groups with the other order of pieces; false, and nothing changed, where the job's requests forbid it or both
// are the same.
bool other_order(const JobSpec& spec, Candidate& candidate);

struct CandidateQuestion {
  const JobSpec* spec;
  PlacementTree* tree;
  JobSearch::Filter filter;
  std::span<const JobSearch::Filter> full_rate;  // the filter, and without leaves behind weak links
};

// At least one, BestFit's first. Empty: it does not fit. Errors: as JobSearch::find().
Result<std::vector<Candidate>> candidates(JobSearch& search, const CandidateQuestion& question);

}  // namespace railweave::scheduler
