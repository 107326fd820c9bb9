// How near hosts are to each other: nested groups that placement counts free GPUs in. Derived from the cabling, so it
// holds for any fabric, and from what the source says of NVLink domains and racks.
//
//   leaf group  the leaves that serve the same hosts, which is one leaf of a fat tree and one leaf per rail of a rail
//   unit:
//               two leaves belong together when more than half of the hosts of the one with more hang on both. A host
//               belongs where most of its ports are, so a single misplaced cable joins nothing.
//   pod         what the groups of switches say where every leaf has one (Topology::group, dragonflies above all); else
//               leaf groups that switches of tiers 0 and 1 connect, links between two switches of tier 1 left aside.
//               A spine or core with a host or two stays one. A tree of more than three tiers has pods at tier 1 only.
//   cluster     everything connected, by network or by NVLink; everything there is, where no host has a cable; in
//   either
//               case of one site.
//   site        where hosts are said to stand, as far as any are; usually the same groups as the cluster.
//   wan         sites that long-haul links join (Topology::site_links()), where there are any. Only jobs that may span
//               sites are placed at this level.
//
// Storage and management subnets are left aside as long as there is another. Hosts that count are those with GPUs;
// where none has, those for computing; where none is, all. The others get groups too, but need not nest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/topology/topology.h"

namespace railweave::fabric {

enum class LevelKind : std::uint8_t { nvlink_domain, node, rack, leaf_group, pod, cluster, site, wan };
inline constexpr std::size_t kLevelKinds = static_cast<std::size_t>(LevelKind::wan) + 1;

std::string_view to_string(LevelKind kind);  // "nvlinkDomain", "node", "rack", "leafGroup", "pod", "cluster",
                                             // "site", "wan"

struct Level {
  LevelKind kind = LevelKind::node;
  std::vector<LevelKind> also;               // kinds whose groups are the same, such as the rack of an NVL72
  std::vector<std::uint32_t> group_of_host;  // dense group numbers, in order of the first host; one entry per host
  std::uint32_t group_count = 0;
  std::vector<std::string> group_names;  // for people: a rack's name, "leafGroup-3"; one per group
};

// Levels that contain whole hosts, from near to far, each a union of groups of the one before it as far as hosts count.
// The first is the node, the last the cluster (one group per part where the fabric falls apart) or what is above it:
// the site where some site falls apart, and the WAN where links join sites. Those between node and cluster are the
// NVLink domain where it is larger than a host (smaller ones are seen through Topology::nvlink_domain(GpuId)), leaf
// group, pod and rack, in the order in which this fabric nests them, as far as it has them. Kinds that coincide are one
// level. Where two cut across each other, the later of NVLink domain, leaf group, pod, rack is left out, with a
// finding.
struct Locality {
  std::vector<Level> levels;

  // The level of that kind, or the one it coincides with. Null: this fabric has no such level, or it was left out.
  [[nodiscard]] const Level* find(LevelKind kind) const;
};

// Findings: levelsNotNested, hostsWithoutSite, siteFallsApart. O(ports x leaves per host).
Locality derive_locality(const Topology& topology, std::vector<Finding>* findings = nullptr);

}  // namespace railweave::fabric
