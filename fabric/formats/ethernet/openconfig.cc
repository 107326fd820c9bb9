#include "fabric/formats/ethernet/openconfig.h"

#include <algorithm>
#include <utility>

#include "fabric/base/whole_number.h"
#include "fabric/formats/text/json_reader.h"

namespace railweave::fabric {
namespace {

constexpr std::int64_t kMbpsPerGbps = 1000;

// Without the module's name: "openconfig-lldp:interfaces" -> "interfaces".
std::string_view bare(std::string_view name) { return name.substr(name.rfind(':') + 1); }

// "openconfig-if-ethernet:SPEED_400GB" -> 400,000; 0: not known, or less than 1 Gb/s.
std::int64_t rate_named(std::string_view speed) {
  speed = bare(speed);
  constexpr std::string_view kBegins = "SPEED_", kEnds = "GB";
  if (!speed.starts_with(kBegins) || !speed.ends_with(kEnds)) return 0;
  const std::string_view digits = speed.substr(kBegins.size(), speed.size() - kBegins.size() - kEnds.size());
  return std::max<std::int64_t>(0, whole_number<std::int64_t>(digits, 100'000).value_or(0)) * kMbpsPerGbps;
}

struct ToldNeighbour : EthernetCables::Neighbour {
  std::string port_kind, port_description;

  // Where the id is no name, as a MAC address, the description has it.
  void name_port() {
    const bool named = port_kind.empty() || bare(port_kind) == "INTERFACE_NAME" || bare(port_kind) == "LOCAL";
    if (!named && !port_description.empty()) port = port_description;
  }
};

struct ToldInterface {
  std::string name;
  std::int64_t rate_mbps = 0;
  std::vector<ToldNeighbour> neighbours;
};

// One device of the document.
struct ToldDevice {
  std::string system, source;
  std::vector<ToldInterface> interfaces;
};

class OpenconfigReader {
 public:
  OpenconfigReader(std::string_view text, const std::string& file, const ReadOptions& options, EthernetCables& cables)
      : json_(text, options.source), file_(file), options_(options), cables_(cables) {}

  Result<std::vector<std::string>> read() {
    bool ok = true;
    if (json_.peek() == '[') {
      ok = json_.array([&] { return read_device(); });
    } else {
      ok = read_device();
    }
    if (!ok || !json_.end()) return std::unexpected(json_.error());
    if (interfaces_ == 0) {
      return fail(ErrorKind::malformed, "openconfig.empty", "no interface is in it",
                  location_text(options_.source, 1, 1),
                  "ask for /lldp and /interfaces with the encoding JSON_IETF, as gnmic -e json_ietf get --path /lldp");
    }
    return std::move(left_out_);
  }

 private:
  bool read_device() {
    ToldDevice device;
    if (!walk(device)) return false;
    add(device);
    return !cables_.over_limit() || json_.too_large("more devices than are supported");
  }

  // Down to lists of interfaces, wherever a tool has put them.
  bool walk(ToldDevice& device) {
    if (json_.peek() == '[') {
      return json_.array([&] { return walk(device); });
    }
    if (json_.peek() != '{') return json_.skip_value();
    return json_.entries([&](std::string_view key) {
      const std::string name(bare(key));
      if (key == "source" && json_.peek() == '"') return json_.string(device.source);
      if (name == "interface" && json_.peek() == '[') {
        return json_.array([&] { return read_interface(device); });
      }
      if (name == "system-name" && json_.peek() == '"') return json_.string(device.system);
      return walk(device);
    });
  }

  bool read_interface(ToldDevice& device) {
    if (json_.peek() != '{') return json_.skip_value();
    ToldInterface interface;
    const bool ok = json_.entries([&](std::string_view key) {
      const std::string name(bare(key));
      if (name == "name" && json_.peek() == '"') return json_.string(interface.name);
      if (name == "ethernet" && json_.peek() == '{') return read_ethernet(interface);
      if (name == "neighbors" && json_.peek() == '{') return read_neighbours(interface);
      return json_.skip_value();
    });
    if (ok && !interface.name.empty()) device.interfaces.push_back(std::move(interface));
    return ok;
  }

  // What was negotiated counts, else what is set.
  bool read_ethernet(ToldInterface& interface) {
    return json_.entries([&](std::string_view key) {
      if ((bare(key) != "state" && bare(key) != "config") || json_.peek() != '{') return json_.skip_value();
      return json_.entries([&](std::string_view part) {
        const bool negotiated = bare(part) == "negotiated-port-speed";
        if ((!negotiated && bare(part) != "port-speed") || json_.peek() != '"') return json_.skip_value();
        std::string speed;
        const bool ok = json_.string(speed);
        const std::int64_t rate = rate_named(speed);
        if (rate > 0 && (negotiated || interface.rate_mbps == 0)) interface.rate_mbps = rate;
        return ok;
      });
    });
  }

  bool read_neighbours(ToldInterface& interface) {
    return json_.entries([&](std::string_view key) {
      if (bare(key) != "neighbor" || json_.peek() != '[') return json_.skip_value();
      return json_.array([&] {
        if (json_.peek() != '{') return json_.skip_value();
        ToldNeighbour& neighbour = interface.neighbours.emplace_back();
        return json_.entries([&](std::string_view part) {
          const std::string name(bare(part));
          if (name == "state" && json_.peek() == '{') return read_state(neighbour);
          if (name == "capabilities" && json_.peek() == '{') return read_capabilities(neighbour);
          return json_.skip_value();
        });
      });
    });
  }

  bool read_state(ToldNeighbour& neighbour) {
    return json_.entries([&](std::string_view key) {
      const std::string_view name = bare(key);
      std::string* text = name == "system-name"        ? &neighbour.name
                          : name == "port-id"          ? &neighbour.port
                          : name == "port-id-type"     ? &neighbour.port_kind
                          : name == "port-description" ? &neighbour.port_description
                                                       : nullptr;
      return text != nullptr && json_.peek() == '"' ? json_.string(*text) : json_.skip_value();
    });
  }

  bool read_capabilities(ToldNeighbour& neighbour) {
    return json_.entries([&](std::string_view key) {
      if (bare(key) != "capability" || json_.peek() != '[') return json_.skip_value();
      return json_.array([&] { return read_capability(neighbour); });
    });
  }

  bool read_capability(ToldNeighbour& neighbour) {
    if (json_.peek() != '{') return json_.skip_value();
    std::string kind;
    bool enabled = false;
    const bool ok = json_.entries([&](std::string_view key) {
      if (bare(key) == "name" && json_.peek() == '"') return json_.string(kind);
      if (bare(key) != "state" || json_.peek() != '{') return json_.skip_value();
      return json_.entries([&](std::string_view part) {
        if (bare(part) == "name" && json_.peek() == '"') return json_.string(kind);
        if (bare(part) == "enabled" && (json_.peek() == 't' || json_.peek() == 'f')) return json_.boolean(enabled);
        return json_.skip_value();
      });
    });
    neighbour.bridges = neighbour.bridges || (enabled && (bare(kind) == "MAC_BRIDGE" || bare(kind) == "ROUTER"));
    neighbour.is_station = neighbour.is_station || (enabled && bare(kind) == "STATION_ONLY");
    return ok;
  }

  void add(ToldDevice& device) {
    const std::string source = device.source.substr(0, device.source.rfind(':'));
    const std::string& name = !device.system.empty() ? device.system : !source.empty() ? source : file_;
    for (ToldInterface& interface : device.interfaces) {
      ++interfaces_;
      // OpenConfig is spoken by switches.
      cables_.add_device(name, EthernetCables::Role::network_switch);
      if (interface.rate_mbps > 0) cables_.add_port(name, interface.name, interface.rate_mbps);
      for (ToldNeighbour& neighbour : interface.neighbours) {
        neighbour.name_port();
        if (cables_.add_neighbour(name, interface.name, neighbour)) continue;
        if (left_out_.size() < kMaxFindingObjects) left_out_.push_back(interface.name);
      }
    }
  }

  JsonReader json_;
  const std::string& file_;
  const ReadOptions& options_;
  EthernetCables& cables_;
  std::size_t interfaces_ = 0;
  std::vector<std::string> left_out_;
};

}  // namespace

Result<std::vector<std::string>> read_openconfig(std::string_view text, const std::string& device,
                                                 const ReadOptions& options, EthernetCables& cables) {
  return OpenconfigReader(text, device, options, cables).read();
}

}  // namespace railweave::fabric
