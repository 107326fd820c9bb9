// What a job's ports need of each directed link of a plane whose subnet spreads its packets (path_spread.h): of a hose
// an upper bound of the largest load, of a pattern its load.
//
// The bound of an arc, f being the fraction of packets on it: the smaller of what its targets receive, each times the
// largest f of any source, and of what its sources send, each times the largest f to any target. Where every f is the
// same, as on a healthy fat tree, no bound is lower; the exact value is a linear program (a transportation problem).
// Loads are whole Mb/s, rounded up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "fabric/capacity/hose_load.h"
#include "fabric/capacity/pattern_load.h"
#include "fabric/capacity/spread_paths.h"

namespace railweave::fabric {

struct SpreadLoad {
  LoadVector loads;
  std::uint64_t unrouted = 0;  // (source switch, target) pairs, or flows, whose packets do not all arrive
};

// For the ports of one plane. Scratch memory; one per thread.
class SpreadLoads {
 public:
  // Borrows all.
  SpreadLoads(const FabricView& view, const ForwardingTables& tables, PlaneId plane)
      : topology_(view.topology()), scope_(tables.scope()), paths_(view, tables, plane) {}

  void fail(LinkId link, const RouteChanges* changes) { paths_.fail(link, changes); }

  // ports: of the plane, each once. O(source switches x targets x arcs of their paths), with adaptive x target switches.
  [[nodiscard]] SpreadLoad hose(std::span<const HosePort> ports);
  // flows: of the plane.
  [[nodiscard]] SpreadLoad pattern(std::span<const PatternFlow> flows);

 private:
  struct Source {
    std::uint32_t sw = 0;
    double send = 0;
  };
  struct Target {
    PortId port;
    std::uint32_t home = 0;
    double receive = 0;
  };
  struct Use {
    double received = 0;  // what targets receive, each times the largest fraction of any source
    double most = 0;      // of the sources, towards the target at hand
    // The largest fraction of each source to any target: `even` of those that cross, else by_source.
    double even = 0;                     // 0: not used
    std::vector<std::uint64_t> crosses;  // a bit for each source
    std::vector<double> by_source;       // empty: all are even
    void note(std::span<const std::uint32_t> whose, std::size_t sources, double fraction);
    [[nodiscard]] double sent(const std::vector<Source>& sources) const;
  };
  void read(std::span<const HosePort> ports);
  void append_host_links(std::span<const HosePort> ports, LoadVector& loads) const;
  [[nodiscard]] DirectedLink link_of(std::uint32_t arc) const;

  const Topology& topology_;
  const RoutingScope& scope_;
  SpreadPaths paths_;
  std::vector<Source> sources_;
  std::vector<std::uint32_t> switches_;  // of sources_
  std::vector<Target> targets_;
  std::vector<Use> uses_;  // by arc
  std::vector<std::uint32_t> used_, towards_;
};

}  // namespace railweave::fabric
