// Largest loads of links that not the same sources cross towards every target, as after failures: a second walk with
// sets of sources spelled out, then a maximum flow per link.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/capacity/hose_load.h"
#include "fabric/capacity/link_uses.h"
#include "fabric/capacity/plane_hose.h"
#include "fabric/capacity/set_walk.h"

namespace railweave::fabric {

class UnevenLinks {
 public:
  UnevenLinks(const PlaneHose& hose, LinkUses& uses) : hose_(hose), uses_(uses) {}

  void add(std::uint32_t use);  // in uses.all(): a link that is uneven or mixed
  [[nodiscard]] bool empty() const { return links_.empty(); }
  // Appends the loads of all that were added, and counts maximum flows.
  void solve(SetWalk& walk, HoseMethod method, HoseLoad& result);

 private:
  using Set = std::vector<std::uint64_t>;  // of groups, 64 per word

  // The sets of groups that reach targets over a link. Targets that the same set reaches count as one.
  struct Link {
    std::uint32_t use = 0;
    std::vector<Set> sets;
    std::vector<std::int64_t> receive_mbps;  // by set: of its targets
    std::uint32_t last_target = PlaneHose::kNone;
    std::int64_t last_receive_mbps = 0;
    Set latest;  // towards the last target

    [[nodiscard]] Set& towards(std::uint32_t target, std::int64_t target_receive_mbps, std::size_t words);
    void close();
  };
  struct Entry {  // a mixed link that a group's packets start on
    std::uint32_t link = 0, group = 0;
    std::uint16_t port = 0;
  };

  [[nodiscard]] std::vector<Entry> entries() const;
  void add_entries(std::uint32_t target, const std::vector<Entry>& entries, std::size_t words);
  void add_passing(std::uint32_t target, SetWalk& walk);
  [[nodiscard]] std::int64_t largest_load(const Link& link, HoseMethod method) const;

  const PlaneHose& hose_;
  LinkUses& uses_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> link_of_use_;  // kNone: not one of these
};

}  // namespace railweave::fabric
