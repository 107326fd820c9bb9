// infiniband_probe discover [--window N] [--rounds N] [--quiet]
//   Sweeps the subnet of the first port and prints what each device said, as JSON lines; times go to stderr.
// infiniband_probe light [--window N]
//   One full sweep, then one light sweep per line of stdin, answered with one JSON line.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

#include "fabric/drivers/infiniband/subnet_sweep.h"
#include "fabric/drivers/infiniband/subnet_topology.h"
#include "fabric/drivers/infiniband/umad_port.h"

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
  unsigned window = 32, rounds = 1;
  bool quiet = false;
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

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  const std::string command = argc > 1 ? argv[1] : "";
  for (int i = 2; i < argc; ++i) {
    if (std::strcmp(argv[i], "--quiet") == 0) {
      arguments.quiet = true;
    } else if (std::strcmp(argv[i], "--window") == 0 && i + 1 < argc) {
      arguments.window = static_cast<unsigned>(std::atoi(argv[++i]));
    } else if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
      arguments.rounds = static_cast<unsigned>(std::atoi(argv[++i]));
    }
  }
  auto port = UmadPort::open({});
  if (!port) return fail_with(port.error());
  if (command == "discover") return discover(**port, arguments);
  if (command == "light") return light(**port, arguments);
  std::fprintf(stderr, "infiniband_probe discover|light [--window N] [--rounds N] [--quiet]\n");
  return 2;
}
