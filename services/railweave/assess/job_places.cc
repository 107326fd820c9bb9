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

// A level's groups, of which there may be none.
class LevelGroups {
 public:
  LevelGroups(const fabric::Topology& t, const fabric::Level* level) : level_(level) {
    if (level == nullptr) return;
    sizes_.assign(level->group_count, 0);
    for (const fabric::HostId host : t.hosts()) {
      if (t.kind(host) == fabric::HostKind::compute) ++sizes_[group_of(host)];
    }
    std::ranges::sort(sizes_, std::greater());
  }

  [[nodiscard]] std::size_t count() const { return sizes_.size(); }

  [[nodiscard]] LevelUse use_of(const std::vector<fabric::HostId>& hosts) const {
    LevelUse use;
    if (level_ == nullptr) return use;
    std::set<std::uint32_t> used;
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      used.insert(group_of(hosts[i]));
      if (group_of(hosts[i]) != group_of(hosts[(i + 1) % hosts.size()])) ++use.crossings;
    }
    use.used = used.size();
    use.fewest = fewest_for(hosts.size(), sizes_);
    use.fewest_crossings = use.used > 1 ? use.used : 0;
    return use;
  }

  // Hosts of a group follow its first one, and keep their order.
  void bring_together(std::vector<fabric::HostId>& hosts) const {
    if (level_ == nullptr) return;
    std::map<std::uint32_t, std::size_t> turn;
    for (const fabric::HostId host : hosts) turn.emplace(group_of(host), turn.size());
    std::ranges::stable_sort(hosts, {}, [&](fabric::HostId host) { return turn.at(group_of(host)); });
  }

 private:
  [[nodiscard]] std::uint32_t group_of(fabric::HostId host) const { return level_->group_of_host[host.index()]; }

  const fabric::Level* level_;
  std::vector<std::size_t> sizes_;  // of compute hosts, the largest first
};

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
  const LevelGroups groups(topology, leaves), domains(topology, locality.find(fabric::LevelKind::nvlink_domain));
  for (const RunningJob& job : jobs) {
    PlacedJob one{.job = job, .hosts = {}, .unknown_hosts = {}, .better_order = {}};
    for (const std::string& name : job.hosts) {
      if (const fabric::HostId host = host_named(topology, name)) {
        one.hosts.push_back(host);
      } else {
        one.unknown_hosts.push_back(name);
      }
    }
    one.leaf_groups = groups.use_of(one.hosts);
    one.nvlink_domains = domains.use_of(one.hosts);
    if (one.leaf_groups.out_of_order() || one.nvlink_domains.out_of_order()) {
      one.better_order = one.hosts;
      const bool domains_within = domains.count() > groups.count();
      (domains_within ? domains : groups).bring_together(one.better_order);
      (domains_within ? groups : domains).bring_together(one.better_order);
    }
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
