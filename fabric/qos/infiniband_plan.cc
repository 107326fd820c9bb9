#include "fabric/qos/infiniband_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>

#include "fabric/base/check.h"
#include "fabric/capacity/lane_owners.h"
#include "fabric/qos/port_promises.h"

namespace railweave::fabric {
namespace {

constexpr std::uint16_t kDefaultKey = 0x7fff, kFull = 0x8000;

std::string product(std::size_t classes, unsigned by, std::string_view what) {
  return fmt::format("{} classes x {} {} for the routing = {} {}", classes, by, what, classes * by, what);
}

bool is_planned(const InfinibandPlanInput& input, SwitchId sw) {
  return !input.subnet || input.view.topology().subnet(sw) == input.subnet;
}

// The routing lane of every routing level for packets that entered by an arc of one class and leave by one of another.
std::vector<unsigned> lanes_out(const PlaneLanes& lanes, std::uint8_t in_class, std::uint8_t out_class,
                                unsigned levels) {
  std::vector<unsigned> out;
  for (unsigned level = 0; level < levels; ++level) {
    if (lanes.arc_class.empty()) {
      out.push_back(std::min<unsigned>(level, lanes.lanes - 1U));
      continue;
    }
    const unsigned at = std::min<unsigned>(level, lanes.levels - 1U);
    out.push_back(lanes.lane_table[(std::size_t{in_class} * lanes.classes + out_class) * lanes.levels + at]);
  }
  return out;
}

// Of the arc that leaves a switch by a port, and of the one that enters by it; 0: the port leads to no switch.
struct ArcClasses {
  std::uint8_t out = 0, in = 0;
};
ArcClasses arc_classes(const InfinibandPlanInput& input, PlaneId plane, PortId port) {
  const Topology& t = input.view.topology();
  const PlaneLanes& lanes = input.lanes->planes[plane.index()];
  if (!t.peer(port) || lanes.arc_class.empty()) return {};
  const auto arc = input.scope->arc_of(t.link(port)).arc;
  if (arc == Plane::kNone) return {};
  const auto reverse = input.scope->plane(plane).arcs[arc].reverse;
  const bool leaves = t.a(t.link(port)) == port;
  return {lanes.arc_class[leaves ? arc : reverse], lanes.arc_class[leaves ? reverse : arc]};
}

constexpr std::uint32_t kUsablePermille = 950;  // as in CapacityRules: the rest is headroom
constexpr std::uint32_t kShareStep = 10;        // permille of a share

// The levels of a class, or of a lane's owner, on all routing levels.
std::uint16_t level_bits(unsigned first, unsigned levels) {
  return static_cast<std::uint16_t>(((1U << levels) - 1U) << first);
}

class PortPlanner {
 public:
  PortPlanner(const InfinibandPlanInput& input, const InfinibandPlan& plan) : input_(input), plan_(plan) {
    if (plan.owned_lanes == 0) return;
    owned_ = owned_loads(*input.ledger);
    // What ports do not have is traffic of its owner's class.
    std::erase_if(owned_, [&](const OwnedLoad& one) { return one.lane >= plan.owned_lanes; });
  }

