#include "fabric/qos/infiniband_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "fabric/base/check.h"

namespace railweave::fabric {
namespace {

constexpr std::uint16_t kDefaultKey = 0x7fff, kFull = 0x8000;

std::string product(std::size_t classes, unsigned by, std::string_view what) {
  return std::to_string(classes) + " classes x " + std::to_string(by) + " " + std::string(what) +
         " for the routing = " + std::to_string(classes * by) + " " + std::string(what);
}

bool is_planned(const InfinibandPlanInput& input, SwitchId sw) {
  return !input.subnet || input.view.topology().subnet(sw) == input.subnet;
}

Result<void> check_lanes(const InfinibandPlanInput& input, InfinibandPlan& plan) {
  plan.classes = static_cast<unsigned>(input.classes->size());
  std::set<PlaneId> planes;
  for (const SwitchId sw : input.view.topology().switches()) {
    if (is_planned(input, sw)) planes.insert(input.scope->plane_of(sw));
  }
  for (const PlaneId id : planes) {
    const PlaneLanes& plane = input.lanes->planes[id.index()];
    plan.routing_lanes = std::max<unsigned>(plan.routing_lanes, plane.lanes);
    plan.routing_levels = std::max<unsigned>(
        plan.routing_levels, std::max(plane.levels, plane.arc_class.empty() ? plane.lanes : plane.levels));
  }
  const unsigned lanes = plan.classes * plan.routing_lanes;
  if (lanes > input.data_lanes) {
    return fail(
        ErrorKind::impossible, "qos.lanesDoNotSuffice",
        product(plan.classes, plan.routing_lanes, "lanes") + ", but the ports have " + std::to_string(input.data_lanes),
        {}, "use at most " + std::to_string(input.data_lanes / plan.routing_lanes) + " classes");
  }
  const unsigned levels = plan.classes * plan.routing_levels;
  if (levels > kMaxServiceLevels) {
    return fail(ErrorKind::impossible, "qos.levelsDoNotSuffice",
                product(plan.classes, plan.routing_levels, "service levels") + ", but there are " +
                    std::to_string(kMaxServiceLevels),
                {}, "use at most " + std::to_string(kMaxServiceLevels / plan.routing_levels) + " classes");
  }
  return {};
}

// The routing lane of every routing level for packets that leave by an arc. Errors: it depends on the ingress arc too.
Result<std::vector<unsigned>> lanes_out(const PlaneLanes& lanes, std::uint8_t out_class, unsigned levels) {
  std::vector<unsigned> out;
  for (unsigned level = 0; level < levels; ++level) {
    if (lanes.arc_class.empty()) {
      out.push_back(std::min<unsigned>(level, lanes.lanes - 1U));
      continue;
    }
    const unsigned at = std::min<unsigned>(level, lanes.levels - 1U);
    const auto lane_from = [&](std::size_t in) {
      return lanes.lane_table[(in * lanes.classes + out_class) * lanes.levels + at];
    };
    for (std::size_t in = 1; in < lanes.classes; ++in) {
      if (lane_from(in) != lane_from(0)) {
        return fail(ErrorKind::impossible, "qos.lanesDependOnInput",
                    "the lanes of the routing depend on the ingress port of a switch, which these port tables cannot "
                    "express",
                    {}, "let OpenSM's own engine for this topology set the SL-to-VL tables");
      }
    }
    out.push_back(lane_from(0));
  }
  return out;
}

class PortPlanner {
 public:
  PortPlanner(const InfinibandPlanInput& input, const InfinibandPlan& plan) : input_(input), plan_(plan) {
    std::uint64_t sum = 0;
    for (const QosClass& one : *input.classes) sum += one.share_permille;
    for (const QosClass& one : *input.classes)
      requested_permille_.push_back(static_cast<std::uint32_t>(one.share_permille * 1000 / sum));
  }

  // By the shares that admission respects, or by what is reserved on the link if there is a ledger.
  Result<VlArbitration> arbitration(DirectedLink link) {
    std::vector<std::uint32_t> min_shares;
    for (std::uint8_t c = 0; c < plan_.classes; ++c) min_shares.push_back(min_permille(link, c));
    const auto known = tables_.find(min_shares);
    if (known != tables_.end()) return known->second;
    std::vector<LaneDemand> demands;
    for (unsigned c = 0; c < plan_.classes; ++c) {
      for (unsigned lane = 0; lane < plan_.routing_lanes; ++lane) {
        // Each lane of the class gets an equal part of its share.
        demands.push_back({plan_.lane(c, lane), min_shares[c] / (plan_.routing_lanes == 1 ? 1 : plan_.routing_lanes),
                           requested_permille_[c] / plan_.routing_lanes,
                           (*input_.classes)[c].bound == ClassBound::latency});
      }
    }
    const auto quanta = assign_quanta(demands, input_.arbitration_entries);
    if (!quanta) return std::unexpected(quanta.error());
    return tables_.emplace(std::move(min_shares), arbitration_of(demands, *quanta, input_.arbitration_entries))
        .first->second;
  }

