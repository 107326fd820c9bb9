// What packets for one destination may do while switches change from one entry to another: every switch may use either. Where
// a switch changes only after those downstream of it on the new route, a packet that has met a changed switch meets new
// entries from there on. Packets that are still on their way may have met earlier entries, too. Serves one thread.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/routing/audit/column_walk.h"
#include "fabric/routing/plane/lanes.h"
#include "fabric/routing/plane/plane.h"

namespace railweave::fabric {

// The lanes of a plane; those of a routing that says nothing are one for everything.
const PlaneLanes& lanes_of(const Lanes& lanes, PlaneId plane);

class Mixture {
 public:
  // lanes: of the old tables, of the new ones, and of each earlier ones; packets may have levels of any. Maps by classes of arcs have
  // to be the same in all. All of it outlives this, but for the span.
  Mixture(const Plane& plane, const PortMap& ports, std::span<const PlaneLanes* const> lanes);

  // The port of switch s by the old tables (0), the new ones (1), or earlier ones (2 and more), which may be the same.
  void set(std::size_t s, unsigned tables, std::uint16_t port) { arcs_[s * entries_ + tables] = arc(s, port); }
  // False: switches change in any order.
  void set_ordered(bool ordered) { ordered_ = ordered; }
  // Calls visit(arc in, its lane, arc out, its lane) for what packets for the destination can pass, from any end port.
  template <class Visit>
  void for_each_turn(std::uint32_t destination, Visit visit) {
    spread(destination);
    const std::uint32_t home = home_of(destination);
    for (std::uint32_t s = 0; s < plane_.switch_count(); ++s) {
      if (s == home) continue;
      for (unsigned k = 0; k < entries_; ++k) {
        const std::uint32_t in = arcs_[s * entries_ + k];
        if (in >= PortMap::kDead || plane_.arcs[in].to == home) continue;
        for (unsigned next = 0; next < entries_; ++next) {
          const std::uint32_t out = arcs_[plane_.arcs[in].to * entries_ + next];
          if (out >= PortMap::kDead || !follows(k, plane_.arcs[in].to, next)) continue;
          for (unsigned level = 0; level < levels_; ++level) {
            std::uint32_t bits = lanes_on(s, k, level);
            if (bits == 0) continue;  // the map may not know levels that no packet has
            const unsigned out_lane = maps().lane(in, out, level);
            for (; bits != 0; bits &= bits - 1) {
              visit(in, static_cast<unsigned>(std::countr_zero(bits)), out, out_lane);
            }
          }
        }
      }
    }
  }

 private:
  static constexpr unsigned kOld = 0, kNew = 1;  // of a switch; and earlier ones

  [[nodiscard]] const PlaneLanes& maps() const { return *lanes_[kNew]; }
  [[nodiscard]] std::uint32_t arc(std::size_t s, std::uint16_t port) const {
    return port < ports_.stride ? ports_.arc(s, port) : PortMap::kNothing;
  }
  [[nodiscard]] std::uint32_t home_of(std::uint32_t destination) const {
    return plane_.homes[plane_.destination_home[destination]].sw;
  }
  std::uint16_t& lanes_on(std::uint32_t s, unsigned k, unsigned level) {
    return lanes_on_[(std::size_t{s} * entries_ + k) * levels_ + level];
  }
  void spread(std::uint32_t destination);
  // A packet by an entry of one kind may go on at switch `at` by one of the other. Entries that are not changed are old for packets
  // that may still meet either, and new for the others; so are earlier ones, though new ones may lead the same way again. (Groups of
  // changes have what earlier and old entries do together from their start, so that for them either would do.)
  [[nodiscard]] bool follows(unsigned by, std::uint32_t at, unsigned next) const {
    if (by == kNew && ordered_) return next == kNew;
    const std::uint32_t* arcs = &arcs_[std::size_t{at} * entries_];
    for (unsigned k = 0; k < next; ++k) {
      if (arcs[k] == arcs[next] && !(k == kNew && ordered_)) return false;
    }
    return true;
  }

  const Plane& plane_;
  const PortMap& ports_;
  std::vector<const PlaneLanes*> lanes_;
  unsigned entries_;
  unsigned levels_ = 1;
  bool ordered_ = false;
  std::vector<std::uint32_t> arcs_;      // by (switch, entry)
  std::vector<std::uint16_t> lanes_on_;  // by (switch, entry, level): the lanes of packets there
  std::vector<std::uint32_t> queue_;     // switch * entries_ + entry
};

}  // namespace railweave::fabric
