#include "fabric/routing/up_down/port_spread.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "fabric/routing/up_down/host_load.h"
#include "fabric/routing/up_down/next_hops.h"

namespace railweave::fabric {
namespace {

// Limits of the work, in steps of a few nanoseconds. It is done once per cabling, not per failure.
constexpr std::uint64_t kMaxShiftEntries = 64'000'000;  // of 6 bytes each
constexpr std::uint64_t kMaxBalanceEntries = 16'000'000;
constexpr std::uint64_t kMaxBalanceWork = 25'000'000;  // per round

std::uint64_t entries_of(const Plane& plane) { return std::uint64_t{plane.switch_count()} * plane.destination_count(); }

bool may_balance(const Plane& plane, const NextHops& hops) {
  const std::uint64_t per_home = hops.arc_count() / std::max<std::size_t>(1, plane.homes.size());
  return per_home * plane.destination_count() <= kMaxBalanceWork;
}

}  // namespace

bool may_spread(const Plane& plane) {
  std::uint64_t ports = 0;
  for (const Home& home : plane.homes) ports += home.host_ports;
  return entries_of(plane) <= kMaxShiftEntries && ports <= kMaxShiftedPorts;
}

std::optional<LoadShiftResult> spread_ports(const Plane& plane, const DirectedReach& on,
                                            std::span<const std::uint32_t> pair_weight, const PlaneTables& start,
                                            std::span<const std::uint32_t> weights, const BalanceEffort& effort) {
  auto best = shift_loads(plane, on, pair_weight, start, weights);
  const bool near_bound = best && best->max_load <= best->least_load + best->least_load / 16;
  if (near_bound || entries_of(plane) > kMaxBalanceEntries) return best;
  const NextHops hops = NextHops::up_down(plane, on.directions, on.reach);
  if (!may_balance(plane, hops)) return best;
  const std::vector<std::uint32_t> pairs(pair_weight.begin(), pair_weight.end());
  BalanceResult balanced = balance_ports(plane, hops, pairs, start, weights, effort);
  // The start is a valley of its own: on some fabrics what starts from nothing is a sixth less full, and less of it moves with a
  // cable that fails. It loses the start's even shifts, so little is no reason.
  if (!is_even_enough(balanced.max_load, balanced.least_load)) {
    BalanceResult fresh = balance_ports(plane, hops, pairs, weights, effort);
    if (fresh.max_load < balanced.max_load - balanced.max_load / 16) balanced = std::move(fresh);
  }
  auto shifted = shift_loads(plane, on, pair_weight, balanced.tables, weights);
  if (!shifted || (best && best->max_load < shifted->max_load - shifted->max_load / 64)) return best;
  shifted->start_load = best ? best->start_load : UINT64_MAX;
  return shifted;
}

}  // namespace railweave::fabric