  // The same for all ports, or by what is reserved on the link.
  Result<VlArbitration> arbitration(DirectedLink link) {
    if (input_.ledger == nullptr || input_.uniform) {
      if (!uniform_) uniform_ = input_.ledger == nullptr ? by_shares() : by_fullest();
      return *uniform_;
    }
    return table(reserved_permille(*input_.ledger, link, owned_on(owned_, link)));
  }
  // VL by SL of the port, for the routing lane of each routing level.
  [[nodiscard]] std::array<std::uint8_t, 16> level_map(DirectedLink link, const std::vector<unsigned>& lanes) const {
    std::array<std::uint8_t, 16> map;
    map.fill(kDropLane);  // packets of unused levels
    unsigned present = 0;
    for (const OwnedLoad& one : owned_on(owned_, link)) present |= 1U << one.lane;
    for (unsigned level = 0; level < plan_.routing_levels; ++level) {
      for (unsigned c = 0; c < plan_.classes(); ++c) {
        map[plan_.service_level(c, level)] = plan_.lane(c, lanes[level]);
      }
      for (unsigned o = 0; o < plan_.owned_lanes; ++o) {
        map[plan_.owned_level(o, level)] = (present >> o & 1U) != 0
                                               ? plan_.owned_lane(o, lanes[level])
                                               : plan_.lane(lowest_class(*input_.classes), lanes[level]);
      }
    }
    for (unsigned level = 0; level < map.size(); ++level) {
      const bool is_kept = (input_.kept_levels >> level & 1U) != 0 && map[level] == kDropLane;
      if (is_kept) map[level] = plan_.lane(lowest_class(*input_.classes), lanes[0]);
    }
    return map;
  }
  // The maps of a port to leave by; of a switch also those from single ports, where the lanes of routes depend on the port
  // that a packet came by.
  struct Exit {
    PortId port;
    std::uint8_t arc_class = 0;
  };
  Result<void> add_maps(PortTables& tables, SwitchId sw, PlaneId plane, Exit out) const {
    const Topology& t = input_.view.topology();
    const PlaneLanes& lanes = input_.lanes->planes[plane.index()];
    const DirectedLink link = directed_link(t, out.port);
    tables.sl_to_vl = level_map(link, lanes_out(lanes, 0, out.arc_class, plan_.routing_levels));
    if (!sw || lanes.arc_class.empty()) return {};
    for (const PortId in : t.ports(sw)) {
      const std::uint8_t in_class = arc_classes(input_, plane, in).in;
      const LaneMap map = level_map(link, lanes_out(lanes, in_class, out.arc_class, plan_.routing_levels));
      if (map == *tables.sl_to_vl) continue;
      if (input_.uniform) {
        return fail(ErrorKind::impossible, "qos.lanesDependOnInput",
                    "the lanes of the routing depend on the ingress port of a switch, which OpenSM's settings cannot "
                    "express",
                    t.port_text(out.port), "let OpenSM's own engine for this topology set the SL-to-VL tables");
      }
      tables.from_ports.push_back({static_cast<std::uint8_t>(t.number(in)), map});
    }
    std::ranges::sort(tables.from_ports, {}, &MapFromPort::in);
    return {};
  }
  // What may leave a switch by a link, by input port. Where packets of owners pass, lanes are closed to others as well: else those
  // would get from there onto links where the owners have their lanes.
  [[nodiscard]] IngressFilter closed_to_others(const IngressFilter& filter, SwitchId sw, DirectedLink out) const {
    std::vector<std::uint8_t> lanes;
    for (const OwnedLoad& owner : owned_on(owned_, out)) lanes.push_back(owner.lane);
    for (const LanePassage& one : passing(out)) {
      if (one.lane < plan_.owned_lanes && input_.ports_first) lanes.push_back(one.lane);
    }
    if (!filter.is_any() || lanes.empty()) return filter;
    const Topology& t = input_.view.topology();
    std::vector<std::uint16_t> closed(filter.ports(), 0);
    for (const PortId in : t.ports(sw)) {
      const PortId peer = t.peer(in);
      if (!peer || t.kind(t.link(in)) != LinkKind::infiniband) continue;
      for (const std::uint8_t lane : lanes) {
        if ((input_.shared_lanes >> lane & 1U) != 0 || may_come(lane, directed_link(t, peer), out)) continue;
        closed[static_cast<std::size_t>(t.number(in))] |= level_bits(plan_.owned_level(lane, 0), plan_.routing_levels);
      }
    }
    return filter.without(closed);
  }
  // What one table can promise to all classes, of the shares that admission may reserve; 0: by reservations.
  [[nodiscard]] std::uint32_t share_permille() const { return share_permille_; }

 private:
  [[nodiscard]] const Reservation* owner(DirectedLink link, std::uint8_t lane) const {
    const auto here = owned_on(owned_, link);
    const auto at = std::ranges::find(here, lane, &OwnedLoad::lane);
    return at == here.end() ? nullptr : at->owner;
  }
  [[nodiscard]] std::span<const LanePassage> passing(DirectedLink link) const {
    const auto here = std::ranges::equal_range(input_.passages, link, {}, &LanePassage::link);
    return {here.begin(), here.end()};
  }
  // Whether packets of a job that has the lane on a link, or passes there, come by the link before it.
  [[nodiscard]] bool may_come(std::uint8_t lane, DirectedLink before, DirectedLink out) const {
    const Reservation *from = owner(before, lane), *onto = owner(out, lane);
    if (from != nullptr && from == onto) return true;
    if (from == nullptr && !input_.ports_first && !onto->survives_link_failure) return true;
    const auto passes = [&](DirectedLink link, const std::string& job) {
      const Reservation* const has = link == out ? onto : from;
      return (has != nullptr && has->job == job) || std::ranges::any_of(passing(link), [&](const LanePassage& one) {
               return one.lane == lane && one.job == job;
             });
    };
    if (from != nullptr && passes(out, from->job)) return true;
    return std::ranges::any_of(passing(before),
                               [&](const LanePassage& one) { return one.lane == lane && passes(out, one.job); });
  }

