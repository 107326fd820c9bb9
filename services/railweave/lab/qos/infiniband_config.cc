#include "services/railweave/lab/qos/infiniband_config.h"

#include <map>
#include <utility>

#include <fmt/core.h>

#include "fabric/drivers/opensm/files/opensm_files.h"
#include "services/railweave/lab/qos/port_runs.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

std::string weights_text(const fabric::VlArbitration& arbitration) {
  std::string text;
  for (const fabric::VlWeight entry : arbitration.low) {
    text += fmt::format("{}{}:{}", text.empty() ? "" : ",", entry.vl, entry.weight);
  }
  return text;
}

}  // namespace

std::string opensm_config(const PlannedSubnet& subnet) {
  const auto policy = value_or_fail(fabric::opensm_policy(subnet.input, subnet.plan));
  fabric::opensm::OpenSmOptions options;
  options.sharing = policy.sharing;
  return "### opensm.conf\n" + value_or_fail(fabric::opensm::write_opensm_options(options)) +
         "\n### partitions.conf\n" + value_or_fail(fabric::opensm::write_partitions(policy.partitions)) +
         "\n### qos-policy.conf\n" + value_or_fail(fabric::opensm::write_qos_policy(policy.qos));
}

Json infiniband_config(const fabric::Topology& topology, const PlannedSubnet& subnet, const fabric::QosClasses& classes,
                       const PortSelection& selection) {
  Json document = {{"engine", subnet.engine},
                   {"routingLanes", subnet.plan.routing_lanes},
                   {"uniform", subnet.plan.uniform},
                   {"classes", Json::array()},
                   {"ports", Json::array()}};
  for (unsigned c = 0; c < classes.size(); ++c) {
    Json lanes = Json::array();
    std::uint32_t guaranteed = 0;
    for (unsigned lane = 0; lane < subnet.plan.routing_lanes; ++lane) lanes.push_back(subnet.plan.lane(c, lane));
    if (!subnet.plan.ports.empty() && subnet.plan.ports[0].arbitration) {
      guaranteed = subnet.plan.promised_permille(*subnet.plan.ports[0].arbitration, c);
    }
    document["classes"].push_back({{"name", classes[c].name},
                                   {"sharePermille", classes[c].share_permille},
                                   {"serviceLevel", subnet.plan.service_level(c, 0)},
                                   {"lanes", std::move(lanes)},
                                   {"promisedPermille", guaranteed}});
  }
  for (const auto& port : subnet.plan.ports) {
    const fabric::SwitchId sw = topology.find_switch(port.port.device);
    const fabric::HcaId hca = sw ? fabric::HcaId() : topology.find_hca(port.port.device);
    if (selection.sw && sw != selection.sw) continue;
    if (selection.host && (!hca || topology.host(hca) != selection.host)) continue;
    std::string device(sw ? topology.name(sw) : std::string_view());
    if (hca && topology.host(hca)) device = topology.name(topology.host(hca));
    Json one = {{"device", device}, {"guid", to_string(port.port.device)}, {"port", port.port.port}};
    if (port.sl_to_vl) one["slToVl"] = *port.sl_to_vl;
    for (const auto& from : port.from_ports) one["slToVlFrom"][std::to_string(from.in)] = from.map;
    if (port.arbitration) one["vlArbLow"] = weights_text(*port.arbitration);
    if (port.pkeys) one["pkeys"] = *port.pkeys;
    document["ports"].push_back(std::move(one));
  }
  return document;
}

void print_infiniband(Output& output, const Json& document) {
  Table classes({{"class", Align::left},
                 {"share", Align::right},
                 {"SL", Align::right},
                 {"lanes", Align::left},
                 {"guaranteed", Align::right}});
  for (const Json& one : list(document, "classes")) {
    std::string lanes;
    for (const Json& lane : list(one, "lanes")) lanes += (lanes.empty() ? "" : ",") + text_of(lane);
    classes.add({text_of(one, "name"), text_of(one, "sharePermille"), text_of(one, "serviceLevel"), lanes,
                 text_of(one, foreign("promisedPermille"))});
  }
  output.text(classes.text(output.terminal()) + "share and guaranteed: per mille of a full link\n\n");
  // Most ports have the same tables: a line for each kind of table, with the ports that have it.
  std::map<std::pair<std::string, std::string>, PortRuns> by_tables;
  for (const Json& one : list(document, "ports")) {
    std::string map;
    for (const Json& vl : list(one, foreign("slToVl"))) map += (map.empty() ? "" : ",") + text_of(vl);
    by_tables[{std::move(map), text_of(one, foreign("vlArbLow"))}].add(text_of(one, "device"),
                                                                       one.at("port").get<unsigned>());
  }
  Table ports(
      {{"ports", Align::right}, {"VL by SL", Align::left}, {"VL:weight", Align::left}, {"device/port", Align::left}});
  for (const auto& [tables, runs] : by_tables) {
    ports.add({std::to_string(runs.count), tables.first, tables.second, runs.text()});
  }
  output.text(ports.text(output.terminal()));
}

}  // namespace railweave::cli
