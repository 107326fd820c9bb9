// opensm_probe files FOLDER ENGINE PLUGIN GUID GUID GUID   partitions.conf, opensm.conf and qos-policy.conf: port 1 and
// 2
//                                                           full members and port 3 a limited one of a tenant
// opensm_probe serve SOCKET    takes documents without their `end` line on stdin, a line "." after each; prints events
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#include "fabric/base/fnv1a.h"
#include "fabric/drivers/opensm/files/opensm_files.h"
#include "fabric/drivers/opensm/protocol/policy_reader.h"
#include "fabric/drivers/opensm/protocol/policy_server.h"

namespace {

using namespace railweave;                  // NOLINT
using namespace railweave::fabric::opensm;  // NOLINT

int complain(const Error& error) {
  std::cerr << error.text() << "\n";
  return 1;
}

int write_files(const std::string& folder, const std::string& engine, const std::string& plugin,
                const Guid (&guids)[3]) {
  const Partition tenant{.name = "tenant-a",
                         .pkey = 0x8,
                         .ipoib = true,
                         .rate = from_gbps(100),
                         .mtu = 2048,
                         .level = 3,
                         .members = {{.port = guids[0]}, {.port = guids[1]}, {.port = guids[2], .full = false}}};
  OpenSmOptions options;
  options.routing_engines = {engine, "updn", "no_fallback"};
  options.plugin_name = plugin;
  options.partitions_file = folder + "/partitions.conf";
  options.qos_policy_file = folder + "/qos-policy.conf";
  options.sharing = LaneSharing{.max_lanes = 8, .high_limit = 4, .high = {{3, 64}, {2, 32}}, .low = {{0, 64}, {1, 32}}};
  options.sharing->lane_of_level = {0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 0, 0, 0, 0};
  options.adapters = options.sharing;
  options.adapters->lane_of_level = {0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  options.others = {
      {"log_file", folder + "/osm.log"}, {"log_flags", "0x43"}, {"force_log_flush", "TRUE"}, {"sweep_interval", "0"}};
  QosPolicy policy;
  policy.levels = {{"DEFAULT", 0, {}, {}}, {"tenant-a", 3, from_gbps(50), {}}};
  policy.rules = {{"traffic of tenant-a", 0x8, "tenant-a"}};
  const auto partitions = write_partitions({tenant});
  const auto written = write_opensm_options(options);
  const auto qos = write_qos_policy(policy);
  if (!partitions) return complain(partitions.error());
  if (!written) return complain(written.error());
  if (!qos) return complain(qos.error());
  std::ofstream(options.partitions_file) << *partitions;
  std::ofstream(options.qos_policy_file) << *qos;
  std::ofstream(folder + "/opensm.conf") << *written;
  return 0;
}

int serve(const std::string& path) {
  PolicyServerHooks hooks;
  hooks.event = [](Guid, const PolicyEvent& event) { std::cout << write_event(event) << std::flush; };
  hooks.changed = [](Guid subnet, bool connected) {
    std::cout << (connected ? "connected " : "gone ") << to_string(subnet) << std::endl;
  };
  hooks.problem = [](const Error& error) { std::cout << "problem " << error.text() << std::endl; };
  auto server = PolicyServer::start({.socket_path = path}, std::move(hooks));
  if (!server) return complain(server.error());
  std::uint64_t revision = 0;
  std::string lines;
  for (std::string line; std::getline(std::cin, line);) {
    if (line != ".") {
      lines += line + "\n";
      continue;
    }
    auto policy =
        read_policy(lines + "end " + std::to_string(++revision) + " " + hex64(Fnv1a().add(lines).value()) + "\n");
    lines.clear();
    if (!policy) return complain(policy.error());
    if (const auto published = (*server)->publish(std::move(*policy)); !published) return complain(published.error());
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string verb = argc > 1 ? argv[1] : "";
  if (verb == "serve" && argc == 3) return serve(argv[2]);
  if (verb == "files" && argc == 8) {
    Guid guids[3];
    for (int i = 0; i < 3; ++i) {
      const auto guid = parse_guid(argv[5 + i]);
      if (!guid) return 2;
      guids[i] = *guid;
    }
    return write_files(argv[2], argv[3], argv[4], guids);
  }
  std::cerr << "opensm_probe files FOLDER ENGINE PLUGIN GUID GUID GUID | serve SOCKET\n";
  return 2;
}
