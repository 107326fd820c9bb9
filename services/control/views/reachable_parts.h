// Which end ports of a fabric can reach each other over links and switches that are neither down nor drained. Used by
// the drain preview.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/topology/joined_switches.h"

namespace railweave::control {

class ReachableParts {
 public:
  explicit ReachableParts(const fabric::FabricView& view);

  // The port's own cable is in use.
  [[nodiscard]] bool usable(fabric::PortId end_port) const;
  // The same number for end ports that reach each other. Precondition: usable(end_port).
  [[nodiscard]] std::uint32_t part(fabric::PortId end_port) const;

 private:
  const fabric::FabricView& view_;
  mutable fabric::DisjointSets joined_;  // switches by index
};

// The end ports for DrainPreview::cut_off. `after` has more drained than `before`.
std::vector<fabric::PortId> find_cut_off(const fabric::FabricView& before, const fabric::FabricView& after);

}  // namespace railweave::control
