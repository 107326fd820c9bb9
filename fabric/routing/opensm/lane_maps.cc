#include "fabric/routing/opensm/lane_maps.h"

#include <algorithm>
#include <optional>

#include "fabric/routing/opensm/dump_text.h"
#include "fabric/routing/opensm/dumped_ports.h"

namespace railweave::fabric {
namespace {

struct MapRow {
  unsigned in = 0, out = 0;
  LaneMap map{};
};

// 0   1   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7
Result<MapRow> read_row(std::string_view rest, std::size_t number) {
  const auto in = parse_number(take_word(rest), 10), out = parse_number(take_word(rest), 10);
  if (!in || !out || *in > UINT8_MAX || *out > UINT8_MAX || take_word(rest) != ":") {
    return malformed_dump(number, "no pair of ports");
  }
  MapRow row{static_cast<unsigned>(*in), static_cast<unsigned>(*out)};
  for (std::uint8_t& lane : row.map) {
    const auto value = parse_number(take_word(rest), 10);
    if (!value || *value > kMaxDataLanes) return malformed_dump(number, "no lane from 0 to 15 for each of 16 levels");
    lane = static_cast<std::uint8_t>(*value);
  }
  return row;
}

}  // namespace

Result<LaneMaps> LaneMaps::read(const RoutingScope& scope, std::string_view text) {
  const DumpedPorts ports(scope);
  LaneMaps maps;
  SwitchId sw;
  bool of_switch = false;
  const auto done = for_each_line(text, [&](std::string_view line, std::size_t number) -> Result<void> {
    if (line.find(", base LID ") != std::string_view::npos) {
      of_switch = line.starts_with("Switch");
      const auto guid = parse_number(text_after(line, "Switch ", " \t,"), 16);
      if (of_switch && !guid) return malformed_dump(number, "a switch without a GUID");
      sw = of_switch ? ports.network_switch(*guid, text_between(line, '"', '"')) : SwitchId();
      return {};
    }
    if (!of_switch || line.empty() || line.front() < '0' || line.front() > '9') return {};
    const auto row = read_row(line, number);
    if (!row) return std::unexpected(row.error());
    const std::size_t own = sw ? scope.topology().ports(sw).size() + 1 : 0;
    if (row->in < own && row->out < own) {
      maps.add(sw, own, row->in, row->out, row->map);
    } else {
      ++maps.unknown_;
    }
    return {};
  });
  if (!done) return std::unexpected(done.error());
  if (maps.rows_ == 0) {
    return fail(
        ErrorKind::invalid, "routing.foreignDump",
        maps.unknown_ == 0 ? "there is no row of a switch's levels and lanes" : "no row is of a switch of this fabric",
        {}, "give OpenSM's opensm-sl2vl.dump of the same subnet");
  }
  return maps;
}

void LaneMaps::add(SwitchId sw, std::size_t ports, unsigned in_port, unsigned out_port, const LaneMap& map) {
  const auto [at, is_new] = numbers_.emplace(map, static_cast<std::uint32_t>(maps_.size() + 1));
  if (is_new) maps_.push_back(map);
  OfSwitch& of_switch = switches_[sw.value()];
  of_switch.ports = ports;
  of_switch.map.resize(ports * ports);
  of_switch.map[in_port * ports + out_port] = at->second;
  ++rows_;
}

void LaneMaps::add_all(const LaneMaps& other) {
  for (const auto& [sw, of_switch] : other.switches_) {
    for (std::size_t i = 0; i < of_switch.map.size(); ++i) {
      if (of_switch.map[i] == 0) continue;
      add(SwitchId(sw), of_switch.ports, static_cast<unsigned>(i / of_switch.ports),
          static_cast<unsigned>(i % of_switch.ports), other.maps_[of_switch.map[i] - 1]);
    }
  }
  unknown_ += other.unknown_;
}

const LaneMap* LaneMaps::find(SwitchId sw, unsigned in_port, unsigned out_port) const {
  const auto found = switches_.find(sw.value());
  if (found == switches_.end()) return nullptr;
  const OfSwitch& of_switch = found->second;
  if (in_port >= of_switch.ports || out_port >= of_switch.ports) return nullptr;
  const std::uint32_t number = of_switch.map[in_port * of_switch.ports + out_port];
  return number == 0 ? nullptr : &maps_[number - 1];
}

unsigned LaneMaps::lanes(unsigned levels) const {
  unsigned lanes = 0;
  for (const LaneMap& map : maps_) {
    for (unsigned level = 0; level < std::min(levels, kMaxServiceLevels); ++level) {
      if (map[level] < kMaxDataLanes) lanes = std::max(lanes, map[level] + 1U);
    }
  }
  return lanes;
}

}  // namespace railweave::fabric
