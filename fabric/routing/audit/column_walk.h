// Where the tables of a plane send packets for one destination, from every switch at once: the step that every audit is
// made of. A PortMap is immutable and shared; a ColumnWalk serves one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/routing/audit/audit.h"
#include "fabric/routing/plane/plane.h"
#include "fabric/routing/plane/plane_tables.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

// A plane's cables in their present state, by egress port. Immutable.
struct PortMap {
  PortMap(const Plane& plane, const FabricView& view);

  static constexpr std::uint32_t kNothing = UINT32_MAX;   // no cable, or one to an end port
  static constexpr std::uint32_t kDead = UINT32_MAX - 1;  // a cable to a switch, which is down

  // An arc, kNothing or kDead. port: at most max_ports.
  [[nodiscard]] std::uint32_t arc(std::size_t s, std::size_t port) const { return arc_of_port[s * stride + port]; }
  std::size_t stride;
  std::vector<std::uint32_t> arc_of_port;
  std::vector<std::uint8_t> arc_drained;             // by arc: alive, but it or a switch at its ends is drained
  std::vector<std::uint8_t> link_drained;            // by arc: the link itself
  std::vector<std::uint8_t> switch_drained;          // by switch
  std::vector<std::uint8_t> destination_alive;       // by destination: its cable is up
  std::vector<std::uint32_t> sources, host_sources;  // by switch: end ports, host ports, whose cable is up
  std::vector<std::uint32_t> dead_sources;           // by switch: end ports whose cable is down
  std::uint64_t all_sources = 0;                     // of all switches, with live and dead cables
};

class ColumnWalk {
 public:
  using Reason = UnreachedPair::Reason;
  static constexpr std::uint16_t kLost = UINT16_MAX;

  ColumnWalk(const Plane& plane, const PortMap& ports);

  // entries: by switch, the egress port for the destination; must stay valid until the next walk.
  void walk(std::uint32_t destination, const std::uint16_t* entries);

  // Links to the destination's switch; kLost: packets never get there.
  [[nodiscard]] std::uint16_t depth(std::size_t s) const { return depth_[s]; }
  // The next hop of s; meaningless at the destination's switch and where the depth is kLost.
  [[nodiscard]] std::uint32_t arc(std::size_t s) const { return arc_[s]; }
  // Switches that reach the destination, farthest first; its own switch is last.
  [[nodiscard]] const std::vector<std::uint32_t>& by_depth() const { return by_depth_; }
  [[nodiscard]] bool all_arrive() const { return by_depth_.size() == depth_.size(); }
  // For switches that do not reach the destination: why, and at which switch packets are lost.
  struct Loss {
    Reason reason;
    std::uint32_t at;
  };
  [[nodiscard]] Loss loss(std::size_t s) const;

 private:
  static constexpr std::uint16_t kUnknown = UINT16_MAX - 1;
  static constexpr std::uint16_t kOnStack = UINT16_MAX - 2;
  void order_by_depth();

  const Plane& plane_;
  const PortMap& ports_;
  std::uint32_t destination_ = 0;
  const std::uint16_t* entries_ = nullptr;
  std::vector<std::uint16_t> depth_;
  std::vector<std::uint32_t> arc_, stack_, by_depth_, first_of_depth_;
};

}  // namespace railweave::fabric
