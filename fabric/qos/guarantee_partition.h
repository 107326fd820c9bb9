// Guarantee partitioning: how the budgets of a hose become rates of pairs of ports (ElasticSwitch: Popa et al., SIGCOMM 2013).
//
// Railweave computes the budgets: what each port of a job may send and receive in its class, the guarantee and never the
// maximum, and of a pattern what each flow may (services/control/agents/host_budgets.h). Which ports talk at present is known
// at the nodes only, so their agents divide: the sending side its send budget among the destinations that it sends to, the
// receiving side its receive budget among the senders that it hears; the pair may send the smaller of the two parts in the class,
// and the rest as best effort. A part that a pair does not use goes to others. The sums of both divisions are at most their
// budgets, so that the traffic inside the class is always inside the hose that admission reserved, whoever sends to whom; an agent
// that grants less than it could loses bandwidth of its own job, and never another job's.
//
// Whole Mb/s throughout. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace railweave::fabric {

inline constexpr std::int64_t kUnlimitedMbps = std::numeric_limits<std::int64_t>::max();

// Divides one budget: max-min fair, no part above what is wanted, the sum at most the budget and, where enough is wanted, equal
// to it. Units that equal parts do not divide go to the first. wanted: kUnlimitedMbps where no demand is known. O(n log n).
std::vector<std::int64_t> divide_guarantee(std::int64_t budget_mbps, std::span<const std::int64_t> wanted_mbps);

struct ActivePair {
  std::uint32_t sender = 0, receiver = 0;     // positions in the budgets
  std::int64_t wanted_mbps = kUnlimitedMbps;  // measured demand, or of a pattern the flow's own rate
};

// What the divisions of all ports agree on in the end, by position in `pairs`: no pair can have more without one of less or
// equal rate having less. O(pairs x ports).
std::vector<std::int64_t> partition_guarantees(std::span<const std::int64_t> send_mbps,
                                               std::span<const std::int64_t> receive_mbps,
                                               std::span<const ActivePair> pairs);

}  // namespace railweave::fabric
