#include "services/rest/json/guarantees/switch_queues.h"

#include <algorithm>

#include "fabric/qos/ethernet_plan.h"
#include "services/rest/json/routing_value.h"

namespace railweave::api {
namespace {

Out queue_json(const fabric::QosClasses& classes, const fabric::EthernetQueue& queue) {
  const fabric::QosClass& of = classes[queue.qos_class];
  return {{"class", of.name},
          {"lane", queue.lane ? Out(*queue.lane) : Out(nullptr)},
          {"job", queue.job.empty() ? Out(nullptr) : Out(queue.job)},
          {"dscp", queue.dscp},
          {"trafficClass", queue.traffic_class},
          {"priority", of.priority},
          {"guaranteedMbps", queue.rate.value()},
          {"lossless", queue.lossless}};
}

Out admitted_json(const fabric::Topology& t, const fabric::AdmittedMark& mark) {
  Out destinations = Out::array();
  for (const fabric::PortId port : mark.destinations) destinations.push_back(device_text(t, port));
  return {{"dscp", mark.dscp}, {"job", mark.job}, {"destinations", std::move(destinations)}};
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
      arriving.push_back({{"lane", lane.lane}, {"trafficClass", lane.traffic_class}, {"lossless", lane.lossless}});
    }
    for (const auto& mark : port.admitted) admitted.push_back(admitted_json(t, mark));
    ports.push_back({{"port", t.number(port.port)},
                     {"peer", device_text(t, t.peer(port.port))},
                     {"facesHost", port.faces_host},
                     {"inUse", port.in_use},
                     {"linkMbps", port.link.value()},
                     {"cableMetres", port.cable_m > 0 ? Out(port.cable_m) : Out(nullptr)},
                     {"queues", std::move(queues)},
                     {"arriving", std::move(arriving)},
                     {"admitted", std::move(admitted)}});
  }
  const auto lowest = fabric::lowest_class(classes);
  return dump(Out{{"switch", t.name(sw)},
                  {"lowestClass", classes[lowest].name},
                  {"laneDscps", plan.lane_dscps},
                  {"ports", std::move(ports)},
                  {"seq", state.seq}});
}

}  // namespace railweave::api
