// What smaller or looser job would fit where this one does not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/placement/explain/explain.h"

namespace railweave::scheduler {

// GPUs that the job's tenant may be given, whatever is free: now, and at any time.
struct GpuLimits {
  std::uint64_t now = UINT64_MAX, ever = UINT64_MAX;
};

// The job if it tolerated a taint, with what it may use then: ChangeQuestion::filters and any_model.
struct TolerantJob {
  std::string taint;  // "dedicated=research"; "": all of them
  JobSpec spec;
  std::vector<JobSearch::Filter> filters;
  JobSearch::Filter any_model;
};

struct ChangeQuestion {
  const JobSpec* spec;
  std::vector<JobSearch::Filter> filters;  // nodes that it may use: one for each model of GPUs
  JobSearch::Filter any_model;             // of GPUs of several
  std::vector<fabric::HostId> excluded;    // by the job; unavailable in both trees meanwhile
  PlacementTree* now;
  PlacementTree* empty;  // the same fabric with no job and no drain
  GpuLimits limits;
  std::vector<TolerantJob> tolerant;  // each alone, the last of several with all of them
};

// Changes after which the job would be placed now, or failing that, at some other time: the most pipeline stages, the
// largest data parallelism, the next farther level for what a group requires, GPUs of several models, hosts back that the
// job, a taint or a drain excludes. As far as GPUs go: links, quotas and the queue are for the caller to ask.
std::vector<Counterfactual> counterfactuals(const PlacementFabric& fabric, JobSearch& search,
                                            const ChangeQuestion& question);

}  // namespace railweave::scheduler
