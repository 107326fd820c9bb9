// A dragonfly or dragonfly+ recognised: which group every switch of a plane is in. By the groups the topology names,
// where it names them for all switches and they have the structure; else from the cables alone: the groups of a
// dragonfly are nearly full meshes, whose switches share their neighbours; those of a dragonfly+ are what is left
// joined when links between switches without hosts are taken away. Cables may be missing. A full mesh of switches is a
// dragonfly of one group. Groups of two switches, and groups joined so densely that they blur, are seen only where they
// are named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/routing/plane/plane.h"
#include "fabric/topology/topology.h"

namespace railweave::fabric {

// Of an arc; in a dragonfly+ no path needs an arc after one of a higher rank.
enum class DragonflyArc : std::uint8_t { local, up, global, down };

struct DragonflyGroups {
  std::vector<std::uint32_t> group;  // by switch
  std::uint32_t groups = 0;
  bool plus = false;               // dragonfly+: groups of leaves and spines
  std::vector<DragonflyArc> arcs;  // by arc; local: dragonfly only; up, down: dragonfly+ only

  static std::optional<DragonflyGroups> find(const Topology& topology, const Plane& plane);
  [[nodiscard]] std::string text() const;  // "a dragonfly of 9 groups"
};

}  // namespace railweave::fabric
