// Assigns LIDs to ports and brings links from initialize through armed to active (IBA 14.4.4). Only differences are
// written. Everything is read before it is written: Set replaces the whole attribute.
#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>

#include "fabric/drivers/fabric_driver.h"
#include "fabric/drivers/infiniband/mad_exchange.h"
#include "fabric/drivers/infiniband/subnet_map.h"
#include "fabric/qos/port_tables.h"

namespace railweave::fabric::infiniband {

class PortWriter {
 public:
  PortWriter(MadExchange& exchange, SubnetMap& map) : exchange_(exchange), map_(map) {}

  // Each returns when everything is answered; what failed is in the report.
  Result<void> set_lids(std::span<const LidAssignment> lids, Lid sm_lid);
  Result<void> activate_links(std::span<const PortRef> unused);
  // A port whose clients are to ask the administration again, at this level. Queued until run_announcements().
  void announce(std::uint32_t node, std::uint8_t port, std::uint8_t level, std::function<void()> taken);
  Result<void> run_announcements() { return exchange_.run(); }
  [[nodiscard]] BringUpReport take_report() { return std::move(report_); }

 private:
  Result<void> advance_links(const std::set<PortRef>& unused);
  static bool has(const PortInfo& present, const PortSetting& setting);
  using Done = std::function<void(const PortInfo&)>;
  void change(std::uint32_t node, std::uint8_t port, const PortSetting& setting, Done done);
  void failed(std::uint32_t node, std::uint8_t port, const std::string& reason);
  void advance(std::uint32_t node, std::uint8_t port, PortState to);

  MadExchange& exchange_;
  SubnetMap& map_;
  BringUpReport report_;
  bool fell_back_ = false;  // a port was found in an earlier state than it was believed to be in
};

// The route to one port: adapters are asked through the port itself, switches through any.
DirectedRoute route_to_port(const SubnetMap& map, std::uint32_t node, std::uint8_t port);

}  // namespace railweave::fabric::infiniband
