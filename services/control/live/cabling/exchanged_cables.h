// Cables of one subnet whose ends were exchanged: between ports that the accepted topology has, on devices that it has,
// each of which has one of these cables. What is half done (a port without a cable, or with one that is not known) is no
// exchange. Pure but for what the driver found.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fabric/drivers/fabric_driver.h"
#include "fabric/topology/recabling.h"
#include "services/control/live/links/subnet_links.h"

namespace railweave::control {

// The links in force that are to be others, so that the topology is as cabled; by what the driver found last. Also cables
// that are back where they are intended, while those exchanged with them are out.
// intended: of the operator; null: what is in force. only_back: what becomes as intended, and nothing else.
std::vector<fabric::Recabling> find_exchanged(const SubnetLinks& links, const fabric::Topology* intended,
                                              const fabric::FabricDriver& driver, bool only_back);

// Cables that were exchanged with each other, in a topology in force that is not as intended.
struct Exchange {
  struct Cable {
    std::string link;  // in force
    std::string text;  // where it leads, and where it is intended to
  };
  std::vector<Cable> cables;
  std::string text;  // for people: the cables, and what to do to put them back
};
std::vector<Exchange> exchanges(const SubnetLinks& links, const fabric::Topology& intended);

// Links at switches that are not as in the other topology, which has the same devices.
std::uint64_t count_other_links(const fabric::Topology& topology, const fabric::Topology& other);

// The same port in another topology, by GUID; none: it has no such port.
fabric::PortId same_port(const fabric::Topology& from, fabric::PortId port, const fabric::Topology& in);

}  // namespace railweave::control
