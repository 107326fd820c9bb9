// Settings on the hosts of a job: rate limits at its adapter ports, partitions of its NVLink domains.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/core.h>

#include "fabric/drivers/linux_tc/tc_commands.h"
#include "services/control/views/job_ports.h"
#include "services/control/views/nvlink_ownership.h"
#include "services/json/contract_object.h"
#include "services/rest/json/guarantees/guarantee.h"
#include "services/rest/json/guarantees/guarantee_value.h"
#include "services/rest/json/rate_value.h"

namespace railweave::api {
namespace {

using control::ClusterState;
using control::Job;

// The interface is the adapter's own, whatever the host calls it.
std::vector<std::string> with_variable(std::vector<std::string> commands, std::string_view device) {
  commands.insert(commands.begin(), fmt::format("IFACE=$(ls /sys/class/infiniband/{}/device/net | head -n 1)", device));
  return commands;
}

Out shaping(const ClusterState& state, const Job& job, std::string_view device, RateMbps cable) {
  const auto& classes = *state.qos_classes;
  const auto own = std::ranges::find(classes, job.guarantee->qos_class, &fabric::QosClass::name);
  if (own == classes.end() || cable.value() <= 0) return Out::array();
  const RateMbps most = job.guarantee->most.value() == 0 ? cable : std::min(job.guarantee->most, cable);
  std::vector<fabric::linux_tc::TcClass> wanted;
  const std::uint8_t dscp = job_dscp(state, *job.guarantee, job.placement.gpu_of_rank).value_or(own->dscp);
  wanted.push_back({own->name, dscp, std::min(job.guarantee->rate, most), most, 0});
  // Traffic of other classes gets the rest.
  const std::uint8_t other = dscp == 0 ? 1 : 0;
  const RateMbps rest(std::max<std::int64_t>(1, cable.value() - job.guarantee->rate.value()));
  wanted.push_back({"other", other, rest, RateMbps(0), 7});
  const auto commands = fabric::linux_tc::htb_commands(fabric::linux_tc::kInterfaceVariable, cable, wanted);
  return commands ? Out(with_variable(*commands, device)) : Out::array();
}

// Tenants with jobs on these hosts, without the job's own.
std::set<std::string> other_tenants(const ClusterState& state, const Job& job, const std::set<fabric::HostId>& hosts) {
  std::set<std::string> others;
  const auto& t = state.topology();
  state.jobs.visit_after(control::JobId(0), [&](const control::JobPtr& other) {
    if (!other->holds_gpus() || other->spec.tenant == job.spec.tenant || others.contains(other->spec.tenant))
      return true;
    const auto gpus = other->placement.held_gpus();
    if (std::ranges::any_of(gpus, [&](fabric::GpuId gpu) { return hosts.contains(t.host(gpu)); })) {
      others.insert(other->spec.tenant);
    }
    return true;
  });
  return others;
}

// For the tenant's virtual function, by number; the kernel accepts whole Mb/s, and 0 for no maximum.
Out function_rates(std::string_view device, const control::JobGuarantee& guarantee) {
  return Out::array({fmt::format("IFACE=$(ls /sys/class/infiniband/{}/device/net | head -n 1)", device),
                     fmt::format("ip link set dev \"$IFACE\" vf \"${{VF:?its number}}\" max_tx_rate {} min_tx_rate {}",
                                 guarantee.most.value(), guarantee.rate.value())});
}

}  // namespace

std::string write_job_caps(const ClusterState& state, const Job& job) {
  const auto& t = state.topology();
  std::map<fabric::HostId, Out> ports_of_host;
  std::vector<fabric::HostId> order;
  const auto& guarantee = *job.guarantee;
  const bool has_most = guarantee.most.value() != 0;
  for (const auto gpu : job.placement.gpu_of_rank) {
    if (ports_of_host.try_emplace(t.host(gpu), Out::array()).second) order.push_back(t.host(gpu));
  }
  for (const auto port : control::job_ports(*state.placement_fabric, job.placement.gpu_of_rank)) {
    const auto hca = t.hca_of(port);
    const std::string device(t.device(hca));
    const auto cap = scheduler::source_cap(port, guarantee.rate, guarantee.most);
    // Rates of virtual functions and queue disciplines are the Ethernet stack's: an InfiniBand adapter has neither.
    const bool is_ethernet = t.kind(t.link(port)) == fabric::LinkKind::ethernet;
    Out pair = nullptr;
    if (has_most) {
      pair = object<"JobCaps.items.ports.queuePair">(
          with<"rateLimitKbps">(guarantee.most.value() * 1000),
          with<"set">("ibv_modify_qp_rate_limit, by the program that makes the queue pair"));
    }
    ports_of_host[t.host(hca)].push_back(object<"JobCaps.items.ports">(
        with<"device">(device), with<"port">(t.port_text(port)), with<"guaranteedGbps">(gbps_of(guarantee.rate)),
        with<"maxGbps">(has_most ? Out(gbps_of(guarantee.most)) : Out(nullptr)),
        with<"virtualFunction">(is_ethernet ? function_rates(device, guarantee) : Out::array()),
        with<"queuePair">(std::move(pair)),
        with<"tc">(is_ethernet ? shaping(state, job, device, state.view.rate(t.link(port))) : Out::array()),
        with<"enforcement">(enforcement_json(cap))));
  }
  Out nodes = Out::array();
  for (const auto host : order)
    nodes.push_back(object<"JobCaps.items">(with<"node">(t.name(host)), with<"ports">(ports_of_host[host])));
  return dump(object<"JobCaps">(with<"job">(control::to_string(job.id)), with<"class">(guarantee.qos_class),
                                with<"items">(std::move(nodes))));
}

std::string write_job_partition(const ClusterState& state, const Job& job, bool allow_shared) {
  const auto& t = state.topology();
  Out domains = Out::array();
  for (const auto& partition : control::nvlink_partitions_of(state, job)) {
    Out gpus = Out::array();
    for (const auto gpu : partition.gpus) {
      gpus.push_back(object<"GpuPlace">(with<"node">(t.name(t.host(gpu))), with<"gpu">(t.local_index(gpu))));
    }
    Out imex = Out::array();
    std::set<fabric::HostId> hosts;
    for (const auto gpu : partition.gpus) hosts.insert(t.host(gpu));
    // A list of one node opens nothing to others.
    const auto others = hosts.size() < 2 ? std::set<std::string>() : other_tenants(state, job, hosts);
    std::istringstream lines(scheduler::imex_nodes(t, partition));
    for (std::string line; (others.empty() || allow_shared) && std::getline(lines, line);) imex.push_back(line);
    domains.push_back(object<"JobPartition.items">(
        with<"domain">(t.name(partition.domain)), with<"number">(partition.number), with<"owner">(partition.owner),
        with<"gpus">(std::move(gpus)), with<"imexNodes">(std::move(imex)), with<"sharedWith">(others),
        with<"request">(Out::parse(scheduler::partition_request(t, partition)))));
  }
  const auto contract = state.contracts->find(job.spec.tenant);
  const bool has_key = contract != state.contracts->end();
  Out nodes = Out::array();
  fabric::HostId last;
  std::set<fabric::HostId> seen;
  for (const auto gpu : job.placement.gpu_of_rank) {
    const auto host = t.host(gpu);
    if (host == std::exchange(last, host) || !seen.insert(host).second) continue;
    const auto& keys = state.host_keys[host.index()];
    const std::uint16_t index = has_key ? keys.index_of(contract->second.pkey) : std::uint16_t{0};
    nodes.push_back(object<"JobPartition.nodes">(with<"node">(t.name(host)),
                                                 with<"pkeyIndex">(index == 0 ? Out(nullptr) : Out(index)),
                                                 with<"isolated">(keys.limited)));
  }
  return dump(object<"JobPartition">(
      with<"job">(control::to_string(job.id)), with<"tenant">(job.spec.tenant),
      with<"pkey">(has_key ? Out(pkey_text(static_cast<std::uint16_t>(contract->second.pkey | 0x8000U)))
                           : Out(nullptr)),
      with<"nodes">(std::move(nodes)), with<"items">(std::move(domains))));
}

}  // namespace railweave::api
