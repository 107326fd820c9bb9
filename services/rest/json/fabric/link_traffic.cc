#include "services/rest/json/fabric/link_traffic.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "services/json/contract_object.h"
#include "services/rest/json/link_value.h"

namespace railweave::api {
namespace {

using fabric::PortId;
using fabric::Topology;

constexpr std::size_t kMaxDevicesOnLink = 100, kMaxJobsOnLink = 100;

// The nodes, or other devices, that ports belong to, with the number of ports of each: most first, then by name.
Out devices_json(const Topology& topology, const std::vector<PortId>& ports) {
  std::map<std::string, std::uint64_t> by_device;
  for (const PortId port : ports) {
    const auto host = topology.host(topology.hca_of(port));
    ++by_device[host ? std::string(topology.name(host)) : port_name(topology, port)];
  }
  std::vector<std::pair<std::string, std::uint64_t>> order(by_device.begin(), by_device.end());
  std::ranges::stable_sort(order, std::ranges::greater{}, &std::pair<std::string, std::uint64_t>::second);
  Out devices = Out::array();
  for (const auto& [device, count] : order) {
    if (devices.size() == kMaxDevicesOnLink) break;
    devices.push_back(object<"CrossingPorts.devices">(with<"device">(device), with<"ports">(count)));
  }
  return object<"CrossingPorts">(with<"count">(ports.size()), with<"deviceCount">(order.size()),
                                 with<"devices">(std::move(devices)));
}

Out routes_json(const control::ClusterState& state, const control::LinkCrossings& crossings,
                const control::FabricRoutes& routes) {
  std::vector<PortId> to;
  for (const auto destination : crossings.destinations) to.push_back(routes.scope().destination(destination).port);
  return object<"LinkTraffic.directions.routes">(with<"pairs">(crossings.pairs),
                                                 with<"sources">(devices_json(state.topology(), crossings.sources)),
                                                 with<"destinations">(devices_json(state.topology(), to)));
}

Out senders_json(const control::ClusterState& state, const control::ContentionBook::OnLink& on) {
  Out jobs = Out::array();
  double sum_gbps = 0;
  for (const auto& sender : on.senders) {
    const double gbps = static_cast<double>(sender.kbps) / 1e6;
    sum_gbps += gbps;
    const auto job = state.jobs.find(control::JobId(sender.job));
    if (job == nullptr || jobs.size() == kMaxJobsOnLink) continue;
    jobs.push_back(object<"LinkTraffic.directions.traffic.jobs">(
        with<"job">(to_string(job->id)), with<"name">(job->spec.name), with<"tenant">(job->spec.tenant),
        with<"gbps">(gbps), with<"flows">(sender.flows)));
  }
  return object<"LinkTraffic.directions.traffic">(with<"links">(on.links), with<"capacityGbps">(on.capacity_mbps / 1e3),
                                                  with<"gbps">(sum_gbps), with<"jobCount">(on.senders.size()),
                                                  with<"jobs">(std::move(jobs)));
}

}  // namespace

std::string write_link_traffic(const control::ClusterState& state, fabric::LinkId link, const LinkTraffic& traffic,
                               const control::FabricRoutes* routes) {
  const Topology& topology = state.topology();
  Out directions = Out::array();
  for (std::size_t i = 0; i < 2; ++i) {
    const auto& direction = traffic.directions[i];
    const PortId from = i == 0 ? topology.a(link) : topology.b(link);
    const bool routed = direction.crossings && routes != nullptr;
    directions.push_back(object<"LinkTraffic.directions">(
        with<"from">(topology.port_text(from)), with<"fromName">(port_name(topology, from)),
        with<"to">(topology.port_text(topology.peer(from))), with<"toName">(port_name(topology, topology.peer(from))),
        with<"routes">(routed ? routes_json(state, *direction.crossings, *routes) : Out(nullptr)),
        with<"traffic">(direction.jobs ? senders_json(state, *direction.jobs) : Out(nullptr))));
  }
  return dump(object<"LinkTraffic">(with<"id">(topology.link_text(link)), with<"directions">(std::move(directions)),
                                    with<"seq">(state.seq)));
}

}  // namespace railweave::api
