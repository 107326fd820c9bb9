// Switches that links in use do not join any more to the rest of what cables join: a rack whose leaf is dead, or whose
// uplinks are down or drained. Constant after construction.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

class CutOffSwitches {
 public:
  CutOffSwitches() = default;  // none
  // O(links). Of what cables join, the part with most adapter ports is the rest, then that with most switches; a drained
  // switch is never of it. Parts without any adapter are not cut off, as no one is there. Where no adapter has a cable that
  // is up, nothing is up yet, which is not a part that was lost.
  explicit CutOffSwitches(const FabricView& view);

  [[nodiscard]] bool contains(SwitchId sw) const { return part(sw) != 0; }
  // 1 .. parts(), the same for switches that are still joined to each other; 0: not cut off.
  [[nodiscard]] std::uint32_t part(SwitchId sw) const { return parts_ == 0 ? 0 : part_of_[sw.index()]; }
  [[nodiscard]] std::uint32_t parts() const { return parts_; }
  friend bool operator==(const CutOffSwitches&, const CutOffSwitches&) = default;

 private:
  std::vector<std::uint32_t> part_of_;  // by SwitchId; empty: there are none
  std::uint32_t parts_ = 0;
};

}  // namespace railweave::fabric
