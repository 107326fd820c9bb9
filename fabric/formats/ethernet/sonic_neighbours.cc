#include "fabric/formats/ethernet/sonic_neighbours.h"

#include <charconv>
#include <map>
#include <utility>

#include "fabric/formats/ethernet/sonic_rate.h"
#include "fabric/formats/text/json_reader.h"

namespace railweave::fabric {
namespace {

constexpr std::string_view kNeighbours = "LLDP_ENTRY_TABLE", kPorts = "PORT_TABLE", kOwn = "LLDP_LOC_CHASSIS";
constexpr std::string_view kManagementPort = "eth0";

using Row = std::map<std::string, std::string>;
using Table = std::map<std::string, Row>;

std::string text_of(const Row& row, const std::string& field) {
  const auto found = row.find(field);
  return found == row.end() ? std::string() : found->second;
}

// Capabilities as IEEE 802.1AB numbers them, from the highest bit of the first of two bytes in hex: "28 00" is a bridge (bit 2) that
// routes (bit 4).
bool has_capability(std::string_view hex, unsigned bit) {
  unsigned byte = 0;
  const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), byte, 16);
  return error == std::errc() && end != hex.data() && (byte & (0x80U >> bit)) != 0;
}

class DatabaseReader {
 public:
  DatabaseReader(std::string_view text, const ReadOptions& options) : json_(text, options.source) {}

  bool read() {
    return json_.entries([&](std::string_view key) { return read_key(std::string(key)); }) && json_.end();
  }
  [[nodiscard]] const Error& error() const { return json_.error(); }

  Table neighbours, ports;
  Row own;

 private:
  bool read_key(const std::string& key) {
    const std::size_t colon = key.find(':');
    const std::string_view name = std::string_view(key).substr(0, colon);
    if (name == kOwn) return read_row(own);
    Table* table = name == kNeighbours ? &neighbours : name == kPorts ? &ports : nullptr;
    if (table == nullptr || json_.peek() != '{') return json_.skip_value();
    if (colon != std::string::npos) return read_row((*table)[key.substr(colon + 1)]);
    return json_.entries([&](std::string_view row) { return read_row((*table)[std::string(row)]); });
  }

  bool read_row(Row& row) {
    if (json_.peek() != '{') return json_.skip_value();
    return json_.entries([&](std::string_view key) {
      const std::string field(key);
      if (field == "value" && json_.peek() == '{') return read_row(row);
      return json_.peek() == '"' ? json_.string(row[field]) : json_.skip_value();
    });
  }

  JsonReader json_;
};

EthernetCables::Neighbour neighbour_of(const Row& row) {
  constexpr unsigned kBridge = 2, kRouter = 4, kStation = 7;
  EthernetCables::Neighbour neighbour;
  neighbour.name = text_of(row, "lldp_rem_sys_name");
  // By name or number of the port; else its description is the name, as Linux tells a MAC address and the interface beside it.
  const std::string id = text_of(row, "lldp_rem_port_id"), kind = text_of(row, "lldp_rem_port_id_subtype");
  const std::string described = text_of(row, "lldp_rem_port_desc");
  const bool named = kind == "5" || kind == "7" || described.empty();
  neighbour.port = named ? id : described;
  const std::string enabled = text_of(row, "lldp_rem_sys_cap_enabled");
  neighbour.bridges = has_capability(enabled, kBridge) || has_capability(enabled, kRouter);
  neighbour.is_station = has_capability(enabled, kStation);
  return neighbour;
}

}  // namespace

Result<std::vector<RowLeftOut>> read_sonic_neighbours(std::string_view text, const std::string& file_name,
                                                      const ReadOptions& options, EthernetCables& cables) {
  DatabaseReader database(text, options);
  if (!database.read()) return std::unexpected(database.error());
  if (database.neighbours.empty()) {
    return fail(ErrorKind::malformed, "sonic.noNeighbours", "there is no row of LLDP_ENTRY_TABLE",
                location_text(options.source, 1, 1), "does LLDP run on both ends?");
  }
  const std::string told = text_of(database.own, "lldp_loc_sys_name");
  const std::string device = told.empty() ? file_name : told;
  cables.add_device(device, EthernetCables::Role::network_switch);
  for (const auto& [port, row] : database.ports) cables.add_port(device, port, sonic_rate_mbps(text_of(row, "speed")));
  std::vector<RowLeftOut> left_out;
  for (const auto& [port, row] : database.neighbours) {
    if (port == kManagementPort) {
      left_out.push_back({port, "it is the management port"});
    } else if (!cables.add_neighbour(device, port, neighbour_of(row)) && left_out.size() < kMaxFindingObjects) {
      left_out.push_back({port, "its neighbour has no name or no port"});
    }
    if (cables.over_limit()) return fail(ErrorKind::tooLarge, "fabric.tooLarge", "more devices than are supported", {});
  }
  return left_out;
}

}  // namespace railweave::fabric
