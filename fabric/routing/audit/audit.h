// The audit: what forwarding tables do on the present fabric, computed before they are programmed by walking every
// column of every table. Independent of how the tables were made, so it also judges OpenSM's tables or those read back
// from switches. Pure; the report is the same on any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fabric/routing/plane/forwarding_tables.h"
#include "fabric/routing/plane/lanes.h"
#include "fabric/routing/plane/parallel_for.h"
#include "fabric/topology/fabric_view.h"
#include "fabric/topology/finding.h"

namespace railweave::fabric {

struct AuditOptions {
  unsigned shift_samples = 4;     // number of shift permutations of the host ports to walk; 0: none
  std::size_t max_examples = 16;  // number of pairs that findings name
  std::size_t parts = 1;          // number of parts of the work
  ParallelFor run;                // null: one part after the other

  [[nodiscard]] static AuditOptions on_all_cores();
};

// An ordered pair of an end port and a destination that it cannot send to.
struct UnreachedPair {
  enum class Reason : std::uint8_t {
    source_cut_off,       // the cable of the sending port is down
    destination_cut_off,  // the cable of the destination is down
    disconnected,         // no live links connect their switches
    drained,              // live links do, but only through drained links or switches
    no_entry,             // a switch on the route has no port for the destination
    dead_port,            // a switch on the route sends packets to a port whose cable is down or missing
    wrong_port,           // a switch delivers packets to another end port
    loop,                 // the tables send packets round in a loop
  };
  SwitchId from;  // the source's switch
  DestinationId destination;
  SwitchId at;                // the switch where the route ends; none: the cables are the reason
  std::uint64_t sources = 0;  // number of end ports on `from` concerned
  Reason reason = Reason::no_entry;
};
std::string_view to_string(UnreachedPair::Reason reason);

struct AuditReport {
  std::uint64_t pairs = 0;  // ordered (end port, destination LID of another end port or a switch)
  std::uint64_t unreachable_pairs = 0;
  std::uint64_t cut_off_pairs = 0;  // of the unreachable: by missing links or by drains, which no tables can repair
  std::uint64_t looping_pairs = 0;  // of the unreachable: sent in a loop
  // Not counted as unreachable: (end port, switch) without a route, as it would have to go down and up again.
  std::uint64_t unmanaged_pairs = 0;
  std::vector<UnreachedPair> unreached;  // the first few

  unsigned longest_route = 0;          // links between switches
  std::uint64_t nonminimal_pairs = 0;  // pairs whose route is longer than the present fabric requires

  unsigned lanes = 1;
  unsigned credit_loops = 0;        // lanes whose channels wait for each other in a circle
  std::vector<PortId> credit_loop;  // one such circle: the ports that packets leave by, in order

  // The largest number of ordered pairs of end ports (LID offset 0) whose routes cross one directed link between
  // switches, and the port that leaves by that link. _hosts: pairs of host ports only.
  std::uint64_t max_link_load = 0;
  std::uint64_t max_link_load_hosts = 0;
  PortId max_link, max_link_hosts;

  // Number of flows on the fullest link if host port i sends to host port i + k, over the sampled k.
  std::uint64_t worst_shift_load = 0;
  double mean_shift_load = 0;

  std::uint64_t drained_entries = 0;  // entries in use that send transit over drained links or switches
  std::vector<Finding> findings;

  // Whether the tables may be programmed: all that is connected is reached, without loops of packets or of credits.
  [[nodiscard]] bool verified() const { return unreachable_pairs == cut_off_pairs && credit_loops == 0; }
};

AuditReport audit(const FabricView& view, const ForwardingTables& tables, const Lanes& lanes,
                  const AuditOptions& options = {});

// The same plane by plane, so that planes that did not change are not audited again.
struct PlaneReport {
  AuditReport report;  // without findings about pairs and lanes
  std::vector<std::uint64_t> shift_loads;
};
using PlaneReports = std::vector<std::shared_ptr<const PlaneReport>>;  // by PlaneId

// known: reports that exist already, by PlaneId; null or missing: computed here.
PlaneReports audit_planes(const FabricView& view, const ForwardingTables& tables, const Lanes& lanes,
                          const AuditOptions& options, PlaneReports known = {});
AuditReport combined(const FabricView& view, const ForwardingTables& tables, const PlaneReports& planes,
                     const AuditOptions& options);

// The reports of the planes whose cables, drains, tables and lanes are the same before and after; null for the others.
// Both are of one topology.
struct AuditedTables {
  const FabricView& view;
  const ForwardingTables& tables;
  const Lanes& lanes;
};
PlaneReports unchanged_planes(const PlaneReports& before, const AuditedTables& was, const AuditedTables& is);

}  // namespace railweave::fabric
