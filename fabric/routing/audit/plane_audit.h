// The audit of one plane's tables, in parts: each part walks a range of the destinations, and the tallies of the parts
// add up to the same result for any number of parts. One thread per part.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "fabric/routing/audit/audit.h"
#include "fabric/routing/audit/channel_graph.h"
#include "fabric/routing/audit/column_walk.h"
#include "fabric/routing/plane/lanes.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"

namespace railweave::fabric {

// The distances between switches of a plane over its live cables, in links, regardless of the tables.
class LiveDistances {
 public:
  static constexpr std::uint16_t kFar = UINT16_MAX;
  LiveDistances(const Plane& plane, const PortMap& ports) : plane_(plane), ports_(ports) {}
  // From every switch to `to`.
  void compute(std::uint32_t to);
  // Without transit over drained links or switches; kFar: not connected.
  [[nodiscard]] std::uint16_t undrained(std::size_t s) const { return undrained_[s]; }
  // Over any live cable; kFar: not connected.
  [[nodiscard]] std::uint16_t live(std::size_t s) const { return live_.empty() ? undrained_[s] : live_[s]; }

 private:
  void flood(std::uint32_t to, bool over_drained, std::vector<std::uint16_t>& distance);
  const Plane& plane_;
  const PortMap& ports_;
  std::vector<std::uint16_t> undrained_, live_;
  std::vector<std::uint32_t> queue_;
};

// What the parts of an audit add up.
struct PlaneTally {
  std::uint64_t pairs = 0, unreachable = 0, cut_off = 0, unmanaged = 0, looping = 0, nonminimal = 0,
                drained_entries = 0;           // as in AuditReport
  unsigned longest = 0;                        // route, in links
  std::vector<UnreachedPair> unreached;        // the first few, by destination
  std::vector<std::uint64_t> load, host_load;  // by arc
};

class PlaneAudit {
 public:
  PlaneAudit(const Plane& plane, const PortMap& ports, const PlaneTables& tables, const PlaneLanes& lanes,
             std::size_t max_examples);

  // Walks destinations [first, last).
  void run(std::uint32_t first, std::uint32_t last);
  // Adds the results of another part.
  void add(const PlaneAudit& other);
  [[nodiscard]] const PlaneTally& tally() const { return tally_; }
  [[nodiscard]] const ChannelGraph& channels() const { return *channels_; }

 private:
  void count(std::uint32_t destination, const Segment& segment);
  void count_lost(std::uint32_t destination);
  void count_flows(const Segment& segment);
  void add_turns(std::uint32_t destination);
  void add_turns_by_class(std::uint32_t destination);

  const Plane& plane_;
  const PortMap& ports_;
  const PlaneTables& tables_;
  const PlaneLanes& lanes_;
  std::size_t max_examples_;
  PlaneTally tally_;
  std::unique_ptr<ChannelGraph> channels_;
  ColumnWalk walk_;
  LiveDistances distances_;
  std::uint32_t distances_to_ = UINT32_MAX;
  std::vector<std::uint32_t> flow_, host_flow_;  // by switch
  std::vector<std::uint32_t> levels_;            // by switch: service levels of packets that pass, as bits
  std::vector<std::uint32_t> classes_;           // by switch and level: classes of the arcs they enter by, as bits
};

}  // namespace railweave::fabric
