#include "services/rest/json/fabric/fabric.h"

#include <bit>

#include "services/rest/json/fabric/drain_value.h"
#include "services/rest/json/fabric/fabric_value.h"
#include "services/rest/json/link_value.h"

namespace railweave::api {
namespace {

using namespace fabric;  // NOLINT: every name here is the fabric's

template <class IdType>
Out name_or_null(const Topology& topology, IdType id) {
  return id ? Out(topology.name(id)) : Out(nullptr);
}

Out port_json(const Topology& topology, PortId port) {
  Out value{{"id", topology.port_text(port)}, {"number", topology.number(port)}};
  if (const LinkId link = topology.link(port)) {
    value["link"] = topology.link_text(link);
    value["linkName"] = link_name(topology, link);
    value["rateGbps"] = topology.rate(link).gbps();
  } else {
    value["link"] = nullptr;
    value["linkName"] = nullptr;
  }
  return value;
}

Out fabric_json(const ClusterState& state) {
  Out value{{"source", state.accepted.source},
            {"digest", state.accepted.digest},
            {"version", state.accepted.version},
            {"freeGpus", state.free_gpus}};
  value.update(fabric_summary_json(summarize(state.topology())));
  value["seq"] = state.seq;
  return value;
}

}  // namespace

std::string write_fabric(const ClusterState& state) { return dump(fabric_json(state)); }

std::string write_import(const ClusterState& state) {
  Out value = fabric_json(state);
  value["findings"] = findings_json(state.topology().source_findings());
  return dump(value);
}

std::string write_findings(const std::vector<Finding>& findings) {
  return dump(Out{{"findings", findings_json(findings)}});
}

namespace {

// A node is ready where jobs are placed on it.
std::string_view node_state(const ClusterState& state, HostId host) {
  if (state.view.drained(host)) return "drained";
  const auto& allocation = state.allocations[host.index()];
  if (allocation.cut_off) return "cutOff";
  return allocation.short_of_link ? "linkDown" : "ready";
}

Out node_json(const ClusterState& state, HostId host) {
  const Topology& topology = state.topology();
  const auto& allocation = state.allocations[host.index()];
  const std::size_t gpus = topology.gpus(host).size();
  Out labels = Out::object();
  for (const auto& label : topology.labels(host))
    labels[std::string(topology.text(label.key))] = topology.text(label.value);
  Out value{{"id", topology.name(host)},
            {"kind", railweave::to_text(topology.kind(host))},
            {"rack", name_or_null(topology, topology.rack(host))},
            {"gpus", gpus},
            {"freeGpus", gpus - static_cast<std::size_t>(std::popcount(allocation.used))},
            {"drained", state.view.drained(host)},
            {"state", node_state(state, host)},
            {"labels", labels}};
  if (const auto site = topology.site(host)) value["site"] = topology.name(site);
  return value;
}

}  // namespace

std::string write_node(const ClusterState& state, HostId host) { return dump(node_json(state, host)); }

std::string write_node(const ClusterState& state, HostId host, const ShownDrain& drain) {
  const Topology& topology = state.topology();
  const auto& allocation = state.allocations[host.index()];
  Out value = node_json(state, host);
  value["drain"] = drain_json(drain);
  Out gpu_list = Out::array();
  for (const auto gpu : topology.gpus(host)) {
    Out nics = Out::array();
    for (const auto nic : topology.nics(gpu)) nics.push_back(topology.device(nic));
    const bool used = (allocation.used >> topology.local_index(gpu) & 1U) != 0;
    Out item{{"index", topology.local_index(gpu)},
             {"free", !used},
             {"nvlinkDomain", name_or_null(topology, topology.nvlink_domain(gpu))},
             {"nics", nics}};
    if (const CliqueId clique = topology.clique(gpu)) item["cliqueId"] = topology.number(clique);
    gpu_list.push_back(std::move(item));
  }
  value["gpuList"] = gpu_list;
  Out adapters = Out::array();
  for (const auto hca : topology.hcas(host)) {
    Out ports = Out::array();
    for (const auto port : topology.ports(hca)) {
      Out item = port_json(topology, port);
      item["guid"] = railweave::to_string(topology.port_guid(port));
      item["lid"] = topology.lid(port);
      item["rail"] = name_or_null(topology, topology.rail(port));
      item["subnet"] = name_or_null(topology, topology.subnet(port));
      ports.push_back(std::move(item));
    }
    adapters.push_back({{"device", topology.device(hca)},
                        {"guid", railweave::to_string(topology.guid(hca))},
                        {"description", topology.description(hca)},
                        {"ports", ports}});
  }
  value["adapters"] = adapters;
  return dump(value);
}

namespace {

Out switch_json(const ClusterState& state, SwitchId sw) {
  const Topology& topology = state.topology();
  const auto tier = topology.tier(sw);
  std::size_t cabled = 0;
  for (const auto port : topology.ports(sw)) cabled += topology.link(port) ? 1 : 0;
  return {{"id", topology.name(sw)},
          {"guid", railweave::to_string(topology.guid(sw))},
          {"description", topology.description(sw)},
          {"subnet", name_or_null(topology, topology.subnet(sw))},
          {"rack", name_or_null(topology, topology.rack(sw))},
          {"tier", tier == Topology::kNoTier ? Out(nullptr) : Out(tier)},
          {"lid", topology.lid(sw)},
          {"ports", topology.ports(sw).size()},
          {"cabledPorts", cabled},
          {"drained", state.view.drained(sw)}};
}

}  // namespace

std::string write_switch(const ClusterState& state, SwitchId sw) { return dump(switch_json(state, sw)); }

std::string write_switch(const ClusterState& state, SwitchId sw, const ShownDrain& drain) {
  const Topology& topology = state.topology();
  Out value = switch_json(state, sw);
  value["drain"] = drain_json(drain);
  Out ports = Out::array();
  for (const auto port : topology.ports(sw)) {
    Out item = port_json(topology, port);
    if (const PortId peer = topology.peer(port)) item["peer"] = link_end_json(topology, peer);
    ports.push_back(std::move(item));
  }
  value["portList"] = ports;
  return dump(value);
}

std::string write_nvlink_domain(const ClusterState& state, NvlinkDomainId domain) {
  const Topology& topology = state.topology();
  Out nodes = Out::array();
  std::size_t free = 0;
  HostId last;
  for (const auto gpu : topology.gpus(domain)) {
    const HostId host = topology.host(gpu);
    if (host != last) nodes.push_back(topology.name(host));
    last = host;
    if ((state.allocations[host.index()].used >> topology.local_index(gpu) & 1U) == 0) ++free;
  }
  return dump(Out{{"id", topology.name(domain)},
                  {"clusterUuid", topology.cluster_uuid(domain)},
                  {"gpus", topology.gpus(domain).size()},
                  {"freeGpus", free},
                  {"rateGbpsPerGpu", topology.rate_per_gpu(domain).gbps()},
                  {"nodes", nodes}});
}

std::string write_rail(const ClusterState& state, RailId rail, std::size_t ports) {
  const Topology& topology = state.topology();
  return dump(Out{{"id", topology.name(rail)},
                  {"hostPorts", ports},
                  {"inferred", topology.rails_inferred()},
                  {"confidence", topology.rail_confidence()}});
}

std::string write_rack(const ClusterState& state, RackId rack, std::size_t nodes) {
  return dump(Out{{"id", state.topology().name(rack)}, {"nodes", nodes}});
}

}  // namespace railweave::api
