#include "fabric/qos/ethernet_plan.h"

#include <algorithm>

#include "fabric/capacity/lane_owners.h"

namespace railweave::fabric {
namespace {

constexpr unsigned kLocalUse = 0b11, kLocalUseStep = 4;  // DSCPs 3, 7, 11, ...

bool has_congestion_class(const QosClasses& classes) {
  return std::ranges::any_of(classes, [](const QosClass& one) { return one.dscp == kCongestionDscp; });
}

// Traffic classes before those of lanes.
unsigned shared_traffic_classes(const QosClasses& classes) {
  return static_cast<unsigned>(classes.size()) + (has_congestion_class(classes) ? 0U : 1U);
}

// What a reservation takes on the wire: headers are in what may not be reserved.
std::int64_t on_wire(std::int64_t mbps, const CapacityRules& rules) {
  return (mbps * 1000 + rules.usable_permille - 1) / rules.usable_permille;
}

std::vector<EthernetQueue> queues_of(const QosClasses& classes, const CapacityRules& rules,
                                     std::span<const OwnedLoad> owned, std::int64_t link_mbps) {
  const auto lossless = lossless_on_ethernet(classes);
  std::vector<EthernetQueue> queues;
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    std::int64_t rate = link_mbps * classes[c].share_permille / 1000;
    for (const OwnedLoad& one : owned) {
      if (one.qos_class == c) rate -= on_wire(one.mbps, rules);
    }
    queues.push_back({.qos_class = static_cast<std::uint8_t>(c),
                      .lane = {},
                      .job = {},
                      .dscp = classes[c].dscp,
                      .traffic_class = class_number(classes, c),
                      .rate = RateMbps(std::max<std::int64_t>(1, rate)),
                      .lossless = std::ranges::find(lossless, c) != lossless.end()});
    sum += queues.back().rate.value();
  }
  for (const OwnedLoad& one : owned) {
    queues.push_back({.qos_class = one.qos_class,
                      .lane = one.lane,
                      .job = one.owner->job,
                      .dscp = lane_dscp(classes, one.lane),
                      .traffic_class = lane_traffic_class(classes, one.lane),
                      .rate = RateMbps(on_wire(one.mbps, rules)),
                      .lossless = classes[one.qos_class].lossless});
    sum += queues.back().rate.value();
  }
  // Rates are whole Mb/s, and each queue has at least one: what that is too much is taken from the largest class.
  for (; sum > link_mbps; --sum) {
    const auto largest =
        std::max_element(queues.begin(), queues.begin() + static_cast<std::ptrdiff_t>(classes.size()),
                         [](const EthernetQueue& a, const EthernetQueue& b) { return a.rate < b.rate; });
    if (largest->rate.value() <= 1) break;
    largest->rate = RateMbps(largest->rate.value() - 1);
  }
  return queues;
}

std::vector<PortId> destinations_from(const Reservation& owner, PortId from) {
  std::vector<PortId> to;
  if (owner.promise == TrafficPromise::hose) {
    for (const HosePort& one : owner.ports) {
      if (one.port != from) to.push_back(one.port);
    }
  } else {
    for (const PatternFlow& flow : owner.flows) {
      if (flow.ports.from == from) to.push_back(flow.ports.to);
    }
  }
  std::ranges::sort(to);
  to.erase(std::unique(to.begin(), to.end()), to.end());
  return to;
}

}  // namespace

std::vector<std::size_t> lossless_on_ethernet(const QosClasses& classes) {
  const std::size_t lowest = lowest_class(classes);
  std::vector<std::size_t> lossless;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes[c].lossless && classes[c].dscp != kCongestionDscp && c != lowest) lossless.push_back(c);
  }
  std::ranges::stable_sort(lossless, std::ranges::greater{}, [&](std::size_t c) { return classes[c].share_permille; });
  lossless.resize(std::min(lossless.size(), kMaxLosslessClasses));
  return lossless;
}

unsigned ethernet_lanes(const QosClasses& classes) {
  const unsigned shared = shared_traffic_classes(classes);
  return shared >= kTrafficClasses ? 0 : kTrafficClasses - shared;
}

std::uint8_t lane_dscp(const QosClasses& classes, unsigned lane) {
  unsigned dscp = kLocalUse;
  for (unsigned free = 0;; dscp += kLocalUseStep) {
    if (std::ranges::any_of(classes, [&](const QosClass& one) { return one.dscp == dscp; })) continue;
    if (free++ == lane) return static_cast<std::uint8_t>(dscp);
  }
}

std::uint8_t lane_traffic_class(const QosClasses& classes, unsigned lane) {
  return static_cast<std::uint8_t>(shared_traffic_classes(classes) + lane);
}

EthernetPlan plan_ethernet(const QosClasses& classes, const Ledger& ledger, const FabricView& view, SwitchId sw) {
  const Topology& t = view.topology();
  const unsigned lanes = ethernet_lanes(classes);
  EthernetPlan plan;
  for (unsigned lane = 0; lane < lanes; ++lane) plan.lane_dscps.push_back(lane_dscp(classes, lane));
  LoadVector around;  // both directions of the switch's cables
  for (const PortId port : t.ports(sw)) {
    if (!t.peer(port) || t.kind(t.link(port)) != LinkKind::ethernet) continue;
    around.push_back({directed_link(t, port), 0});
    around.push_back({directed_link(t, t.peer(port)), 0});
  }
  std::ranges::sort(around, {}, &LinkLoad::link);
  auto owned = owned_loads(ledger, around);
  std::erase_if(owned, [&](const OwnedLoad& one) { return one.lane >= lanes; });
  for (const PortId port : t.ports(sw)) {
    const PortId peer = t.peer(port);
    if (!peer || t.kind(t.link(port)) != LinkKind::ethernet) continue;
    EthernetPort one;
    one.port = port;
    one.link = t.rate(t.link(port));
    one.faces_host = !t.is_switch_port(peer);
    if (one.link.value() <= 0) continue;
    one.queues = queues_of(classes, ledger.rules(), owned_on(owned, directed_link(t, port)), one.link.value());
    one.cable_m = t.spec(t.link(port)).cable_length_m;
    one.in_use = view.alive(t.link(port)) && !view.drained(t.link(port));
    for (const OwnedLoad& mark : owned_on(owned, directed_link(t, peer))) {
      one.arriving.push_back({mark.lane, lane_traffic_class(classes, mark.lane), classes[mark.qos_class].lossless});
    }
    std::ranges::sort(one.arriving, {}, &ArrivingLane::lane);
    if (one.faces_host) {
      for (const OwnedLoad& mark : owned_on(owned, directed_link(t, peer))) {
        one.admitted.push_back({lane_dscp(classes, mark.lane), mark.owner->job, destinations_from(*mark.owner, peer)});
      }
      std::ranges::sort(one.admitted, {}, &AdmittedMark::dscp);
    }
    plan.ports.push_back(std::move(one));
  }
  return plan;
}

}  // namespace railweave::fabric
