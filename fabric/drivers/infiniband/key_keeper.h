// Finds out which management key each port holds, gives the wanted one to those that hold another, and reads it back. A key is
// known to be held where PortInfo tells it to who shows it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/drivers/infiniband/key_book.h"
#include "fabric/drivers/infiniband/mad/port_info.h"
#include "fabric/drivers/infiniband/mad_exchange.h"
#include "fabric/drivers/infiniband/subnet_map.h"

namespace railweave::fabric::infiniband {

class KeyKeeper {
 public:
  KeyKeeper(MadExchange& exchange, const SubnetMap& map, KeyBook& book);

  // Reads only: ports that were not asked before, or all. What they hold is in the book then.
  Result<void> find(bool all);
  // Reads all, writes what differs, and reads that back. Error: the local port fails.
  Result<ManagementKeysReport> keep();

 private:
  enum class Finding : std::uint8_t { silent, none, known, readable, locked };
  struct Port {
    std::uint32_t node = kNoNode;
    PortRef ref;
    std::vector<std::uint64_t> candidates{};  // worked out where the likely key is not the one that it holds
    std::size_t tried = 0;                    // of them
    Finding finding = Finding::silent;
    PortKey present{};                     // as the port is, its key included where it is known
    std::array<std::uint8_t, 64> bytes{};  // PortInfo as last read
    bool was_written = false;
  };

  void list(bool all);
  void ask(std::size_t index, std::uint64_t key);
  void took(std::size_t index, std::uint64_t shown, AttributeBytes data);
  [[nodiscard]] PortKey wanted(const Port& port) const;
  void write(std::size_t index);
  void count(const Port& port, ManagementKeysReport& report) const;

  MadExchange& exchange_;
  const SubnetMap& map_;
  KeyBook& book_;
  std::vector<Port> ports_;
};

}  // namespace railweave::fabric::infiniband
