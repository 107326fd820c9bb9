// Service levels of paths and the lanes of links, which OpenSM asks its engine for. Only engines that need several
// lanes decide them; for the others, OpenSM's own options do. Immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "fabric/base/guid.h"
#include "fabric/drivers/opensm/routing/subnet_router.h"

namespace railweave::fabric::opensm {

class PathLanes {
 public:
  explicit PathLanes(const RoutedSubnet& routed);

  // None: OpenSM's options decide.
  [[nodiscard]] std::optional<std::uint8_t> level(Lid from, Lid to) const;
  // A switch's links: the lane by level for packets that come in by one port and leave by the other; 0 is its own
  // management. Empty: OpenSM's options decide.
  [[nodiscard]] std::vector<std::uint8_t> lanes(Guid sw, unsigned in, unsigned out) const;
  // An end port's link.
  [[nodiscard]] std::vector<std::uint8_t> lanes_of_end_port() const;

 private:
  std::shared_ptr<const Routing> routing_;
  std::vector<std::uint32_t> destination_of_lid_;  // of a switch: one that is reached by the same routes
  unsigned levels_ = 0;                            // the most of any plane; 0: none uses several lanes
};

}  // namespace railweave::fabric::opensm
