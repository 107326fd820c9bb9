// Keeps the tables of ports as wanted: knows which of them are written, and writes the others a few at a time, so that
// a repair never waits for them. SL to VL of all ports comes before arbitration, and both before partition keys: when a
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
  // The device may have lost its tables.
  void forget(Guid device);
  void forget_all();
  // As forget_all(), but ports that were written count as written until they are found to differ.
  void check_all();

  // Another program writes the ports: they are read, again and again where they are not as wanted.
  void only_read(bool reads) { reads_ = reads; }
  // Ports that wait are tried at once: what they wait for may have happened.
  void try_again(std::int64_t now_us);

  // Something can be written now.
  [[nodiscard]] bool is_due(std::int64_t now_us) const;
  // Writes the next few that differ from what the ports have, and reads them back. Devices that are not there or in
  // `silent` are retried later. Error: nothing can be written at all.
  Result<void> write_some(fabric::FabricDriver& driver, const Clock& now_us,
                          const std::function<bool(Guid)>& is_silent);

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
    // Of the map: nothing differs for packets from other input ports. None: it may for all.
    std::optional<std::vector<std::uint8_t>> changed_in_ports{};
    bool is_written = false, differed = false;
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
  [[nodiscard]] bool is_current(Place place) const { return entries_[place.entry].ticket == place.ticket; }
  std::vector<std::uint32_t> take_slice(fabric::FabricDriver& driver, std::int64_t now_us,
                                        const std::function<bool(Guid)>& is_silent, Stage& stage);

  std::vector<Entry> entries_;  // by port
  std::array<std::deque<Place>, 3> due_;
  std::multimap<std::int64_t, Place> later_;
  std::size_t written_ = 0, slice_ = 4;
  bool reads_ = false;
  std::uint64_t revision_ = 0;
  Written since_;
};

}  // namespace railweave::control
