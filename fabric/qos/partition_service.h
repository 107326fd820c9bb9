// What packets of a partition get on the paths that the subnet's administration names to their senders. A plain value.
#pragma once

#include <cstdint>
#include <optional>

#include "fabric/base/units.h"

namespace railweave::fabric {

struct PartitionService {
  std::uint16_t key = 0;         // without the bit of membership
  std::uint8_t first_level = 0;  // the service level of a path is this one and that of its route
  std::optional<RateMbps> limit{};
  friend bool operator==(const PartitionService&, const PartitionService&) = default;
};

}  // namespace railweave::fabric
