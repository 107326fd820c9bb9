// The port to a live fabric, or to a simulated one: everything that reads or writes switches goes through it. One
// driver stands for one subnet. Used by one thread, which it may block for as long as its bounded retries take.
//
// Desired and applied state are two things: whatever writes returns what was applied, switch by switch; a switch that
// does not answer is named and left out, and nobody waits for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/guid.h"
#include "fabric/drivers/port_reports.h"
#include "fabric/routing/delta/forwarding_delta.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

struct Sweep {
  bool changed = true;       // since the one before
  std::uint64_t asked = 0;   // datagrams that it took
  std::vector<Guid> silent;  // devices that are there but did not answer everything
};

struct DiscoveredFabric {
  TopologyPtr topology;
  bool changed = true;       // since the discovery before; false: the same topology object as then
  std::uint64_t asked = 0;   // datagrams that it took
  std::vector<Guid> silent;  // devices that are there but did not answer everything
};

// The cable at a port as last read.
struct LinkReading {
  bool known = false;  // an end of it could be asked; else it is as it was, for all one knows
  bool up = false;     // a peer can be asked; whether packets pass is `active`
  bool active = false;
  Guid peer;
  unsigned peer_port = 0;
  LinkSpec spec;
};

// What devices report unasked, or a poll finds.
struct Observation {
  enum class Kind : std::uint8_t {
    linkStateChange,   // a port of the switch went up or down
    capabilityChange,  // of an adapter: capabilities or description
    lost,              // reports may have been missed; discover again
  };
  Kind kind = Kind::linkStateChange;
  Guid device;
};

enum class WriteOutcome : std::uint8_t {
  applied,   // written, and read back as written
  mismatch,  // reads back differently
  refused,   // the switch said no
  silent,    // the switch does not answer, or is not in the subnet
  held,      // not written: it had to come after a write that was not applied
};

struct IsolatedSwitch {
  SwitchId sw;
  std::string reason;  // "does not answer", "refused LinearForwardingTable 3: invalid value"
};

struct ProgramReport {
  std::vector<WriteOutcome> blocks;  // as delta.blocks
  std::vector<IsolatedSwitch> isolated;
  std::uint64_t asked = 0;
  [[nodiscard]] bool complete() const { return isolated.empty(); }
};

struct TableReading {
  SwitchId sw;
  bool answered = false;
  std::vector<std::uint16_t> ports;  // by LID, from 0 to `top`; kNoPort: dropped
};

struct LidAssignment {
  Guid device;            // node GUID of a switch or an adapter
  std::uint8_t port = 0;  // of an adapter; 0 for switches
  Lid lid = 0;
  std::uint8_t lmc = 0;
};

struct BringUpReport {
  std::size_t lids_set = 0, ports_activated = 0;  // what was as wanted before is not counted
  std::vector<std::string> failed;                // "<guid>/<port>: reason"
  std::uint64_t asked = 0;
};

class FabricDriver {
 public:
  FabricDriver() = default;
  FabricDriver(const FabricDriver&) = delete;
  FabricDriver& operator=(const FabricDriver&) = delete;
  virtual ~FabricDriver() = default;

  // What is there. Incremental after the first time, unless `everything`.
  virtual Result<DiscoveredFabric> discover(bool everything = false) = 0;
  // The same without building a Topology: a fraction of the time on large fabrics. read_link() then says what it found.
  virtual Result<Sweep> sweep(bool everything = false) = 0;
  // Only the ports of these switches. None: it takes a sweep to find out what changed.
  virtual Result<std::optional<Sweep>> recheck(std::span<const Guid> switches) = 0;

  // As of the last discovery, sweep or recheck; asks nobody.
  [[nodiscard]] virtual bool is_present(Guid device) const = 0;
  [[nodiscard]] virtual LinkReading read_link(Guid device, unsigned port) const = 0;
  [[nodiscard]] virtual Lid read_lid(Guid device,
                                     unsigned port) const = 0;  // 0: none, or not known; port 0: a switch's
  // What tables a port can take; none: the port was not read.
  [[nodiscard]] virtual std::optional<PortTableLimits> read_limits(PortRef port) const = 0;
  // Waits at most so long for something to be reported.
  virtual Result<std::vector<Observation>> observe(std::chrono::milliseconds wait) = 0;
  // Ids are those of the topology given, which need not be the one discovered last: devices are found by GUID.
  virtual Result<std::vector<TableReading>> read_tables(const Topology& topology, std::span<const SwitchId> switches,
                                                        Lid top) = 0;
  // Writes the delta's blocks in its order of stages and reads back what was written. Error only where nothing can be
  // written at all.
  virtual Result<ProgramReport> program(const Topology& topology, const ForwardingDelta& delta) = 0;
  // Whether writing is in order now: the mode allows it, and nobody else is in charge. Asks.
  virtual Result<void> may_write() = 0;
  // Gives LIDs, and brings every cabled port to active. sm_lid: whom devices report to; 0: the port we look through.
  virtual Result<BringUpReport> bring_up(std::span<const LidAssignment> lids, Lid sm_lid) = 0;
  // Writes what differs of the tables and reads it back, port by port. Error only where nothing can be written at all.
  virtual Result<PortTablesReport> program_ports(std::span<const PortTables> wanted) = 0;
  // Answers in the order of the ports.
  virtual Result<std::vector<PortTablesReading>> read_port_tables(std::span<const PortRef> ports) = 0;
  virtual Result<std::vector<CounterReading>> read_counters(std::span<const PortRef> ports) = 0;
};

}  // namespace railweave::fabric
