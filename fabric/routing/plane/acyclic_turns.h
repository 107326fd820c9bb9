// The turns (from arc to arc) of one virtual lane, kept free of circles while turns are added: a dynamic topological
// order (Pearce and Kelly 2006). What layered routing decides with which paths may share a lane.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "fabric/routing/plane/plane.h"

namespace railweave::fabric {

class AcyclicTurns {
 public:
  explicit AcyclicTurns(const Plane& plane);
  // Begins with turns that hold no circle: by node, the nodes that follow it. Nodes are what paths are made of: arcs,
  // or channels (an arc and a lane).
  explicit AcyclicTurns(std::vector<std::vector<std::uint32_t>> next);

  // All turns of a path: arcs in the order they are passed. False, and nothing is added, where that would close a
  // circle.
  bool add_path(const std::vector<std::uint32_t>& arcs);

 private:
  bool add(std::uint32_t from, std::uint32_t to, bool& is_new);
  bool find_later(std::uint32_t from, std::uint32_t limit, std::uint32_t forbidden);
  void find_earlier(std::uint32_t to, std::uint32_t limit);
  void reorder();

  std::vector<std::vector<std::uint32_t>> next_, previous_;  // by arc
  std::vector<std::uint32_t> place_;                         // of every arc in an order that all turns follow
  std::vector<bool> seen_;
  std::vector<std::uint32_t> later_, earlier_, stack_, places_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> added_;
};

}  // namespace railweave::fabric
