#include "fabric/routing/levels/path_channels.h"

namespace railweave::fabric {

const std::vector<std::uint32_t>& PathChannels::path(const PlaneTables& tables, std::size_t home, std::uint32_t d) {
  channels_.clear();
  const unsigned level = lanes_.level(home, d, plane_.destination_count());
  const std::uint32_t end = plane_.homes[plane_.destination_home[d]].sw;
  std::uint32_t in = PlaneLanes::kFromEndPort;
  for (std::uint32_t at = plane_.homes[home].sw; at != end && channels_.size() < plane_.switch_count();) {
    const std::uint32_t arc = port_arcs_.arc(at, tables.at(at, d));
    if (arc == Plane::kNone) break;
    channels_.push_back(arc * lanes_.lanes + lanes_.lane(in, arc, level));
    in = arc;
    at = plane_.arcs[arc].to;
  }
  return channels_;
}

TurnCounts PathChannels::all(const PlaneTables& tables) {
  TurnCounts turns(plane_, lanes_.lanes);
  for (std::uint32_t d = 0; d < plane_.destination_count(); ++d) {
    for (std::size_t h = 0; h < plane_.homes.size(); ++h) {
      if (plane_.homes[h].end_ports > 0) turns.add(path(tables, h, d));
    }
  }
  return turns;
}

}  // namespace railweave::fabric
