// A dragonfly or dragonfly+ recognized: the group of every switch of a plane. By the groups that the topology names,
// where it names one for every switch and they have the structure; else from the cables alone: the groups of a
// dragonfly are nearly full meshes, whose switches share their neighbours; those of a dragonfly+ are the parts that
// remain connected without the links between switches without hosts. Cables may be missing. A full mesh of switches is
// a dragonfly of one group. Groups of two switches, and groups joined by too many links to be distinguished, are
// recognized by name only.
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
  bool plus = false;               // dragonfly+: groups consist of leaves and spines
  std::vector<DragonflyArc> arcs;  // by arc; local: dragonfly only; up, down: dragonfly+ only

  static std::optional<DragonflyGroups> find(const Topology& topology, const Plane& plane);
  [[nodiscard]] std::string text() const;  // "a dragonfly of 9 groups"
};

}  // namespace railweave::fabric
