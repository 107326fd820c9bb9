// The links that a job's packets cross behind the switches they start from, and by which sources towards which targets.
// Scratch of HoseLoads, kept from job to job.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/capacity/source_digest.h"
#include "fabric/flow/directed_link.h"

namespace railweave::fabric {

class LinkUses {
 public:
  struct Use {
    static constexpr std::uint32_t kNone = UINT32_MAX;
    DirectedLink link = 0;
    std::uint32_t last_target = kNone, targets = 0;
    bool uneven = false;            // not the same groups towards each target
    bool mixed = false;             // packets of some groups start on it, those of others pass
    std::int64_t receive_mbps = 0;  // of all targets
    SourceDigest every;             // the groups towards each target before the last
    SourceDigest latest;            // the groups towards the last target

    void close() {  // the last target is complete
      if (targets == 0) return;
      if (targets == 1) every = latest;
      uneven = uneven || every != latest;
    }
  };

  explicit LinkUses(std::size_t directed_links) : slots_(directed_links) {}

  void clear() {
    uses_.clear();
    ++token_;
  }
  // Targets come one after the other.
  void add(DirectedLink link, std::uint32_t target, std::int64_t receive_mbps, const SourceDigest& groups) {
    Slot& slot = slots_[link];
    if (slot.token != token_) {
      slot = {token_, static_cast<std::uint32_t>(uses_.size())};
      uses_.push_back({.link = link});
    }
    Use& use = uses_[slot.use];
    if (use.last_target != target) {
      use.close();
      use.last_target = target;
      ++use.targets;
      use.receive_mbps += receive_mbps;
      use.latest = groups;
    } else {
      use.latest.add(groups);  // by a route of another length
    }
  }
  void prefetch(DirectedLink link) const { __builtin_prefetch(&slots_[link]); }

  [[nodiscard]] std::vector<Use>& all() { return uses_; }
  // In all(); Use::kNone: no packet crosses the link behind a first hop.
  [[nodiscard]] std::uint32_t find(DirectedLink link) const {
    return slots_[link].token == token_ ? slots_[link].use : Use::kNone;
  }

 private:
  struct Slot {
    std::uint32_t token = 0;  // of the job that `use` is of
    std::uint32_t use = 0;
  };
  std::vector<Slot> slots_;  // by directed link
  std::uint32_t token_ = 0;
  std::vector<Use> uses_;
};

}  // namespace railweave::fabric
