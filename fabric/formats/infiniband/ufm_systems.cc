#include "fabric/formats/infiniband/ufm_systems.h"

#include <utility>

#include <fmt/core.h>

#include "fabric/formats/infiniband/ufm_port_name.h"
#include "fabric/formats/text/json_reader.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kMaxSystems = TopologyBuilder::kMaxHosts + TopologyBuilder::kMaxSwitches;

class UfmSystemsReader {
 public:
  UfmSystemsReader(std::string_view text, const ReadOptions& options)
      : json_(text, options.source), options_(options) {}

  Result<UfmSystems> read() {
    const bool ok = json_.array([&] {
      ++rows_;
      if (json_.peek() != '{') {
        leave_out({}, "it is no system");
        return json_.skip_value();
      }
      UfmSystem system;
      if (!read_system(system)) return false;
      if (system.name.empty()) {
        leave_out({}, "it has no system_name");
      } else {
        read_.systems.push_back(std::move(system));
      }
      return read_.systems.size() <= kMaxSystems || json_.too_large("more systems than are supported");
    });
    if (!ok || !json_.end()) return std::unexpected(json_.error());
    if (read_.systems.empty()) {
      return fail(ErrorKind::malformed, "ufm.noSystems", "no system has a system_name",
                  location_text(options_.source, 1, 1), "is it the answer to GET /ufmRest/resources/systems?");
    }
    return std::move(read_);
  }

 private:
  bool read_system(UfmSystem& system) {
    return json_.entries([&](std::string_view key) {
      const char next = json_.peek();
      if (key == "ports" && next == '[') return json_.array([&] { return read_port(system); });
      if (next != '"') return json_.skip_value();
      if (key == "system_name") return json_.string(system.name);
      if (key == "type") return json_.string(system.type);
      if (key != "guid") return json_.skip_value();
      std::string guid;
      if (!json_.string(guid)) return false;
      system.guid = parse_guid(guid).value_or(Guid());
      if (!guid.empty() && !system.guid.known()) leave_out(system.name, "its guid is none: " + guid);
      return true;
    });
  }

  void leave_out(const std::string& name, const std::string& why) {
    read_.left_out.push_back({fmt::format("system {}{}", rows_, name.empty() ? "" : " (" + name + ")"), why});
  }

  // Names of ports, or ports as their own list has them.
  bool read_port(UfmSystem& system) {
    const auto add = [&](const std::string& name) {
      if (const auto port = parse_ufm_port_name(name)) {
        system.ports.push_back(port->guid);
      } else {
        leave_out(system.name, name.empty() ? "a port of it has no name" : "no name of a port: " + name);
      }
      return system.ports.size() <= TopologyBuilder::kMaxPorts || json_.too_large("more ports than are supported");
    };
    std::string name;
    if (json_.peek() == '"') return json_.string(name) && add(name);
    if (json_.peek() != '{') {
      leave_out(system.name, "a port of it has no name");
      return json_.skip_value();
    }
    const bool ok = json_.entries([&](std::string_view key) {
      return key == "name" && json_.peek() == '"' ? json_.string(name) : json_.skip_value();
    });
    return ok && add(name);
  }

  JsonReader json_;
  const ReadOptions& options_;
  std::size_t rows_ = 0;
  UfmSystems read_;
};

}  // namespace

Result<UfmSystems> read_ufm_systems(std::string_view text, const ReadOptions& options) {
  return UfmSystemsReader(text, options).read();
}

}  // namespace railweave::fabric
