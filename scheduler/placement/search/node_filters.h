// The leaves where a job may go by its node selector, its list of nodes, the taints that it tolerates and the model of GPUs. The filters
// of the last selectors are kept, so that a FitIndex made for one is found again. One per thread.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "scheduler/job/job_spec.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/search/job_search.h"

namespace railweave::scheduler {

// Leaves that both allow; `a` may be null: everywhere.
JobSearch::Filter intersection(const JobSearch::Filter& a, const JobSearch::Filter& b);

class NodeFilters {
 public:
  struct Filters {
    JobSearch::Filter allowed;                 // null: everywhere
    std::vector<JobSearch::Filter> full_rate;  // of them, without leaves behind weak links: the strictest first
  };

  explicit NodeFilters(const PlacementFabric& fabric);  // O(labels of nodes)

  static constexpr unsigned kAnyModel = UINT32_MAX;

  // full_rate_leaves: Scorer::full_rate_leaves(). model: of PlacementFabric::gpu_models(). Valid until the next call.
  [[nodiscard]] const Filters& of(const JobSpec& spec, unsigned model,
                                  std::span<const JobSearch::Filter> full_rate_leaves);
  void clear() { kept_.clear(); }                                                     // when full_rate_leaves change
  [[nodiscard]] std::span<const fabric::HostId> tainted() const { return tainted_; }  // of those with GPUs

 private:
  struct Kept {
    std::map<std::string, std::string> selector;
    std::vector<std::string> only_nodes;
    std::vector<Toleration> tolerations;
    unsigned model;
    Filters filters;
  };
  [[nodiscard]] JobSearch::Filter allowed_by(const JobSpec& spec, unsigned model) const;

  static constexpr std::size_t kMaxKept = 8;

  const PlacementFabric* fabric_;
  std::vector<fabric::HostId> tainted_;
  std::vector<Kept> kept_;  // the last used first
};

}  // namespace railweave::scheduler
