// railweave lab qos: classes of traffic as what switches, subnet managers and hosts of a fabric file are configured
// with.
#include <algorithm>
#include <cmath>
#include <map>

#include "fabric/drivers/linux_tc/tc_commands.h"
#include "fabric/formats/sonic/sonic_qos.h"
#include "fabric/qos/infiniband_plan.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/lab/engine_option.h"
#include "services/railweave/lab/fabric_file.h"
#include "services/railweave/lab/flows/qos_classes_file.h"
#include "services/railweave/lab/lab_commands.h"
#include "services/railweave/lab/ports_alike.h"
#include "services/railweave/lab/routed_fabric.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"
#include "services/railweave/terminal/table.h"

namespace railweave::cli {
namespace {

struct LabQosOptions {
  FabricFileOptions fabric;
  RouteRequest request;
  std::string to = "infiniband", classes, sw, host, path;
  std::uint64_t lanes = 8, entries = 8, buffer_mib = 64, sonic_step = 8;
};

constexpr double kRoundTripS = 8e-6;  // of a fabric of three tiers, loaded: where marking begins
constexpr double kUnknownCableM = 5;
constexpr std::size_t kMostLossless = 2;  // what SonicQos takes

fabric::SwitchId switch_named(const fabric::Topology& topology, const LabQosOptions& options) {
  if (options.sw.empty()) fail_usage("--to " + options.to + " is for one switch", "name it by --switch");
  const fabric::SwitchId sw = topology.find_switch(options.sw);
  if (sw) return sw;
  throw CommandFailure(Error{ErrorKind::notFound,
                             "lab.noSuchSwitch",
                             "the fabric has no switch '" + options.sw + "'",
                             {},
                             "a name or a GUID"});
}

fabric::HostId host_named(const fabric::Topology& topology, const std::string& name) {
  const fabric::HostId host = topology.find_host(name);
  if (host) return host;
  throw CommandFailure(Error{ErrorKind::notFound, "lab.noSuchHost", "the fabric has no host '" + name + "'", {}, {}});
}

// Whole percent that sum to 100, each at least 1, nearest to the shares.
std::vector<unsigned> percents(const fabric::QosClasses& classes) {
  double all = 0;
  for (const auto& one : classes) all += one.share_permille;
  std::vector<unsigned> result;
  std::vector<std::pair<double, std::size_t>> rest;
  int left = 100;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const double exact = 100.0 * classes[c].share_permille / all;
    result.push_back(std::max(1U, static_cast<unsigned>(exact)));
    left -= static_cast<int>(result.back());
    rest.emplace_back(exact - result.back(), c);
  }
  std::ranges::sort(rest, std::ranges::greater{});
  for (std::size_t i = 0; left > 0; --left, ++i) ++result[rest[i % rest.size()].second];
  for (; left < 0; ++left) --*std::ranges::max_element(result);
  return result;
}

std::string sonic(const fabric::TopologyPtr& cabled, const fabric::QosClasses& classes, const LabQosOptions& options,
                  std::vector<std::string>& notes) {
  const fabric::Topology& topology = *cabled;
  const auto capacity = fabric::link_capacities_mbps(fabric::FabricView(cabled));
  const fabric::SwitchId sw = switch_named(topology, options);
  if (classes.size() > 8) fail_usage("an Ethernet switch has 8 traffic classes", "give fewer by --classes");
  fabric::SonicQos qos;
  qos.buffers.emplace();
  qos.buffers->asic.memory_bytes = options.buffer_mib << 20U;
  double rate = 0;
  for (const fabric::PortId port : topology.ports(sw)) {
    if (!topology.peer(port)) continue;
    const auto spec = topology.spec(topology.link(port));
    const std::string name = "Ethernet" + std::to_string((topology.number(port) - 1) * options.sonic_step);
    const auto mbps = static_cast<std::int64_t>(capacity[fabric::directed_link(topology, port)]);
    qos.ports.push_back(name);
    qos.buffers->cables.push_back(
        {name, RateMbps(mbps), spec.cable_length_m > 0 ? spec.cable_length_m : kUnknownCableM});
    rate = std::max(rate, static_cast<double>(mbps));
  }
  // What buffers hold is two lossless classes: those of the largest shares.
  std::vector<std::size_t> lossless;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes[c].lossless) lossless.push_back(c);
  }
  std::ranges::stable_sort(lossless, std::ranges::greater{}, [&](std::size_t c) { return classes[c].share_permille; });
  for (std::size_t i = kMostLossless; i < lossless.size(); ++i) {
    notes.push_back("class " + classes[lossless[i]].name + " is not lossless here: buffers hold two such classes");
  }
  lossless.resize(std::min(lossless.size(), kMostLossless));
  const auto weights = percents(classes);
  const auto window = static_cast<std::uint64_t>(rate * 1e6 / 8 * kRoundTripS);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    fabric::SonicClass one{
        .dscp = classes[c].dscp, .traffic_class = static_cast<std::uint8_t>(c), .weight = weights[c]};
    one.lossless = std::ranges::find(lossless, c) != lossless.end();
    if (one.lossless) {  // ECN before PFC: from one window of a link on
      one.ecn_min_bytes = window;
      one.ecn_max_bytes = 4 * window;
    }
    qos.classes.push_back(one);
  }
  qos.other_class = static_cast<std::uint8_t>(classes.size() - 1);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes[c].priority > classes[qos.other_class].priority) qos.other_class = static_cast<std::uint8_t>(c);
  }
  notes.push_back("ports are numbered Ethernet0, Ethernet" + std::to_string(options.sonic_step) +
                  "...; buffers are for " + std::to_string(options.buffer_mib) + " MiB of packet memory");
  return value_or_fail(fabric::write_sonic_qos(qos));
}

