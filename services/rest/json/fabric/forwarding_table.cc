#include "services/rest/json/fabric/forwarding_table.h"

#include <algorithm>
#include <map>

#include "services/json/contract_object.h"
#include "services/rest/json/routing_value.h"
#include "services/rest/json/time_value.h"

namespace railweave::api {
namespace {

using fabric::DestinationId;
using fabric::HostId;
using fabric::Lid;
using fabric::PortId;
using fabric::Routing;
using fabric::SwitchId;
using fabric::Topology;

SwitchId same_switch(const Topology& from, SwitchId sw, const Topology& to) {
  if (&from == &to) return sw;
  if (const SwitchId found = from.guid(sw).known() ? to.find_switch(from.guid(sw)) : SwitchId()) return found;
  return to.find_switch(from.name(sw));
}

// Calls visit(lid, destination) for all that is routed in the switch's network.
template <class Visit>
void for_each_lid(const fabric::RoutingScope& scope, SwitchId sw, Visit visit) {
  const auto& plane = scope.plane(scope.plane_of(sw));
  for (std::size_t d = 0; d < plane.destination_count(); ++d) {
    const DestinationId id = plane.destination(d);
    if (const Lid lid = scope.lid(id); lid != 0) visit(lid, id);
  }
}

Out port_or_null(std::uint16_t port) { return port == fabric::kNoPort ? Out(nullptr) : Out(port); }

// The device behind the port.
Out neighbour_json(const Topology& topology, SwitchId sw, std::uint16_t port) {
  const auto ports = topology.ports(sw);
  if (port == 0 || port > ports.size()) return nullptr;
  const auto peer = topology.peer(ports[port - 1]);
  return peer ? Out(device_text(topology, peer)) : Out(nullptr);
}

}  // namespace

std::vector<TableEntry> table_of(SwitchId sw, const Routing& wanted, const Routing* applied) {
  const auto& scope = wanted.tables.scope();
  std::map<Lid, std::uint16_t> held;
  if (applied != nullptr) {
    const auto& other = applied->tables.scope();
    if (const SwitchId there = same_switch(scope.topology(), sw, other.topology())) {
      for_each_lid(other, there, [&](Lid lid, DestinationId id) { held[lid] = applied->tables.out_port(there, id); });
    } else {
      applied = nullptr;
    }
  }
  std::vector<TableEntry> entries;
  for_each_lid(scope, sw, [&](Lid lid, DestinationId id) {
    TableEntry entry{lid, id, wanted.tables.out_port(sw, id), std::nullopt};
    if (applied != nullptr) {
      const auto port = held.find(lid);
      entry.applied = port == held.end() ? fabric::kNoPort : port->second;
    }
    entries.push_back(entry);
  });
  std::ranges::sort(entries, {}, &TableEntry::lid);
  return entries;
}

std::string write_table_entry(const fabric::RoutingScope& scope, SwitchId sw, const TableEntry& entry,
                              std::int64_t seen_us) {
  const Topology& topology = scope.topology();
  const auto& destination = scope.destination(entry.destination);
  const PortId port = destination.port;
  const HostId host = port ? topology.host(topology.hca_of(port)) : HostId();
  Out to = object<"TableEntry.destination">(
      with<"kind">(destination.kind), maybe<"node">(bool(host), [&] { return topology.name(host); }),
      with<"device">(port ? device_text(topology, port) : std::string(topology.name(destination.home))),
      maybe<"port">(bool(port), [&] { return topology.port_text(port); }));
  return dump(object<"TableEntry">(with<"lid">(entry.lid), with<"destination">(std::move(to)),
                                   with<"wantedPort">(port_or_null(entry.wanted)),
                                   with<"wantedTo">(neighbour_json(topology, sw, entry.wanted)),
                                   with<"appliedPort">(entry.applied ? port_or_null(*entry.applied) : Out(nullptr)),
                                   with<"differs">(entry.applied ? Out(*entry.applied != entry.wanted) : Out(nullptr)),
                                   with<"seenAt">(time_or_null(seen_us))));
}

}  // namespace railweave::api
