#include "services/control/state/cluster_state.h"

#include <algorithm>
#include <utility>

#include "fabric/base/check.h"
#include "fabric/topology/site_link_name.h"
#include "fabric/topology/topology_builder.h"

namespace railweave::control {

ClusterState::ClusterState()
    : tenants(std::make_shared<const TenantTable>()),
      access_tokens(std::make_shared<const AccessTokenTable>()),
      contracts(std::make_shared<const ContractTable>()),
      qos_classes(std::make_shared<const fabric::QosClasses>(fabric::default_qos_classes())),
      port_limits(std::make_shared<const PortLimitsTable>()),
      guaranteed(std::make_shared<const std::set<JobId>>()),
      relabelled(std::make_shared<const std::set<JobId>>()),
      subnet_policies(std::make_shared<const SubnetPolicyTable>()),
      subnet_spreads(std::make_shared<const SubnetSpreadTable>()),
      subnet_tables(std::make_shared<const SubnetTablesTable>()),
      drains(std::make_shared<const DrainTable>()),
      link_costs(std::make_shared<const LinkCosts>()),
      route_bases(std::make_shared<const RouteBasisTable>()),
      alarms(std::make_shared<const AlarmTable>()),
      mutes(std::make_shared<const MuteTable>()),
      webhooks(std::make_shared<const WebhookTable>()),
      ended(std::make_shared<const std::deque<JobId>>()),
      queue_rules(std::make_shared<const QueueRules>()),
      reservations(std::make_shared<const ReservationTable>()),
      moves(std::make_shared<const MoveBook>()),
      left_gpus(std::make_shared<const LeftGpus>()),
      used(std::make_shared<const scheduler::FairShare>(queue_rules->policy.half_life_us)) {
  set_topology(std::make_shared<const fabric::Topology>(fabric::empty_topology()));
}

namespace {

// The states of links between sites, which no live subnet reports, by their ids.
void keep_site_links(const fabric::FabricView& before, fabric::FabricView& view) {
  for (const auto link : fabric::site_link_ids(before.topology())) {
    if (before.state(link) == fabric::LinkState::up) continue;
    const auto now = fabric::find_site_link(view.topology(), fabric::site_link_text(before.topology(), link));
    if (now) view.set_state(now, before.state(link), before.links_up(link));
  }
}

}  // namespace

void ClusterState::set_topology(fabric::TopologyPtr topology) {
  const fabric::FabricView before = view;
  view = fabric::FabricView(topology);
  if (accepted.topology != nullptr) keep_site_links(before, view);
  allocations = scheduler::Allocations(topology->hosts().size());
  host_keys = ChunkedVector<HostKeys>(topology->hosts().size());
  free_gpus = topology->gpus().size();
  gpus_held = std::make_shared<const std::map<std::string, std::uint64_t>>();
  if (!moves->jobs.empty()) moves = std::make_shared<const MoveBook>(MoveBook{{}, {}, moves->charges});
  if (!left_gpus->empty()) left_gpus = std::make_shared<const LeftGpus>();
  if (!guaranteed->empty()) guaranteed = std::make_shared<const std::set<JobId>>();
  if (!relabelled->empty()) relabelled = std::make_shared<const std::set<JobId>>();
  placement_fabric = std::make_shared<const scheduler::PlacementFabric>(topology);
  cut_off = std::make_shared<const fabric::CutOffSwitches>();
  accepted.topology = std::move(topology);
  rejoin_sites();
  for (const auto host : accepted.topology->hosts()) {
    if (has_uncabled(host)) refresh_availability(host);
  }
  for (const auto& [target, drain] : *drains) mark(target, true);
  refresh_cut_off();
  put_costs(*link_costs);
  follow_spreads();
  follow_route_bases();
}

void ClusterState::put_spread(const std::string& subnet, SubnetSpread spread) {
  auto table = std::make_shared<SubnetSpreadTable>(*subnet_spreads);
  table->insert_or_assign(subnet, std::move(spread));
  subnet_spreads = std::move(table);
  follow_spreads();
}

void ClusterState::follow_spreads() {
  if (subnet_spreads->empty() || accepted.topology == nullptr) return;
  for (const auto subnet : topology().subnets()) view.set_spread(subnet, spread(topology().name(subnet)));
}

void ClusterState::put_route_basis(const std::string& subnet, RouteBasis basis) {
  auto table = std::make_shared<RouteBasisTable>(*route_bases);
  if (basis.empty()) {
    table->erase(subnet);
  } else {
    table->insert_or_assign(subnet, std::move(basis));
  }
  route_bases = std::move(table);
  follow_route_bases();
}

void ClusterState::follow_route_bases() {
  auto basis = std::make_shared<fabric::SpreadBasis>();
  for (const auto& [subnet, of_subnet] : *route_bases) {
    for (const auto& name : of_subnet.links) {
      if (const auto link = topology().find_link(name)) basis->links.push_back(link);
    }
    for (const auto& name : of_subnet.switches) {
      if (const auto sw = topology().find_switch(name)) basis->switches.push_back(sw);
    }
    for (const auto& hop : of_subnet.hops) {
      const auto sw = topology().find_switch(hop.sw);
      const auto to = topology().find_port(hop.to);
      if (sw && to) basis->hops.push_back({sw, to, static_cast<std::uint16_t>(hop.port)});
    }
  }
  std::ranges::sort(basis->links);
  std::ranges::sort(basis->switches);
  std::ranges::sort(basis->hops);
  view.set_spread_basis(basis->empty() ? nullptr : std::move(basis));
}

void ClusterState::put_costs(LinkCosts costs) {
  const auto set = [&](const std::string& name, double cost) {
    if (const auto link = topology().find_link(name)) view.set_cost(link, static_cast<float>(cost));
  };
  for (const auto& [name, cost] : link_costs->by_link) set(name, 1);
  for (const auto& [name, cost] : costs.by_link) set(name, cost);
  link_costs = std::make_shared<const LinkCosts>(std::move(costs));
}

bool ClusterState::has_uncabled(fabric::HostId host) const {
  return std::ranges::any_of(topology().gpus(host),
                             [&](fabric::GpuId gpu) { return placement_fabric->gpu_nics().uncabled(gpu); });
}

void ClusterState::refresh_availability(fabric::HostId host) {
  const auto& t = topology();
  const auto unusable = [&](fabric::LinkId link) { return !view.alive(link) || view.drained(link); };
  const auto is_apart = [&](fabric::PortId port) {
    const auto sw = t.switch_of(t.peer(port));
    return sw && cut_off->contains(sw);
  };
  bool short_of_link = has_uncabled(host);
  bool apart = false;
  for (const auto gpu : t.gpus(host)) {
    for (const auto port : placement_fabric->gpu_ports().of(gpu)) {
      const auto link = t.link(port);
      if (!link) continue;
      short_of_link = short_of_link || unusable(link);
      apart = apart || is_apart(port);
    }
  }
  if (t.gpus(host).empty()) {
    // Storage and management need one way to the rest.
    std::size_t cables = 0, usable = 0, joined = 0;
    for (const auto hca : t.hcas(host)) {
      for (const auto port : t.ports(hca)) {
        if (!t.link(port)) continue;
        ++cables;
        if (unusable(t.link(port))) continue;
        ++usable;
        joined += is_apart(port) ? 0 : 1;
      }
    }
    short_of_link = cables != 0 && usable == 0;
    apart = usable != 0 && joined == 0;
  }
  const bool unavailable = view.drained(host) || short_of_link || apart;
  apart = apart && !short_of_link && !view.drained(host);
  short_of_link = short_of_link && !view.drained(host);
  const auto& before = allocations[host.index()];
  if (before.unavailable == unavailable && before.short_of_link == short_of_link && before.cut_off == apart) return;
  auto& after = allocations.write(host.index());
  after.unavailable = unavailable;
  after.short_of_link = short_of_link;
  after.cut_off = apart;
}

void ClusterState::refresh_cut_off() {
  auto now = std::make_shared<const fabric::CutOffSwitches>(view);
  if (*now == *cut_off) return;
  const auto before = std::exchange(cut_off, std::move(now));
  for (const auto port : topology().hca_ports()) {
    const auto sw = topology().link(port) ? topology().switch_of(topology().peer(port)) : fabric::SwitchId();
    if (!sw || before->contains(sw) == cut_off->contains(sw)) continue;
    if (const auto host = topology().host(topology().hca_of(port))) refresh_availability(host);
  }
}

void ClusterState::set_link(fabric::LinkId link, fabric::LinkState state, RateMbps seen) {
  view.set_state(link, state);
  view.set_rate_seen(link, seen);
  for (const auto port : {topology().a(link), topology().b(link)}) {
    if (const auto hca = topology().hca_of(port); hca && topology().host(hca))
      refresh_availability(topology().host(hca));
  }
}

void ClusterState::rejoin_sites() {
  auto in_use = view.site_links_in_use();
  if (std::ranges::equal(in_use, placement_fabric->site_links_in_use())) return;
  const auto whole = placement_fabric->whole() == nullptr ? placement_fabric : placement_fabric->whole();
  placement_fabric =
      in_use.empty() ? whole : std::make_shared<const scheduler::PlacementFabric>(whole, std::move(in_use));
}

void ClusterState::mark(const DrainTarget& target, bool drained) {
  if (target.kind == DrainKind::gpu) {
    const auto gpu = find_gpu(topology(), target.id);
    if (gpu) close_gpu(gpu, drained);
    return;
  }
  if (!mark_drained(view, target, drained)) return;
  if (target.kind == DrainKind::site_link) return rejoin_sites();
  if (target.kind == DrainKind::node) return refresh_availability(topology().find_host(target.id));
  if (target.kind != DrainKind::link) return;
  const auto link = topology().find_link(target.id);
  set_link(link, view.state(link), view.rate_seen(link));
}

void ClusterState::close_gpu(fabric::GpuId gpu, bool drained) {
  const bool closed =
      drained || moves->held.contains(gpu) || !jobs_that_left(*left_gpus, gpu_text(topology(), gpu)).empty();
  auto& mask = allocations.write(topology().host(gpu).index()).closed;
  const std::uint64_t bit = std::uint64_t{1} << topology().local_index(gpu);
  mask = closed ? mask | bit : mask & ~bit;
}

void ClusterState::hold_place(const Job& job, bool hold) {
  auto book = std::make_shared<MoveBook>(*moves);
  for (const auto gpu : job.move->gpu_of_rank) {
    if (hold) {
      RAILWEAVE_CHECK(book->held.emplace(gpu, job.id).second, "a GPU is held for one move");
    } else {
      RAILWEAVE_CHECK(book->held.erase(gpu) == 1, "the place of a move is held");
    }
  }
  hold ? (void)book->jobs.insert(job.id) : (void)book->jobs.erase(job.id);
  moves = std::move(book);
  for (const auto gpu : job.move->gpu_of_rank) {
    close_gpu(gpu, drains->contains({DrainKind::gpu, gpu_text(topology(), gpu)}));
  }
}

void ClusterState::leave_gpus(const Job& job, bool left) {
  auto all = std::make_shared<LeftGpus>(*left_gpus);
  for (const auto& gpu : job.launch->left) {
    left ? (void)all->emplace(gpu, job.id) : (void)all->erase({gpu, job.id});
  }
  left_gpus = std::move(all);
  for (const auto& text : job.launch->left) {
    if (const auto gpu = find_gpu(topology(), text)) close_gpu(gpu, drains->contains({DrainKind::gpu, text}));
  }
}

void ClusterState::charge_move(const MoveCharge& charge) {
  auto book = std::make_shared<MoveBook>(*moves);
  std::erase_if(book->charges,
                [&](const MoveCharge& other) { return other.time_us <= charge.time_us - MoveBook::kBudgetPeriod_us; });
  book->charges.push_back(charge);
  moves = std::move(book);
}

void ClusterState::hold_gpus(const Job& job, bool hold) {
  if (hold) add_keys(job);
  const auto gpus_of_job = job.placement.held_gpus();
  for (const auto gpu : gpus_of_job) {
    auto& mask = allocations.write(topology().host(gpu).index()).used;
    const std::uint64_t bit = std::uint64_t{1} << topology().local_index(gpu);
    RAILWEAVE_CHECK(((mask & bit) != 0) != hold, "a GPU belongs to at most one job");
    mask ^= bit;
  }
  const std::uint64_t gpus = gpus_of_job.size();
  free_gpus = hold ? free_gpus - gpus : free_gpus + gpus;
  auto held = std::make_shared<std::map<std::string, std::uint64_t>>(*gpus_held);
  auto& count = (*held)[job.spec.tenant];
  count = hold ? count + gpus : count - gpus;
  if (count == 0) held->erase(job.spec.tenant);
  gpus_held = std::move(held);
  if (!hold) drop_keys(job);
  if (job.guarantee) note_guarantee(job.id, hold);
  if (job.earlier_levels != 0) note_relabelled(job.id, hold);
}

void ClusterState::move_gpus(const Job& from, const Job& to) {
  add_keys(to);
  hold_gpus(from, false);
  hold_gpus(to, true);
  drop_keys(to);
}

void ClusterState::add_keys(const Job& job) {
  const auto contract = contracts->find(job.spec.tenant);
  if (contract == contracts->end()) return;
  for (const auto gpu : job.placement.held_gpus()) {
    const std::size_t host = topology().host(gpu).index();
    HostKeys& keys = host_keys.write(host);
    if (allocations[host].used == 0 && keys.slots.empty()) keys.limited = contract->second.terms.isolated;
    keys.add(contract->second.pkey);
  }
}

void ClusterState::drop_keys(const Job& job) {
  const auto contract = contracts->find(job.spec.tenant);
  for (const auto gpu : job.placement.held_gpus()) {
    const std::size_t host = topology().host(gpu).index();
    if (host_keys[host].empty()) continue;
    HostKeys& keys = host_keys.write(host);
    if (contract != contracts->end()) keys.drop(contract->second.pkey);
    if (allocations[host].used == 0 && keys.slots.empty()) keys.limited = false;
  }
}

void ClusterState::put_keys(std::string_view tenant, std::uint16_t pkey, bool has) {
  jobs.visit_after(JobId(0), [&](const JobPtr& job) {
    if (!job->holds_gpus() || job->spec.tenant != tenant) return true;
    for (const auto gpu : job->placement.held_gpus()) {
      HostKeys& keys = host_keys.write(topology().host(gpu).index());
      has ? keys.add(pkey) : keys.erase(pkey);
    }
    return true;
  });
}

namespace {

void note(std::shared_ptr<const std::set<JobId>>& jobs, JobId job, bool is_in) {
  if (jobs->contains(job) == is_in) return;
  auto noted = std::make_shared<std::set<JobId>>(*jobs);
  if (is_in) {
    noted->insert(job);
  } else {
    noted->erase(job);
  }
  jobs = std::move(noted);
}

}  // namespace

void ClusterState::note_guarantee(JobId job, bool has) { note(guaranteed, job, has); }
void ClusterState::note_relabelled(JobId job, bool is) { note(relabelled, job, is); }

void ClusterState::restore(JobPtr job) {
  if (job->holds_gpus()) hold_gpus(*job, true);
  if (job->move) hold_place(*job, true);
  if (job->launch && !job->launch->left.empty()) leave_gpus(*job, true);
  if (!job->idempotency_key.empty()) {
    idempotency.put({job->key_owner, job->idempotency_key}, {job->id, job->submitted_us, job->request_digest});
  }
  jobs.put(std::move(job));
}

}  // namespace railweave::control
