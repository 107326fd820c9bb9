// Widths and speeds of links as other tools than ibnetdiscover write them.
#pragma once

#include <cstdint>
#include <string_view>

#include "fabric/topology/link.h"

namespace railweave::fabric {

// "4X", "4x" -> 4; 0: not known.
std::uint16_t width_of_text(std::string_view text);
// Gb/s on the wire of one lane, with or without a fraction ("53.125", "14", "10.0"); unknown for other numbers.
LinkSpeed speed_of_lane_gbps(std::string_view text);
// ibdiagnet's LinkSpeedActv: 1 SDR, 2 DDR, 4 QDR, 256 FDR, 512 EDR, 1024 HDR, 2048 NDR, 4096 XDR, 65536 FDR10.
LinkSpeed speed_of_ibdiagnet(std::uint64_t value);

}  // namespace railweave::fabric
