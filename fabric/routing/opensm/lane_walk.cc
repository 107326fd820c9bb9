#include "fabric/routing/opensm/lane_walk.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <utility>

#include "fabric/routing/audit/channel_graph.h"
#include "fabric/routing/audit/column_walk.h"

namespace railweave::fabric {
namespace {

constexpr std::uint8_t kDiscard = UINT8_MAX;

// The paths of one plane.
class PlaneWalk {
 public:
  PlaneWalk(const FabricView& view, const Plane& plane, const PlaneTables& tables,
            const std::vector<std::uint8_t>& levels, const LaneMaps* maps, unsigned lanes, LaneUse& use)
      : topology_(view.topology()),
        plane_(plane),
        ports_(plane, view),
        tables_(tables),
        levels_(levels),
        maps_(maps),
        channels_(plane, lanes),
        use_(use) {}

  void run() {
    for (const Segment& segment : plane_.segments) {
      const bool to_switch = segment.kind == DestinationKind::switch_management;
      for (std::uint32_t d = segment.first; d < segment.first + segment.count; ++d) {
        if (!to_switch && ports_.destination_alive[d] == 0) continue;
        for (std::uint32_t h = 0; h < plane_.homes.size(); ++h) {
          const std::uint8_t told = levels_[h * plane_.destination_count() + d];
          if (plane_.homes[h].end_ports == 0 || (to_switch && told == PathLevels::kUntold)) continue;
          follow(h, d, told == PathLevels::kUntold ? 0 : told);
        }
      }
    }
    use_.unmapped += unmapped_.size();
    const ChannelGraph::Circles found = channels_.circles();
    use_.circles += static_cast<unsigned>(found.lanes.size());
    if (use_.circle.empty()) {
      for (const std::uint32_t channel : found.example) {
        const Arc& arc = plane_.arcs[channel / channels_.lanes()];
        use_.circle.push_back(port_of(plane_.arcs[arc.reverse].to, arc.port));
      }
    }
  }

 private:
  struct Turn {
    std::uint32_t sw;
    std::uint16_t in, out;
  };

  [[nodiscard]] PortId port_of(std::uint32_t s, std::uint16_t number) const {
    return topology_.ports(plane_.switches[s])[number - 1U];
  }

  // The lane of that level; kDiscard: packets end here.
  std::uint8_t lane(const Turn& turn, unsigned level) {
    if (maps_ == nullptr) return static_cast<std::uint8_t>(level);
    const LaneMap* map = maps_->find(plane_.switches[turn.sw], turn.in, turn.out);
    if (map != nullptr) return (*map)[level] < kMaxDataLanes ? (*map)[level] : kDiscard;
    unmapped_.emplace(turn.sw, turn.out);
    return static_cast<std::uint8_t>(level);
  }

  // The links from the switch to the destination's; false: packets are lost on the way, which is no matter of lanes.
  bool find_links(std::uint32_t s, std::uint32_t d) {
    links_.clear();
    const std::uint32_t home = plane_.homes[plane_.destination_home[d]].sw;
    while (s != home) {
      const std::uint16_t port = tables_.at(s, d);
      const std::uint32_t arc = port < ports_.stride ? ports_.arc(s, port) : PortMap::kNothing;
      if (arc >= PortMap::kDead || links_.size() > plane_.switch_count()) return false;
      links_.push_back(arc);
      s = plane_.arcs[arc].to;
    }
    return true;
  }

  void discard(const Turn& turn, std::uint64_t pairs) {
    use_.discarded += pairs;
    if (!use_.discarded_at) use_.discarded_at = port_of(turn.sw, turn.out);
  }

  void follow(std::uint32_t h, std::uint32_t d, unsigned level) {
    const Home& home = plane_.homes[h];
    if (!find_links(home.sw, d)) return;
    const std::uint16_t first_out = links_.empty() ? plane_.destination_port[d] : plane_.arcs[links_.front()].port;
    // Only at the first switch do packets of one home enter by different ports.
    std::uint32_t lanes = 0;
    std::uint64_t sources = 0;
    for (const Segment& segment : plane_.segments_of(home)) {
      if (segment.kind == DestinationKind::switch_management || segment.lid_offset != 0) continue;
      for (std::uint32_t source = segment.first; source < segment.first + segment.count; ++source) {
        const std::uint16_t in = plane_.destination_port[source];
        if (ports_.destination_alive[source] == 0 || (links_.empty() && in == first_out)) continue;
        const Turn turn{home.sw, in, first_out};
        const std::uint8_t first = lane(turn, level);
        if (first == kDiscard) {
          discard(turn, 1);
        } else {
          lanes |= 1U << first;
          ++sources;
        }
      }
    }
    if (sources > 0 && !links_.empty()) follow_links(d, level, lanes, sources);
  }

  // lanes: of packets on the first link, as bits.
  void follow_links(std::uint32_t d, unsigned level, std::uint32_t lanes, std::uint64_t sources) {
    for (std::size_t i = 0; i < links_.size(); ++i) {
      use_.lanes = std::max(use_.lanes, static_cast<unsigned>(std::bit_width(lanes)));
      const Arc& arc = plane_.arcs[links_[i]];
      const bool last = i + 1 == links_.size();
      const std::uint16_t out = last ? plane_.destination_port[d] : plane_.arcs[links_[i + 1]].port;
      if (out == kPortZero) return;  // taken by the switch itself
      const Turn turn{arc.to, arc.to_port, out};
      const std::uint8_t next = lane(turn, level);
      if (next == kDiscard) return discard(turn, sources);
      if (last) return;  // an adapter takes packets without waiting for others
      for (std::uint32_t bits = lanes; bits != 0; bits &= bits - 1) {
        channels_.add(links_[i], static_cast<unsigned>(std::countr_zero(bits)), links_[i + 1], next);
      }
      lanes = 1U << next;
    }
  }

  const Topology& topology_;
  const Plane& plane_;
  PortMap ports_;
  const PlaneTables& tables_;
  const std::vector<std::uint8_t>& levels_;  // homes x destinations
  const LaneMaps* maps_;
  ChannelGraph channels_;
  LaneUse& use_;
  std::vector<std::uint32_t> links_;                            // of the path that is followed
  std::set<std::pair<std::uint32_t, std::uint16_t>> unmapped_;  // switch, port out
};

}  // namespace

LaneUse follow_lanes(const FabricView& view, const ForwardingTables& tables, const std::vector<bool>& planes,
                     const PathLevels& levels, const LaneMaps* maps) {
  LaneUse use;
  // A level without a map is a lane of its own.
  const unsigned lanes = std::clamp(std::max(levels.levels, maps == nullptr ? 1U : maps->lanes(levels.levels)), 1U,
                                    static_cast<unsigned>(kMaxServiceLevels));
  for (const PlaneId id : tables.scope().planes()) {
    const Plane& plane = tables.scope().plane(id);
    if (!planes[id.index()] || plane.destination_count() == 0) continue;
    if (tables.plane(id).destinations() != plane.destination_count()) continue;
    PlaneWalk(view, plane, tables.plane(id), levels.of_plane[id.index()], maps, lanes, use).run();
  }
  return use;
}

}  // namespace railweave::fabric
