// The routes between a job's ports in one plane, stored so that the loads after a failure are computed from the changed
// table entries: only packets to destinations whose entries changed are rerouted, and of these only those that pass a
// switch with a changed entry. Sets of sources are exact, and so are loads. Used by load_surviving_failures().
//
// Borrows the view and the tables before the failure. One per thread.
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
  // ports: destinations of that plane, each once, with rates above 0. O(ports x switches that their packets pass).
  HoseRoutes(const FabricView& view, const ForwardingTables& tables, PlaneId plane, std::span<const HosePort> ports);

  // Every port reaches every other.
  [[nodiscard]] bool complete() const { return complete_; }
  // Loads of links between switches.
  [[nodiscard]] LoadVector loads() const;

  // Only if complete(). The links whose load may change while the link is down, and their load then, in no order; none:
  // ports are cut off from each other. Valid until the next call.
  std::optional<std::span<const LinkLoad>> loads_without(LinkId link, const RouteChanges& changes);

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  using Set = SourceSets::Id;

  struct Target {
    std::uint32_t destination = 0, source = 0;  // source: its own switch
    std::int64_t receive = 0;
    std::uint32_t first_edge = 0;
  };
  struct Edge {  // an arc that packets to a target cross, and their sources
    std::uint32_t arc = 0;
    Set set = 0;
    friend bool operator==(const Edge&, const Edge&) = default;
  };
  struct Sum {  // what targets receive over an arc from a set of sources together
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
  std::uint32_t dead_ = kNone, dead_back_ = kNone;  // arcs of the link that is down

  SourceSets sets_{{}};
  std::vector<std::uint32_t> source_switch_;
  std::vector<Target> targets_;
  std::vector<std::uint32_t> target_at_;  // by destination; kNone: not one of the job's
  std::vector<Edge> edges_;               // by target, then arc
  std::vector<Sum> sums_;                 // by arc, then set
  std::vector<std::uint32_t> first_sum_;  // by arc
  bool complete_ = true;

  // Scratch of a walk.
  struct Visit {
    std::uint32_t token = 0, waiting = 0;
    Set set = kNone;
  };
  std::vector<Visit> visits_;  // by switch
  std::vector<std::uint32_t> order_;
  std::uint32_t token_ = 0;
  // Scratch of a failure.
  std::vector<Sum> moved_;
  std::vector<Edge> rewalked_;
  std::vector<std::pair<Set, std::int64_t>> mix_;
  std::vector<LinkLoad> changed_;
};

}  // namespace railweave::fabric