 private:
  [[nodiscard]] std::uint32_t min_permille(DirectedLink link, std::uint8_t c) const {
    if (input_.ledger == nullptr) {
      return (*input_.classes)[c].share_permille * 950U / 1000U;  // as in CapacityRules: the rest is headroom
    }
    const std::int64_t capacity = input_.ledger->capacity_mbps(link);
    if (capacity <= 0) return 0;
    return static_cast<std::uint32_t>((input_.ledger->reserved_mbps(link, c) * 1000 + capacity - 1) / capacity);
  }

  const InfinibandPlanInput& input_;
  const InfinibandPlan& plan_;
  std::vector<std::uint32_t> requested_permille_;
  std::map<std::vector<std::uint32_t>, VlArbitration> tables_;
};

std::array<std::uint8_t, 16> level_map(const InfinibandPlan& plan, const std::vector<unsigned>& lanes) {
  std::array<std::uint8_t, 16> map;
  map.fill(15);  // packets of unused levels are dropped
  for (unsigned c = 0; c < plan.classes; ++c) {
    for (unsigned level = 0; level < plan.routing_levels; ++level) {
      map[plan.service_level(c, level)] = plan.lane(c, lanes[level]);
    }
  }
  return map;
}

Result<std::map<PortId, std::vector<std::uint16_t>>> partition_keys(const InfinibandPlanInput& input) {
  std::map<PortId, std::vector<std::uint16_t>> keys;
  const std::set<PortId> managers(input.managers.begin(), input.managers.end());
  for (const PortId port : input.view.topology().hca_ports()) {
    if (!input.view.topology().peer(port)) continue;
    keys[port] = {static_cast<std::uint16_t>(managers.contains(port) ? kDefaultKey | kFull : kDefaultKey)};
  }
  std::set<std::uint16_t> used{0, kDefaultKey};
  for (const TenantPartition& tenant : input.tenants) {
    if (tenant.pkey > kDefaultKey || !used.insert(tenant.pkey).second) {
      return fail(ErrorKind::invalid, "qos.partitionKey",
                  "PKey " + std::to_string(tenant.pkey) + " is reserved or used by another tenant", tenant.tenant,
                  "use an unused key from 1 to 0x7ffe");
    }
    for (const bool full : {true, false}) {
      for (const PortId port : full ? tenant.members : tenant.limited) {
        const auto at = keys.find(port);
        if (at == keys.end()) continue;  // without a cable
        const auto other = static_cast<std::uint16_t>(tenant.pkey | (full ? 0 : kFull));
        if (std::ranges::find(at->second, other) != at->second.end()) {
          return fail(ErrorKind::invalid, "qos.partitionMember",
                      "port " + input.view.topology().port_text(port) + " is both a full and a limited member",
                      tenant.tenant);
        }
        at->second.push_back(static_cast<std::uint16_t>(tenant.pkey | (full ? kFull : 0)));
      }
    }
  }
  return keys;
}

}  // namespace

Result<InfinibandPlan> plan_infiniband(const InfinibandPlanInput& input) {
  InfinibandPlan plan;
  if (const auto checked = check_qos_classes(*input.classes); !checked) return std::unexpected(checked.error());
  if (const auto checked = check_lanes(input, plan); !checked) return std::unexpected(checked.error());
  const auto keys = partition_keys(input);
  if (!keys) return std::unexpected(keys.error());
  const Topology& t = input.view.topology();
  PortPlanner planner(input, plan);
  const auto add = [&](PortId port, const PlaneLanes& lanes, std::uint8_t out_class, Guid device) -> Result<void> {
    if (!t.peer(port) || t.kind(t.link(port)) != LinkKind::infiniband) return {};
    PortTables tables{.port = {device, static_cast<std::uint8_t>(t.number(port))}};
    auto arbitration = planner.arbitration(directed_link(t, port));
    if (!arbitration) {
      arbitration.error().location = t.port_text(port);
      return std::unexpected(arbitration.error());
    }
    const auto out = lanes_out(lanes, out_class, plan.routing_levels);
    if (!out) return std::unexpected(out.error());
    tables.sl_to_vl = level_map(plan, *out);
    tables.arbitration = std::move(*arbitration);
    if (const auto at = keys->find(port); at != keys->end()) tables.pkeys = at->second;
    plan.ports.push_back(std::move(tables));
    return {};
  };
  for (const SwitchId sw : t.switches()) {
    if (!is_planned(input, sw)) continue;
    const PlaneId plane = input.scope->plane_of(sw);
    const PlaneLanes& lanes = input.lanes->planes[plane.index()];
    for (const PortId port : t.ports(sw)) {
      std::uint8_t out_class = 0;
      if (t.peer(port) && !lanes.arc_class.empty()) {
        const auto arc = input.scope->arc_of(t.link(port)).arc;
        if (arc != Plane::kNone) {
          const auto& plane_arcs = input.scope->plane(plane).arcs;
          out_class = lanes.arc_class[t.a(t.link(port)) == port ? arc : plane_arcs[arc].reverse];
        }
      }
      if (const auto done = add(port, lanes, out_class, t.guid(sw)); !done) return std::unexpected(done.error());
    }
  }
  for (const PortId port : t.hca_ports()) {
    if (!t.peer(port) || !t.is_switch_port(t.peer(port)) || !is_planned(input, t.switch_of(t.peer(port)))) continue;
    const PlaneLanes& lanes = input.lanes->planes[input.scope->plane_of(t.switch_of(t.peer(port))).index()];
    if (const auto done = add(port, lanes, 0, t.guid(t.hca_of(port))); !done) return std::unexpected(done.error());
  }
  for (const PortTables& one : plan.ports) {
    plan.uniform =
        plan.uniform && one.arbitration == plan.ports[0].arbitration && one.sl_to_vl == plan.ports[0].sl_to_vl;
  }
  if (plan.routing_lanes > 1) {
    plan.not_as_asked.push_back("the share of a class is divided over its " + std::to_string(plan.routing_lanes) +
                                " routing lanes: traffic on only one of them is promised only that part");
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
  while (lanes < plan.classes * plan.routing_lanes) lanes *= 2;
  policy.sharing.max_lanes = static_cast<std::uint8_t>(std::min(lanes, 15U));
  policy.sharing.high_limit = any.arbitration->high_limit.value_or(0);
  policy.sharing.high = {{0, 0}};  // OpenSM has no empty table; an entry of weight 0 is skipped
  for (const VlWeight entry : any.arbitration->low) policy.sharing.low.push_back({entry.vl, entry.weight});
  policy.sharing.lane_of_level = *any.sl_to_vl;

  const Topology& t = input.view.topology();
  opensm::Partition everyone{.name = "Default", .pkey = kDefaultKey, .ipoib = true};
  everyone.members.push_back({.who = opensm::PartitionMember::Who::all, .full = false});
  everyone.members.push_back({.who = opensm::PartitionMember::Who::subnet_manager, .full = true});
  for (const PortId port : input.managers) everyone.members.push_back({.port = t.port_guid(port)});
  policy.partitions.push_back(std::move(everyone));
  policy.qos.levels.push_back({.name = "DEFAULT", .level = 0});
  for (std::size_t c = 0; c < input.classes->size(); ++c) {
    // Paths without a rule get the class with the last priority.
    if ((*input.classes)[c].priority >= (*input.classes)[policy.qos.default_level / plan.routing_levels].priority) {
      policy.qos.default_level = plan.service_level(static_cast<unsigned>(c), 0);
    }
  }
  policy.qos.levels[0].level = policy.qos.default_level;
  for (const TenantPartition& tenant : input.tenants) {
    const std::uint8_t level = plan.service_level(tenant.qos_class, 0);
    opensm::Partition partition{
        .name = tenant.tenant, .pkey = tenant.pkey, .ipoib = true, .rate = tenant.limit, .level = level};
    for (const PortId port : tenant.members) partition.members.push_back({.port = t.port_guid(port)});
    for (const PortId port : tenant.limited) partition.members.push_back({.port = t.port_guid(port), .full = false});
    policy.partitions.push_back(std::move(partition));
    policy.qos.levels.push_back({.name = tenant.tenant, .level = level, .rate_limit = tenant.limit});
    policy.qos.rules.push_back({.use = "paths of " + tenant.tenant, .pkey = tenant.pkey, .level = tenant.tenant});
  }
  return policy;
}

}  // namespace railweave::fabric
