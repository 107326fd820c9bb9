// The cables of one subnet in the accepted topology, and how those that a driver found differ from them. Built once per
// topology; immutable.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fabric/drivers/fabric_driver.h"
#include "fabric/topology/fabric_view.h"
#include "services/control/live/status/subnet_status.h"

namespace railweave::control {

class SubnetLinks {
 public:
  SubnetLinks() = default;
  SubnetLinks(fabric::TopologyPtr topology, std::string_view subnet);

  [[nodiscard]] bool found() const { return subnet_.valid(); }  // the topology has such a subnet
  [[nodiscard]] const fabric::TopologyPtr& topology() const { return topology_; }
  [[nodiscard]] fabric::SubnetId subnet() const { return subnet_; }
  [[nodiscard]] const std::vector<fabric::SwitchId>& switches() const { return switches_; }
  [[nodiscard]] const std::vector<fabric::HcaId>& adapters() const { return adapters_; }

  struct Cable {
    fabric::LinkId link;
    Guid a, b;  // devices; a is a switch
    unsigned a_port = 0, b_port = 0;
  };
  [[nodiscard]] const std::vector<Cable>& cables() const { return cables_; }

  // As cables(): up where both ends are the accepted ones and packets pass; degraded where they pass more slowly.
  // bringing_up: up as soon as the peer can be asked, for callers that activate ports.
  // Where neither end answers the state is that of `before` (empty: down): silence is no reason to reroute.
  [[nodiscard]] std::vector<fabric::LinkState> states(const fabric::FabricDriver& driver, bool bringing_up,
                                                      const std::vector<fabric::LinkState>& before) const;

  // A cable is up at both ends, but packets do not pass: its ports are to be activated.
  [[nodiscard]] bool need_activation(const fabric::FabricDriver& driver) const;

  // Cables of end ports in whose place one of a switch is, itself or another, or of a device that is not accepted: what is sent there
  // goes on through switches. Ascending.
  [[nodiscard]] std::vector<fabric::LinkId> misled(const fabric::FabricDriver& driver) const;

  // Ports of accepted switches whose cables lead elsewhere than accepted: they are to pass no packets.
  [[nodiscard]] std::vector<fabric::PortRef> unused_ports(const fabric::FabricDriver& driver) const;

  // lids: compares LIDs too. At most SubnetStatus::kMaxDifferences; `count` is of all.
  [[nodiscard]] std::vector<FabricDifference> differences(const fabric::FabricDriver& driver,
                                                          const fabric::Topology& discovered, bool lids,
                                                          std::uint64_t& count) const;

 private:
  [[nodiscard]] fabric::LinkState state(const Cable& cable, const fabric::FabricDriver& driver, bool bringing_up,
                                        fabric::LinkState before) const;

  fabric::TopologyPtr topology_;
  fabric::SubnetId subnet_;
  std::vector<fabric::SwitchId> switches_;
  std::vector<fabric::HcaId> adapters_;
  std::vector<Cable> cables_;
};

}  // namespace railweave::control