std::string tc(const fabric::TopologyPtr& cabled, const fabric::QosClasses& classes, const LabQosOptions& options) {
  if (options.host.empty()) fail_usage("--to tc is for one host", "name it by --host");
  std::string text;
  const fabric::Topology& topology = *cabled;
  const auto capacity = fabric::link_capacities_mbps(fabric::FabricView(cabled));
  for (const fabric::HcaId hca : topology.hcas(host_named(topology, options.host))) {
    for (const fabric::PortId port : topology.ports(hca)) {
      if (!topology.peer(port)) continue;
      const auto link = static_cast<std::int64_t>(capacity[fabric::directed_link(topology, port)]);
      std::vector<fabric::linux_tc::TcClass> rows;
      for (const auto& one : classes) {
        rows.push_back({one.name, one.dscp, RateMbps(std::max<std::int64_t>(1, link * one.share_permille / 1000)),
                        RateMbps(0), static_cast<std::uint8_t>(std::min<unsigned>(one.priority, 7))});
      }
      // HTB's last class takes what no DSCP names.
      std::ranges::stable_sort(rows, {}, &fabric::linux_tc::TcClass::priority);
      const std::string interface =
          topology.device(hca).empty() ? "eth" + std::to_string(hca.index()) : std::string(topology.device(hca));
      text += "# " + topology.port_text(port) + "\n";
      for (const auto& command : value_or_fail(fabric::linux_tc::htb_commands(interface, RateMbps(link), rows))) {
        text += command + "\n";
      }
    }
  }
  if (text.empty()) fail_usage("host '" + options.host + "' has no cabled adapter", {});
  return text;
}

struct PlannedSubnet {
  RoutedFabric routed;
  fabric::InfinibandPlanInput input;
  fabric::InfinibandPlan plan;
};

std::string opensm(const PlannedSubnet& subnet) {
  const auto policy = value_or_fail(fabric::opensm_policy(subnet.input, subnet.plan));
  fabric::opensm::OpenSmOptions options;
  options.sharing = policy.sharing;
  return "### opensm.conf\n" + value_or_fail(fabric::opensm::write_opensm_options(options)) +
         "\n### partitions.conf\n" + value_or_fail(fabric::opensm::write_partitions(policy.partitions)) +
         "\n### qos-policy.conf\n" + value_or_fail(fabric::opensm::write_qos_policy(policy.qos));
}

std::string weights_text(const fabric::VlArbitration& arbitration) {
  std::string text;
  for (const fabric::VlWeight entry : arbitration.low) {
    text += (text.empty() ? "" : ",") + std::to_string(entry.vl) + ":" + std::to_string(entry.weight);
  }
  return text;
}

Json infiniband(const fabric::Topology& topology, const PlannedSubnet& subnet, const fabric::QosClasses& classes,
                const LabQosOptions& options) {
  Json document = {{"engine", subnet.routed.report.engine},
                   {"routingLanes", subnet.plan.routing_lanes},
                   {"uniform", subnet.plan.uniform},
                   {"classes", Json::array()},
                   {"ports", Json::array()}};
  for (unsigned c = 0; c < classes.size(); ++c) {
    Json lanes = Json::array();
    std::uint32_t promised = 0;
    for (unsigned lane = 0; lane < subnet.plan.routing_lanes; ++lane) {
      lanes.push_back(subnet.plan.lane(c, lane));
      if (!subnet.plan.ports.empty() && subnet.plan.ports[0].arbitration) {
        promised += fabric::promised_permille(*subnet.plan.ports[0].arbitration, subnet.plan.lane(c, lane));
      }
    }
    document["classes"].push_back({{"name", classes[c].name},
                                   {"sharePermille", classes[c].share_permille},
                                   {"serviceLevel", subnet.plan.service_level(c, 0)},
                                   {"lanes", std::move(lanes)},
                                   {"promisedPermille", promised}});
  }
  const fabric::SwitchId only_switch = options.sw.empty() ? fabric::SwitchId() : switch_named(topology, options);
  const fabric::HostId only_host = options.host.empty() ? fabric::HostId() : host_named(topology, options.host);
  for (const auto& port : subnet.plan.ports) {
    const fabric::SwitchId sw = topology.find_switch(port.port.device);
    const fabric::HcaId hca = sw ? fabric::HcaId() : topology.find_hca(port.port.device);
    if (only_switch && sw != only_switch) continue;
    if (only_host && (!hca || topology.host(hca) != only_host)) continue;
    std::string device(sw ? topology.name(sw) : std::string_view());
    if (hca && topology.host(hca)) device = topology.name(topology.host(hca));
    Json one = {{"device", device}, {"guid", to_string(port.port.device)}, {"port", port.port.port}};
    if (port.sl_to_vl) one["slToVl"] = *port.sl_to_vl;
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
                 {"promised", Align::right}});
  for (const Json& one : list(document, "classes")) {
    std::string lanes;
    for (const Json& lane : list(one, "lanes")) lanes += (lanes.empty() ? "" : ",") + text_of(lane);
    classes.add({text_of(one, "name"), text_of(one, "sharePermille"), text_of(one, "serviceLevel"), lanes,
                 text_of(one, "promisedPermille")});
  }
  output.text(classes.text(output.terminal()) + "of 1000 of a full link\n\n");
  // Most ports are alike: a line for each kind of table, and who has it.
  std::map<std::pair<std::string, std::string>, PortsAlike> alike;
  for (const Json& one : list(document, "ports")) {
    std::string map;
    for (const Json& vl : list(one, "slToVl")) map += (map.empty() ? "" : ",") + text_of(vl);
    alike[{std::move(map), text_of(one, "vlArbLow")}].add(text_of(one, "device"), one.at("port").get<unsigned>());
  }
  Table ports({{"ports", Align::right}, {"VL by SL", Align::left}, {"VL:weight", Align::left}, {"where", Align::left}});
  for (const auto& [tables, where] : alike) {
    ports.add({std::to_string(where.count), tables.first, tables.second, where.text()});
  }
  output.text(ports.text(output.terminal()));
}

