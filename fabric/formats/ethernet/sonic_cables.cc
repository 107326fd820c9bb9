#include "fabric/formats/ethernet/sonic_cables.h"

#include <utility>
#include <vector>

#include "fabric/base/lower_case.h"
#include "fabric/formats/ethernet/sonic_rate.h"
#include "fabric/formats/text/json_reader.h"

namespace railweave::fabric {
namespace {

using Fields = std::map<std::string, std::string>;
using Rows = std::map<std::string, Fields>;

// A table: rows of texts.
bool read_rows(JsonReader& json, Rows& rows) {
  if (json.peek() != '{') return json.skip_value();
  return json.entries([&](std::string_view key) {
    Fields& fields = rows[std::string(key)];
    if (json.peek() != '{') return json.skip_value();
    return json.entries([&](std::string_view name) {
      const std::string field(name);
      return json.peek() == '"' ? json.string(fields[field]) : json.skip_value();
    });
  });
}

std::string field_of(const Rows& rows, const std::string& row, const std::string& name) {
  const auto found = rows.find(row);
  if (found == rows.end()) return {};
  const auto field = found->second.find(name);
  return field == found->second.end() ? std::string() : field->second;
}

EthernetCables::Role role_of(const std::string& type) {
  if (type.empty()) return EthernetCables::Role::unknown;
  const std::string lower = lower_case(type);
  return lower.find("server") != std::string::npos || lower.find("host") != std::string::npos
             ? EthernetCables::Role::host
             : EthernetCables::Role::network_switch;
}

}  // namespace

Result<void> read_sonic_cables(std::string_view text, const std::string& file_name, const ReadOptions& options,
                               EthernetCables& cables) {
  JsonReader json(text, options.source);
  Rows metadata, ports, neighbours, neighbour_kinds;
  const bool ok = json.entries([&](std::string_view table) {
    if (table == "DEVICE_METADATA") return read_rows(json, metadata);
    if (table == "PORT") return read_rows(json, ports);
    if (table == "DEVICE_NEIGHBOR") return read_rows(json, neighbours);
    if (table == "DEVICE_NEIGHBOR_METADATA") return read_rows(json, neighbour_kinds);
    return json.skip_value();
  });
  if (!ok || !json.end()) return std::unexpected(json.error());
  if (ports.empty()) {
    return fail(ErrorKind::malformed, "sonic.noPorts", "there is no table PORT", location_text(options.source, 1, 1),
                "give the config_db.json of a switch");
  }
  std::string device = field_of(metadata, "localhost", "hostname");
  if (device.empty()) device = file_name;
  cables.add_device(device, EthernetCables::Role::network_switch);
  for (const auto& [port, fields] : ports)
    cables.add_port(device, port, sonic_rate_mbps(field_of(ports, port, "speed")));
  for (const auto& [port, fields] : neighbours) {
    const std::string peer = field_of(neighbours, port, "name"), peer_port = field_of(neighbours, port, "port");
    if (peer.empty()) continue;
    cables.add_device(peer, role_of(field_of(neighbour_kinds, peer, "type")));
    cables.add_cable(device, port, peer, peer_port.empty() ? "to-" + device + "-" + port : peer_port);
  }
  return {};
}

}  // namespace railweave::fabric
