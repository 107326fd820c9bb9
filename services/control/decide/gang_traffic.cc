#include "services/control/decide/gang_traffic.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace railweave::control {
namespace {

using scheduler::JobSpec;
using scheduler::RolePlace;

struct Edge {
  std::size_t from, to;  // items
  double bytes;
};

std::vector<std::size_t> items_of(std::span<const JobSpec> specs, const std::string& role) {
  std::vector<std::size_t> items;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name == role) items.push_back(i);
  }
  return items;
}

std::vector<Edge> edges_of(std::span<const JobSpec> specs, const GangTraffic& traffic) {
  const auto from = items_of(specs, traffic.from), to = items_of(specs, traffic.to);
  std::vector<Edge> edges;
  if (from.empty() || to.empty()) return edges;
  if (traffic.spread == scheduler::RoleSpread::by_rank) {
    const std::size_t count = std::max(from.size(), to.size());
    for (std::size_t i = 0; i < count; ++i) {
      edges.push_back({from[i % from.size()], to[i % to.size()], traffic.bytes / static_cast<double>(count)});
    }
    return edges;
  }
  const auto count = static_cast<double>(from.size() * to.size());
  for (const std::size_t a : from) {
    for (const std::size_t b : to) edges.push_back({a, b, traffic.bytes / count});
  }
  return edges;
}

}  // namespace

void add_peers(std::span<const JobSpec> specs, std::span<const GangTraffic> traffic, std::vector<RolePlace>& jobs) {
  for (RolePlace& job : jobs) job.spec.peers.clear();
  for (const GangTraffic& one : traffic) {
    for (const Edge& edge : edges_of(specs, one)) {
      if (edge.from >= jobs.size() || edge.to >= jobs.size()) continue;
      RolePlace &from = jobs[edge.from], &to = jobs[edge.to];
      const bool later = edge.from > edge.to;
      from.spec.peers.push_back({to.job, one.to, true, edge.bytes, one.spread, later});
      to.spec.peers.push_back({from.job, one.from, false, edge.bytes, one.spread, !later});
    }
  }
}

}  // namespace railweave::control
