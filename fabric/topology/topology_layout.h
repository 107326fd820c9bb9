// The last step of TopologyBuilder: orders what was collected canonically, numbers it densely and fills the columns of
// a Topology. Internal to fabric/topology.
#pragma once

#include <cstdint>
#include <vector>

#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {

class TopologyLayout {
 public:
  explicit TopologyLayout(TopologyBuilder&& draft) : draft_(std::move(draft)) {}
  [[nodiscard]] Topology lay_out();

 private:
  using Order = std::vector<std::uint32_t>;  // draft indices in their final order

  void lay_out_names();  // racks, rails, subnets
  void lay_out_hosts();
  void sort_switches();
  void make_switch_names_unique();
  void lay_out_switches();
  void lay_out_hcas();
  void lay_out_gpus();
  void lay_out_domains();
  void lay_out_ports();
  void lay_out_links();
  void order_links();
  void add_link(PortId a, PortId b, const LinkSpec& spec);
  void lay_out_lookups();
  void derive();         // tiers and rails, from the columns
  void spread_sites();   // hosts and switches without a site get that of the devices they are cabled to
  void lay_out_sites();  // their names in order, and the links between them
  void name_subnets();   // switches without a subnet get that of a switch they are connected to, else "default"
  [[nodiscard]] std::string draft_text(std::uint32_t draft_port) const { return draft_.draft_port_text(draft_port); }

  TopologyBuilder draft_;
  Topology topology_;
  // draft index -> final index
  Order host_of_, switch_of_, hca_of_, gpu_of_, domain_of_, rack_of_, subnet_of_, site_of_, port_of_;
  Order hosts_, switches_, hcas_, gpus_, domains_;  // final -> draft
};

}  // namespace railweave::fabric
