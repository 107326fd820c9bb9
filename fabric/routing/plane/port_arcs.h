// The arc behind every port of a plane's switches, as one flat array: for walks that follow forwarding tables hop by
// hop. Plane::find_arc() answers single questions without it. Immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/routing/plane/plane.h"

namespace railweave::fabric {

class PortArcs {
 public:
  explicit PortArcs(const Plane& plane)
      : stride_(plane.max_ports + std::size_t{1}), arcs_(plane.switch_count() * stride_, Plane::kNone) {
    for (std::size_t s = 0; s < plane.switch_count(); ++s) {
      for (std::uint32_t a = plane.first_arc[s]; a < plane.first_arc[s + 1]; ++a) {
        arcs_[s * stride_ + plane.arcs[a].port] = a;
      }
    }
  }

  // kNone: no port of that number (kNoPort for instance), or none that leads to a switch.
  [[nodiscard]] std::uint32_t arc(std::size_t s, std::uint16_t port) const {
    return port < stride_ ? arcs_[s * stride_ + port] : Plane::kNone;
  }

 private:
  std::size_t stride_;
  std::vector<std::uint32_t> arcs_;
};

}  // namespace railweave::fabric
