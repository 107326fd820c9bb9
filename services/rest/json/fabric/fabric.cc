#include "services/rest/json/fabric/fabric.h"

#include <bit>

#include "services/json/contract_object.h"
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

// Of a port, and of its cable where there is one.
auto port_parts(const Topology& topology, PortId port) {
  const LinkId link = topology.link(port);
  return several(with<"id">(topology.port_text(port)), with<"number">(topology.number(port)),
                 with<"link">(link ? Out(topology.link_text(link)) : Out(nullptr)),
                 with<"linkName">(link ? Out(link_name(topology, link)) : Out(nullptr)),
                 maybe<"rateGbps">(bool(link), [&] { return topology.rate(link).gbps(); }));
}

std::string fabric_text(const ClusterState& state, bool is_new) {
  const FabricSummary summary = summarize(state.topology());
  return dump(
      object<"Fabric">(with<"source">(state.accepted.source), with<"digest">(state.accepted.digest),
                       with<"version">(state.accepted.version), with<"freeGpus">(state.free_gpus),
                       fields_of(summary, kFabricSummaryFields), with<"seq">(state.seq),
                       maybe<"findings">(is_new, [&] { return findings_json(state.topology().source_findings()); })));
}

}  // namespace

std::string write_fabric(const ClusterState& state) { return fabric_text(state, false); }
std::string write_import(const ClusterState& state) { return fabric_text(state, true); }

std::string write_findings(const std::vector<Finding>& findings) {
  return dump(object<"getFindings.answer">(with<"findings">(findings_json(findings))));
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
  const SiteId site = topology.site(host);
  return object<"NodeFields">(with<"id">(topology.name(host)), with<"kind">(topology.kind(host)),
                              with<"rack">(name_or_null(topology, topology.rack(host))), with<"gpus">(gpus),
                              with<"freeGpus">(gpus - static_cast<std::size_t>(std::popcount(allocation.used))),
                              with<"drained">(state.view.drained(host)), with<"state">(node_state(state, host)),
                              with<"labels">(labels), maybe<"site">(bool(site), [&] { return topology.name(site); }));
}

}  // namespace

std::string write_node(const ClusterState& state, HostId host) { return dump(node_json(state, host)); }

std::string write_node(const ClusterState& state, HostId host, const ShownDrain& drain) {
  const Topology& topology = state.topology();
  const auto& allocation = state.allocations[host.index()];
  Out gpu_list = Out::array();
  for (const auto gpu : topology.gpus(host)) {
    Out nics = Out::array();
    for (const auto nic : topology.nics(gpu)) nics.push_back(topology.device(nic));
    const bool used = (allocation.used >> topology.local_index(gpu) & 1U) != 0;
    const CliqueId clique = topology.clique(gpu);
    gpu_list.push_back(object<"Node.gpuList">(
        with<"index">(topology.local_index(gpu)), with<"free">(!used),
        with<"nvlinkDomain">(name_or_null(topology, topology.nvlink_domain(gpu))), with<"nics">(nics),
        maybe<"cliqueId">(bool(clique), [&] { return topology.number(clique); })));
  }
  Out adapters = Out::array();
  for (const auto hca : topology.hcas(host)) {
    Out ports = Out::array();
    for (const auto port : topology.ports(hca)) {
      ports.push_back(object<"Node.adapters.ports">(
          port_parts(topology, port), with<"guid">(railweave::to_string(topology.port_guid(port))),
          with<"lid">(topology.lid(port)), with<"rail">(name_or_null(topology, topology.rail(port))),
          with<"subnet">(name_or_null(topology, topology.subnet(port)))));
    }
    adapters.push_back(object<"Node.adapters">(with<"device">(topology.device(hca)),
                                               with<"guid">(railweave::to_string(topology.guid(hca))),
                                               with<"description">(topology.description(hca)), with<"ports">(ports)));
  }
  return dump(object<"Node">(part<"NodeFields">(node_json(state, host)), with<"drain">(drain_json(drain)),
                             with<"gpuList">(std::move(gpu_list)), with<"adapters">(std::move(adapters))));
}

namespace {

Out switch_json(const ClusterState& state, SwitchId sw) {
  const Topology& topology = state.topology();
  const auto tier = topology.tier(sw);
  std::size_t cabled = 0;
  for (const auto port : topology.ports(sw)) cabled += topology.link(port) ? 1 : 0;
  return object<"SwitchFields">(
      with<"id">(topology.name(sw)), with<"guid">(railweave::to_string(topology.guid(sw))),
      with<"description">(topology.description(sw)), with<"subnet">(name_or_null(topology, topology.subnet(sw))),
      with<"rack">(name_or_null(topology, topology.rack(sw))),
      with<"tier">(tier == Topology::kNoTier ? Out(nullptr) : Out(tier)), with<"lid">(topology.lid(sw)),
      with<"ports">(topology.ports(sw).size()), with<"cabledPorts">(cabled), with<"drained">(state.view.drained(sw)));
}

}  // namespace

std::string write_switch(const ClusterState& state, SwitchId sw) { return dump(switch_json(state, sw)); }

std::string write_switch(const ClusterState& state, SwitchId sw, const ShownDrain& drain) {
  const Topology& topology = state.topology();
  Out ports = Out::array();
  for (const auto port : topology.ports(sw)) {
    const PortId peer = topology.peer(port);
    ports.push_back(object<"Switch.portList">(
        port_parts(topology, port), maybe<"peer">(bool(peer), [&] { return link_end_json(topology, peer); })));
  }
  return dump(object<"Switch">(part<"SwitchFields">(switch_json(state, sw)), with<"drain">(drain_json(drain)),
                               with<"portList">(std::move(ports))));
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
  return dump(
      object<"NvlinkDomain">(with<"id">(topology.name(domain)), with<"clusterUuid">(topology.cluster_uuid(domain)),
                             with<"gpus">(topology.gpus(domain).size()), with<"freeGpus">(free),
                             with<"rateGbpsPerGpu">(topology.rate_per_gpu(domain).gbps()), with<"nodes">(nodes)));
}

std::string write_rail(const ClusterState& state, RailId rail, std::size_t ports) {
  const Topology& topology = state.topology();
  return dump(object<"Rail">(with<"id">(topology.name(rail)), with<"hostPorts">(ports),
                             with<"inferred">(topology.rails_inferred()),
                             with<"confidence">(topology.rail_confidence())));
}

std::string write_rack(const ClusterState& state, RackId rack, std::size_t nodes) {
  return dump(object<"Rack">(with<"id">(state.topology().name(rack)), with<"nodes">(nodes)));
}

}  // namespace railweave::api
