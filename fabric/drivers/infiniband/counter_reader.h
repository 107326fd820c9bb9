// Reads the counters of ports by performance management, whose datagrams are routed by LID as data is: ports without a
// LID or without routes do not answer. Nothing is reset. Traffic comes from the 64-bit counters where the device has
// them.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "fabric/drivers/infiniband/mad/port_counters.h"
#include "fabric/drivers/infiniband/mad_exchange.h"
#include "fabric/drivers/infiniband/subnet_map.h"
#include "fabric/drivers/port_reports.h"

namespace railweave::fabric::infiniband {

struct CounterReaderOptions {
  unsigned mads_per_second = 20'000;  // at most, on average over milliseconds; 0: no limit but the window
};

// By node: asked once, as long as the driver lives.
using CounterAbilitiesByNode = std::unordered_map<Guid, CounterAbilities>;

class CounterReader {
 public:
  CounterReader(MadExchange& exchange, const SubnetMap& map, CounterAbilitiesByNode& abilities,
                const CounterReaderOptions& options)
      : exchange_(exchange), map_(map), abilities_(abilities), options_(options) {}

  Result<std::vector<CounterReading>> read(std::span<const PortRef> ports);

 private:
  struct Place {
    std::uint32_t node = kNoNode;  // kNoNode: not to be asked
    Lid lid = 0;
  };
  Result<void> run(std::span<const PortRef> ports);
  void find(PortRef port, std::size_t index);
  void ask_abilities();
  void begin_next();
  void ask_traffic(std::size_t index);
  void failed(std::size_t index, const char* what, const MadReply& reply);

  MadExchange& exchange_;
  const SubnetMap& map_;
  CounterAbilitiesByNode& abilities_;
  const CounterReaderOptions options_;
  std::vector<Place> places_;             // as readings_
  std::vector<CounterReading> readings_;  // as the ports given
  std::size_t next_ = 0;
};

}  // namespace railweave::fabric::infiniband
