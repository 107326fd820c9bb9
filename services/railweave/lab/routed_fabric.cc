#include "services/railweave/lab/routed_fabric.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include <fmt/core.h>
#include <sys/resource.h>

#include "fabric/routing/delta/forwarding_delta.h"
#include "fabric/routing/engine_registry.h"
#include "fabric/routing/multipath/hash_collisions.h"
#include "fabric/routing/multipath/path_sets.h"
#include "fabric/routing/opensm/opensm_dumps.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/input_file.h"

namespace railweave::cli {
namespace {

using fabric::FabricView;
using fabric::Routing;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxTablesFileBytes = std::size_t{1} << 30U;  // 11,664 hosts: about 600 MiB of opensm.fdbs

class Stopwatch {
 public:
  [[nodiscard]] double ms() const { return std::chrono::duration<double, std::milli>(Clock::now() - started_).count(); }

 private:
  Clock::time_point started_ = Clock::now();
};

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;  // Linux counts KiB
}

fabric::AuditReport audited(const FabricView& view, const fabric::ForwardingTables& tables,
                            const fabric::Lanes& lanes) {
  return fabric::audit(view, tables, lanes, fabric::AuditOptions::on_all_cores());
}

fabric::EngineChoice choose(const fabric::RoutingScope& scope, const std::string& name) {
  fabric::EngineChoice choice = fabric::choose_engine(scope);
  if (name != "auto") choice = {fabric::find_engine(name), "requested"};
  if (choice.engine != nullptr) return choice;
  std::string names = "auto";
  for (const auto* engine : fabric::routing_engines()) names += ", " + std::string(engine->name());
  fail_usage("there is no engine '" + name + "'", "the engines are " + names);
}

std::size_t differing_entries(const fabric::ForwardingTables& a, const fabric::ForwardingTables& b) {
  std::size_t count = 0;
  const fabric::RoutingScope& scope = a.scope();
  for (const fabric::PlaneId id : scope.planes()) {
    const fabric::Plane& plane = scope.plane(id);
    for (const fabric::SwitchId sw : plane.switches) {
      for (std::size_t d = 0; d < plane.destination_count(); ++d) {
        count += a.out_port(sw, plane.destination(d)) != b.out_port(sw, plane.destination(d)) ? 1 : 0;
      }
    }
  }
  return count;
}

TableComparison compare(const RouteRequest& request, const FabricView& view, const Routing& routing) {
  const std::string text = value_or_fail(read_input(request.against, kMaxTablesFileBytes));
  std::string subnet;
  if (!request.against_subnet.empty()) subnet = value_or_fail(read_input(request.against_subnet, kMaxTablesFileBytes));
  auto read = fabric::read_tables(routing.tables.scope_ptr(), text, subnet);
  if (!read) {
    Error error = std::move(read.error());
    error.location = source_name(request.against) + (error.location.empty() ? "" : ", " + error.location);
    throw CommandFailure(std::move(error));
  }
  TableComparison other;
  other.source = source_name(request.against);
  other.entries = read->entries;
  other.unknown_switches = read->unknown_switches;
  other.unknown_lids = read->unknown_lids;
  other.differing_entries = differing_entries(routing.tables, read->tables);
  other.audit = audited(view, read->tables, {});
  return other;
}

MultipathReport spread(const FabricView& view, const Routing& routing) {
  MultipathReport multipath;
  const Stopwatch make_watch;
  const fabric::PathSets sets = value_or_fail(fabric::make_path_sets(routing));
  multipath.make_ms = make_watch.ms();
  const Stopwatch audit_watch;
  multipath.report = fabric::audit(view, sets);
  multipath.audit_ms = audit_watch.ms();
  multipath.members = multipath.report.most_members;
  for (const fabric::PlaneId id : sets.scope->planes()) {
    for (const fabric::Home& home : sets.scope->plane(id).homes) {
      multipath.flows = std::max(multipath.flows, home.host_ports);
    }
  }
  multipath.collision_factor = fabric::expected_collision_factor(multipath.flows, multipath.members);
  return multipath;
}

void add_counts(const fabric::RoutingScope& scope, RouteReport& report) {
  report.switches = scope.topology().switches().size();
  report.destinations = scope.destinations().size();
  for (const fabric::PlaneId id : scope.planes()) {
    if (!scope.plane(id).homes.empty()) ++report.planes;
    for (const fabric::Home& home : scope.plane(id).homes) {
      report.end_ports += home.end_ports;
      report.host_ports += home.host_ports;
    }
  }
}

// A subnet in several parts has no cable between them, and is no plane that an audit could walk: pairs of end ports in
// different parts of a subnet are unreachable, too.
void add_islands(const fabric::RoutingScope& scope, RouteReport& report) {
  struct Parts {
    std::uint64_t islands = 0, ports = 0, reachable = 0;  // pairs within a part
  };
  std::map<fabric::SubnetId, Parts> of_subnet;
  const fabric::Topology& t = scope.topology();
  for (const fabric::PlaneId id : scope.planes()) {
    const fabric::Plane& plane = scope.plane(id);
    std::uint64_t ports = 0;
    for (const fabric::Home& home : plane.homes) ports += home.end_ports;
    if (ports == 0 || plane.switches.empty()) continue;
    Parts& parts = of_subnet[t.subnet(plane.switches[0])];
    ++parts.islands;
    parts.ports += ports;
    parts.reachable += ports * ports;
  }
  for (const auto& [subnet, parts] : of_subnet) {
    if (parts.islands < 2) continue;
    const std::uint64_t apart = parts.ports * parts.ports - parts.reachable;
    report.audit.unreachable_pairs += apart;
    report.audit.cut_off_pairs += apart;
    const std::string name(t.name(subnet));
    report.findings.push_back(
        {"subnetTorn",
         fabric::Severity::error,
         fmt::format(
             "subnet {} is in {} parts without a cable between them: {} pairs of end ports cannot reach each other",
             name, parts.islands, apart),
         {name}});
  }
}

void append(std::vector<fabric::Finding>& to, const std::vector<fabric::Finding>& from) {
  for (const fabric::Finding& finding : from) {
    const bool known = std::ranges::any_of(to, [&](const fabric::Finding& other) {
      return other.code == finding.code && other.message == finding.message;
    });
    if (!known) to.push_back(finding);
  }
}

}  // namespace

