// The routes of a job's ports in one plane, kept so that what a failure makes of them is found from the entries that
// differ: only packets to destinations whose entries changed take another way, and of those only the ones that pass
// the switches at which they did. Sets of sources are exact, and so are loads.
//
// Borrows the view, and the tables before a failure. One per thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fabric/capacity/hose_load.h"
#include "fabric/capacity/load_vector.h"
#include "fabric/capacity/route_changes.h"
#include "fabric/capacity/source_sets.h"

namespace railweave::fabric {

class HoseRoutes {
 public:
  // ports: routed to in that plane, each once, with rates above 0. O(ports x switches that their packets pass).
  HoseRoutes(const FabricView& view, const ForwardingTables& tables, PlaneId plane, std::span<const HosePort> ports);

  // Every port reaches every other.
  [[nodiscard]] bool complete() const { return complete_; }
  // Of links between switches.
  [[nodiscard]] LoadVector loads() const;

  // Only while complete(). Where the load may be another one with the link down, and what it is there; none: ports are
  // cut off from each other. In no order. Good until the next call.
  std::optional<std::span<const LinkLoad>> loads_without(LinkId link, const RouteChanges& changes);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  using Set = SourceSets::Id;

  struct Target {
    std::uint32_t destination = 0, source = 0;  // source: that its own switch is
    std::int64_t receive = 0;
    std::uint32_t first_edge = 0;
  };
  struct Edge {  // an arc that packets to a target cross
    std::uint32_t arc = 0;
    Set set = 0;
    friend bool operator==(const Edge&, const Edge&) = default;
  };
  struct Sum {  // what targets receive over an arc from a set of sources
    std::uint32_t arc = 0;
    Set set = 0;
    std::int64_t receive = 0;
  };

  [[nodiscard]] std::uint32_t arc_out(std::uint32_t sw, std::uint16_t port) const {
    return port == kPortZero || port > plane_.port_count[sw] ? kNone : arc_of_port_[first_port_[sw] + port - 1U];
  }
  [[nodiscard]] std::uint32_t next_arc(std::uint32_t sw, const Target& target) const;
  bool walk(const Target& target, std::span<const EntryChange> changed, std::vector<Edge>& edges);
  [[nodiscard]] std::span<const Edge> edges_of(const Target& target) const;
  [[nodiscard]] Set set_out(const Target& target, std::uint32_t sw) const;
  void note(std::uint32_t arc, Set set, std::int64_t receive) {
    if (receive != 0) moved_.push_back({arc, set, receive});
  }
  bool move_one(const Target& target, const EntryChange& change);
  bool move_many(const Target& target, std::span<const EntryChange> changed);
  void settle();

  const RoutingScope& scope_;
  const Plane& plane_;
  const PlaneTables& tables_;
  std::vector<std::uint32_t> first_port_, arc_of_port_;  // live arcs
  std::vector<DirectedLink> link_of_arc_;
  std::uint32_t dead_ = kNone, dead_back_ = kNone;  // arcs of the link that is tried

  SourceSets sets_{{}};
  std::vector<std::uint32_t> source_switch_;
  std::vector<Target> targets_;
  std::vector<std::uint32_t> target_at_;  // by destination; kNone: none of the job's
  std::vector<Edge> edges_;               // by target, then arc
  std::vector<Sum> sums_;                 // by arc, then set
  std::vector<std::uint32_t> first_sum_;  // by arc
  bool complete_ = true;

  // Of a walk.
  struct Visit {
    std::uint32_t token = 0, waiting = 0;
    Set set = kNone;
  };
  std::vector<Visit> visits_;  // by switch
  std::vector<std::uint32_t> order_;
  std::uint32_t token_ = 0;
  // Of a failure.
  std::vector<Sum> moved_;
  std::vector<Edge> rewalked_;
  std::vector<std::pair<Set, std::int64_t>> mix_;
  std::vector<LinkLoad> changed_;
};

}  // namespace railweave::fabric
