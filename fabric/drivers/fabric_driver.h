// This folder's interface: everything that reads or writes the switches of a live or simulated fabric goes through it.
// One driver stands for one subnet. Used by one thread, which it may block for as long as its bounded retries take.
//
// Desired and applied state are two things: every write returns what was applied, switch by switch. A switch that does
// not answer is named in the result and does not delay the others.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/guid.h"
#include "fabric/drivers/administration.h"
#include "fabric/drivers/management_keys.h"
#include "fabric/drivers/port_reports.h"
#include "fabric/routing/delta/forwarding_delta.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

struct Sweep {
  bool changed = true;       // since the sweep before
  std::uint64_t asked = 0;   // datagrams sent
  std::vector<Guid> silent;  // devices that are present but did not answer every question
  // The local port has no link, or what is behind it does not answer: nothing is known of any device, and what was
  // found before stays as it was.
  bool blind = false;
};

struct DiscoveredFabric {
  TopologyPtr topology;
  bool changed = true;       // since the discovery before; false: the same topology object
  std::uint64_t asked = 0;   // datagrams sent
  std::vector<Guid> silent;  // devices that are present but did not answer every question
  bool blind = false;        // as Sweep::blind
};

// The cable at a port as last read.
struct LinkReading {
  bool known = false;  // one of its ends answered; else the state is the last known one
  bool up = false;     // the peer can be asked; `active`: packets pass
  bool active = false;
  Guid peer;
  unsigned peer_port = 0;
  LinkSpec spec;
};

// A change that a device reported in a trap, or that a poll found.
struct Observation {
  enum class Kind : std::uint8_t {
    linkStateChange,   // a port of the switch went up or down
    capabilityChange,  // of an adapter: capabilities or description
    lost,              // reports may have been lost; discover again
    wrongKey,          // the device was sent a datagram with another management key than its own
  };
  Kind kind = Kind::linkStateChange;
  Guid device;
  Guid sender{};  // of wrongKey; unknown: no device has its LID
};

enum class WriteOutcome : std::uint8_t {
  applied,   // written, and read back as written
  mismatch,  // reads back differently
  refused,   // the switch answered with an error
  silent,    // the switch does not answer, or is not in the subnet
  held,      // not written: a write that must come before it was not applied, or the driver yielded
  changed,   // not written: another program has written it since, as ForwardingDelta::expected says
};

struct IsolatedSwitch {
  SwitchId sw;
  std::string reason;  // "does not answer", "refused LinearForwardingTable 3: invalid value"
};

struct ProgramReport {
  std::vector<WriteOutcome> blocks;  // as delta.blocks
  std::vector<IsolatedSwitch> isolated;
  std::uint64_t asked = 0;
  bool yielded = false;  // to another program that writes: the rest is held
  // A link failed or came back while packets were waited for: the rest is held, and some of those packets may still be on their way.
  bool interrupted = false;
  [[nodiscard]] bool complete() const { return isolated.empty() && !yielded && !interrupted; }
};

struct TableReading {
  SwitchId sw;
  bool answered = false;
  std::vector<std::uint16_t> ports;  // by LID, from 0 to `top`; kNoPort: dropped
};

// One switch as it is now, asked for itself, whatever was found or written before.
struct SwitchSight {
  struct Port {
    bool up = false;      // there is a peer
    bool active = false;  // packets pass
    Guid peer;            // unknown: it does not answer
    unsigned peer_port = 0;
    Lid peer_lid = 0;  // of an adapter that answers
  };
  TableReading table;       // without entries above the switch's highest LID; answered: all questions were
  std::vector<Port> ports;  // by number; [0] is empty
};

struct LidAssignment {
  Guid device;            // node GUID of a switch or an adapter
  std::uint8_t port = 0;  // of an adapter; 0 for switches
  Lid lid = 0;
  std::uint8_t lmc = 0;
};

struct BringUpReport {
  std::size_t lids_set = 0, ports_activated = 0;  // without those that already were as wanted
  std::vector<std::string> failed;                // "<guid>/<port>: reason"
  std::uint64_t asked = 0;
};

class FabricDriver {
 public:
  FabricDriver() = default;
  FabricDriver(const FabricDriver&) = delete;
  FabricDriver& operator=(const FabricDriver&) = delete;
  virtual ~FabricDriver() = default;

