// The last percent for small roles: blocks (ranks that share an NVLink domain) are exchanged between roles and inside one, and
// moved to free GPUs, while that lowers the sum; then, where that is asked for, from disturbed copies of the best. Bounded, and the
// same for the same state.
#pragma once

#include <cstdint>

#include "scheduler/placement/roles/placed_roles.h"

namespace railweave::scheduler {

struct ExchangeLimits {
  double step = 1e-6;                  // of the sum: what an exchange must gain at least
  std::uint64_t* work_left = nullptr;  // ranks and flows between roles that may still be scored; taken from
  bool disturbs = false;
};

// True where it found a lower sum; the roles then have it.
bool exchange_blocks(PlacedRoles& at, const RoleRules& rules, const ExchangeLimits& limits);

}  // namespace railweave::scheduler
