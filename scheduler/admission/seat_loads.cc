#include "scheduler/admission/seat_loads.h"

#include <algorithm>
#include <array>

#include "fabric/capacity/lane_owners.h"

namespace railweave::scheduler {

using fabric::DirectedLink;

std::int64_t SeatLoads::rate_mbps(std::size_t ports_in_all) const {
  const auto share = static_cast<std::int64_t>(demand_.per_job ? std::max<std::size_t>(1, ports_in_all) : 1);
  return demand_.rate.value() / share;
}

std::int64_t SeatLoads::reserved_mbps(std::size_t ports_in_all) const {
  return (rate_mbps(ports_in_all) * demand_.reserved_permille + 999) / 1000;
}

std::int64_t SeatLoads::left_mbps(DirectedLink link) const {
  return ledger_.limit_mbps(link, demand_.qos_class) - ledger_.reserved_mbps(link, demand_.qos_class);
}

// The links between two switches and their siblings share what one of them loses.
std::int64_t SeatLoads::left_with_a_link_spared(DirectedLink link) {
  const auto& t = view().topology();
  const std::int64_t left = left_mbps(link);
  if (!t.joins_switches(fabric::link_of(link))) return left;
  if (up_of_switch_.empty()) {
    up_of_switch_.assign(t.switches().size(), 0);
    for (const auto one : t.links()) {
      if (!t.joins_switches(one) || !view().alive(one)) continue;
      ++up_of_switch_[t.switch_of(t.a(one)).index()];
      ++up_of_switch_[t.switch_of(t.b(one)).index()];
    }
  }
  const auto out = fabric::out_port_of(t, link);
  const std::int64_t siblings =
      std::min(up_of_switch_[t.switch_of(out).index()], up_of_switch_[t.switch_of(t.peer(out)).index()]);
  return siblings < 2 ? left : left * (siblings - 1) / siblings;
}

SeatExcess SeatLoads::excess(std::span<const fabric::PortId> ports, std::size_t ports_in_all, bool spare_a_link) {
  const std::int64_t rate = rate_mbps(ports_in_all);
  ports_.clear();
  for (const auto port : ports) ports_.push_back({port, rate, rate});
  const fabric::HoseLoad load = loads_.load(ports_);
  SeatExcess excess{.cut_off = !load.complete()};
  std::array<std::uint64_t, fabric::kMaxOwnedLanes> taken{};
  for (const auto& one : load.loads) {
    const std::int64_t needed = (one.mbps * demand_.reserved_permille + 999) / 1000;
    const std::int64_t left = spare_a_link ? left_with_a_link_spared(one.link) : left_mbps(one.link);
    excess.mbps += std::max<std::int64_t>(0, needed - left);
    const std::uint16_t lanes = ledger_.lanes_on(one.link);
    for (unsigned lane = 0; lanes != 0 && lane < demand_.own_lanes; ++lane) taken[lane] += lanes >> lane & 1U;
  }
  if (demand_.own_lanes > 0) excess.no_lane = *std::min_element(taken.begin(), taken.begin() + demand_.own_lanes);
  return excess;
}

}  // namespace railweave::scheduler
