// railweave lab qos: traffic classes as configuration of switches, subnet managers and hosts of a fabric file.
#include "services/railweave/command_line/choice_option.h"
#include "services/railweave/command_line/number_option.h"
#include "services/railweave/lab/engine_option.h"
#include "services/railweave/lab/fabric_file.h"
#include "services/railweave/lab/flows/qos_classes_file.h"
#include "services/railweave/lab/lab_commands.h"
#include "services/railweave/lab/qos/infiniband_config.h"
#include "services/railweave/lab/qos/sonic_config.h"
#include "services/railweave/lab/qos/tc_config.h"
#include "services/railweave/lab/routed_fabric.h"
#include "services/railweave/terminal/command_failure.h"
#include "services/railweave/terminal/output_file.h"

namespace railweave::cli {
namespace {

struct LabQosOptions {
  FabricFileOptions fabric;
  RouteRequest request;
  std::string to = "infiniband", classes, sw, host, path;
  std::uint64_t lanes = 8, entries = 8, mtu = fabric::kLargestMtuBytes;
  SonicOptions sonic;
};

fabric::SwitchId switch_named(const fabric::Topology& topology, const std::string& name) {
  const fabric::SwitchId sw = topology.find_switch(name);
  if (sw) return sw;
  throw CommandFailure(Error{ErrorKind::notFound,
                             "lab.noSuchSwitch",
                             "the fabric has no switch '" + name + "'",
                             {},
                             "give its name or its GUID"});
}

fabric::HostId host_named(const fabric::Topology& topology, const std::string& name) {
  const fabric::HostId host = topology.find_host(name);
  if (host) return host;
  throw CommandFailure(Error{ErrorKind::notFound, "lab.noSuchHost", "the fabric has no host '" + name + "'", {}, {}});
}

PlannedSubnet plan_subnet(const fabric::QosClasses& classes, const RoutedFabric& routed, const LabQosOptions& options) {
  PlannedSubnet subnet{.engine = std::string(routed.report.engine), .input = {}, .plan = {}};
  subnet.input = {.classes = &classes,
                  .view = routed.view,
                  .scope = routed.routing.tables.scope_ptr(),
                  .lanes = &routed.routing.lanes,
                  .data_lanes = static_cast<unsigned>(options.lanes),
                  .arbitration = {.entries = options.entries, .mtu_bytes = static_cast<unsigned>(options.mtu)}};
  subnet.plan = value_or_fail(fabric::plan_infiniband(subnet.input));
  return subnet;
}

void note_all(Output& output, const std::vector<std::string>& notes) {
  for (const auto& note : notes) output.note("railweave: note: " + note);
}

void run_infiniband(Output& output, const fabric::TopologyPtr& cabled, const fabric::QosClasses& classes,
                    const PortSelection& selection, const PlannedSubnet& subnet) {
  const Json document = infiniband_config(*cabled, subnet, classes, selection);
  note_all(output, subnet.plan.not_as_asked);
  if (output.is_document()) return output.document(document);
  print_infiniband(output, document);
}

void run(Session& session, const LabQosOptions& options) {
  Output& output = session.output;
  if (options.to == "sonic" && options.sw.empty()) fail_usage("--to sonic needs --switch SWITCH");
  const bool is_host = options.to == "tc" || options.to == "dcb";
  if (is_host && options.host.empty()) fail_usage("--to " + options.to + " needs --host HOST");
  const fabric::QosClasses classes = read_qos_classes(options.classes);
  const FabricFile file = read_fabric_file(options.fabric);
  PortSelection selection;
  if (!options.sw.empty()) selection.sw = switch_named(*file.topology, options.sw);
  if (!options.host.empty()) selection.host = host_named(*file.topology, options.host);
  std::vector<std::string> notes;
  std::string text;
  if (options.to == "sonic") {
    text = sonic_config(file.topology, selection.sw, classes, options.sonic, notes);
  } else if (options.to == "tc") {
    text = tc_config(file.topology, selection.host, classes);
  } else if (options.to == "dcb") {
    text = dcb_config(file.topology, selection.host, classes, notes);
  } else {
    const RoutedFabric routed = route_fabric(file.topology, options.request);
    const PlannedSubnet subnet = plan_subnet(classes, routed, options);
    if (options.to == "infiniband") return run_infiniband(output, file.topology, classes, selection, subnet);
    notes = subnet.plan.not_as_asked;
    text = opensm_config(subnet);
  }
  note_all(output, notes);
  if (output.is_document() && options.path.empty()) return output.document({{"format", options.to}, {"text", text}});
  write_file_or_stdout(output, options.path, text);
}

}  // namespace

void add_lab_qos_command(CLI::App& lab, Session& session) {
  auto options = std::make_shared<LabQosOptions>();
  CLI::App& command = add_command(
      lab, "qos",
      "Turn traffic classes into configuration of the switches, the subnet manager or the hosts of a fabric file",
      {"railweave lab qos fabric.json", "railweave lab qos fabric.json --to infiniband --switch leaf-7 -o json",
       "railweave lab qos fabric.json --to opensm -O opensm-files.txt",
       "railweave lab qos fabric.json --to sonic --switch leaf-7 --buffer 64 -O config_db.json",
       "railweave lab qos fabric.json --to dcb --host node-12",
       "railweave lab qos fabric.json --to tc --host node-12"});
  add_fabric_file_options(command, options->fabric);
  add_choice_option(command, "--to", options->to, "What to configure", "infiniband|opensm|sonic|dcb|tc");
  command.add_option("--switch", options->sw, "Only this switch, by name or GUID; required by --to sonic")
      ->type_name("SWITCH");
  command.add_option("--host", options->host, "Only this host; required by --to dcb and tc")->type_name("HOST");
  command
      .add_option("--classes", options->classes,
                  "Traffic classes in JSON: name, sharePermille, dscp, priority, bound, lossless")
      ->type_name("FILE");
  add_engine_option(command, options->request.engine);
  add_number_option(command, "--lanes", options->lanes, "Data lanes of the port that has the fewest", {1, 15});
  add_number_option(command, "--entries", options->entries, "Entries of a port's arbitration table", {1, 64});
  add_number_option(command, "--mtu", options->mtu, "MTU of the InfiniBand subnet, in bytes", {256, 4096});
  add_number_option(command, "--buffer", options->sonic.buffer_mib, "Packet memory of the Ethernet switch, in MiB",
                    {1, 65'536});
  add_number_option(command, "--ethernet-step", options->sonic.port_step, "Step between the numbers of SONiC's ports",
                    {1, 16});
  add_output_file_option(command, options->path);
  on_run(command, session, [&session, options] { run(session, *options); });
}

}  // namespace railweave::cli