void run(Session& session, const LabQosOptions& options) {
  Output& output = session.output;
  const fabric::QosClasses classes = read_qos_classes(options.classes);
  const FabricFile file = read_fabric_file(options.fabric);
  std::vector<std::string> notes;
  std::string text;
  if (options.to == "sonic") {
    text = sonic(file.topology, classes, options, notes);
  } else if (options.to == "tc") {
    text = tc(file.topology, classes, options);
  } else {
    PlannedSubnet subnet{.routed = route_fabric(file.topology, options.request), .input = {}, .plan = {}};
    subnet.input = {.classes = &classes,
                    .view = subnet.routed.view,
                    .scope = subnet.routed.routing.tables.scope_ptr(),
                    .lanes = &subnet.routed.routing.lanes,
                    .data_lanes = static_cast<unsigned>(options.lanes),
                    .arbitration_entries = options.entries};
    subnet.plan = value_or_fail(fabric::plan_infiniband(subnet.input));
    notes = subnet.plan.not_as_asked;
    if (options.to == "opensm") {
      text = opensm(subnet);
    } else {
      const Json document = infiniband(*file.topology, subnet, classes, options);
      for (const auto& note : notes) output.note("railweave: note: " + note);
      if (output.is_document()) return output.document(document);
      return print_infiniband(output, document);
    }
  }
  for (const auto& note : notes) output.note("railweave: note: " + note);
  if (output.is_document() && options.path.empty()) return output.document({{"format", options.to}, {"text", text}});
  write_file_or_stdout(output, options.path, text);
}

}  // namespace

void add_lab_qos_command(CLI::App& lab, Session& session) {
  auto options = std::make_shared<LabQosOptions>();
  CLI::App& command = add_command(
      lab, "qos", "Classes of traffic as switches, a subnet manager or hosts of a fabric file are configured with them",
      {"railweave lab qos fabric.json", "railweave lab qos fabric.json --to infiniband --switch leaf-7 -o json",
       "railweave lab qos fabric.json --to opensm -O opensm-files.txt",
       "railweave lab qos fabric.json --to sonic --switch leaf-7 --buffer 64 -O config_db.json",
       "railweave lab qos fabric.json --to tc --host node-12"});
  add_fabric_file_options(command, options->fabric);
  command.add_option("--to", options->to, "Whose configuration")
      ->type_name("infiniband|opensm|sonic|tc")
      ->capture_default_str()
      ->check(CLI::IsMember({"infiniband", "opensm", "sonic", "tc"}));
  command.add_option("--switch", options->sw, "Of this switch, by name or GUID; sonic needs it")->type_name("SWITCH");
  command.add_option("--host", options->host, "Of this host; tc needs it")->type_name("HOST");
  command.add_option("--classes", options->classes, "Classes of traffic, as PUT /v1/qos-classes takes them")
      ->type_name("FILE");
  add_engine_option(command, options->request.engine);
  add_number_option(command, "--lanes", options->lanes, "Data lanes of the port that has fewest", {1, 15});
  add_number_option(command, "--entries", options->entries, "Entries of a port's arbitration table", {1, 64});
  add_number_option(command, "--buffer", options->buffer_mib, "Packet memory of an Ethernet switch, in MiB",
                    {1, 65'536});
  add_number_option(command, "--ethernet-step", options->sonic_step, "Between the numbers of SONiC's ports", {1, 16});
  add_output_file_option(command, options->path);
  on_run(command, session, [&session, options] { run(session, *options); });
}

}  // namespace railweave::cli
