#include "services/control/live/ports/subnet_qos.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "services/control/live/ports/ingress_users.h"

namespace railweave::control {

using namespace fabric;  // NOLINT: this file is about its types

namespace {

// The same maps, whatever levels paths have.
bool same_maps(const PlaneLanes& a, const PlaneLanes& b) {
  return a.lanes == b.lanes && a.levels == b.levels && a.classes == b.classes && a.arc_class == b.arc_class &&
         a.lane_table == b.lane_table;
}

// Where packets belong to no class but that of unmarked ones. Which of its lanes they are on is the routing's choice.
QosClasses unmarked_alone(unsigned lanes) {
  return {QosClass{.name = "unmarked", .share_permille = 1000 / std::max(1U, lanes)}};
}

bool asks_isolation(const ClusterState& state) {
  return std::ranges::any_of(
      *state.contracts, [](const auto& one) { return one.second.terms.isolation != scheduler::Isolation::planned; });
}

}  // namespace

// The levels of paths that OpenSM answers with do not know lanes of the routing beside those of classes.
bool SubnetQos::is_by_port(const Basis& basis) {
  return !basis.is_opensm || (basis.opensm_takes_ports && basis.routing.lanes.used() <= 1);
}

// The lanes of the port with the fewest: a lane must exist at every port of a route.
SubnetQos::Limits SubnetQos::limits_of(const Basis& basis) {
  Limits limits;
  const Topology& t = *basis.links.topology();
  // The smaller MTU of the two ends of a link, as what is larger does not pass; 0: neither was read.
  const auto mtu_of = [&](const SubnetLinks::Cable& cable) {
    unsigned least = 0;
    for (const auto& [device, number] : {std::pair(cable.a, cable.a_port), std::pair(cable.b, cable.b_port)}) {
      const auto port =
          device.known() ? basis.driver.read_limits({device, static_cast<std::uint8_t>(number)}) : std::nullopt;
      if (!port || port->low_entries == 0) continue;
      least = least == 0 ? port->mtu_bytes : std::min(least, port->mtu_bytes);
    }
    return least;
  };
  const auto include = [&](PortRef ref) {
    const auto port = basis.driver.read_limits(ref);
    if (!port || port->low_entries == 0) return false;  // silent, or without a cable
    const unsigned lanes = is_by_port(basis) ? port->data_vls : port->possible_vls;
    limits.data_lanes = limits.data_lanes == 0 ? lanes : std::min(limits.data_lanes, lanes);
    std::size_t& entries = limits.arbitration.entries;
    entries = entries == 0 ? port->low_entries : std::min(entries, port->low_entries);
    return port->full_default_pkey;
  };
  for (const SubnetLinks::Cable& cable : basis.links.cables()) {
    const bool b_is_switch = t.joins_switches(cable.link);
    limits.arbitration.mtu_bytes = std::max(limits.arbitration.mtu_bytes, mtu_of(cable));
    (void)include({cable.a, static_cast<std::uint8_t>(cable.a_port)});
    if (!cable.b.known()) continue;
    const bool manages = include({cable.b, static_cast<std::uint8_t>(cable.b_port)});
    if (manages && !b_is_switch) {
      const PortId port = t.is_switch_port(t.a(cable.link)) ? t.b(cable.link) : t.a(cable.link);
      limits.managers.push_back(port);
    }
  }
  return limits;
}

InfinibandPlanInput SubnetQos::input_of(const Basis& basis) const {
  unsigned shared = 0;
  for (const auto& [lane, job] : from_->other_senders) shared |= 1U << lane;
  return {.classes = from_->classes.get(),
          .subnet = basis.links.subnet(),
          .view = basis.routing_input.view,
          .scope = basis.routing_input.scope,
          .lanes = &basis.routing.lanes,
          .ledger = basis.reserved.ledger,
          .uniform = !from_->by_port,
          .owned_lanes = from_->owned_lanes,
          .users = from_->users,
          .shared_lanes = static_cast<std::uint16_t>(shared),
          .passages = from_->passages,
          .ports_first = !basis.is_opensm,  // OpenSM has written routes when it asks for the tables of ports
          .kept_levels = from_->earlier_levels,
          .data_lanes = from_->limits.data_lanes,
          .arbitration = from_->limits.arbitration,
          .tenants = from_->partitions.tenants,
          .limited_default = from_->partitions.limited};
}

// Until switches hold the routes, packets may be on those of before. Where nothing is filtered, nothing is closed.
LanePassages SubnetQos::passages_on(const Basis& basis) {
  const Walked now{basis.routing_version, basis.reserved.version, basis.are_applied};
  if (walked_ == now && from_) return from_->passages;
  walked_ = now;
  LanePassages passages = lane_passages(*basis.reserved.ledger, basis.view, basis.routing.tables);
  if (!basis.are_applied && from_) passages = join(passages, from_->passages);
  return passages;
}

bool SubnetQos::has_lanes_of(const Lanes& lanes) const {
  return has_routes_lanes_ && std::ranges::equal(lanes_of_routes_.planes, lanes.planes, same_maps);
}

void SubnetQos::note_lanes(const Lanes& lanes) {
  if (std::ranges::equal(lanes_of_routes_.planes, lanes.planes, same_maps)) return;
  ++lanes_version_;
  lanes_of_routes_.planes.clear();
  for (const PlaneLanes& plane : lanes.planes) {
    lanes_of_routes_.planes.push_back({.lanes = plane.lanes,
                                       .levels = plane.levels,
                                       .path_level = {},
                                       .classes = plane.classes,
                                       .arc_class = plane.arc_class,
                                       .lane_table = plane.lane_table});
  }
}

// One class, that of unmarked packets: routes need their lanes whether or not classes exist or fit beside them.
bool SubnetQos::plan_routes_alone(const Basis& basis) {
  InfinibandPlanInput input = input_of(basis);
  const auto needed = routing_lanes(input.view, *input.scope, *input.lanes, input.subnet);
  if (needed.lanes <= 1 || basis.is_opensm) return false;
  const QosClasses alone = unmarked_alone(needed.lanes);
  input.classes = &alone;
  input.ledger = nullptr;
  input.owned_lanes = false;
  input.users.reset();
  auto made = plan_infiniband(input);
  if (!made) {
    error_ = made.error();
    return false;
  }
  if (!asked_) {
    for (PortTables& port : made->ports) port.pkeys.reset();
  }
  has_routes_lanes_ = true;
  lanes_.clear();
  ports_.want(std::move(made->ports));
  return true;
}

bool SubnetQos::plan(const Basis& basis) {
  const ClusterState& state = basis.state;
  asked_ = asked_ || !state.contracts->empty() || state.qos_version != 0;
  if (!asked_ && (basis.is_opensm || basis.routing.lanes.used() <= 1)) return false;
  note_lanes(basis.routing.lanes);
  const bool by_port = is_by_port(basis);
  if (from_ && from_->by_port != by_port) limits_.reset();
  if (!limits_) limits_ = limits_of(basis);
  From from{.classes = state.qos_classes,
            .partitions = partitions_of(state, basis.links.subnet(), limits_->managers),
            .limits = *limits_,
            // On one lane any routes go with any tables.
            .routing_version = basis.is_opensm && basis.routing.lanes.used() > 1 ? basis.routing_version : 0,
            .reserved_version = basis.reserved.version,
            .lanes_version = basis.routing.lanes.used() > 1 ? lanes_version_ : 0,
            .has_reserved = basis.reserved.ledger != nullptr,
            .is_opensm = basis.is_opensm,
            .by_port = by_port,
            // One table for all ports has no room for lanes that differ from link to link.
            .owned_lanes = by_port && std::ranges::any_of(*state.contracts,
                                                          [](const auto& one) {
                                                            return one.second.terms.isolation ==
                                                                   scheduler::Isolation::lane;
                                                          }),
            .other_senders = other_senders(state),
            .earlier_levels = earlier_levels(state)};
  if (by_port && (basis.filtering == IngressFiltering::always ||
                  (basis.filtering == IngressFiltering::isolation && asks_isolation(state)))) {
    from.users = ingress_users(state);
  }
  if (from.users && from.owned_lanes && from.has_reserved) {
    from.passages = passages_on(basis);
  } else {
    walked_.reset();
  }
  if (from_ && *from_ == from) return false;
  from_ = std::move(from);
  has_routes_lanes_ = false;
  if (!asked_) {
    error_.reset();
    plan_routes_alone(basis);
    return true;
  }
  auto made = plan_infiniband(input_of(basis));
  if (!made) {
    const bool is_news = !error_ || error_->text() != made.error().text();
    const bool are_routed = plan_routes_alone(basis);
    error_ = made.error();
    if (are_routed) return is_news;
    // Lanes and weights stay as they are: half a plan guarantees nothing. Keys need no lanes, and jobs need their keys.
    if (auto keys = plan_partitions(input_of(basis))) ports_.want(std::move(*keys));
    return is_news;
  }
  error_.reset();
  has_routes_lanes_ = !basis.is_opensm && basis.routing.lanes.used() > 1;
  plan_ = std::move(*made);
  ledger_ = basis.reserved.ledger != nullptr ? *basis.reserved.ledger : Ledger();
  list_lanes(ledger_);
  if (basis.is_opensm) {
    for (PortTables& port : plan_.ports) port.pkeys.reset();  // OpenSM's, by its file of partitions
  }
  ports_.want(plan_.ports);
  return true;
}

void SubnetQos::list_lanes(const Ledger& ledger) {
  lanes_.clear();
  if (plan_.owned_lanes == 0) return;
  std::map<std::string, std::string> others;  // by job
  for (auto& [job, other] : jobs_met(ledger, from_->passages)) others.emplace(job, other);
  const auto reservations = ledger.reservations();
  for (const ReservationPtr& one : reservations) {
    if (!one->lane || *one->lane >= plan_.owned_lanes) continue;
    LaneInTables& shown = lanes_.emplace_back(LaneInTables{one->job, *one->lane, one->order});
    const auto sender = from_->other_senders.find(*one->lane);
    const auto other = others.find(one->job);
    if (sender != from_->other_senders.end()) {
      shown.other_sender = to_string(sender->second);
    } else if (other != others.end()) {
      shown.other_sender = other->second;
    } else if (from_->is_opensm && !one->survives_link_failure) {
      // Its lane is open to links on which no job has it, so that an owner of the same lane elsewhere may get in.
      const auto same = std::ranges::find_if(
          reservations, [&](const ReservationPtr& it) { return it->lane == one->lane && it->job != one->job; });
      if (same != reservations.end()) shown.other_sender = (*same)->job;
    }
  }
}

void SubnetQos::open_for(const Basis& basis) {
  if (!from_ || error_ || lanes_.empty() || !from_->users) return;
  LanePassages passages = join(lane_passages(ledger_, basis.view, basis.routing.tables), from_->passages);
  if (passages == from_->passages) return;
  from_->passages = std::move(passages);
  walked_.reset();
  Basis of_plan = basis;
  of_plan.reserved.ledger = &ledger_;
  auto opened = plan_infiniband(input_of(of_plan));
  if (!opened) return;
  plan_ = std::move(*opened);
  list_lanes(ledger_);
  ports_.want(plan_.ports);
}

std::optional<PortLimits> SubnetQos::limits() const {
  if (!asked_ || !limits_ || limits_->data_lanes == 0) return std::nullopt;
  return PortLimits{limits_->data_lanes, limits_->arbitration.entries, limits_->arbitration.mtu_bytes, opensm_writes()};
}

const AdministeredTables& SubnetQos::administered() {
  const std::uint64_t revision = ports_.wanted_revision();
  if (administered_.revision == revision) return administered_;
  administered_ = {.partitions = {}, .ports = nullptr, .revision = revision};
  if (ports_.ports() > 0) administered_.ports = std::make_shared<const std::vector<PortTables>>(ports_.wanted());
  if (!from_ || !asked_) return administered_;
  for (const TenantPartition& tenant : from_->partitions.tenants) {
    const bool has_class = !error_ && tenant.qos_class < plan_.numbers.size();
    administered_.partitions.push_back(
        {.key = tenant.pkey,
         .first_level = has_class ? plan_.service_level(tenant.qos_class, 0) : std::uint8_t{0},
         .limit = tenant.limit});
  }
  return administered_;
}

Result<OpenSmPolicy> SubnetQos::opensm_policy(const Basis& basis) const {
  if (error_) return std::unexpected(*error_);
  InfinibandPlanInput input = input_of(basis);
  // OpenSM has no partition without members.
  std::erase_if(input.tenants, [](const TenantPartition& one) { return one.members.empty() && one.limited.empty(); });
  // Names of tenants may be longer than OpenSM's, or its own.
  for (TenantPartition& tenant : input.tenants) {
    if (tenant.tenant.size() > 24 || tenant.tenant == "Default" || tenant.tenant == "DEFAULT") {
      tenant.tenant = fmt::format("pkey-{}", tenant.pkey);
    }
  }
  if (!from_->by_port) return fabric::opensm_policy(input, plan_);
  // The files are for ports that the plugin's tables do not name, and for an OpenSM without it.
  input.uniform = true;
  input.owned_lanes = false;
  input.users.reset();
  const auto same_for_all = plan_infiniband(input);
  if (!same_for_all) return std::unexpected(same_for_all.error());
  return fabric::opensm_policy(input, *same_for_all);
}

}  // namespace railweave::control
