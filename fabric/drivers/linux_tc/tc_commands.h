// Classes of traffic on a Linux interface as commands for tc(8), for software switches, gateways and hosts. Pure:
// writes the commands, runs none.
//
// HTB by DSCP: each class has a rate that it always gets and a ceiling up to which it borrows unused bandwidth. Where
// the adapter has priorities of its own (DCB), dcb_commands() sets ETS bandwidths, PFC and the DSCP map by dcb(8)
// instead; the caller knows which of the two the interface supports. Packets' marks are taken as they are: mark_filter.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/base/error.h"
#include "fabric/base/units.h"

namespace railweave::fabric::linux_tc {

// A shell variable that holds the name of the interface, in place of a name.
inline constexpr std::string_view kInterfaceVariable = "\"$IFACE\"";

struct TcClass {
  std::string name;           // a remark
  std::uint8_t dscp = 0;      // 0 to 63, its own
  RateMbps rate;              // guaranteed, above 0
  RateMbps ceiling;           // at least rate; 0: the link's rate
  std::uint8_t priority = 0;  // 0 borrows first, to 7
};

// Replaces the interface's configuration. The last class takes packets of no other's DSCP. Errors, kind invalid,
// code "tc.invalid": rates that sum to more than the link's, names of interfaces that tc would misread, DSCPs twice.
Result<std::vector<std::string>> htb_commands(std::string_view interface, RateMbps link,
                                              const std::vector<TcClass>& classes);

struct DcbClass {
  std::uint8_t dscp = 0;
  std::uint8_t traffic_class = 0;  // 0 to 7, its own; its priority is the same number
  unsigned percent = 0;            // of the link; those of all classes sum to 100
  bool lossless = false;
};
Result<std::vector<std::string>> dcb_commands(std::string_view interface, const std::vector<DcbClass>& classes);

}  // namespace railweave::fabric::linux_tc
