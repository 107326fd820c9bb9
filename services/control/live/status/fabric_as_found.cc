#include "services/control/live/status/fabric_as_found.h"

#include <string>
#include <string_view>
#include <utility>

#include "fabric/formats/native/native_json.h"
#include "services/control/state/cluster_state.h"
#include "services/json/digest.h"

namespace railweave::control {

Result<fabric::TopologyPtr> fabric_changed(const fabric::Topology& topology, std::span<const fabric::Recabling> cables,
                                           std::span<const fabric::DeviceExchange> devices) {
  const fabric::ReadOptions options{.source = "topology as cabled"};
  fabric::TopologyBuilder builder;
  if (auto read = fabric::read_native_json(fabric::write_recabled_json(topology, cables, devices), options, builder);
      !read) {
    return std::unexpected(read.error());
  }
  auto built = std::move(builder).build();
  if (!built) return std::unexpected(built.error());
  return std::make_shared<const fabric::Topology>(std::move(*built));
}

Result<AcceptTopology> fabric_as_found(const AcceptedTopology& accepted, const std::vector<FoundChange>& changes) {
  if (accepted.intended) {
    return fail(
        ErrorKind::conflict, "subnets.cablesExchanged",
        "cables are exchanged and used as they are: what is exchanged or moved cannot be accepted apart from them", {},
        "put the cables back, or accept all that is found: railweave fabric discover --accept");
  }
  std::vector<fabric::Recabling> cables;
  std::vector<fabric::DeviceExchange> devices;
  AcceptTopology::AsFound as_found;
  for (const FoundChange& change : changes) {
    cables.insert(cables.end(), change.cables.begin(), change.cables.end());
    devices.insert(devices.end(), change.exchanged.begin(), change.exchanged.end());
    for (const auto& one : change.exchanged) as_found.exchanged.emplace_back(one.accepted, one.found);
    as_found.changes.push_back({change.subject_kind, change.subject_id, change.text});
  }
  auto topology = fabric_changed(*accepted.topology, cables, devices);
  if (!topology) return std::unexpected(topology.error());
  AcceptTopology command{.if_version = accepted.version};
  command.topology = *topology;
  command.document = std::make_shared<const std::string>(fabric::write_native_json(*command.topology));
  command.digest = api::sha256_hex(*command.document);
  constexpr std::string_view kAsFound = ", with what was found in its place";
  command.source = accepted.source.ends_with(kAsFound) ? accepted.source : accepted.source + std::string(kAsFound);
  command.as_found = std::move(as_found);
  return command;
}

}  // namespace railweave::control
