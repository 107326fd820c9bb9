#include "fabric/qos/port_promises.h"

#include <algorithm>
#include <functional>

#include "fabric/qos/infiniband_plan.h"

namespace railweave::fabric {
namespace {

constexpr std::size_t kMaxHeld = 16;

std::uint32_t permille_of(std::int64_t mbps, std::int64_t capacity) {
  return static_cast<std::uint32_t>((mbps * 1000 + capacity - 1) / capacity);
}

// What is reserved in the class on the class's own lanes.
std::int64_t in_class(const Ledger& ledger, DirectedLink link, std::uint8_t qos_class,
                      std::span<const OwnedLoad> owned) {
  std::int64_t mbps = ledger.reserved_mbps(link, qos_class);
  for (const OwnedLoad& one : owned) mbps -= one.qos_class == qos_class ? one.mbps : 0;
  return mbps;
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
  } else if (held_.size() < kMaxHeld) {
    held_.push_back(min_permille);
  }
  return holds;
}

std::vector<FullLink> PortPromises::full_links(const Topology& topology, const Ledger& ledger, const Wanted& wanted,
                                               std::size_t at_most) {
  std::vector<FullLink> full;
  const auto owned = owned_loads(ledger, wanted.loads);
  const std::size_t slots = ledger.classes() + (owned.empty() && !wanted.lane ? 0 : kMaxOwnedLanes);
  const auto has_table = [&](LinkLoad load) {
    return ledger.capacity_mbps(load.link) > 0 && topology.kind(link_of(load.link)) == LinkKind::infiniband;
  };
  const auto with_load = [&](LinkLoad load) {
    const auto here = owned_on(owned, load.link);
    auto permille = reserved_permille(ledger, load.link, here);
    permille.resize(slots, 0);
    const std::int64_t capacity = ledger.capacity_mbps(load.link);
    if (wanted.lane) {
      permille[ledger.classes() + *wanted.lane] = permille_of(load.mbps, capacity);
    } else {
      permille[wanted.qos_class] =
          permille_of(in_class(ledger, load.link, wanted.qos_class, here) + load.mbps, capacity);
    }
    return permille;
  };
  // Mostly one table would do for the fullest of all.
  std::vector<std::uint32_t> fullest(slots, 0);
  for (const LinkLoad load : wanted.loads) {
    if (!has_table(load)) continue;
    const auto here = with_load(load);
    for (std::size_t c = 0; c < here.size(); ++c) fullest[c] = std::max(fullest[c], here[c]);
  }
  if (hold(fullest)) return full;
  for (const LinkLoad load : wanted.loads) {
    if (!has_table(load)) continue;
    auto permille = with_load(load);
    if (hold(permille)) continue;
    full.push_back(with_limit(ledger, load, wanted, std::move(permille), owned_on(owned, load.link)));
    if (full.size() == at_most) break;
  }
  return full;
}

FullLink PortPromises::with_limit(const Ledger& ledger, LinkLoad load, const Wanted& wanted,
                                  std::vector<std::uint32_t> permille, std::span<const OwnedLoad> owned) {
  const std::int64_t capacity = ledger.capacity_mbps(load.link);
  const std::int64_t reserved = ledger.reserved_mbps(load.link, wanted.qos_class);
  const std::int64_t base = wanted.lane ? 0 : in_class(ledger, load.link, wanted.qos_class, owned);
  std::uint32_t& own = permille[wanted.lane ? ledger.classes() + *wanted.lane : wanted.qos_class];
  std::uint32_t least = permille_of(base, capacity), most = own;  // the first holds, if anything does
  while (least + 1 < most) {
    own = least + (most - least) / 2;
    (hold(permille) ? least : most) = own;
  }
  FullLink one{.link = load.link,
               .wanted_mbps = load.mbps,
               .reserved_mbps = reserved,
               .limit_mbps = std::max(reserved, reserved - base + least * capacity / 1000),
               .holders = {}};
  for (const ReservationPtr& held : ledger.reservations()) {
    const std::int64_t mbps = load_on(held->loads, load.link);
    if (mbps > 0 && one.holders.size() < FullLink::kMaxHolders) one.holders.push_back({held->job, mbps});
  }
  return one;
}

std::vector<std::uint32_t> reserved_permille(const Ledger& ledger, DirectedLink link,
                                             std::span<const OwnedLoad> owned) {
  std::vector<std::uint32_t> permille(ledger.classes() + (owned.empty() ? 0 : kMaxOwnedLanes), 0);
  const std::int64_t capacity = ledger.capacity_mbps(link);
  if (capacity <= 0) return permille;
  for (std::size_t at = 0; at < ledger.classes(); ++at) {
    permille[at] = permille_of(in_class(ledger, link, static_cast<std::uint8_t>(at), owned), capacity);
  }
  for (const OwnedLoad& one : owned) permille[ledger.classes() + one.lane] = permille_of(one.mbps, capacity);
  return permille;
}

}  // namespace railweave::fabric
