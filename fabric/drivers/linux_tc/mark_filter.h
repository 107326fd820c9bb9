// Which DSCPs packets may come in with, on a Linux interface, as an nftables script: at the ingress hook, before routing and
// queues. Pure: writes the script, runs none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"

namespace railweave::fabric::linux_tc {

struct AdmittedDscp {
  std::uint8_t dscp = 0;                  // 0 to 63
  std::vector<std::string> destinations;  // IPv4 addresses; none: no packet is admitted with it
};

// Replaces the interface's filter, a table of its own: packets with one of the `filtered` DSCPs are admitted to the destinations
// of that DSCP, and re-marked to DSCP 0 otherwise; others pass as they are. Nothing to filter: only removes it. Errors, kind
// invalid, code "tc.invalid": what nft would misread, DSCPs twice.
Result<std::string> mark_filter(std::string_view interface, const std::vector<std::uint8_t>& filtered,
                                const std::vector<AdmittedDscp>& admitted);

}  // namespace railweave::fabric::linux_tc
