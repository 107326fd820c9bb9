// Jobs by id, part of ClusterState. Blocks of consecutive numbers behind shared pointers: copying the table costs a
// pointer per block, changing a job copies one block. Ordered by id, so that lists and cursors follow the order of
// submission.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>

#include "services/control/state/job.h"

namespace railweave::control {

using JobPtr = std::shared_ptr<const Job>;

class JobTable {
 public:
  [[nodiscard]] JobPtr find(JobId id) const;  // null: there is none
  void put(JobPtr job);
  void erase(JobId id);
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::uint64_t queued() const { return queued_; }  // jobs in JobState::queued

  // The id for the next new job: above every id that was ever put.
  [[nodiscard]] JobId next_id() const { return JobId(next_number_); }
  void set_next_id(JobId id) { next_number_ = id.number(); }  // when a snapshot is read back

  // Calls visit(const JobPtr&) -> bool in ascending order from the first id after `after`, until it returns false.
  template <class Visit>
  void visit_after(JobId after, Visit visit) const {
    for (auto block = blocks_.lower_bound((after.number() + 1) / kBlock); block != blocks_.end(); ++block) {
      for (const auto& job : block->second->jobs) {
        if (job != nullptr && job->id > after && !visit(job)) return;
      }
    }
  }

  // Calls visit(const JobPtr& was, const JobPtr& is) for every id whose job differs from the one in `before`,
  // ascending; null stands for no job. O(blocks); only blocks that differ are searched.
  template <class Visit>
  void visit_changed(const JobTable& before, Visit visit) const {
    auto was = before.blocks_.begin();
    auto is = blocks_.begin();
    while (was != before.blocks_.end() || is != blocks_.end()) {
      const bool old = was != before.blocks_.end() && (is == blocks_.end() || was->first <= is->first);
      const bool now = is != blocks_.end() && (was == before.blocks_.end() || is->first <= was->first);
      const Block* a = old ? (was++)->second.get() : nullptr;
      const Block* b = now ? (is++)->second.get() : nullptr;
      for (std::size_t i = 0; a != b && i < kBlock; ++i) {
        const JobPtr none;
        const JobPtr& before_job = a == nullptr ? none : a->jobs[i];
        const JobPtr& job = b == nullptr ? none : b->jobs[i];
        if (before_job != job) visit(before_job, job);
      }
    }
  }

 private:
  static constexpr std::size_t kBlock = 64;
  struct Block {
    std::array<JobPtr, kBlock> jobs;
    std::size_t used = 0;
  };
  std::map<std::uint64_t, std::shared_ptr<const Block>> blocks_;  // by id / kBlock; none is empty
  std::size_t size_ = 0;
  std::uint64_t queued_ = 0, next_number_ = 1;
};

}  // namespace railweave::control
