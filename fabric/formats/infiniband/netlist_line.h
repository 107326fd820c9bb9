// The two kinds of lines that ibnetdiscover prints and ibsim reads, as text: which device, and what hangs on one of its
// ports. The formats share this grammar and differ in what identifies a device and where its GUID comes from.
//
//   Switch  65 "S-2c5eab0300b87b40"     # "MF0;leaf:MQM9701/U1" enhanced port 0 lid 73 lmc 0
//   Ca      1 "H-e09d730300156ff6"      # "node-7 mlx5_5"
//   [1]     "H-e09d730300156ff6"[1](e09d730300156ff6)       # "node-7 mlx5_5" lid 647 4xNDR
//   [1](e09d730300156ff6)   "S-2c5eab0300b87b40"[1]         # lid 647 lmc 0 "MF0;leaf:MQM9701/U1" lid 73 4xNDR
//
// Any run of blanks and tabs separates, also none: logs of terminals lose tabs, and `Switch65"S-..."# "..."` is read, too.
// "[ext 16]" after a port number (modular chassis) and further words are stepped
// over.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "fabric/base/guid.h"
#include "fabric/formats/text/text_lines.h"
#include "fabric/topology/link.h"

namespace railweave::fabric {

enum class NetlistDevice : std::uint8_t { network_switch, adapter, router };

// What follows the '#' of a line, or the port's peer where there is none. Numbers out of range count as not given.
struct NetlistRemark {
  std::optional<std::string_view> description;  // in quotes, to the last quote of the line
  std::optional<unsigned> own_lid, own_lmc;     // named before the description
  std::optional<unsigned> lid, lmc;             // named after it
  LinkSpec link;                                // "4xNDR", or w=, s=, e= masks; width or speed may be unknown
  bool broken_quote = false;                    // the description's quote is never closed
};

struct NetlistHeader {
  NetlistDevice type = NetlistDevice::network_switch;
  unsigned ports = 0;
  std::string_view id;
  NetlistRemark remark;
};

struct NetlistPort {
  unsigned port = 0;
  Guid guid;  // of this port; not known on switches
  std::string_view peer_id;
  unsigned peer_port = 1;
  Guid peer_guid;
  NetlistRemark remark;
};

// What was expected where, when a line cannot be read.
struct Expected {
  std::size_t column = 0;
  std::string_view what;
};

bool is_netlist_header(std::string_view line);  // starts with Switch, Ca, Hca or Rt and a blank or a digit
std::expected<NetlistHeader, Expected> parse_netlist_header(std::string_view line);
std::expected<NetlistPort, Expected> parse_netlist_port(std::string_view line);

// The best of an "enabled" mask of PortInfo: widths 1 1x, 2 4x, 4 8x, 8 12x, 16 2x; speeds 1 SDR, 2 DDR, 4 QDR;
// extended speeds 1 FDR, 2 EDR, 4 HDR, 8 NDR. 0 and unknown for an empty mask.
std::uint16_t width_of_mask(unsigned mask);
LinkSpeed speed_of_mask(unsigned mask);
LinkSpeed extended_speed_of_mask(unsigned mask);

}  // namespace railweave::fabric
