// The links that flows cross where each switch chooses among all next hops on shortest paths by a hash of the flow, as Ethernet
// switches do (equal-cost multipath, RFC 2992): flows meet on one link while others are idle. Hashes of devices are not published,
// so another one stands for them: even over the next hops, the same for all packets between two ports, and independent from one
// switch to the next. Cables that are parallel are next hops of their own.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "fabric/flow/pair_paths.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric {

// Not thread-safe: keeps the distances to switches that were destinations. Borrows the view.
class HashedPaths final : public PairPaths {
 public:
  // seed: another one stands for other source ports of the same flows.
  HashedPaths(const FabricView& view, std::uint64_t seed) : view_(&view), seed_(seed) {}

  // O(hops x ports of a switch), the first time to a switch O(links).
  bool append(EndPortPair pair, std::vector<DirectedLink>& out) const override;

 private:
  static constexpr std::uint16_t kFar = UINT16_MAX;
  // By switch, in cables; kFar: no path.
  [[nodiscard]] const std::vector<std::uint16_t>& distances(SwitchId to) const;

  const FabricView* view_;
  std::uint64_t seed_;
  mutable std::map<SwitchId, std::vector<std::uint16_t>> distances_;
};

}  // namespace railweave::fabric
