// infiniband_probe discover [--window N] [--rounds N] [--quiet]
//   Sweeps the subnet of the first port and prints what each device said, as JSON lines; times go to stderr.
// infiniband_probe light [--window N]
//   One full sweep, then one light sweep per line of stdin, answered with one JSON line.
// infiniband_probe program [--window N]
//   As the only subnet manager: LIDs, links, forwarding tables. Then per line of stdin: waits for a trap, sweeps,
//   writes what a new routing changes. One JSON line each.
// infiniband_probe tables|counters [--window N] [--rate N]
//   Port tables written and read, counters read, of the ports that stdin names: see port_commands.h.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

#include "fabric/drivers/infiniband/infiniband_driver.h"
#include "fabric/drivers/infiniband/subnet_sweep.h"
#include "fabric/drivers/infiniband/subnet_topology.h"
#include "fabric/drivers/infiniband/umad_port.h"
#include "fabric/routing/engine_registry.h"
#include "tests/integration/infiniband_probe/port_commands.h"

using namespace railweave;
using namespace railweave::fabric;
using namespace railweave::fabric::infiniband;

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
    } else {
      out += c;
    }
  }
  return out + '"';
}

void print_node(const SubnetMap& map, const SubnetNode& node) {
  std::printf(
      "{\"guid\":\"%s\",\"type\":%u,\"ports\":%u,\"description\":%s,\"system\":\"%s\",\"vendor\":%u,\"device\":%u",
      to_string(node.guid()).c_str(), static_cast<unsigned>(node.info.type), node.info.ports,
      quoted(node.description).c_str(), to_string(node.info.system_guid).c_str(), node.info.vendor_id,
      node.info.device_id);
  if (node.is_switch()) {
    std::printf(",\"lid\":%u,\"lmc\":%u,\"enhanced\":%s", node.ports[0].info.lid, node.ports[0].info.lmc,
                node.switch_info.enhanced_port_zero ? "true" : "false");
  }
  std::printf(",\"links\":[");
  bool first = true;
  for (std::size_t p = 1; p < node.ports.size(); ++p) {
    const SubnetPort& port = node.ports[p];
    if (port.peer == kNoNode) continue;
    const LinkSpec link = node.link(p);
    std::printf(
        "%s{\"port\":%zu,\"guid\":\"%s\",\"lid\":%u,\"lmc\":%u,\"state\":%u,\"peer\":\"%s\",\"peerPort\":%u,"
        "\"width\":%u,\"speed\":\"%s\"}",
        first ? "" : ",", p, to_string(port.guid).c_str(), port.info.lid, port.info.lmc,
        static_cast<unsigned>(port.info.state), to_string(map.nodes[port.peer].guid()).c_str(), port.peer_port,
        link.width, std::string(to_string(link.speed)).c_str());
    first = false;
  }
  std::printf("]}\n");
}

struct Arguments {
  unsigned window = 32, rounds = 1, rate = 20'000;
  bool quiet = false, switch_lids = true;
};

int fail_with(const Error& error) {
  std::fprintf(stderr, "infiniband_probe: %s\n", error.text().c_str());
  return 1;
}

int discover(MadPort& port, const Arguments& arguments) {
  SubnetMap map;
  for (unsigned round = 0; round < arguments.rounds; ++round) {
    map = {};
    const auto start = std::chrono::steady_clock::now();
    SubnetSweep sweep(port, map, {.exchange = {.window = arguments.window}});
    if (auto ran = sweep.run(); !ran) return fail_with(ran.error());
    const auto swept = std::chrono::steady_clock::now();
    const auto topology = to_topology(map, {.source = "probe"});
    if (!topology) return fail_with(topology.error());
    const std::chrono::duration<double> sweep_s = swept - start, build_s = std::chrono::steady_clock::now() - swept;
    std::fprintf(stderr, "nodes %zu links %zu sent %llu retried %llu silent %zu sweep_s %.4f topology_s %.4f\n",
                 map.present_count(), topology->links().size(), static_cast<unsigned long long>(sweep.counts().sent),
                 static_cast<unsigned long long>(sweep.counts().retried), map.silent.size(), sweep_s.count(),
                 build_s.count());
  }
  if (arguments.quiet) return 0;
  for (const auto& node : map.nodes) {
    if (node.present) print_node(map, node);
  }
  return 0;
}

int light(MadPort& port, const Arguments& arguments) {
  SubnetMap map;
  ChangeSign sign = ChangeSign::everything;
  std::string line = "portStateChange";
  do {
    const auto start = std::chrono::steady_clock::now();
    SubnetSweep sweep(port, map,
                      {.sign = sign, .clear_changes = line != "portInfo", .exchange = {.window = arguments.window}});
    if (auto ran = sweep.run(); !ran) return fail_with(ran.error());
    const std::chrono::duration<double> sweep_s = std::chrono::steady_clock::now() - start;
    std::size_t ends = 0;
    for (const auto& node : map.nodes) {
      for (const auto& end : node.ports) ends += node.present && end.peer != kNoNode ? 1 : 0;
    }
    std::printf("{\"nodes\":%zu,\"cableEnds\":%zu,\"changed\":%s,\"sent\":%llu,\"seconds\":%.5f}\n",
                map.present_count(), ends, sweep.changed() ? "true" : "false",
                static_cast<unsigned long long>(sweep.counts().sent), sweep_s.count());
    std::fflush(stdout);
    if (!std::getline(std::cin, line)) break;
    sign = line == "portInfo" ? ChangeSign::portInfo
                              : (line == "full" ? ChangeSign::everything : ChangeSign::portStateChange);
  } while (true);
  return 0;
}

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print_program(const ProgramReport& report, const char* head) {
  std::printf("%s\"blocks\":%zu,\"isolated\":%zu,\"asked\":%llu}\n", head, report.blocks.size(), report.isolated.size(),
              static_cast<unsigned long long>(report.asked));
  std::fflush(stdout);
}

