#include "fabric/routing/torus/torus_grid.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "fabric/topology/disjoint_sets.h"

namespace railweave::fabric {

namespace {

constexpr std::size_t kMaxNeighbours = 2 * std::size_t{TorusGrid::kMaxDimensions};

// The switches as a graph without parallel edges.
struct Graph {
  struct Neighbour {
    std::uint32_t to;
    std::uint32_t edge;
  };
  std::vector<std::vector<Neighbour>> neighbours;  // by switch, ascending
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  std::size_t degree = 0;  // the largest

  [[nodiscard]] std::uint32_t edge(std::uint32_t from, std::uint32_t to) const {
    const auto& list = neighbours[from];
    const auto at = std::ranges::lower_bound(list, to, {}, &Neighbour::to);
    return at != list.end() && at->to == to ? at->edge : Plane::kNone;
  }
};

// None: the switches have too many neighbours, or too different numbers of them, for a torus.
std::optional<Graph> simple_graph(const Plane& plane) {
  Graph graph;
  const std::size_t n = plane.switch_count();
  graph.neighbours.resize(n);
  std::vector<std::uint32_t> others;
  for (std::uint32_t s = 0; s < n; ++s) {
    others.clear();
    for (const Arc& arc : plane.arcs_of(s)) others.push_back(arc.to);
    std::ranges::sort(others);
    others.erase(std::ranges::unique(others).begin(), others.end());
    if (others.size() > kMaxNeighbours) return std::nullopt;
    for (const std::uint32_t to : others) {
      std::uint32_t edge = 0;
      if (to < s) {
        edge = graph.edge(to, s);
      } else {
        edge = static_cast<std::uint32_t>(graph.edges.size());
        graph.edges.emplace_back(s, to);
      }
      graph.neighbours[s].push_back({to, edge});
    }
    graph.degree = std::max(graph.degree, others.size());
  }
  const auto full = std::ranges::count_if(graph.neighbours, [&](const auto& l) { return l.size() == graph.degree; });
  if (n < 3 || static_cast<std::size_t>(full) * 2 < n) return std::nullopt;
  return graph;
}

// Edges by dimension; groups with too few edges to be a dimension are omitted.
std::vector<std::vector<std::uint32_t>> edges_by_dimension(const Graph& graph) {
  DisjointSets dimension(graph.edges.size());
  for (std::uint32_t s = 0; s < graph.neighbours.size(); ++s) {
    const auto& list = graph.neighbours[s];
    for (std::size_t i = 0; i < list.size(); ++i) {
      for (std::size_t j = i + 1; j < list.size(); ++j) {
        bool square = false;
        for (const auto& [w, third] : graph.neighbours[list[i].to]) {
          const std::uint32_t fourth = w == s ? Plane::kNone : graph.edge(w, list[j].to);
          if (fourth == Plane::kNone) continue;
          square = true;
          dimension.unite(list[i].edge, fourth);
          dimension.unite(list[j].edge, third);
        }
        const bool whole =
            graph.neighbours[list[i].to].size() == graph.degree && graph.neighbours[list[j].to].size() == graph.degree;
        if (!square && whole) dimension.unite(list[i].edge, list[j].edge);
      }
    }
  }
  std::vector<std::vector<std::uint32_t>> groups(graph.edges.size());
  for (std::uint32_t e = 0; e < graph.edges.size(); ++e) groups[dimension.find(e)].push_back(e);
  std::erase_if(groups, [&](const auto& edges) { return edges.size() * 4 < graph.neighbours.size() || edges.empty(); });
  return groups;
}

// Coordinates along dimension d: what the other dimensions join is one layer, and layers form a ring (or a row). Empty:
// they do not.
std::vector<std::uint32_t> layer_numbers(const Graph& graph, const std::vector<std::vector<std::uint32_t>>& dimensions,
                                         std::size_t d, std::uint32_t& layers) {
  const std::size_t n = graph.neighbours.size();
  DisjointSets joined(n);
  for (std::size_t other = 0; other < dimensions.size(); ++other) {
    if (other == d) continue;
    for (const std::uint32_t e : dimensions[other]) joined.unite(graph.edges[e].first, graph.edges[e].second);
  }
  std::vector<std::uint32_t> layer(n);
  layers = 0;
  for (std::uint32_t s = 0; s < n; ++s) layer[s] = joined.find(s) == s ? layers++ : layer[joined.find(s)];
  std::vector<std::vector<std::uint32_t>> next(layers);
  for (const std::uint32_t e : dimensions[d]) {
    const std::uint32_t a = layer[graph.edges[e].first], b = layer[graph.edges[e].second];
    if (a == b) return {};
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      if (std::ranges::find(next[from], to) == next[from].end()) next[from].push_back(to);
      if (next[from].size() > 2) return {};
    }
  }
  const auto row_end = std::ranges::find_if(next, [](const auto& list) { return list.size() == 1; });
  std::vector<std::uint32_t> place(layers, Plane::kNone);
  std::uint32_t at = row_end == next.end() ? 0 : static_cast<std::uint32_t>(row_end - next.begin());
  std::uint32_t placed = 0;
  for (bool more = layers > 0; more;) {
    place[at] = placed++;
    more = false;
    std::ranges::sort(next[at]);
    for (const std::uint32_t to : next[at]) {
      if (place[to] != Plane::kNone) continue;
      at = to;
      more = true;
      break;
    }
  }
  if (placed != layers || layers < 2) return {};
  for (std::uint32_t& l : layer) l = place[l];
  return layer;
}

struct Axis {
  std::uint32_t size = 0;
  std::vector<std::uint32_t> coordinates;  // by switch
};

// Two dimensions of two as one ring of four.
Axis ring_of_four(const Axis& a, const Axis& b) {
  Axis ring{4, {}};
  for (std::size_t s = 0; s < a.coordinates.size(); ++s) {
    ring.coordinates.push_back(a.coordinates[s] == 0 ? b.coordinates[s] : 3 - b.coordinates[s]);
  }
  return ring;
}

}  // namespace

