// How near hosts are to each other: the nested groups in which placement counts free GPUs. Derived from the cabling, so
// that it exists for any fabric, and from what the source of the fabric tells of NVLink domains, racks and sites.
//
//   leaf group  the leaves that serve the same hosts: one leaf of a fat tree, one leaf per rail of a rail unit. Two
//               leaves belong together when more than half of the hosts of the one with more are cabled to both. A host
//               belongs to the group with most of its ports, so one misplaced cable joins nothing.
//   pod         the group that switches name, where every leaf names one (Topology::group, mainly in dragonflies); else
//               leaf groups connected through switches of tiers 0 and 1, without links between two switches of tier 1.
//               A spine or core with a host or two stays one. A tree of more than three tiers has pods at tier 1 only.
//   cluster     all hosts connected by network or by NVLink; all hosts, if none has a cable. Within one site.
//   site        the location of hosts, where it is known of any; usually the same groups as the cluster.
//   wan         sites joined by long-haul links (Topology::site_links()), where there are any. Only jobs that may span
//               sites are placed at this level. It follows links that fail: join_sites().
//
// Storage and management subnets are ignored as long as there is another. The hosts that count are those with GPUs; if
// none has any, compute hosts; if there are none, all. Other hosts are in groups too, but these need not nest.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/enum_text.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

enum class LevelKind : std::uint8_t { nvlink_domain, node, rack, leaf_group, pod, cluster, site, wan };
BOOST_DESCRIBE_ENUM(LevelKind, nvlink_domain, node, rack, leaf_group, pod, cluster, site, wan)
inline constexpr std::size_t kLevelKinds = static_cast<std::size_t>(LevelKind::wan) + 1;

constexpr std::string_view to_string(LevelKind kind) { return to_text(kind); }  // "leafGroup"

struct Level {
  LevelKind kind = LevelKind::node;
  std::vector<LevelKind> also;               // kinds with the same groups, such as the rack of an NVL72
  std::vector<std::uint32_t> group_of_host;  // dense group numbers, in order of the first host; one entry per host
  std::uint32_t group_count = 0;
  std::vector<std::string> group_names;  // one per group: the name of a rack, "leafGroup-3"
};

// Levels of whole hosts, from near to far; each group is a union of groups of the level before it, as far as hosts
// count. The first level is the node. The last is the cluster (one group per part that is connected), or the site where
// some site has several parts, or the WAN where links join sites. Between node and cluster come, in the order in which
// this fabric nests them and as far as it has them: the NVLink domain where it is larger than a host (for smaller ones
// see Topology::nvlink_domain(GpuId)), leaf group, pod and rack. Kinds with the same groups are one level. If two kinds
// overlap without nesting, the later of NVLink domain, leaf group, pod, rack is left out, with a finding.
struct Locality {
  std::vector<Level> levels;

  // The level of that kind, or the one it coincides with. Null: the fabric has no such level, or it was left out.
  [[nodiscard]] const Level* find(LevelKind kind) const;
};

// Findings: levelsNotNested, hostsWithoutSite, siteFallsApart. O(ports x leaves per host).
Locality derive_locality(const Topology& topology, std::vector<Finding>* findings = nullptr);

// Makes the level `wan` of a locality of that topology again, from the links between sites that are in use alone.
// in_use: FabricView::site_links_in_use(). O(hosts).
void join_sites(const Topology& topology, std::span<const std::uint32_t> in_use, Locality& locality);

}  // namespace railweave::fabric