  Result<VlArbitration> table(std::vector<std::uint32_t> min_shares) {
    const auto known = tables_.find(min_shares);
    if (known != tables_.end()) return known->second;
    auto made = assign_weights(lane_demands(*input_.classes, plan_.routing_lanes, min_shares), input_.arbitration);
    if (!made) return made;
    return tables_.emplace(std::move(min_shares), std::move(*made)).first->second;
  }

  // The largest part of its share for every class: whole packets leave less than all of it.
  Result<VlArbitration> by_shares() {
    Result<VlArbitration> made;
    for (share_permille_ = kUsablePermille; share_permille_ > 0; share_permille_ -= kShareStep) {
      std::vector<std::uint32_t> min_shares;
      for (const QosClass& one : *input_.classes) min_shares.push_back(one.share_permille * share_permille_ / 1000);
      made = table(std::move(min_shares));
      if (made) break;
    }
    return made;
  }

  Result<VlArbitration> by_fullest() {
    std::vector<std::uint32_t> most(input_.classes->size(), 0);
    for (DirectedLink link = 0; link < input_.ledger->links(); ++link) {
      const auto here = reserved_permille(*input_.ledger, link);
      for (std::size_t c = 0; c < most.size(); ++c) most[c] = std::max(most[c], here[c]);
    }
    return table(std::move(most));
  }

  const InfinibandPlanInput& input_;
  const InfinibandPlan& plan_;
  std::vector<OwnedLoad> owned_;
  std::optional<Result<VlArbitration>> uniform_;
  std::uint32_t share_permille_ = 0;
  std::map<std::vector<std::uint32_t>, VlArbitration> tables_;
};

std::uint16_t open_levels(const InfinibandPlan& plan, const QosClasses& classes) {
  std::uint16_t open = level_bits(plan.service_level(lowest_class(classes), 0), plan.routing_levels);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (classes[c].open) open |= level_bits(plan.service_level(static_cast<unsigned>(c), 0), plan.routing_levels);
  }
  return open;
}

std::vector<PassingLevels> passing_levels(const InfinibandPlan& plan, std::span<const IngressUser> users) {
  std::vector<PassingLevels> levels;
  for (const IngressUser& user : users) {
    std::uint16_t bits = user.earlier_levels;
    if (user.qos_class) bits |= level_bits(plan.service_level(*user.qos_class, 0), plan.routing_levels);
    if (user.lane && *user.lane < plan.owned_lanes) {
      bits |= level_bits(plan.owned_level(*user.lane, 0), plan.routing_levels);
    }
    levels.push_back({user.port, bits});
  }
  std::ranges::sort(levels, {}, &PassingLevels::port);
  return levels;
}

Result<void> put_key(std::vector<std::uint16_t>& keys, std::uint16_t key, std::size_t index) {
  if (index == 0) {
    const auto hole = std::find(keys.begin() + 1, keys.end(), 0);
    index = static_cast<std::size_t>(hole - keys.begin());
  }
  if (keys.size() <= index) keys.resize(index + 1, 0);
  if (keys[index] != 0)
    return fail(ErrorKind::invalid, "qos.partitionIndex", fmt::format("two keys have index {}", index));
  keys[index] = key;
  return {};
}

Result<std::map<PortId, std::vector<std::uint16_t>>> partition_keys(const InfinibandPlanInput& input) {
  std::map<PortId, std::vector<std::uint16_t>> keys;
  for (const PortId port : input.view.topology().hca_ports()) {
    if (!input.view.topology().peer(port)) continue;
    const bool limited = std::ranges::binary_search(input.limited_default, port);
    keys[port] = {static_cast<std::uint16_t>(limited ? kDefaultKey : kDefaultKey | kFull)};
  }
  std::set<std::uint16_t> used{0, kDefaultKey};
  for (const TenantPartition& tenant : input.tenants) {
    if (tenant.pkey > kDefaultKey || !used.insert(tenant.pkey).second) {
      return fail(ErrorKind::invalid, "qos.partitionKey",
                  fmt::format("PKey {} is reserved or used by another tenant", tenant.pkey), tenant.tenant,
                  "use an unused key from 1 to 0x7ffe");
    }
  }
  const auto join = [&](const TenantPartition& tenant, PortId port, bool full, std::size_t index) -> Result<void> {
    const auto at = keys.find(port);
    if (at == keys.end()) return {};  // without a cable
    const auto other = static_cast<std::uint16_t>(tenant.pkey | (full ? 0 : kFull));
    if (std::ranges::find(at->second, other) != at->second.end()) {
      return fail(ErrorKind::invalid, "qos.partitionMember",
                  "port " + input.view.topology().port_text(port) + " is both a full and a limited member",
                  tenant.tenant);
    }
    return put_key(at->second, static_cast<std::uint16_t>(tenant.pkey | (full ? kFull : 0)), index);
  };
  // Keys with an index first: the others take what is free.
  for (const bool with_index : {true, false}) {
    for (const TenantPartition& tenant : input.tenants) {
      for (const TenantMember& member : tenant.members) {
        if ((member.index != 0) != with_index) continue;
        if (auto done = join(tenant, member.port, true, member.index); !done) return std::unexpected(done.error());
      }
      if (with_index) continue;
      for (const PortId port : tenant.limited) {
        if (auto done = join(tenant, port, false, 0); !done) return std::unexpected(done.error());
      }
    }
  }
  return keys;
}

}  // namespace