  // Reads the whole subnet. Incremental after the first time, unless `everything`.
  virtual Result<DiscoveredFabric> discover(bool everything = false) = 0;
  // The same without building a Topology: a fraction of the time on large fabrics. read_link() then says what it found.
  virtual Result<Sweep> sweep(bool everything = false) = 0;
  // Reads only the ports of these switches, and of those that seem to be gone where their cables end. None: they do not
  // suffice to find out what changed; sweep.
  virtual Result<std::optional<Sweep>> recheck(std::span<const Guid> switches, std::span<const Guid> gone) = 0;

  // As of the last discovery, sweep or recheck; sends nothing.
  [[nodiscard]] virtual bool is_present(Guid device) const = 0;
  [[nodiscard]] virtual LinkReading read_link(Guid device, unsigned port) const = 0;
  // port 0: a switch's own LID. 0: none, or not known.
  [[nodiscard]] virtual Lid read_lid(Guid device, unsigned port) const = 0;
  // Which tables a port can hold; none: the port was not read.
  [[nodiscard]] virtual std::optional<PortTableLimits> read_limits(PortRef port) const = 0;
  // Waits at most this long for a report.
  virtual Result<std::vector<Observation>> observe(std::chrono::milliseconds wait) = 0;
  // Ids are those of the topology given, which need not be the one discovered last: devices are found by GUID.
  virtual Result<std::vector<TableReading>> read_tables(const Topology& topology, std::span<const SwitchId> switches,
                                                        Lid top) = 0;
  // Tables and ports of these switches as they are at this moment. Changes nothing of what sweeps found.
  virtual Result<std::vector<SwitchSight>> look(const Topology& topology, std::span<const SwitchId> switches,
                                                Lid top) = 0;
  // Writes the delta's blocks in its order of stages and reads back what was written. Error only where nothing can be
  // written at all.
  virtual Result<ProgramReport> program(const Topology& topology, const ForwardingDelta& delta) = 0;
  // Asked before each block that program() writes: once it says yes, nothing more is written.
  virtual void yield_when(std::function<bool()> another_writes) = 0;
  // Asks the subnet whether writing is allowed: by the mode, and because no other subnet manager is master.
  virtual Result<void> may_write() = 0;
  // Assigns LIDs and brings every cabled port to active, but for those that are `unused` and the other ends of their cables, which
  // stay as they are. sm_lid: where devices send traps; 0: the local port.
  virtual Result<BringUpReport> bring_up(std::span<const LidAssignment> lids, Lid sm_lid,
                                         std::span<const PortRef> unused) = 0;
  // Writes what differs of the tables and reads it back, port by port. Error only where nothing can be written at all.
  virtual Result<PortTablesReport> program_ports(std::span<const PortTables> wanted) = 0;
  // Gives every port the management key of this generation, and reads it back; releases: takes it away, for another subnet
  // manager. Nothing without secrets. Error only where nothing can be written at all.
  virtual Result<ManagementKeysReport> keep_keys(std::uint64_t generation, bool releases) = 0;
  // Where this process administers the subnet: what its clients are told from now on, and tells adapters' ports to ask again where
  // they were not told yet, or where the service levels of their paths are others than when they were. Error only where
  // nothing can be written at all.
  virtual Result<AdministrationReport> administer(const AdministrationBasis& /*basis*/) {
    return AdministrationReport{};
  }
  // Makes switches lead what is sent to multicast groups to their members, as clients joined and as the last administer() found the
  // subnet. Only blocks that differ from what was last written or read are written, entries that lead elsewhere after such as lead
  // where both old and new ones do, so that no mixture goes round in circles. verify: reads again what was written before.
  // Error only where nothing can be written at all.
  virtual Result<MulticastReport> keep_multicast(bool /*verify*/) { return MulticastReport{}; }
  // None: this process does not administer the subnet.
  [[nodiscard]] virtual std::optional<AdministrationCounts> administration() const { return std::nullopt; }
  // Answers in the order of the ports.
  virtual Result<std::vector<PortTablesReading>> read_port_tables(std::span<const PortRef> ports) = 0;
  virtual Result<std::vector<CounterReading>> read_counters(std::span<const PortRef> ports) = 0;
};

}  // namespace railweave::fabric
