// The audit of one plane's tables, in parts: each looks at some of the destinations, and parts add up to the same
// whatever their number.
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

// Links that live cables need between switches of a plane; whatever the tables say.
class LiveDistances {
 public:
  static constexpr std::uint16_t kFar = UINT16_MAX;
  LiveDistances(const Plane& plane, const PortMap& ports) : plane_(plane), ports_(ports) {}
  // From every switch to `to`: passing through nothing that is drained, and over any live cable.
  void compute(std::uint32_t to);
  [[nodiscard]] std::uint16_t undrained(std::size_t s) const { return undrained_[s]; }
  [[nodiscard]] std::uint16_t live(std::size_t s) const { return live_.empty() ? undrained_[s] : live_[s]; }

 private:
  void flood(std::uint32_t to, bool over_drained, std::vector<std::uint16_t>& distance);
  const Plane& plane_;
  const PortMap& ports_;
  std::vector<std::uint16_t> undrained_, live_;
  std::vector<std::uint32_t> queue_;
};

class PlaneAudit {
 public:
  PlaneAudit(const Plane& plane, const PortMap& ports, const PlaneTables& tables, const PlaneLanes& lanes,
             std::size_t max_examples);

  // Looks at destinations [first, last).
  void look(std::uint32_t first, std::uint32_t last);
  void add(const PlaneAudit& other);

  std::uint64_t pairs = 0, unreachable = 0, cut_off = 0, unmanaged = 0, looping = 0, nonminimal = 0,
                drained_entries = 0;
  unsigned longest = 0;
  std::vector<UnreachedPair> unreached;        // the first few, by destination
  std::vector<std::uint64_t> load, host_load;  // by arc
  std::unique_ptr<ChannelGraph> channels;

 private:
  void look_at(std::uint32_t destination, const Segment& segment);
  void count_lost(std::uint32_t destination);
  void count_flows(const Segment& segment);
  void add_turns(std::uint32_t destination);
  void add_turns_by_class(std::uint32_t destination);

  const Plane& plane_;
  const PortMap& ports_;
  const PlaneTables& tables_;
  const PlaneLanes& lanes_;
  std::size_t max_examples_;
  ColumnWalk walk_;
  LiveDistances distances_;
  std::uint32_t distances_to_ = UINT32_MAX;
  std::vector<std::uint32_t> flow_, host_flow_;  // by switch
  std::vector<std::uint32_t> levels_;            // by switch: service levels passing, as bits
  std::vector<std::uint32_t> classes_;           // by switch and level: classes entered by, as bits
};

}  // namespace railweave::fabric
