#include "fabric/formats/ethernet/lldp.h"

#include <utility>

#include "fabric/formats/text/json_reader.h"

namespace railweave::fabric {
namespace {

struct Neighbour : EthernetCables::Neighbour {
  std::string port_id;  // where the port has no name
};

class LldpReader {
 public:
  LldpReader(std::string_view text, const std::string& device, const ReadOptions& options, EthernetCables& cables)
      : json_(text, options.source), device_(device), options_(options), cables_(cables) {}

  Result<std::vector<std::string>> read() {
    const bool ok = json_.entries([&](std::string_view key) {
      if (key != "lldp") return json_.skip_value();
      return one_or_more([&] {
        return json_.entries([&](std::string_view part) {
          return part == "interface" ? one_or_more([&] { return read_interfaces(); }) : json_.skip_value();
        });
      });
    });
    if (!ok || !json_.end()) return std::unexpected(json_.error());
    if (interfaces_ == 0) {
      return fail(ErrorKind::malformed, "lldp.empty", "no interface has a neighbour",
                  location_text(options_.source, 1, 1), "does lldpd run on both ends?");
    }
    return std::move(left_out_);
  }

 private:
  // Objects are alone or in a list, as there is one or several.
  template <class OnObject>
  bool one_or_more(OnObject on_object) {
    if (json_.peek() == '{') return on_object();
    if (json_.peek() != '[') return json_.skip_value();
    return json_.array([&] { return json_.peek() == '{' ? on_object() : json_.skip_value(); });
  }

  // json: {"eth0": {"chassis": ..., "port": ...}}; json0: {"name": "eth0", "chassis": [...], "port": [...]}
  bool read_interfaces() {
    std::string name;
    Neighbour own;
    const bool ok = json_.entries([&](std::string_view key) {
      if (key == "name" && json_.peek() == '"') return json_.string(name);
      if (json_.peek() == '[') return read_part(key, own);
      if (json_.peek() != '{') return json_.skip_value();
      const std::string interface(key);
      Neighbour neighbour;
      if (!json_.entries([&](std::string_view part) { return read_part(part, neighbour); })) return false;
      add(interface, neighbour);
      return !cables_.over_limit() || json_.too_large("more devices than are supported");
    });
    if (!ok || name.empty()) return ok;
    add(name, own);
    return !cables_.over_limit() || json_.too_large("more devices than are supported");
  }

  bool read_part(std::string_view key, Neighbour& neighbour) {
    if (key == "chassis") return one_or_more([&] { return read_chassis(neighbour); });
    if (key == "port") return one_or_more([&] { return read_port(neighbour); });
    return json_.skip_value();
  }

  // json: {"leaf-1": {"id": ..., "capability": [...]}}; json0: {"id": [...], "name": [{"value": "leaf-1"}], "capability": [...]}
  bool read_chassis(Neighbour& neighbour) {
    return json_.entries([&](std::string_view key) {
      if (key == "name" && json_.peek() == '[') return read_values([&](auto, auto value) { neighbour.name = value; });
      if (key == "capability" && json_.peek() == '[') return one_or_more([&] { return read_capability(neighbour); });
      if (json_.peek() != '{') return json_.skip_value();
      if (key == "id") return json_.skip_value();  // a neighbour that tells no name
      neighbour.name = key;
      return json_.entries([&](std::string_view part) {
        return part == "capability" ? one_or_more([&] { return read_capability(neighbour); }) : json_.skip_value();
      });
    });
  }

  // {"type": "ifname", "value": "Ethernet12"}, alone or in a list.
  template <class Take>
  bool read_values(Take take) {
    return one_or_more([&] {
      std::string type, value;
      const bool ok = json_.entries([&](std::string_view part) {
        std::string* text = part == "type" ? &type : part == "value" ? &value : nullptr;
        return text != nullptr && json_.peek() == '"' ? json_.string(*text) : json_.skip_value();
      });
      take(std::string_view(type), std::string_view(value));
      return ok;
    });
  }

  bool read_capability(Neighbour& neighbour) {
    std::string type;
    bool enabled = false;
    const bool ok = json_.entries([&](std::string_view key) {
      if (key == "type" && json_.peek() == '"') return json_.string(type);
      if (key == "enabled" && (json_.peek() == 't' || json_.peek() == 'f')) return json_.boolean(enabled);
      return json_.skip_value();
    });
    neighbour.bridges = neighbour.bridges || (enabled && (type == "Bridge" || type == "Router"));
    neighbour.is_station = neighbour.is_station || (enabled && type == "Station");
    return ok;
  }

  bool read_port(Neighbour& neighbour) {
    return json_.entries([&](std::string_view key) {
      if (key == "id") {
        return read_values([&](std::string_view type, std::string_view value) {
          if (type == "ifname" || type == "local") neighbour.port = value;
          if (neighbour.port_id.empty()) neighbour.port_id = value;
        });
      }
      // Linux gives the MAC address as id and the interface's name here.
      if (key != "descr" || !neighbour.port.empty()) return json_.skip_value();
      if (json_.peek() == '"') return json_.string(neighbour.port_id);
      return read_values([&](auto, std::string_view value) { neighbour.port_id = value; });
    });
  }

  void add(const std::string& interface, Neighbour& neighbour) {
    ++interfaces_;
    if (neighbour.port.empty()) neighbour.port = neighbour.port_id;
    if (cables_.add_neighbour(device_, interface, neighbour)) return;
    if (left_out_.size() < kMaxFindingObjects) left_out_.push_back(interface);
  }

  JsonReader json_;
  const std::string& device_;
  const ReadOptions& options_;
  EthernetCables& cables_;
  std::size_t interfaces_ = 0;
  std::vector<std::string> left_out_;
};

}  // namespace

Result<std::vector<std::string>> read_lldp(std::string_view text, const std::string& device, const ReadOptions& options,
                                           EthernetCables& cables) {
  return LldpReader(text, device, options, cables).read();
}

}  // namespace railweave::fabric
