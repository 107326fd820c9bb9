// Places of jobs that exchange data, the roles of one gang, chosen together: by the sum of what each takes for its own
// communication and of what passes between them. Placed one after the other, the first takes the best place for itself alone,
// and the others what is left near it. Here each is placed again while the others stay, as long as the sum falls; from several
// starts: as given, in the other order, and inside groups that hold all of them; small roles then exchange blocks with each
// other and move them to free GPUs. A bounded search without a clock: the same for the same state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "scheduler/placement/placer.h"

namespace railweave::scheduler {

struct RolePlace {
  std::uint64_t job = 0;  // as the peers of others name it
  JobSpec spec;           // with the peers of both directions
  Placement placement;    // without GPUs while it has no place
};

// What rules between roles make of a role while others have places. Empty functions: there are no rules.
struct RoleRules {
  // The spec to place the role with; none: it has no place beside the others.
  std::function<std::optional<JobSpec>(std::size_t role, std::span<const RolePlace> places)> confined;
  std::function<bool(std::span<const RolePlace> places)> hold;
};

// Of all roles: the communication of a step beside other jobs, what passes between two of them once, and for each what its place
// leaves unmet of its preferences of nodes. Infinite: some of it has no path. us.
double roles_us(Placer& placer, std::span<const RolePlace> roles);

// Whether the search applies: every role has a place, exchanges data and holds no GPU idle; their sum is bounded.
bool may_search(std::span<const RolePlace> roles);

// roles: with a place each, on GPUs that are free in the placer's tree. True where it found places with a lower sum; roles then
// have them, with what is predicted for them together.
bool search_together(Placer& placer, std::vector<RolePlace>& roles, const RoleRules& rules = {});

}  // namespace railweave::scheduler
