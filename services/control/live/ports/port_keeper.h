// Keeps the tables of ports as wanted: knows which of them are written, and writes the others a few at a time, so that
// a repair never waits for them. Ports that are written are looked at again and again: what another program has changed is
// written once more, and counts as written when the next look finds it. SL to VL of all ports comes before arbitration, and both before partition keys: when a
// port joins a partition, the lanes for its traffic exist. Used by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabric/drivers/fabric_driver.h"
#include "services/control/live/status/port_progress.h"

namespace railweave::control {

class PortKeeper {
 public:
  using Clock = std::function<std::int64_t()>;  // monotonic, microseconds

  // All ports, each once. Those whose tables are as before stay as they are.
  void want(std::vector<fabric::PortTables> ports);
  [[nodiscard]] std::uint64_t wanted_revision() const { return wanted_revision_; }  // another one after each want()
  [[nodiscard]] std::vector<fabric::PortTables> wanted() const;                     // as last wanted, by port
  // The device may have lost its tables.
  void forget(Guid device);
  void forget_all();
  // Ports that are written are looked at as soon as possible; they count as written until they are found to differ.
  void look_at_all();

  // Another program writes the ports: they are read, again and again where they are not as wanted.
  void only_read(bool reads) { reads_ = reads; }
  // Ports that wait are tried at once: what they wait for may have happened.
  void try_again(std::int64_t now_us);

  // Something can be written now.
  [[nodiscard]] bool is_due(std::int64_t now_us) const;
  // Maps of service levels, which come first.
  [[nodiscard]] bool are_maps_due() const { return !due_[static_cast<std::size_t>(Stage::sl_to_vl)].empty(); }
  // Writes the next few that differ from what the ports have, and reads them back. Devices that are not there or in
  // `silent` are retried later. Error: nothing can be written at all.
  Result<void> write_some(fabric::FabricDriver& driver, const Clock& now_us,
                          const std::function<bool(Guid)>& is_silent);

  // Reads the next few ports that are written and were not looked at for `every_us`, at most kMaxPerSecond datagrams a second.
  // True: what is known of ports differs from before. Error: nothing can be read.
  static constexpr std::int64_t kMaxPerSecond = 20'000;
  Result<bool> look_some(fabric::FabricDriver& driver, const Clock& now_us, std::int64_t every_us,
                         const std::function<bool(Guid)>& is_silent);
  // Ports whose tables another program has changed, and what differed; until a look has found them as wanted.
  struct Change {
    fabric::PortRef port;
    std::string text;
  };
  [[nodiscard]] std::vector<Change> changes() const;
  [[nodiscard]] std::size_t changed_ports() const { return changed_; }

  // The number of ports asked for that do not have their maps and arbitration yet, and the first that does not take them.
  struct LaneTables {
    std::size_t due = 0;
    std::optional<fabric::PortRef> refused_by{};
    std::string reason{};
  };
  [[nodiscard]] LaneTables lane_tables(const std::function<bool(fabric::PortRef)>& is_asked) const;  // O(ports)

  [[nodiscard]] std::size_t ports() const { return entries_.size(); }
  [[nodiscard]] std::size_t written_ports() const { return written_; }
  // The first port that could not be written, why, and the number of such ports. Of those that another program writes,
  // which have not been as wanted for some seconds.
  struct Failure {
    fabric::PortRef port;
    std::string reason;
    std::size_t ports = 0;
  };
  [[nodiscard]] Failure failure() const;
  // The ports that are not written, by port. O(ports).
  [[nodiscard]] std::vector<PendingPort> pending() const;
  // Another number whenever pending() may differ.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }
  // Blocks written and ports they were written to since this was last asked.
  struct Written {
    std::uint64_t blocks = 0, ports = 0, asked = 0;
  };
  Written take_written();

 private:
  enum class Stage : std::uint8_t { sl_to_vl, arbitration, pkeys, done };
  struct Entry {
    fabric::PortTables wanted;
    Stage next = Stage::sl_to_vl;
    // The input ports whose maps differ; none: all may.
    std::optional<std::vector<std::uint8_t>> changed_in_ports{};
    bool is_written = false, differed = false;
    bool keeps_high_limit = true;  // else the device does not implement it
    std::string changed{};         // by another program, and what; "": as far as is known nothing
    std::int64_t looked_us = 0;
    std::uint32_t ticket = 0;  // of its place in a queue; places with other tickets are void
    std::int64_t wait_us = 0, retry_us = 0;
    std::string failure;
  };
  struct Place {
    std::uint32_t entry = 0, ticket = 0;
  };

  void restart(std::uint32_t index, Stage stage, bool is_written);
  void put(std::uint32_t index);
  void postpone(std::uint32_t index, std::int64_t now_us, std::string reason);
  void set_written(Entry& entry, bool is_written);
  void set_changed(Entry& entry, std::string what);
  std::vector<std::uint32_t> take_looks(fabric::FabricDriver& driver, std::int64_t now_us, std::int64_t every_us,
                                        const std::function<bool(Guid)>& is_silent);
  [[nodiscard]] bool is_current(Place place) const { return entries_[place.entry].ticket == place.ticket; }
  std::vector<std::uint32_t> take_slice(fabric::FabricDriver& driver, std::int64_t now_us,
                                        const std::function<bool(Guid)>& is_silent, Stage& stage);

  std::vector<Entry> entries_;  // by port
  std::array<std::deque<Place>, 3> due_;
  std::multimap<std::int64_t, Place> later_;
  std::size_t written_ = 0, changed_ = 0, slice_ = 4;
  std::size_t next_look_ = 0, look_slice_ = 4;
  std::int64_t next_look_us_ = 0;
  bool reads_ = false;
  std::uint64_t revision_ = 0, wanted_revision_ = 0;
  Written since_;
};

}  // namespace railweave::control
