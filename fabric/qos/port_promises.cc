#include "fabric/qos/port_promises.h"

#include <algorithm>
#include <functional>

#include "fabric/qos/infiniband_plan.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kMostHeld = 16;

std::uint32_t permille_of(std::int64_t mbps, std::int64_t capacity) {
  return static_cast<std::uint32_t>((mbps * 1000 + capacity - 1) / capacity);
}

}  // namespace

bool PortPromises::hold(const std::vector<std::uint32_t>& min_permille) {
  // What asks for no more than something that holds, holds.
  const auto covers = [&](const std::vector<std::uint32_t>& held) {
    return std::ranges::equal(min_permille, held, std::ranges::less_equal());
  };
  if (std::ranges::any_of(held_, covers)) return true;
  const auto known = refused_.find(min_permille);
  if (known != refused_.end()) return false;
  const bool holds = can_promise(lane_demands(classes_, routing_lanes_, min_permille), limits_);
  if (!holds) {
    refused_.insert(min_permille);
  } else if (held_.size() < kMostHeld) {
    held_.push_back(min_permille);
  }
  return holds;
}

std::vector<FullLink> PortPromises::full_links(const Topology& topology, const Ledger& ledger, const LoadVector& loads,
                                               std::uint8_t qos_class, std::size_t at_most) {
  std::vector<FullLink> full;
  const auto has_table = [&](LinkLoad load) {
    return ledger.capacity_mbps(load.link) > 0 && topology.kind(link_of(load.link)) == LinkKind::infiniband;
  };
  const auto with_load = [&](LinkLoad load) {
    auto permille = reserved_permille(ledger, load.link);
    permille[qos_class] =
        permille_of(ledger.reserved_mbps(load.link, qos_class) + load.mbps, ledger.capacity_mbps(load.link));
    return permille;
  };
  // Mostly one table would do for the fullest of all.
  std::vector<std::uint32_t> fullest(ledger.classes(), 0);
  for (const LinkLoad load : loads) {
    if (!has_table(load)) continue;
    const auto here = with_load(load);
    for (std::size_t c = 0; c < here.size(); ++c) fullest[c] = std::max(fullest[c], here[c]);
  }
  if (hold(fullest)) return full;
  for (const LinkLoad load : loads) {
    if (!has_table(load)) continue;
    auto permille = with_load(load);
    if (hold(permille)) continue;
    const std::int64_t capacity = ledger.capacity_mbps(load.link);
    const std::int64_t reserved = ledger.reserved_mbps(load.link, qos_class);
    std::uint32_t least = permille_of(reserved, capacity),
                  most = permille[qos_class];  // the first holds, if anything does
    while (least + 1 < most) {
      permille[qos_class] = least + (most - least) / 2;
      (hold(permille) ? least : most) = permille[qos_class];
    }
    FullLink one{.link = load.link,
                 .wanted_mbps = load.mbps,
                 .reserved_mbps = reserved,
                 .limit_mbps = std::max(reserved, least * capacity / 1000),
                 .holders = {}};
    for (const ReservationPtr& held : ledger.reservations()) {
      const std::int64_t mbps = load_on(held->loads, load.link);
      if (mbps > 0 && one.holders.size() < FullLink::kMaxHolders) one.holders.push_back({held->job, mbps});
    }
    full.push_back(std::move(one));
    if (full.size() == at_most) break;
  }
  return full;
}

std::vector<std::uint32_t> reserved_permille(const Ledger& ledger, DirectedLink link) {
  std::vector<std::uint32_t> permille(ledger.classes(), 0);
  const std::int64_t capacity = ledger.capacity_mbps(link);
  for (std::uint8_t c = 0; capacity > 0 && c < permille.size(); ++c) {
    permille[c] = permille_of(ledger.reserved_mbps(link, c), capacity);
  }
  return permille;
}

}  // namespace railweave::fabric
