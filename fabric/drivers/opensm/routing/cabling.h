// A subnet as OpenSM sees it, and as it was cabled before something failed. Routing engines decide by how a fabric is
// cabled, not by what is up at the moment (fabric/routing/plane/routing_engine.h): what OpenSM no longer sees is
// remembered as down, so that its tables are those that every program computes from the cabling.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/guid.h"
#include "fabric/drivers/opensm/protocol/routing_policy.h"
#include "fabric/formats/infiniband/subnet_draft.h"
#include "fabric/formats/text/read_options.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric::opensm {

struct CabledPort {
  Guid guid;             // of adapter ports
  Lid lid = 0;           // of adapter ports; 0: none
  std::uint8_t lmc = 0;  // of adapter ports
  Guid peer;             // device at the other end; 0: no cable
  std::uint8_t peer_port = 0;
  LinkSpec link;
  bool healthy = true;  // seen now, and trusted
  friend bool operator==(const CabledPort&, const CabledPort&) = default;
};

struct CabledDevice {
  NetlistDevice type = NetlistDevice::network_switch;
  std::string description;        // as on the wire
  Lid lid = 0;                    // of switches
  std::uint8_t lmc = 0;           // of switches
  std::vector<CabledPort> ports;  // port n at [n - 1]
  friend bool operator==(const CabledDevice&, const CabledDevice&) = default;
};

struct Cabling {
  std::map<Guid, CabledDevice> devices;

  friend bool operator==(const Cabling&, const Cabling&) = default;
  // Merges what is seen now; devices and cables that are not seen stay, not healthy. Of two cables in one port, or two
  // devices with one LID, the one that is seen wins. True: the cabling changed, not only what is up of it.
  bool learn(const Cabling& seen);
  // The same topology as reading ibnetdiscover's output of it (fabric/formats), whatever is healthy.
  [[nodiscard]] Result<Topology> topology(const ReadOptions& options) const;
  // Links that are not healthy, from either end.
  [[nodiscard]] std::vector<LinkName> broken() const;
};

// A file of lines, for keeping it across restarts; see protocol.md. Reading makes everything not healthy: it was seen
// once. Errors name the line.
std::string write_cabling(const Cabling& cabling);
Result<Cabling> read_cabling(std::string_view text);

}  // namespace railweave::fabric::opensm
