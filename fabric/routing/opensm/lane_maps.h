// Which lane switches give packets of a service level, by the ports that these enter and leave by: OpenSM's dump of SLtoVL
// tables. Immutable once read.
//
// opensm-sl2vl.dump, per switch a row for each pair of ports, per port of an adapter one row; the lane of each level, 15 discards:
//   Switch 0x0000000000200000, base LID 16, "S-1"
//   #in out : 0  1  2  3  4  5  6  7  8  9  10 11 12 13 14 15
//   #--------------------------------------------------------
//   0   1   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/routing/plane/lanes.h"
#include "fabric/routing/plane/routing_scope.h"

namespace railweave::fabric {

// The lane of each service level.
using LaneMap = std::array<std::uint8_t, kMaxServiceLevels>;

class LaneMaps {
 public:
  // Errors: malformed, with the line's number; invalid, where no row is of a switch of this fabric.
  static Result<LaneMaps> read(const RoutingScope& scope, std::string_view text);

  // Null: no row tells it.
  [[nodiscard]] const LaneMap* find(SwitchId sw, unsigned in_port, unsigned out_port) const;
  [[nodiscard]] std::size_t rows() const { return rows_; }        // of switches of this fabric
  [[nodiscard]] std::size_t unknown() const { return unknown_; }  // rows of other switches and ports; skipped
  [[nodiscard]] std::size_t kinds() const { return maps_.size(); }
  // Rows of the other as well, which count where both have one.
  void add_all(const LaneMaps& other);
  // The highest lane on which a map puts one of the levels below `levels`, and one; discarded ones do not count.
  [[nodiscard]] unsigned lanes(unsigned levels) const;

 private:
  struct OfSwitch {
    std::size_t ports = 0;           // with port 0
    std::vector<std::uint32_t> map;  // in port * ports + out port -> its number in maps_, and one; 0: no row tells it
  };
  void add(SwitchId sw, std::size_t ports, unsigned in_port, unsigned out_port, const LaneMap& map);

  std::vector<LaneMap> maps_;  // each once: there are few
  std::map<LaneMap, std::uint32_t> numbers_;
  std::unordered_map<std::uint32_t, OfSwitch> switches_;
  std::size_t rows_ = 0, unknown_ = 0;
};

}  // namespace railweave::fabric