std::uint32_t InfinibandPlan::promised_permille(const VlArbitration& table, unsigned qos_class) const {
  std::uint32_t least = 1000;
  for (unsigned l = 0; l < routing_lanes; ++l) {
    least = std::min(least, fabric::promised_permille(table, lane(qos_class, l), mtu_bytes));
  }
  return least;
}

std::uint32_t InfinibandPlan::promised_to_owner(const VlArbitration& table, unsigned lane) const {
  std::uint32_t least = 1000;
  for (unsigned l = 0; l < routing_lanes; ++l) {
    least = std::min(least, fabric::promised_permille(table, owned_lane(lane, l), mtu_bytes));
  }
  return least;
}

unsigned owned_lanes(std::size_t classes, RoutingLanes routing, unsigned data_lanes) {
  const unsigned all = std::min(data_lanes / routing.lanes, kMaxServiceLevels / routing.levels);
  return all <= classes ? 0 : std::min(all - static_cast<unsigned>(classes), kMaxOwnedLanes);
}

RoutingLanes routing_lanes(const FabricView& view, const RoutingScope& scope, const Lanes& lanes, SubnetId subnet) {
  RoutingLanes needed;
  std::set<PlaneId> planes;
  for (const SwitchId sw : view.topology().switches()) {
    if (!subnet || view.topology().subnet(sw) == subnet) planes.insert(scope.plane_of(sw));
  }
  for (const PlaneId id : planes) {
    const PlaneLanes& plane = lanes.planes[id.index()];
    needed.lanes = std::max<unsigned>(needed.lanes, plane.lanes);
    needed.levels =
        std::max<unsigned>(needed.levels, std::max(plane.levels, plane.arc_class.empty() ? plane.lanes : plane.levels));
  }
  return needed;
}

Result<void> check_lanes(const QosClasses& classes, RoutingLanes routing, unsigned data_lanes) {
  if (classes.size() * routing.lanes > data_lanes) {
    return fail(ErrorKind::impossible, "qos.lanesDoNotSuffice",
                fmt::format("{}, but the ports have {}", product(classes.size(), routing.lanes, "lanes"), data_lanes),
                {}, fmt::format("use at most {} classes", data_lanes / routing.lanes));
  }
  if (classes.size() * routing.levels > kMaxServiceLevels) {
    return fail(ErrorKind::impossible, "qos.levelsDoNotSuffice",
                fmt::format("{}, but there are {}", product(classes.size(), routing.levels, "service levels"),
                            kMaxServiceLevels),
                {}, fmt::format("use at most {} classes", kMaxServiceLevels / routing.levels));
  }
  return {};
}

