// Where an answer or a report to a client of the subnet's administration goes: what came with its request.
#pragma once

#include <compare>
#include <cstdint>

#include "fabric/topology/ids.h"

namespace railweave::fabric::infiniband {

struct SaClient {
  Lid lid = 0;
  std::uint32_t queue_pair = 1;
  std::uint8_t level = 0;
  std::uint16_t key_index = 0;
  friend auto operator<=>(const SaClient&, const SaClient&) = default;
};

}  // namespace railweave::fabric::infiniband
