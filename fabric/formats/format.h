// The formats that describe a fabric or a part of one, and which of them a text is in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "fabric/base/enum_text.h"

namespace railweave::fabric {

enum class Format : std::uint8_t {
  unknown,
  ibnetdiscover,    // a whole subnet
  ibsim,            // a whole subnet
  native,           // a whole fabric, everything a Topology holds
  nccl_topology,    // GPUs and adapters inside one kind of machine
  nvidia_smi_topo,  // the same
  nvlink_cliques,   // which machines share an NVLink domain
};
BOOST_DESCRIBE_ENUM(Format, unknown, ibnetdiscover, ibsim, native, nccl_topology, nvidia_smi_topo, nvlink_cliques)

// "ibnetdiscover", "ibsim", "native", "ncclTopology", "nvidiaSmiTopo", "nvlinkCliques"; "unknown".
std::string_view to_string(Format format);
std::optional<Format> parse_format(std::string_view text);  // any of these but "unknown"
std::span<const Format> all_formats();                      // all of these but "unknown"

// Recognised by the shape of the first lines; whether the text can be read is for its reader to say. Stops at the first
// line that decides: O(bytes) at worst, no allocation.
Format detect_format(std::string_view text);

}  // namespace railweave::fabric
