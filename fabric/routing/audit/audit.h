// What forwarding tables do, before anyone programs them: walks every column of every table on the fabric as it is.
// Knows nothing of how the tables were made, so it judges OpenSM's or a switch's own as well. Pure; the report is the
// same on any number of threads.
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
  unsigned shift_samples = 4;     // shift permutations of the host ports to walk; 0: none
  std::size_t max_examples = 16;  // pairs named in findings
  std::size_t parts = 1;          // to cut the work into
  ParallelFor run;                // none: one part after the other

  [[nodiscard]] static AuditOptions on_all_cores();
};

// An ordered pair of an end port and a destination that it cannot send to.
struct UnreachedPair {
  enum class Reason : std::uint8_t {
    source_cut_off,       // the cable of the sending port is down
    destination_cut_off,  // that of the destination
    disconnected,         // no live links join their switches
    drained,              // live links do, but only through what is drained
    no_entry,             // a switch on the way has no port for it
    dead_port,            // a switch on the way sends it to a port whose cable is down or missing
    wrong_port,           // a switch delivers it to another end port
    loop,                 // the tables send it round
  };
  SwitchId from;  // the source's switch
  DestinationId destination;
  SwitchId at;                // where it ends; none: with the cables themselves
  std::uint64_t sources = 0;  // end ports on `from` that it concerns
  Reason reason = Reason::no_entry;
};
std::string_view to_string(UnreachedPair::Reason reason);

struct AuditReport {
  std::uint64_t pairs = 0;  // ordered (end port, destination LID of another end port or a switch)
  std::uint64_t unreachable_pairs = 0;
  std::uint64_t cut_off_pairs = 0;  // of these: for want of links or by drains, which no tables can mend
  std::uint64_t looping_pairs = 0;  // of these
  // Not among these: (end port, switch) that have no route, for it would have to go down and up again.
  std::uint64_t unmanaged_pairs = 0;
  std::vector<UnreachedPair> unreached;  // the first few

  unsigned longest_route = 0;          // links between switches
  std::uint64_t nonminimal_pairs = 0;  // routes longer than the fabric as it is allows

  unsigned lanes = 1;
  unsigned credit_loops = 0;        // lanes whose channels wait for each other in a circle
  std::vector<PortId> credit_loop;  // one such circle: the ports that packets leave by, in order

  // Ordered pairs of end ports whose route crosses one directed link between switches (LID offset 0): the most, and
  // where: the port they leave by. _hosts: pairs of host ports only.
  std::uint64_t max_link_load = 0;
  std::uint64_t max_link_load_hosts = 0;
  PortId max_link, max_link_hosts;

  // Host port i sends to i + k, for sampled k: flows on the fullest link.
  std::uint64_t worst_shift_load = 0;
  double mean_shift_load = 0;

  std::uint64_t drained_entries = 0;  // entries in use that send transit over what is drained
  std::vector<Finding> findings;

  // Tables may be programmed: whatever is connected is reached, without loops of packets or of credits.
  [[nodiscard]] bool verified() const { return unreachable_pairs == cut_off_pairs && credit_loops == 0; }
};

AuditReport audit(const FabricView& view, const ForwardingTables& tables, const Lanes& lanes,
                  const AuditOptions& options = {});

// The same plane by plane, so that what did not change need not be looked at again.
struct PlaneReport {
  AuditReport report;  // without findings about pairs and lanes
  std::vector<std::uint64_t> shift_loads;
};
using PlaneReports = std::vector<std::shared_ptr<const PlaneReport>>;  // by PlaneId

// known: of planes for which a report is there already, by PlaneId; null or short: to be made.
PlaneReports audit_planes(const FabricView& view, const ForwardingTables& tables, const Lanes& lanes,
                          const AuditOptions& options, PlaneReports known = {});
AuditReport combined(const FabricView& view, const ForwardingTables& tables, const PlaneReports& planes,
                     const AuditOptions& options);

// What was reported of the planes whose cables, drains, tables and lanes are the same before and after; null for the
// others. The two are of one topology.
struct AuditedTables {
  const FabricView& view;
  const ForwardingTables& tables;
  const Lanes& lanes;
};
PlaneReports unchanged_planes(const PlaneReports& before, const AuditedTables& was, const AuditedTables& is);

}  // namespace railweave::fabric
