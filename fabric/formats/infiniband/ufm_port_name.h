// How UFM's REST answers name a port: the GUID of an adapter's port, or of the switch, and the port's number.
#pragma once

#include <optional>
#include <string_view>

#include "fabric/base/guid.h"

namespace railweave::fabric {

struct UfmPortName {
  Guid guid;
  unsigned number = 0;  // from 1
};

// "248a0703008a850b_1"; none: no GUID and number.
std::optional<UfmPortName> parse_ufm_port_name(std::string_view text);

}  // namespace railweave::fabric
