#include "services/rest/json/guarantees/switch_queues.h"

#include <algorithm>

#include "fabric/qos/ethernet_plan.h"
#include "services/json/contract_object.h"
#include "services/rest/json/routing_value.h"

namespace railweave::api {
namespace {

Out queue_json(const fabric::QosClasses& classes, const fabric::EthernetQueue& queue) {
  const fabric::QosClass& of = classes[queue.qos_class];
  return object<"SwitchQueues.ports.queues">(
      with<"class">(of.name), with<"lane">(queue.lane ? Out(*queue.lane) : Out(nullptr)),
      with<"job">(queue.job.empty() ? Out(nullptr) : Out(queue.job)), with<"dscp">(queue.dscp),
      with<"trafficClass">(queue.traffic_class), with<"priority">(of.priority),
      with<"guaranteedMbps">(queue.rate.value()), with<"lossless">(queue.lossless));
}

Out admitted_json(const fabric::Topology& t, const fabric::AdmittedMark& mark) {
  Out destinations = Out::array();
  for (const fabric::PortId port : mark.destinations) destinations.push_back(device_text(t, port));
  return object<"SwitchQueues.ports.admitted">(with<"dscp">(mark.dscp), with<"job">(mark.job),
                                               with<"destinations">(std::move(destinations)));
}

}  // namespace

std::string write_switch_queues(const control::ClusterState& state, const control::GuaranteeBook& book,
                                fabric::SwitchId sw) {
  const fabric::Topology& t = state.topology();
  const fabric::QosClasses& classes = book.classes();
  const auto plan = fabric::plan_ethernet(classes, book.ledger(), state.view, sw);
  Out ports = Out::array();
  for (const fabric::EthernetPort& port : plan.ports) {
    Out queues = Out::array(), arriving = Out::array(), admitted = Out::array();
    for (const auto& queue : port.queues) queues.push_back(queue_json(classes, queue));
    for (const auto& lane : port.arriving) {
      arriving.push_back(object<"SwitchQueues.ports.arriving">(
          with<"lane">(lane.lane), with<"trafficClass">(lane.traffic_class), with<"lossless">(lane.lossless)));
    }
    for (const auto& mark : port.admitted) admitted.push_back(admitted_json(t, mark));
    ports.push_back(object<"SwitchQueues.ports">(
        with<"port">(t.number(port.port)), with<"peer">(device_text(t, t.peer(port.port))),
        with<"facesHost">(port.faces_host), with<"inUse">(port.in_use), with<"linkMbps">(port.link.value()),
        with<"cableMetres">(port.cable_m > 0 ? Out(port.cable_m) : Out(nullptr)), with<"queues">(std::move(queues)),
        with<"arriving">(std::move(arriving)), with<"admitted">(std::move(admitted))));
  }
  const auto lowest = fabric::lowest_class(classes);
  return dump(object<"SwitchQueues">(with<"switch">(t.name(sw)), with<"lowestClass">(classes[lowest].name),
                                     with<"laneDscps">(plan.lane_dscps), with<"ports">(std::move(ports)),
                                     with<"seq">(state.seq)));
}

}  // namespace railweave::api
