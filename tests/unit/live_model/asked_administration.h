// The administration of a subnet in memory: what its clients would be answered about paths, and whether switches keep it. Shares no
// code with what follows routes for the answers.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "fabric/drivers/infiniband/administration/path_records.h"
#include "fabric/drivers/infiniband/administration_server.h"
#include "tests/unit/live_model/held_paths.h"

namespace railweave::control {

// Clients that ask nothing: what they would be answered is asked of the snapshot.
class SilentClients final : public fabric::infiniband::AdministrationPort {
 public:
  Result<void> send(const fabric::infiniband::SaClient&, const fabric::infiniband::Mad&,
                    fabric::infiniband::Milliseconds) override {
    return {};
  }
  Result<std::optional<Received>> receive(fabric::infiniband::Milliseconds wait) override {
    std::this_thread::sleep_for(std::min(wait, fabric::infiniband::Milliseconds(1)));
    return std::nullopt;
  }
};

// "" or a pair for which clients are told otherwise. level: of packets from one adapter to another.
template <class Level>
std::string told_otherwise(fabric::infiniband::MemorySubnet& subnet, const fabric::infiniband::AdministeredSubnet& told,
                           const std::vector<int>& adapters, const HeldPaths& held, Level level) {
  const auto end_port = [&](int node) { return told.find(static_cast<fabric::Lid>(subnet.node(node).ports[1].lid)); };
  for (const int from : adapters) {
    for (const int to : adapters) {
      if (from == to) continue;
      std::vector<fabric::infiniband::Path> paths;
      if (end_port(from) != told.kNone && end_port(to) != told.kNone) {
        add_paths(told, {}, end_port(from), end_port(to), 2, paths);
      }
      const std::string pair = subnet.node(from).description + " to " + subnet.node(to).description;
      if (paths.empty() == held.arrives(from, to)) {
        return pair +
               (paths.empty() ? ": clients are told of no path" : ": clients are told of a path that loses packets");
      }
      if (!paths.empty() && paths[0].level != level(from, to)) {
        return pair + ": clients are told level " + std::to_string(paths[0].level) + ", not " +
               std::to_string(level(from, to));
      }
    }
  }
  return {};
}

}  // namespace railweave::control