std::vector<LaneDemand> lane_demands(const QosClasses& classes, unsigned routing_lanes,
                                     std::span<const std::uint32_t> min_permille) {
  std::vector<LaneDemand> demands;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    for (unsigned lane = 0; lane < routing_lanes; ++lane) {
      // Which of its lanes the traffic of a class is on is the routing's choice: each is promised all of it.
      demands.push_back({static_cast<std::uint8_t>(class_number(classes, c) * routing_lanes + lane), min_permille[c],
                         classes[c].share_permille / routing_lanes, classes[c].bound == ClassBound::latency});
    }
  }
  for (std::size_t slot = classes.size(); slot < min_permille.size(); ++slot) {
    if (min_permille[slot] == 0) continue;
    for (unsigned lane = 0; lane < routing_lanes; ++lane) {
      demands.push_back({static_cast<std::uint8_t>(slot * routing_lanes + lane), min_permille[slot],
                         min_permille[slot] / routing_lanes, false});
    }
  }
  return demands;
}

Result<std::vector<PortTables>> plan_partitions(const InfinibandPlanInput& input) {
  const auto keys = partition_keys(input);
  if (!keys) return std::unexpected(keys.error());
  const Topology& t = input.view.topology();
  std::vector<PortTables> ports;
  for (const auto& [port, of_port] : *keys) {
    const PortId peer = t.peer(port);
    if (!t.is_switch_port(peer) || !is_planned(input, t.switch_of(peer))) continue;
    if (t.kind(t.link(port)) != LinkKind::infiniband) continue;
    ports.push_back({.port = {t.guid(t.hca_of(port)), static_cast<std::uint8_t>(t.number(port))}, .pkeys = of_port});
  }
  return ports;
}

Result<InfinibandPlan> plan_infiniband(const InfinibandPlanInput& input) {
  InfinibandPlan plan;
  plan.mtu_bytes = input.arbitration.mtu_bytes;
  if (const auto checked = check_qos_classes(*input.classes); !checked) return std::unexpected(checked.error());
  const RoutingLanes needed = routing_lanes(input.view, *input.scope, *input.lanes, input.subnet);
  if (const auto checked = check_lanes(*input.classes, needed, input.data_lanes); !checked) {
    return std::unexpected(checked.error());
  }
  plan.routing_lanes = needed.lanes;
  plan.routing_levels = needed.levels;
  for (std::size_t c = 0; c < input.classes->size(); ++c) plan.numbers.push_back(class_number(*input.classes, c));
  if (input.owned_lanes && input.ledger != nullptr && !input.uniform) {
    plan.owned_lanes = owned_lanes(input.classes->size(), needed, input.data_lanes);
  }
  const auto keys = partition_keys(input);
  if (!keys) return std::unexpected(keys.error());
  const Topology& t = input.view.topology();
  PortPlanner planner(input, plan);
  std::vector<PassingLevels> passing;
  if (input.users) {
    plan.open_levels = open_levels(plan, *input.classes);
    passing = passing_levels(plan, *input.users);
  }
  const auto add = [&](PortId port, PlaneId plane, std::uint8_t out_class, Guid device,
                       const IngressFilter& ingress) -> Result<void> {
    if (!t.peer(port) || t.kind(t.link(port)) != LinkKind::infiniband) return {};
    PortTables tables{.port = {device, static_cast<std::uint8_t>(t.number(port))}};
    auto arbitration = planner.arbitration(directed_link(t, port));
    if (!arbitration) {
      arbitration.error().location = t.port_text(port);
      return std::unexpected(arbitration.error());
    }
    const SwitchId sw = t.is_switch_port(port) ? t.switch_of(port) : SwitchId();
    if (auto done = planner.add_maps(tables, sw, plane, {port, out_class}); !done) return done;
    tables.ingress = sw ? planner.closed_to_others(ingress, sw, directed_link(t, port)) : ingress;
    tables.arbitration = std::move(*arbitration);
    if (const auto at = keys->find(port); at != keys->end()) tables.pkeys = at->second;
    plan.ports.push_back(std::move(tables));
    return {};
  };
  for (const SwitchId sw : t.switches()) {
    if (!is_planned(input, sw)) continue;
    const PlaneId plane = input.scope->plane_of(sw);
    const IngressFilter ingress = input.users ? ingress_filter(t, sw, passing, plan.open_levels) : IngressFilter();
    for (const PortId port : t.ports(sw)) {
      const std::uint8_t out_class = arc_classes(input, plane, port).out;
      if (const auto done = add(port, plane, out_class, t.guid(sw), ingress); !done) {
        return std::unexpected(done.error());
      }
    }
  }
  for (const PortId port : t.hca_ports()) {
    if (!t.peer(port) || !t.is_switch_port(t.peer(port)) || !is_planned(input, t.switch_of(t.peer(port)))) continue;
    const PlaneId plane = input.scope->plane_of(t.switch_of(t.peer(port)));
    if (const auto done = add(port, plane, 0, t.guid(t.hca_of(port)), {}); !done) {
      return std::unexpected(done.error());
    }
  }
  plan.uniform = std::ranges::all_of(plan.ports, [&](const PortTables& one) {
    return one.arbitration == plan.ports[0].arbitration && one.sl_to_vl == plan.ports[0].sl_to_vl &&
           one.from_ports.empty();
  });
  if (planner.share_permille() != 0 && planner.share_permille() < kUsablePermille) {
    plan.not_as_asked.push_back(
        fmt::format("packets are sent whole: with {} arbitration entries and an MTU of {} bytes, classes that all send "
                    "at once are promised {} permille of their shares; what is reserved on a link is weighed there",
                    input.arbitration.entries, input.arbitration.mtu_bytes, planner.share_permille()));
  }
  return plan;
}