RoutedFabric route_fabric(const fabric::TopologyPtr& topology, const RouteRequest& request) {
  RoutedFabric routed{FabricView(topology), {}, {}};
  RouteReport& report = routed.report;
  if (topology->switches().empty()) {
    throw CommandFailure(Error{ErrorKind::invalid, "lab.nothingToRoute", "the fabric has no switches", {}, {}});
  }
  fabric::ScopeOptions scope_options;
  if (request.lmc) scope_options.lmc = static_cast<std::uint8_t>(*request.lmc);
  const Stopwatch scope_watch;
  const auto scope = value_or_fail(fabric::RoutingScope::make(topology, scope_options));
  report.took.scope_ms = scope_watch.ms();
  add_counts(*scope, report);
  const fabric::EngineChoice choice = choose(*scope, request.engine);
  report.engine = choice.engine->name();
  report.engine_reason = choice.reason;

  fabric::RoutingInput input{.view = routed.view, .scope = scope};
  input.max_lanes = static_cast<unsigned>(request.max_lanes);
  input.threads = fabric::part_count();
  const Stopwatch route_watch;
  routed.routing = value_or_fail(choice.engine->route(input));
  report.took.route_ms = route_watch.ms();
  append(report.findings, scope->findings());

  if (!request.failures.empty()) {
    report.healthy = audited(routed.view, routed.routing.tables, routed.routing.lanes);
    for (const fabric::LinkId link : request.failures) {
      routed.view.set_state(link, fabric::LinkState::down);
      report.failed_links.push_back(topology->link_text(link));
    }
    input.view = routed.view;
    const Stopwatch reroute_watch;
    Routing rerouted = value_or_fail(choice.engine->reroute(routed.routing, input));
    report.took.reroute_ms = reroute_watch.ms();
    const Stopwatch delta_watch;
    const fabric::ForwardingDelta delta = fabric::compute_delta(routed.view, routed.routing, rerouted);
    report.took.delta_ms = delta_watch.ms();
    report.incremental = rerouted.incremental;
    report.changed_entries = delta.changed_entries;
    report.changed_blocks = delta.changed_blocks;
    report.stages = delta.stages;
    report.drops_first = delta.drops_first;
    routed.routing = std::move(rerouted);
    append(report.findings, delta.findings);
  }
  const Stopwatch audit_watch;
  report.audit = audited(routed.view, routed.routing.tables, routed.routing.lanes);
  report.took.audit_ms = audit_watch.ms();
  report.lanes_used = routed.routing.lanes.used();
  report.tables_mib = static_cast<double>(routed.routing.tables.memory_bytes()) / (1U << 20U);
  report.digest = routed.routing.tables.digest();
  add_islands(*scope, report);
  append(report.findings, routed.routing.findings);
  append(report.findings, report.audit.findings);
  report.peak_mib = peak_mib();
  if (request.multipath) report.multipath = spread(routed.view, routed.routing);
  if (!request.against.empty()) report.against = compare(request, routed.view, routed.routing);
  return routed;
}

}  // namespace railweave::cli