std::optional<TorusGrid> TorusGrid::find(const Plane& plane) {
  const auto graph = simple_graph(plane);
  if (!graph) return std::nullopt;
  const auto groups = edges_by_dimension(*graph);
  if (groups.empty() || groups.size() > kMaxDimensions) return std::nullopt;
  std::vector<Axis> axes, twos;
  for (std::size_t d = 0; d < groups.size(); ++d) {
    Axis axis;
    axis.coordinates = layer_numbers(*graph, groups, d, axis.size);
    if (axis.coordinates.empty()) return std::nullopt;
    (axis.size == 2 ? twos : axes).push_back(std::move(axis));
  }
  const auto long_rings = [&] { return std::ranges::count_if(axes, [](const Axis& axis) { return axis.size >= 4; }); };
  if (long_rings() > kMaxLongRings) return std::nullopt;
  while (twos.size() >= 2 && long_rings() < kMaxLongRings) {
    axes.push_back(ring_of_four(twos[0], twos[1]));
    twos.erase(twos.begin(), twos.begin() + 2);
  }
  std::ranges::move(twos, std::back_inserter(axes));
  std::ranges::stable_sort(axes, std::ranges::greater{}, &Axis::size);

  TorusGrid grid;
  for (const Axis& axis : axes) grid.sizes_.push_back(axis.size);
  for (std::size_t s = 0; s < plane.switch_count(); ++s) {
    for (const Axis& axis : axes) grid.coordinates_.push_back(axis.coordinates[s]);
  }
  if (!grid.number_cells(plane.switch_count()) || !grid.label_arcs(plane)) return std::nullopt;
  return grid;
}

// False: two switches have the same coordinates, or too many coordinates have no switch.
bool TorusGrid::number_cells(std::size_t switches) {
  std::uint64_t cells = 1;
  for (const std::uint32_t size : sizes_) {
    strides_.push_back(static_cast<std::uint32_t>(cells));
    cells *= size;
    if (cells > 2 * switches) return false;
  }
  switch_at_.assign(cells, Plane::kNone);
  for (std::uint32_t s = 0; s < switches; ++s) {
    std::uint32_t cell = 0;
    for (unsigned d = 0; d < dimensions(); ++d) cell += coordinate(s, d) * strides_[d];
    if (switch_at_[cell] != Plane::kNone) return false;
    switch_at_[cell] = s;
    cell_.push_back(cell);
  }
  return true;
}

// False: an arc does not join neighbours.
bool TorusGrid::label_arcs(const Plane& plane) {
  for (std::uint32_t s = 0; s < plane.switch_count(); ++s) {
    for (const Arc& arc : plane.arcs_of(s)) {
      unsigned differing = 0;
      Step step;
      for (unsigned d = 0; d < dimensions(); ++d) {
        const std::uint32_t from = coordinate(s, d), to = coordinate(arc.to, d);
        if (from == to) continue;
        ++differing;
        const std::uint32_t ahead = (to + sizes_[d] - from) % sizes_[d];
        if (ahead != 1 && ahead + 1 != sizes_[d]) return false;
        step = {static_cast<std::uint8_t>(d), static_cast<std::uint8_t>(ahead == 1 ? 0 : 1)};
      }
      if (differing != 1) return false;
      steps_.push_back(step);
    }
  }
  return true;
}

std::string TorusGrid::text() const { return fmt::format("{}", fmt::join(sizes_, " x ")); }

}  // namespace railweave::fabric
