#include "services/control/views/contention_book.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "scheduler/collective/routed_traffic.h"
#include "services/control/state/cluster_state.h"
#include "services/control/state/job.h"
#include "services/control/views/job_ports.h"

namespace railweave::control {
namespace {

using scheduler::ContentionBasis;
using scheduler::FabricBundles;
using scheduler::Prediction;

constexpr std::uint64_t kWhatIf = UINT64_MAX;  // number of the job in what_if()

double flows_of(const scheduler::JobSpec& spec, const scheduler::PeerGpus& peers) {
  return scheduler::flow_count(spec.parallelism, scheduler::traffic_of_job(spec, peers).traffic);
}

std::string end_text(const fabric::Topology& topology, fabric::PortId port) {
  if (topology.is_switch_port(port)) {
    const std::string_view name = topology.name(topology.switch_of(port));
    if (!name.empty()) return fmt::format("{}/{}", name, topology.number(port));
  } else if (const auto hca = topology.hca_of(port); hca && topology.host(hca)) {
    std::string text(topology.name(topology.host(hca)));
    if (!topology.device(hca).empty()) text += "/" + std::string(topology.device(hca));
    return fmt::format("{}/{}", text, topology.number(port));
  }
  return topology.port_text(port);
}

}  // namespace

double SlowedJob::factor() const {
  return before.communication_us > 0 ? after.communication_us / before.communication_us : 1;
}

void ContentionBook::bring_to(const ClusterState& state) {
  auto routes = routing_->at(state);
  FabricRoutesPtr now = routes ? std::move(*routes) : nullptr;
  bool reload = false;
  if (fabric_ != state.placement_fabric) {
    fabric_ = state.placement_fabric;
    bundles_ = std::make_unique<scheduler::BundleTraffic>(fabric_);
    bundles_->set_peers(peers_);
    placed_.reset();
    entries_.clear();
    flows_ = 0;
    large_ = 0;
    routes_ = nullptr;
    view_version_ = UINT64_MAX;
    reload = true;
  }
  if (reload || now != routes_) {
    routes_ = std::move(now);
    walker_ = routes_ == nullptr ? nullptr
                                 : std::make_unique<fabric::PathWalker>(routes_->input.view, routes_->routing.tables);
    reload = true;
  }
  tables_ = routes_ == nullptr ? std::vector<TablesUsed>() : tables_used(state, *routes_);
  if (view_version_ != state.view_version) {
    view_version_ = state.view_version;
    bundles_->set_capacities(fabric_->capacities_mbps(state.view));
    reload = reload || basis_ == ContentionBasis::bundles;
  }
  *jobs_ = state.jobs;
  const PlacedJobs::Changes changes = placed_.follow(state.jobs);
  for (const JobId id : changes.removed) {
    const auto entry = entries_.find(id.number());
    flows_ -= entry->second.flows;
    if (entry->second.flows > kMaxFlowsOfJob) --large_;
    senders_.remove(id.number());
    entries_.erase(entry);
  }
  for (const JobPtr& job : changes.added) {
    const double flows = flows_of(job->spec, peers_);
    entries_[job->id.number()] = {job, {}, flows};
    flows_ += flows;
    if (flows > kMaxFlowsOfJob) ++large_;
  }
  const bool routed = routes_ != nullptr && flows_ <= kMaxFlows && large_ == 0;
  const ContentionBasis basis = routed ? ContentionBasis::routes : ContentionBasis::bundles;
  if (reload || basis != basis_) {
    basis_ = basis;
    load_all();
    return;
  }
  for (const JobPtr& job : changes.added) load(entries_.at(job->id.number()));
}

void ContentionBook::load_all() {
  if (basis_ == ContentionBasis::routes) {
    capacity_mbps_ =
        scheduler::routed_capacities_mbps(routes_->input.view, fabric_->bundles(), bundles_->capacities_mbps());
  } else {
    capacity_mbps_ = bundles_->capacities_mbps();
  }
  senders_ = scheduler::LinkSenders(capacity_mbps_.size());
  for (auto& [number, entry] : entries_) load(entry);
}

void ContentionBook::load(Entry& entry) {
  entry.load = load_of(entry.job->spec, entry.job->placement.gpu_of_rank, basis_);
  senders_.add(entry.job->id.number(), entry.load.traffic, entry.load.period_us);
}

scheduler::BundleTraffic::Load ContentionBook::load_of(const scheduler::JobSpec& spec,
                                                       std::span<const fabric::GpuId> gpu_of_rank,
                                                       ContentionBasis basis) {
  ++computed_;
  auto load = bundles_->load_of(spec, gpu_of_rank);
  if (basis == ContentionBasis::bundles) return load;
  const scheduler::RoutedTrafficInput in{.topology = fabric_->topology(),
                                         .walker = *walker_,
                                         .ports = fabric_->gpu_ports(),
                                         .bundles = fabric_->bundles(),
                                         .bundle_mbps = fabric_->nominal_mbps()};
  load.traffic =
      scheduler::routed_traffic(in, gpu_of_rank, spec.parallelism, scheduler::traffic_of_job(spec, peers_).traffic,
                                scheduler::generation_of(*fabric_, gpu_of_rank), load.traffic);
  return load;
}

// Of the subnets that ports of the GPUs are in.
std::vector<TablesUsed> ContentionBook::tables_of(std::span<const fabric::GpuId> gpu_of_rank) const {
  const auto& t = fabric_->topology();
  std::set<std::string_view> subnets;
  for (const auto port : job_ports(*fabric_, gpu_of_rank)) {
    if (const auto subnet = t.subnet(port)) subnets.insert(t.name(subnet));
  }
  std::vector<TablesUsed> used;
  for (const auto& one : tables_) {
    if (subnets.contains(one.subnet)) used.push_back(one);
  }
  return used;
}

JobContention ContentionBook::contention(const scheduler::JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank,
                                         const scheduler::LinkTraffic& loads, std::uint64_t own) const {
  const auto traffic = scheduler::traffic_of_job(spec, peers_);
  JobContention result;
  result.own = scheduler::contention_of({.spec = spec,
                                         .traffic = traffic,
                                         .generation = scheduler::generation_of(*fabric_, gpu_of_rank),
                                         .loads = loads,
                                         .capacity_mbps = capacity_mbps_,
                                         .senders = senders_,
                                         .own = own},
                                        basis_);
  if (result.own.link != scheduler::Contention::kNone) result.link = link_text(result.own.link);
  if (basis_ == ContentionBasis::routes) result.tables = tables_of(gpu_of_rank);
  return result;
}

// Other jobs that send on links of this job, ordered by the largest share of a common link that this job uses.
std::vector<JobPtr> ContentionBook::sharing_links(std::uint64_t own) const {
  std::map<std::uint64_t, double> shares;
  for (const std::uint32_t link : senders_.links(own)) {
    const auto on = senders_.on(link);
    if (on.size() < 2) continue;
    const double share = static_cast<double>(std::ranges::find(on, own, &scheduler::LinkSenders::Sender::job)->kbps) /
                         std::max(capacity_mbps_[link], 1.0);
    for (const auto& sender : on) {
      if (sender.job != own) shares[sender.job] = std::max(shares[sender.job], share);
    }
  }
  std::vector<std::pair<double, std::uint64_t>> order;
  for (const auto& [job, share] : shares) order.emplace_back(-share, job);
  std::ranges::sort(order);
  if (order.size() > kMaxCompared) order.resize(kMaxCompared);
  std::vector<JobPtr> jobs;
  for (const auto& [share, job] : order) jobs.push_back(entries_.at(job).job);
  return jobs;
}

Prediction ContentionBook::prediction(const JobPtr& job) const {
  const auto traffic = scheduler::traffic_of_job(job->spec, peers_);
  const auto& generation = scheduler::generation_of(*fabric_, job->placement.gpu_of_rank);
  const std::uint64_t own = job->id.number();
  return scheduler::prediction_of(job->spec, traffic, generation,
                                  scheduler::group_times_us({.spec = job->spec,
                                                             .traffic = traffic,
                                                             .generation = generation,
                                                             .loads = entries_.at(own).load.traffic,
                                                             .capacity_mbps = capacity_mbps_,
                                                             .senders = senders_,
                                                             .own = own},
                                                            false));
}

namespace {

void keep_slowed(std::vector<SlowedJob>& slowed) {
  std::erase_if(slowed, [](const SlowedJob& job) {
    return !job.before.reachable || !job.after.reachable || job.factor() < ContentionBook::kSlowed;
  });
  std::ranges::stable_sort(slowed, std::ranges::greater{}, &SlowedJob::factor);
  if (slowed.size() > ContentionBook::kMaxSlowed) slowed.resize(ContentionBook::kMaxSlowed);
}

}  // namespace

std::optional<JobContention> ContentionBook::of(JobId id) {
  const auto entry = entries_.find(id.number());
  if (entry == entries_.end()) return std::nullopt;
  const Entry& own = entry->second;
  JobContention result = contention(own.job->spec, own.job->placement.gpu_of_rank, own.load.traffic, id.number());
  for (const JobPtr& job : sharing_links(id.number())) result.slows.push_back({job, {}, prediction(job)});
  senders_.remove(id.number());
  for (SlowedJob& slowed : result.slows) slowed.before = prediction(slowed.job);
  senders_.add(id.number(), own.load.traffic, own.load.period_us);
  keep_slowed(result.slows);
  return result;
}

// If a job has too many flows to be walked, all jobs are compared on bundles.
void ContentionBook::use_bundles_if_many(double flows) {
  const bool too_many = flows > kMaxFlowsOfJob || flows + flows_ > kMaxFlows;
  if (basis_ != ContentionBasis::routes || !too_many) return;
  basis_ = ContentionBasis::bundles;
  load_all();
}

scheduler::Contention ContentionBook::compared(const scheduler::JobSpec& spec,
                                               std::span<const fabric::GpuId> gpu_of_rank) {
  use_bundles_if_many(flows_of(spec, peers_));
  return contention(spec, gpu_of_rank, load_of(spec, gpu_of_rank, basis_).traffic, 0).own;
}

JobContention ContentionBook::what_if(const scheduler::JobSpec& spec, std::span<const fabric::GpuId> gpu_of_rank) {
  use_bundles_if_many(flows_of(spec, peers_));
  const auto load = load_of(spec, gpu_of_rank, basis_);
  JobContention result = contention(spec, gpu_of_rank, load.traffic, 0);
  senders_.add(kWhatIf, load.traffic, load.period_us);
  for (const JobPtr& job : sharing_links(kWhatIf)) result.slows.push_back({job, {}, prediction(job)});
  senders_.remove(kWhatIf);
  for (SlowedJob& slowed : result.slows) slowed.before = prediction(slowed.job);
  keep_slowed(result.slows);
  return result;
}

std::vector<ContentionBook::Sent> ContentionBook::sent_by(JobId id) const {
  std::vector<Sent> sent;
  if (!entries_.contains(id.number())) return sent;
  for (const std::uint32_t number : senders_.links(id.number())) {
    const auto on = senders_.on(number);
    const double mbps =
        static_cast<double>(std::ranges::find(on, id.number(), &scheduler::LinkSenders::Sender::job)->kbps) / 1e3;
    if (basis_ == ContentionBasis::routes) {
      if (number < fabric::directed_link_count(fabric_->topology())) sent.push_back({number, mbps});
      continue;
    }
    const auto links = fabric_->bundles().links(number);
    for (const auto link : links) sent.push_back({link, mbps / static_cast<double>(links.size())});
  }
  return sent;
}

std::optional<double> ContentionBook::period_us(JobId id) const {
  const auto entry = entries_.find(id.number());
  if (entry == entries_.end()) return std::nullopt;
  return entry->second.load.period_us;
}

ContentionBook::OnLink ContentionBook::on(fabric::DirectedLink link) const {
  OnLink found;
  std::uint32_t number = link;
  if (basis_ == ContentionBasis::bundles) {
    const FabricBundles& bundles = fabric_->bundles();
    for (number = 0; number < capacity_mbps_.size(); ++number) {
      const auto links = bundles.links(number);
      if (std::ranges::find(links, link) == links.end()) continue;
      found.links = links.size();
      break;
    }
  }
  if (number >= capacity_mbps_.size()) return found;
  found.capacity_mbps = capacity_mbps_[number];
  const auto senders = senders_.on(number);
  found.senders.assign(senders.begin(), senders.end());
  std::ranges::stable_sort(found.senders, std::ranges::greater{}, &scheduler::LinkSenders::Sender::kbps);
  return found;
}

std::string ContentionBook::wan_text(std::uint32_t bundle) const {
  const fabric::Topology& topology = fabric_->topology();
  for (const auto from : topology.sites()) {
    for (const auto to : topology.sites()) {
      const auto& route = fabric_->bundles().site_route(from.value(), to.value()).bundles;
      if (route.size() != 1 || route.front() != bundle) continue;
      return fmt::format("links from {} to {}", topology.name(from), topology.name(to));
    }
  }
  return "links between sites";
}

std::string ContentionBook::link_text(std::uint32_t link) const {
  const fabric::Topology& topology = fabric_->topology();
  const FabricBundles& bundles = fabric_->bundles();
  if (basis_ == ContentionBasis::routes) {
    if (const auto cables = static_cast<std::uint32_t>(fabric::directed_link_count(topology)); link >= cables) {
      return wan_text(link - cables + 2 * bundles.first_wan());
    }
    const fabric::PortId out = fabric::out_port_of(topology, link);
    return end_text(topology, out) + " > " + end_text(topology, topology.peer(out));
  }
  const auto links = bundles.links(link);
  const bool up = link % 2 == 0;
  if (bundles.kind(link) == FabricBundles::Kind::wan) return wan_text(link);
  if (links.empty()) return {};
  // The end that names a bundle: where an outward link leaves, where an inward link arrives.
  const fabric::PortId out = fabric::out_port_of(topology, links.front());
  const fabric::PortId own = up ? out : topology.peer(out);
  std::string end = end_text(topology, own);
  switch (bundles.kind(link)) {
    case FabricBundles::Kind::nvlink:
      return "NVLink of a GPU";
    case FabricBundles::Kind::adapter:
      return up ? "out of " + end : "into " + end;
    case FabricBundles::Kind::leaf:
      return (up ? "uplinks of " : "links down to ") + std::string(topology.name(topology.switch_of(own)));
    case FabricBundles::Kind::pod:
      return (up ? "links out of the pod of " : "links into the pod of ") +
             std::string(topology.name(topology.switch_of(own)));
    case FabricBundles::Kind::wan:
      break;
  }
  return end;
}

}  // namespace railweave::control
