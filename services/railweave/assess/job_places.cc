#include "services/railweave/assess/job_places.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "fabric/routing/plane/route_trace.h"
#include "services/railweave/assess/host_adapters.h"

namespace railweave::cli {
namespace {

// The number of groups that hold N hosts, the largest groups first.
std::size_t fewest_for(std::size_t hosts, const std::vector<std::size_t>& sizes) {
  std::size_t groups = 0;
  for (std::size_t held = 0; held < hosts && groups < sizes.size(); ++groups) held += sizes[groups];
  return std::max<std::size_t>(1, groups);
}

std::vector<std::size_t> group_sizes(const fabric::Topology& t, const fabric::Level& level) {
  std::vector<std::size_t> sizes(level.group_count, 0);
  for (const fabric::HostId host : t.hosts()) {
    if (t.kind(host) == fabric::HostKind::compute) ++sizes[level.group_of_host[host.index()]];
  }
  std::ranges::sort(sizes, std::greater());
  return sizes;
}

// The first cabled port of a host on each rail; without rails all of them, in order.
std::vector<fabric::PortId> ports_by_rail(const fabric::Topology& t, fabric::HostId host) {
  std::map<std::uint32_t, fabric::PortId> ports;
  std::uint32_t next = 1U << 30U;
  for (const fabric::HcaId hca : t.hcas(host)) {
    for (const fabric::PortId port : t.ports(hca)) {
      if (!t.peer(port)) continue;
      const fabric::RailId rail = t.rail(port);
      ports.emplace(rail ? rail.value() : next++, port);
    }
  }
  std::vector<fabric::PortId> ordered;
  for (const auto& [rail, port] : ports) ordered.push_back(port);
  return ordered;
}

}  // namespace

std::vector<PlacedJob> place_running(const fabric::Topology& topology, const fabric::Locality& locality,
                                     const std::vector<RunningJob>& jobs) {
  const fabric::Level* leaves = locality.find(fabric::LevelKind::leaf_group);
  if (leaves == nullptr) leaves = locality.find(fabric::LevelKind::cluster);
  std::vector<PlacedJob> placed;
  if (leaves == nullptr) return placed;
  const auto sizes = group_sizes(topology, *leaves);
  for (const RunningJob& job : jobs) {
    PlacedJob one{.job = job, .hosts = {}, .groups = {}};
    for (const std::string& name : job.hosts) {
      const fabric::HostId host = host_named(topology, name);
      if (!host) ++one.unknown_hosts;
      if (!host) continue;
      one.hosts.push_back(host);
      one.groups.push_back(leaves->group_of_host[host.index()]);
    }
    one.groups_used = std::set<std::uint32_t>(one.groups.begin(), one.groups.end()).size();
    one.fewest_groups = fewest_for(one.hosts.size(), sizes);
    for (std::size_t i = 0; i < one.groups.size(); ++i) {
      if (one.groups[i] != one.groups[(i + 1) % one.groups.size()]) ++one.crossings;
    }
    one.fewest_crossings = one.groups_used > 1 ? one.groups_used : 0;
    placed.push_back(std::move(one));
  }
  return placed;
}

std::vector<SharedPort> shared_ports(const fabric::FabricView& view, const fabric::ForwardingTables& tables,
                                     const std::vector<PlacedJob>& jobs) {
  fabric::Lanes lanes;  // one for everything: ports are the same on any
  lanes.planes.resize(tables.scope().planes().size());
  const fabric::Topology& t = view.topology();
  std::map<fabric::PortId, std::set<std::size_t>> jobs_of_port;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const auto& hosts = jobs[j].hosts;
    for (std::size_t i = 0; hosts.size() > 1 && i < hosts.size(); ++i) {
      const auto from = ports_by_rail(t, hosts[i]), to = ports_by_rail(t, hosts[(i + 1) % hosts.size()]);
      for (std::size_t rail = 0; rail < std::min(from.size(), to.size()); ++rail) {
        const fabric::DestinationId destination = tables.scope().find(to[rail]);
        if (!destination) continue;
        for (const fabric::TraceHop& hop : trace_route(view, tables, lanes, from[rail], destination).hops) {
          const fabric::LinkId link = t.link(hop.out);
          if (link && t.joins_switches(link)) jobs_of_port[hop.out].insert(j);
        }
      }
    }
  }
  std::vector<SharedPort> shared;
  for (const auto& [port, users] : jobs_of_port) {
    if (users.size() < 2) continue;
    shared.push_back({t.port_text(port),
                      std::string(t.name(t.switch_of(port))),
                      std::string(t.name(t.switch_of(t.peer(port)))),
                      {users.begin(), users.end()}});
  }
  std::ranges::stable_sort(shared, [](const auto& a, const auto& b) { return a.jobs.size() > b.jobs.size(); });
  return shared;
}

}  // namespace railweave::cli
