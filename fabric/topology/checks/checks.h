// What is wrong, odd or worth knowing about a fabric as cabled (`railweave fabric check`).
//
// Codes of the findings made here; each kind of trouble is one finding with all its objects, 1,000 of them at most.
//
//   code                severity      objects            what
//   tiersFound          info          -                  how many switches stand on which tier
//   railsInferred       info          rails              rails seen from the cabling, and how sure that is
//   hostShortOfRail     warning       hosts              without a port on a rail that its like are on
//   adapterOnOddRail    warning       adapter ports      hangs on another rail than its like: swapped cables
//   hostOnSpine         warning       switches           a spine with a host or two (some routing engines refuse these)
//   hostWithoutLinks    warning       hosts              no adapter has a cable
//   adapterWithoutLink  info          adapter ports      no cable, where most hosts have one
//   leafShortOfUplinks  warning       switches           fewer links up than its peers, or none to a spine that they
//   have spineShortOfLinks   warning       switches           the other ends of these missing links linkSlowerThanClass
//   warning       links              slower than most links between such devices sameTierLinks       info/warning links
//   join two switches of one tier; a warning where they are the exception linkBetweenSubnets  error         links
//   InfiniBand subnets must not be joined by switches severalComponents   warning       switches           a subnet
//   that falls apart; one switch of each part isolatedSwitch      warning       switches           no links, or none
//   that leads to a host tooManyLids         error         subnets            more addresses needed than a subnet has
//   (49,151) duplicateLid        error         LIDs               two ports of a subnet with one LID levelsNotNested
//   warning       a group            see locality.h
//   hostsWithoutSite    warning       a host             others stand at a site
//   siteFallsApart      warning       a site             no cable joins all of it
//
// Reading and building add: asymmetricLink, danglingLink, linkEndsDiffer, linkToItself, siteLinkToItself,
// portUsedTwice, portOutOfRange, duplicateGuid, duplicateName, tooManyFindings, and what the readers name in their
// headers (fabric/formats).
#pragma once

#include <cstddef>
#include <vector>

#include "fabric/topology/finding.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

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
