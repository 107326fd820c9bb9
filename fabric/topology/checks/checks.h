// Checks of a fabric as cabled: what is wrong, unusual or worth knowing (`railweave fabric check`). Pure.
//
// Codes of the findings made here. All objects with the same problem are in one finding, up to 1,000 of them.
//
//   code                severity      objects        meaning
//   tiersFound          info          -              number of switches on each tier
//   railsInferred       info          rails          rails inferred from the cabling, and with which confidence
//   hostShortOfRail     warning       hosts          no port on a rail that similar hosts are on
//   adapterOnOddRail    warning       adapter ports  on another rail than the same port of others: swapped cables
//   portsCrossed        warning       adapter ports  two of one host, each on the rail of the other; one finding for each pair
//   hostOnSpine         warning       switches       a spine with a host or two (some routing engines refuse these)
//   hostWithoutLinks    warning       hosts          no adapter has a cable
//   adapterWithoutLink  info          adapter ports  no cable, while most hosts have one there
//   leafShortOfUplinks  warning       switches       fewer links up than its peers, or none to a spine that they reach
//   spineShortOfLinks   warning       switches       the other ends of these missing links
//   linkSlowerThanClass warning       links          slower than most links between such devices
//   sameTierLinks       info/warning  links          join two switches of one tier; a warning where exceptional
//   linkBetweenSubnets  error         links          InfiniBand subnets must not be joined by switches
//   severalComponents   warning       switches       a subnet in several parts; one switch of each part
//   isolatedSwitch      warning       switches       connected to no host
//   tooManyLids         error         subnets        more addresses needed than a subnet has (49,151)
//   duplicateLid        error         LIDs           two ports of a subnet with one LID
//   levelsNotNested     warning       a group        see locality.h
//   hostsWithoutSite    warning       a host         no site, while other hosts have one
//   siteFallsApart      warning       a site         no cable joins all of it
//
// Reading and building add: asymmetricLink, danglingLink, linkEndsDiffer, linkToItself, siteLinkToItself,
// portUsedTwice, portOutOfRange, duplicateGuid, duplicateName, tooManyFindings, and the codes that the headers of the
// readers list (fabric/formats).
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "fabric/topology/finding.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

// The reader's code of a fabric made of groups of hosts alone, with a switch and assumed rates for each: no rate of it is slower
// than it should be.
inline constexpr std::string_view kTiersWithoutCables = "tiersWithoutCables";

// Source findings first, then those of the checks; objects in natural order. O(ports log ports).
std::vector<Finding> check_fabric(const Topology& topology);

// What `railweave lab fabric` and GET /v1/fabric count.
struct FabricSummary {
  std::size_t switches = 0;
  std::size_t leaves = 0;  // switches with host ports
  std::size_t hosts = 0;
  std::size_t gpus = 0;
  std::size_t host_ports = 0;  // cabled adapter ports of hosts
  std::size_t aggregation_nodes = 0;
  std::size_t routers = 0;
  std::size_t inter_switch_links = 0;
  std::size_t host_links = 0;
  std::size_t components = 0;  // connected parts that contain a switch
  std::size_t tiers = 0;
  std::size_t rails = 0;
  std::size_t hosts_short_of_rail = 0;
  std::size_t racks = 0;
  std::size_t subnets = 0;
  std::size_t nvlink_domains = 0;
  std::size_t sites = 0;
  bool rails_inferred = false;
  double rail_confidence = 0;
};
FabricSummary summarize(const Topology& topology);

}  // namespace railweave::fabric
