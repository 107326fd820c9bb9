// Over how many paths a subnet's packets go, as operators say: what guarantees count by (fabric/topology/path_spread.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "fabric/topology/path_spread.h"

namespace railweave::control {

struct SubnetSpread {
  fabric::PathSpread spread = fabric::PathSpread::single;
  std::string reason;
  std::uint64_t version = 0;  // seq of the event that last changed it
};

using SubnetSpreadTable = std::map<std::string, SubnetSpread, std::less<>>;  // by subnet; single if absent

}  // namespace railweave::control
