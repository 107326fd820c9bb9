// The links that flows between end ports cross by the forwarding tables: many paths at once, in compact form.
// route_trace.h follows a single one and explains where it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fabric/flow/directed_link.h"
#include "fabric/flow/pair_paths.h"
#include "fabric/routing/plane/forwarding_tables.h"

namespace railweave::fabric {

// Path i is links [first[i], first[i + 1]); empty where packets do not arrive. unrouted: number of empty paths.
struct FlowPaths {
  std::vector<std::uint32_t> first{0};
  std::vector<DirectedLink> links;
  std::size_t unrouted = 0;

  [[nodiscard]] std::size_t size() const { return first.size() - 1; }
  [[nodiscard]] std::span<const DirectedLink> path(std::size_t i) const {
    return std::span(links).subspan(first[i], first[i + 1] - first[i]);
  }
};

// Immutable; any number of threads may use one. Borrows the tables.
class PathWalker final : public PairPaths {
 public:
  // O(switch ports).
  PathWalker(const FabricView& view, const ForwardingTables& tables);

  // O(hops).
  bool append(EndPortPair pair, std::vector<DirectedLink>& out) const override;

  // Many at once: 64 walks advance alternately, so that their cache misses overlap.
  [[nodiscard]] FlowPaths paths(std::span<const EndPortPair> pairs) const;

 private:
  static constexpr std::uint32_t kNoSwitch = UINT32_MAX;
  struct NextHop {                   // behind a switch's port
    std::uint32_t sw = kNoSwitch;    // the next switch; none: an end port, or no live cable
    DirectedLink link = UINT32_MAX;  // none: no live cable
  };
  struct Walk;
  [[nodiscard]] bool start(EndPortPair pair, Walk& walk) const;
  enum class Step : std::uint8_t { on, arrived, lost };
  [[nodiscard]] Step step(Walk& walk) const;

  const Topology* topology_;
  const ForwardingTables* tables_;
  std::vector<std::uint8_t> alive_;        // by LinkId
  std::vector<std::uint32_t> first_port_;  // by switch, and the end
  std::vector<NextHop> next_hops_;         // by switch port
};

}  // namespace railweave::fabric
