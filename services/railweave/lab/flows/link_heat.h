// The load of every directed link, and a heat map of it by tier.
#pragma once

#include <string>
#include <vector>

#include "fabric/flow/directed_link.h"
#include "services/railweave/lab/flows/flow_rates.h"

namespace railweave::cli {

struct LinkHeat {
  fabric::DirectedLink link = 0;
  std::string stage;  // "hosts up", "tier 0 up", "tier 1 down", "hosts down", "NVLink"...
  double load_mbps = 0, capacity_mbps = 0;
  std::uint8_t fullest_class = 0;
  double fullest_class_mbps = 0;
  [[nodiscard]] double heat() const { return capacity_mbps > 0 ? load_mbps / capacity_mbps : 0; }
};

// All network links that are up, in the order of their ids.
std::vector<LinkHeat> link_heats(const fabric::FabricView& view, const fabric::ClassRates& rates, std::size_t classes,
                                 const std::vector<double>& capacity_mbps);
// The hottest `most` links, hottest first, without those that carry no load.
std::vector<LinkHeat> hottest(std::vector<LinkHeat> heats, std::size_t most);

// "leaf-1/3", "node-7/mlx5_0/1": by names, where the device has one.
std::string end_text(const fabric::Topology& topology, fabric::PortId port);
std::string link_heat_text(const fabric::Topology& topology, fabric::DirectedLink link);  // "leaf-1/3 > spine-2/1"

// An SVG with a row per stage, from hosts up through the tiers and down again, and a cell per link, or per group of links
// with the heat of the hottest, where there are too many to draw.
std::string heat_svg(const fabric::Topology& topology, const std::vector<LinkHeat>& heats, const std::string& title);

}  // namespace railweave::cli
