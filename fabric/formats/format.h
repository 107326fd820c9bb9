// The formats that describe a fabric or a part of one, and which of them a text is in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace railweave::fabric {

enum class Format : std::uint8_t {
  unknown,
  ibnetdiscover,    // a whole subnet
  ibsim,            // a whole subnet
  native,           // a whole fabric, everything a Topology holds
  nccl_topology,    // GPUs and adapters inside one kind of machine
  nvidia_smi_topo,  // likewise
  nvlink_cliques,   // which machines share an NVLink domain
};

// "ibnetdiscover", "ibsim", "native", "ncclTopology", "nvidiaSmiTopo", "nvlinkCliques"; "unknown".
std::string_view to_string(Format format);
std::optional<Format> parse_format(std::string_view text);  // any of these but "unknown"
std::span<const Format> all_formats();                      // likewise

// By what the text looks like; says nothing about whether it can be read. Looks at whole lines only as far as it must:
// O(bytes) at worst, no allocation.
Format detect_format(std::string_view text);

}  // namespace railweave::fabric
