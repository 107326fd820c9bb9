// The turns (from arc to arc) that paths take on one virtual lane, kept free of circles while paths are added: a
// dynamic topological order (Pearce and Kelly, "A Dynamic Topological Sort Algorithm for Directed Acyclic Graphs",
// 2006). Layered routing and detours decide with it which paths may share a lane. Serves one thread at a time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "fabric/routing/plane/plane.h"

namespace railweave::fabric {

class AcyclicTurns {
 public:
  explicit AcyclicTurns(const Plane& plane);
  // Starts from turns that are free of circles: by node, the nodes that follow it. Paths are sequences of nodes: arcs,
  // or channels (an arc and a lane).
  explicit AcyclicTurns(std::vector<std::vector<std::uint32_t>> next);

  // Adds all turns of a path: arcs in the order they are passed. False, and nothing is added, where that would close
  // a circle.
  bool add_path(const std::vector<std::uint32_t>& arcs);

 private:
  bool add(std::uint32_t from, std::uint32_t to, bool& is_new);
  bool find_later(std::uint32_t from, std::uint32_t limit, std::uint32_t forbidden);
  void find_earlier(std::uint32_t to, std::uint32_t limit);
  void reorder();

  std::vector<std::vector<std::uint32_t>> next_, previous_;  // by arc
  std::vector<std::uint32_t> place_;                         // by arc: its position in an order that all turns follow
  std::vector<bool> seen_;
  std::vector<std::uint32_t> later_, earlier_, stack_, places_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> added_;
};

}  // namespace railweave::fabric