int program(std::unique_ptr<MadPort> port, const Arguments& arguments) {
  InfinibandDriver driver(std::move(port), {.mode = SubnetMode::direct, .exchange = {.window = arguments.window}});
  auto start = std::chrono::steady_clock::now();
  auto found = driver.discover();
  if (!found) return fail_with(found.error());
  const TopologyPtr topology = found->topology;
  auto scope = RoutingScope::make(topology, {.switch_management = arguments.switch_lids});
  if (!scope) return fail_with(scope.error());
  const RoutingEngine& engine = *choose_engine(**scope).engine;
  FabricView view(topology);
  auto routing = engine.route({.view = view, .scope = *scope});
  if (!routing) return fail_with(routing.error());
  std::vector<LidAssignment> lids;
  for (const SwitchId sw : topology->switches()) lids.push_back({topology->guid(sw), 0, (*scope)->lid(sw), 0});
  Lid ours = 0;
  for (const PortId end : topology->hca_ports()) {
    const DestinationId d = (*scope)->find(end);
    if (!d) continue;
    const Guid guid = topology->guid(topology->hca_of(end));
    lids.push_back({guid, static_cast<std::uint8_t>(topology->number(end)), (*scope)->lid(d), 0});
    if (guid == driver.map().nodes[driver.map().here].guid()) ours = (*scope)->lid(d);
  }
  const auto up = driver.bring_up(lids, ours, {});
  if (!up) return fail_with(up.error());
  for (const auto& failed : up->failed) std::fprintf(stderr, "bring up: %s\n", failed.c_str());
  const auto bring_up_s = since(start);
  start = std::chrono::steady_clock::now();
  const auto report = driver.program(*topology, first_delta(*routing));
  if (!report) return fail_with(report.error());
  for (const auto& isolated : report->isolated) std::fprintf(stderr, "isolated: %s\n", isolated.reason.c_str());
  char head[400];
  std::snprintf(head, sizeof head,
                "{\"engine\":\"%s\",\"lids\":%zu,\"active\":%zu,\"failed\":%zu,\"bringUpS\":%.4f,\"programS\":%.4f,",
                std::string(engine.name()).c_str(), up->lids_set, up->ports_activated, up->failed.size(), bring_up_s,
                since(start));
  print_program(*report, head);
  // Each line: something was cut or joined at the simulator's console.
  for (std::string line; std::getline(std::cin, line);) {
    auto observed = driver.observe(Milliseconds(2000));
    if (!observed) return fail_with(observed.error());
    start = std::chrono::steady_clock::now();
    found = driver.discover();
    if (!found) return fail_with(found.error());
    const double sweep_s = since(start);
    for (const LinkId link : topology->links()) {
      const bool up_now = found->topology->find_link(topology->link_text(link)).valid();
      view.set_state(link, up_now ? LinkState::up : LinkState::down);
    }
    auto after = engine.reroute(*routing, {.view = view, .scope = *scope});
    if (!after) return fail_with(after.error());
    const ForwardingDelta delta = compute_delta(view, *routing, *after);
    const double computed_s = since(start);
    const auto activated = driver.bring_up({}, ours, {});  // what came back starts in state initialize
    const auto written = driver.program(*topology, delta);
    if (!written) return fail_with(written.error());
    std::snprintf(head, sizeof head,
                  "{\"traps\":%zu,\"sweepS\":%.5f,\"computedS\":%.5f,\"allS\":%.5f,\"changed\":%zu,\"drops\":%s,"
                  "\"activated\":%zu,",
                  observed->size(), sweep_s, computed_s, since(start), delta.changed_entries,
                  delta.drops_first ? "true" : "false", activated ? activated->ports_activated : 0);
    print_program(*written, head);
    routing = std::move(after);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  const std::string command = argc > 1 ? argv[1] : "";
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quiet") == 0) {
      arguments.quiet = true;
    } else if (std::strcmp(argv[i], "--no-switch-lids") == 0) {
      arguments.switch_lids = false;
    } else if (std::strcmp(argv[i], "--window") == 0 && i + 1 < argc) {
      arguments.window = static_cast<unsigned>(std::atoi(argv[++i]));
    } else if (std::strcmp(argv[i], "--rate") == 0 && i + 1 < argc) {
      arguments.rate = static_cast<unsigned>(std::atoi(argv[++i]));
    } else if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
      arguments.rounds = static_cast<unsigned>(std::atoi(argv[++i]));
    }
  }
  const bool manages = command == "program", writes_tables = command == "tables";
  auto port = UmadPort::open({.take_traps = manages, .is_sm = manages});
  if (!port) return fail_with(port.error());
  if (command == "discover") return discover(**port, arguments);
  if (command == "light") return light(**port, arguments);
  if (manages) return program(std::move(*port), arguments);
  if (writes_tables || command == "counters") {
    InfinibandDriver driver(std::move(*port), {.mode = writes_tables ? SubnetMode::direct : SubnetMode::observe,
                                               .exchange = {.window = arguments.window},
                                               .counters = {.mads_per_second = arguments.rate}});
    return writes_tables ? tables(driver) : counters(driver);
  }
  std::fprintf(stderr, "infiniband_probe discover|light|program|tables|counters [--window N] [--rounds N] [--quiet]\n");
  return 2;
}