Result<OpenSmPolicy> opensm_policy(const InfinibandPlanInput& input, const InfinibandPlan& plan) {
  if (!plan.uniform || plan.ports.empty()) {
    return fail(ErrorKind::impossible, "qos.notUniform", "ports have different tables, but OpenSM has one for all", {},
                "plan by the shares of classes alone, without the ledger");
  }
  OpenSmPolicy policy;
  const PortTables& any = plan.ports[0];
  unsigned lanes = 1;
  while (lanes < plan.classes() * plan.routing_lanes) lanes *= 2;
  policy.sharing.max_lanes = static_cast<std::uint8_t>(std::min(lanes, 15U));
  policy.sharing.high_limit = any.arbitration->high_limit.value_or(0);
  policy.sharing.high = {{0, 0}};  // OpenSM has no empty table; an entry of weight 0 is skipped
  for (const VlWeight entry : any.arbitration->low) policy.sharing.low.push_back({entry.vl, entry.weight});
  policy.sharing.lane_of_level = *any.sl_to_vl;

  const Topology& t = input.view.topology();
  // OpenSM knows of a port what it reads last: limited members are named behind all.
  opensm::Partition everyone{.name = "Default", .pkey = kDefaultKey, .ipoib = true};
  everyone.members.push_back({.who = opensm::PartitionMember::Who::all, .full = true});
  for (const PortId port : input.limited_default)
    everyone.members.push_back({.port = t.port_guid(port), .full = false});
  everyone.members.push_back({.who = opensm::PartitionMember::Who::subnet_manager, .full = true});
  policy.partitions.push_back(std::move(everyone));
  // Paths without a rule belong to the lowest class.
  policy.qos.default_level = plan.service_level(lowest_class(*input.classes), 0);
  policy.qos.levels.push_back({.name = "DEFAULT", .level = policy.qos.default_level});
  for (const TenantPartition& tenant : input.tenants) {
    const std::uint8_t level = plan.service_level(tenant.qos_class, 0);
    opensm::Partition partition{
        .name = tenant.tenant, .pkey = tenant.pkey, .ipoib = true, .rate = tenant.limit, .level = level};
    for (const TenantMember& one : tenant.members) partition.members.push_back({.port = t.port_guid(one.port)});
    for (const PortId port : tenant.limited) partition.members.push_back({.port = t.port_guid(port), .full = false});
    policy.partitions.push_back(std::move(partition));
    policy.qos.levels.push_back({.name = tenant.tenant, .level = level, .rate_limit = tenant.limit});
    policy.qos.rules.push_back({.use = "paths of " + tenant.tenant, .pkey = tenant.pkey, .level = tenant.tenant});
  }
  return policy;
}

}  // namespace railweave::fabric
