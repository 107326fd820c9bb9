#include "fabric/routing/traffic/ordered_routes.h"

namespace railweave::fabric {

std::uint32_t OrderedRoutes::arc(std::size_t s, std::size_t d) const {
  if (plane_.homes[plane_.destination_home[d]].sw == s) return Plane::kNone;
  const std::uint16_t port = tables_.at(s, d);
  if (port == kNoPort || port == kPortZero) return Plane::kNone;
  return plane_.find_arc(s, port);
}

unsigned OrderedRoutes::length(std::size_t s, std::size_t d) const {
  const std::size_t home = plane_.homes[plane_.destination_home[d]].sw;
  unsigned links = 0;
  while (s != home) {
    const std::uint32_t a = arc(s, d);
    if (a == Plane::kNone || !view_.alive(plane_.arcs[a].link) || ++links > plane_.switch_count()) return kNone;
    s = plane_.arcs[a].to;
  }
  return links;
}

bool OrderedRoutes::up(std::uint32_t arc) const {
  const Arc& out = plane_.arcs[arc];
  return order_.position[out.to] > order_.position[plane_.arcs[out.reverse].to];
}

bool OrderedRoutes::may_use(std::size_t s, std::size_t d, std::uint32_t arc) const {
  const std::uint32_t own = this->arc(s, d);
  if (own == Plane::kNone || up(own) != up(arc) || !view_.carries_transit(plane_.arcs[arc].link)) return false;
  const std::size_t to = plane_.arcs[arc].to;
  const unsigned here = length(s, d);
  if (here == kNone || length(to, d) != here - 1) return false;
  // Whoever comes down goes on down.
  if (up(arc)) return true;
  const std::uint32_t next = this->arc(to, d);
  return next == Plane::kNone || !up(next);
}

}  // namespace railweave::fabric
