// The oracle of the routing tests: follows one packet from every end port to every destination over the topology
// itself. Shares no code with the engines or the audit.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fabric/routing/plane/routing_engine.h"
#include "fabric/topology/fabric_view.h"

namespace railweave::fabric::testing {

struct NaiveReport {
  std::uint64_t pairs = 0;
  std::uint64_t unreachable = 0;   // pairs whose packets do not arrive
  std::uint64_t disconnected = 0;  // pairs that no live, undrained links connect, or whose own cables are down
  std::uint64_t failed = 0;        // unreachable, though not disconnected
  std::uint64_t unmanaged = 0;     // not counted above: no entry for a switch's management port
  std::uint64_t nonminimal = 0;
  unsigned longest = 0;
  bool credit_loop = false;
  unsigned lanes = 0;  // of links between switches; one more than the highest lane that a packet uses
  std::map<std::pair<SwitchId, SwitchId>, unsigned> route_length;  // of what arrives; the most links
  std::map<PortId, std::uint64_t> load, host_load;                 // by the port that packets leave by
  std::uint64_t max_load = 0, max_host_load = 0;
  std::vector<std::string> failures;  // the first few

  [[nodiscard]] std::string text() const;
};

NaiveReport check_naively(const FabricView& view, const Routing& routing);

}  // namespace railweave::fabric::testing
