#include "services/rest/json/fabric/fabric_map.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fabric/health/thresholds.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "services/control/state/cluster_state.h"
#include "services/json/contract_object.h"

namespace railweave::api {
namespace {

using namespace fabric;  // NOLINT: every name here is the fabric's

constexpr std::uint32_t kNoRegion = UINT32_MAX;
constexpr std::size_t kMaxRegions = 128;

struct MapGroup {
  std::string id, kind, name;
  Out subnet = nullptr, tier = nullptr, region = nullptr;
  std::uint64_t members = 0, drained = 0, links_down = 0, links_held = 0, links_unknown = 0, gpus = 0, free_gpus = 0;
  std::uint64_t job_gpus = 0;
  std::map<std::string, std::uint64_t> tenants{};  // GPUs held
};

Out tenants_json(const std::map<std::string, std::uint64_t>& tenants) {
  Out list = Out::array();
  for (const auto& [tenant, gpus] : tenants)
    list.push_back(object<"FabricMap.groups.tenants">(with<"tenant">(tenant), with<"gpus">(gpus)));
  return list;
}

constexpr auto kMapGroupFields = fields<"FabricMap.groups">(
    field<"id">(&MapGroup::id), field<"kind">(&MapGroup::kind), field<"name">(&MapGroup::name),
    field<"subnet">(&MapGroup::subnet), field<"tier">(&MapGroup::tier), field<"region">(&MapGroup::region),
    field<"members">(&MapGroup::members), field<"drained">(&MapGroup::drained),
    field<"linksDown">(&MapGroup::links_down), field<"linksHeld">(&MapGroup::links_held),
    field<"linksUnknown">(&MapGroup::links_unknown), field<"gpus">(&MapGroup::gpus),
    field<"freeGpus">(&MapGroup::free_gpus), field<"tenants">(&MapGroup::tenants, as(tenants_json)),
    optional_field<"jobGpus">(&MapGroup::job_gpus));

struct MapBundle {
  std::uint32_t from = 0, to = 0;
  LinkId first;
  std::uint64_t links = 0, down = 0, degraded = 0, held = 0, unknown = 0, drained = 0;
  double rate_gbps = 0;
  std::optional<double> use = std::nullopt;
  std::optional<health::ErrorGrade> errors = std::nullopt;  // of its worst link; none: no link of it is read
  double errors_per_hour = 0;
  std::uint64_t with_errors = 0;
  std::uint64_t job_links = 0;         // that the job sends over
  double job_gbps = 0, job_share = 0;  // of the one that it fills most
};

// Which region each device is in: leaf groups, where they are few enough, else what holds several of them.
class Regions {
 public:
  Regions(const Topology& topology, const Locality& locality)
      : topology_(topology), of_switch_(topology.switches().size(), kNoRegion) {
    for (const auto kind :
         {LevelKind::leaf_group, LevelKind::pod, LevelKind::cluster, LevelKind::site, LevelKind::rack}) {
      const Level* level = locality.find(kind);
      if (level == nullptr || level->kind == LevelKind::node || level->group_count < 2) continue;
      if (level->group_count > kMaxRegions) continue;
      level_ = level;
      break;
    }
    if (level_ != nullptr) find_switches();
  }

  [[nodiscard]] std::uint32_t count() const { return level_ == nullptr ? 0 : level_->group_count; }
  [[nodiscard]] std::uint32_t of(HostId host) const {
    return level_ == nullptr ? kNoRegion : level_->group_of_host[host.index()];
  }
  [[nodiscard]] std::uint32_t of(SwitchId sw) const { return of_switch_[sw.index()]; }
  [[nodiscard]] std::string name(std::uint32_t region) const {
    return region == kNoRegion ? std::string() : level_->group_names[region];
  }
  [[nodiscard]] std::uint32_t find(const std::string& name) const {
    if (level_ == nullptr) return kNoRegion;
    const auto found = std::ranges::find(level_->group_names, name);
    return found == level_->group_names.end() ? kNoRegion
                                              : static_cast<std::uint32_t>(found - level_->group_names.begin());
  }

 private:
  // A switch is of the region that everything below it is of.
  void find_switches() {
    std::vector<SwitchId> order(topology_.switches().begin(), topology_.switches().end());
    std::ranges::stable_sort(order, {}, [&](SwitchId sw) { return topology_.tier(sw); });
    for (const auto sw : order) {
      std::uint32_t common = kNoRegion;
      bool mixed = false;
      for (const auto port : topology_.ports(sw)) {
        const auto below = region_below(sw, topology_.peer(port));
        if (!below) continue;
        mixed = mixed || *below == kNoRegion || (common != kNoRegion && common != *below);
        common = *below;
      }
      of_switch_[sw.index()] = mixed ? kNoRegion : common;
    }
  }
  [[nodiscard]] std::optional<std::uint32_t> region_below(SwitchId sw, PortId peer) const {
    if (!peer) return std::nullopt;
    if (const auto other = topology_.switch_of(peer)) {
      if (topology_.tier(other) >= topology_.tier(sw)) return std::nullopt;
      return of(other);
    }
    const auto hca = topology_.hca_of(peer);
    if (!hca || !topology_.host(hca)) return std::nullopt;
    return of(topology_.host(hca));
  }

  const Topology& topology_;
  const Level* level_ = nullptr;  // null: nothing divides the fabric
  std::vector<std::uint32_t> of_switch_;
};

class FabricMap {
 public:
  FabricMap(const control::ClusterState& state, const Regions& regions, std::uint32_t within, const MapJob* job)
      : state_(state), topology_(state.topology()), regions_(regions), within_(within), job_(job) {
    choose_detail();
    for (const auto sw : topology_.switches()) group_of_switch_.push_back(add(sw));
    for (const auto host : topology_.hosts()) group_of_host_.push_back(add(host));
    count_tenants();
    if (job_ == nullptr) return;
    for (const auto gpu : job_->job->placement.held_gpus()) {
      ++groups_[group_of_host_[topology_.host(gpu).index()]].job_gpus;
    }
  }

  void add_links(const LinkCounters& counters) {
    for (const auto link : topology_.links()) {
      if (topology_.kind(link) == LinkKind::nvlink) continue;
      const auto a = group_at(topology_.a(link));
      const auto b = group_at(topology_.b(link));
      if (!a || !b) continue;
      const MapCounters known = counters(link);
      count_state(groups_[*a], link, known);
      if (*a == *b || !(shown(*a) || shown(*b))) continue;
      count_state(groups_[*b], link, known);
      auto& into = bundle(*a, *b, link);
      count(into, link, known);
      if (job_ != nullptr) count_job(into, link);
    }
  }

  [[nodiscard]] std::string write() const {
    std::vector<bool> kept(groups_.size());
    for (std::size_t i = 0; i < groups_.size(); ++i) kept[i] = shown(i);
    for (const auto& bundle : bundles_) kept[bundle.from] = kept[bundle.to] = true;
    std::vector<std::uint64_t> position(groups_.size());
    Out groups = Out::array();
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (!kept[i]) continue;
      position[i] = groups.size();
      groups.push_back(fields_json(groups_[i], kMapGroupFields));
    }
    Out bundles = Out::array();
    for (const auto& bundle : bundles_) {
      bundles.push_back(object<"FabricMap.bundles">(
          with<"from">(position[bundle.from]), with<"to">(position[bundle.to]), with<"links">(bundle.links),
          with<"rateGbps">(bundle.rate_gbps), with<"down">(bundle.down), with<"degraded">(bundle.degraded),
          with<"held">(bundle.held), with<"unknown">(bundle.unknown), with<"drained">(bundle.drained),
          with<"utilisation">(bundle.use ? Out(*bundle.use) : Out(nullptr)), with<"errors">(errors_json(bundle)),
          with<"link">(bundle.links == 1 ? Out(topology_.link_text(bundle.first)) : Out(nullptr)),
          maybe<"job">(bundle.job_links > 0, [&] {
            return object<"FabricMap.bundles.job">(with<"links">(bundle.job_links), with<"gbps">(bundle.job_gbps),
                                                   with<"share">(bundle.job_share));
          })));
    }
    return dump(object<"FabricMap">(with<"within">(within_ == kNoRegion ? Out(nullptr) : Out(regions_.name(within_))),
                                    with<"detail">(each_switch_ ? (each_host_ ? "devices" : "racks") : "regions"),
                                    with<"groups">(std::move(groups)), with<"bundles">(std::move(bundles)),
                                    with<"topologyVersion">(state_.accepted.version), with<"seq">(state_.seq)));
  }

 private:
  [[nodiscard]] bool inside(std::uint32_t region) const { return within_ == kNoRegion || region == within_; }
  [[nodiscard]] bool shown(std::size_t group) const { return within_ == kNoRegion || inside_[group]; }

  void choose_detail() {
    std::size_t switches = 0;
    std::size_t hosts = 0;
    std::map<std::uint32_t, bool> racks;
    for (const auto sw : topology_.switches()) switches += inside(regions_.of(sw)) ? 1 : 0;
    for (const auto host : topology_.hosts()) {
      if (!inside(regions_.of(host))) continue;
      ++hosts;
      racks[topology_.rack(host) ? static_cast<std::uint32_t>(topology_.rack(host).index()) : kNoRegion] = true;
    }
    each_host_ = switches + hosts <= kMapGroups;
    each_switch_ = each_host_ || switches + racks.size() <= kMapGroups || within_ != kNoRegion || regions_.count() == 0;
  }

  std::uint32_t add(SwitchId sw) {
    const auto region = regions_.of(sw);
    const std::string name(topology_.name(sw));
    const std::string subnet = topology_.subnet(sw) ? std::string(topology_.name(topology_.subnet(sw))) : "";
    const auto tier = topology_.tier(sw);
    const std::string tier_text = tier == Topology::kNoTier ? "" : std::to_string(tier);
    const bool alone = each_switch_ && inside(region);
    const std::string id =
        alone ? "switch:" + name : "switches:" + subnet + "/" + tier_text + "/" + regions_.name(region);
    const auto group = group_named(id, region, [&] {
      return MapGroup{.id = id,
                      .kind = alone ? "switch" : "switches",
                      .name = alone ? name : regions_.name(region),
                      .subnet = subnet.empty() ? Out(nullptr) : Out(subnet),
                      .tier = tier == Topology::kNoTier ? Out(nullptr) : Out(tier)};
    });
    groups_[group].members += 1;
    groups_[group].drained += state_.view.drained(sw) ? 1 : 0;
    return group;
  }

  std::uint32_t add(HostId host) {
    const auto region = regions_.of(host);
    const bool open = inside(region) && each_switch_;
    const bool alone = open && each_host_;
    const auto rack = topology_.rack(host);
    std::string kind = "nodes";
    std::string name = regions_.name(region);
    if (alone) {
      kind = "node";
      name = topology_.name(host);
    } else if (open && rack) {
      kind = "rack";
      name = topology_.name(rack);
    }
    const auto group = group_named(kind + ":" + name, region,
                                   [&] { return MapGroup{.id = kind + ":" + name, .kind = kind, .name = name}; });
    auto& into = groups_[group];
    const std::size_t gpus = topology_.gpus(host).size();
    into.members += 1;
    into.drained += state_.view.drained(host) ? 1 : 0;
    into.gpus += gpus;
    into.free_gpus += gpus - static_cast<std::size_t>(std::popcount(state_.allocations[host.index()].used));
    return group;
  }

  template <class Head>
  std::uint32_t group_named(const std::string& id, std::uint32_t region, Head head) {
    const auto [found, is_new] = by_id_.try_emplace(id, static_cast<std::uint32_t>(groups_.size()));
    if (is_new) {
      groups_.push_back(head());
      if (region != kNoRegion) groups_.back().region = regions_.name(region);
      inside_.push_back(inside(region));
    }
    return found->second;
  }

  void count_tenants() {
    state_.jobs.visit_after(control::JobId(), [&](const control::JobPtr& job) {
      if (!job->holds_gpus()) return true;
      for (const auto gpu : job->placement.held_gpus()) {
        ++groups_[group_of_host_[topology_.host(gpu).index()]].tenants[job->spec.tenant];
      }
      return true;
    });
  }

  [[nodiscard]] std::optional<std::uint32_t> group_at(PortId port) const {
    if (const auto sw = topology_.switch_of(port)) return group_of_switch_[sw.index()];
    const auto hca = topology_.hca_of(port);
    if (!hca || !topology_.host(hca)) return std::nullopt;  // an aggregation node or a router
    return group_of_host_[topology_.host(hca).index()];
  }

  MapBundle& bundle(std::uint32_t a, std::uint32_t b, LinkId link) {
    const std::uint64_t key = std::uint64_t{std::min(a, b)} << 32U | std::max(a, b);
    const auto [found, is_new] = bundle_of_.try_emplace(key, bundles_.size());
    if (is_new) bundles_.push_back({.from = std::min(a, b), .to = std::max(a, b), .first = link});
    return bundles_[found->second];
  }

  void count_state(MapGroup& into, LinkId link, const MapCounters& known) const {
    if (known.is_unknown) {
      ++into.links_unknown;
    } else if (known.is_held) {
      ++into.links_held;
    } else if (state_.view.state(link) == LinkState::down) {
      ++into.links_down;
    }
  }

  void count(MapBundle& into, LinkId link, const MapCounters& counters) const {
    const auto link_state = state_.view.state(link);
    ++into.links;
    if (counters.is_unknown) {
      ++into.unknown;
    } else if (counters.is_held) {
      ++into.held;
    } else {
      into.down += link_state == LinkState::down ? 1 : 0;
      into.degraded += link_state == LinkState::degraded ? 1 : 0;
    }
    into.drained += state_.view.drained(link) ? 1 : 0;
    into.rate_gbps += state_.view.rate(link).gbps();
    if (counters.use) into.use = std::max(into.use.value_or(0), *counters.use);
    if (!counters.errors_per_hour) return;
    const auto& rates = *counters.errors_per_hour;
    const auto grade = health::grade_of(rates, thresholds_);
    into.errors = std::max(into.errors.value_or(grade), grade);
    into.errors_per_hour = std::max(into.errors_per_hour, std::accumulate(rates.begin(), rates.end(), 0.0));
    into.with_errors += grade == health::ErrorGrade::none ? 0 : 1;
  }

  void count_job(MapBundle& into, LinkId link) const {
    const auto found = job_->mbps.find(static_cast<std::uint32_t>(link.index()));
    if (found == job_->mbps.end()) return;
    ++into.job_links;
    constexpr double kMbpsOfGbps = 1e3;
    const double gbps = found->second / kMbpsOfGbps;
    into.job_gbps = std::max(into.job_gbps, gbps);
    if (const double rate = state_.view.rate(link).gbps(); rate > 0)
      into.job_share = std::max(into.job_share, gbps / rate);
  }

  static Out errors_json(const MapBundle& bundle) {
    if (!bundle.errors) return nullptr;
    return object<"FabricMap.bundles.errors">(with<"grade">(health::to_string(*bundle.errors)),
                                              with<"perHour">(std::round(bundle.errors_per_hour * 100) / 100),
                                              with<"links">(bundle.with_errors));
  }

  const control::ClusterState& state_;
  const Topology& topology_;
  const Regions& regions_;
  const health::Thresholds thresholds_ = health::default_thresholds();
  const std::uint32_t within_;  // kNoRegion: everywhere
  const MapJob* job_;           // null: none is asked about
  bool each_host_ = false, each_switch_ = false;
  std::vector<MapGroup> groups_;
  std::vector<bool> inside_;  // by group
  std::map<std::string, std::uint32_t> by_id_;
  std::vector<std::uint32_t> group_of_switch_, group_of_host_;
  std::vector<MapBundle> bundles_;
  std::unordered_map<std::uint64_t, std::size_t> bundle_of_;
};

// By its name, or by that of a device in it ("node:dgx-017", "switch:leaf-07"), where only the device is known; a device in
// no region is on the map of all. None: there is no such region or device.
std::optional<std::uint32_t> region_asked_for(const Topology& topology, const Regions& regions,
                                              const std::string& within) {
  constexpr std::string_view kNode = "node:";
  constexpr std::string_view kSwitch = "switch:";
  if (within.empty()) return kNoRegion;
  if (const auto region = regions.find(within); region != kNoRegion) return region;
  if (within.starts_with(kNode)) {
    const auto host = topology.find_host(within.substr(kNode.size()));
    return host ? std::optional(regions.of(host)) : std::nullopt;
  }
  if (within.starts_with(kSwitch)) {
    const auto sw = topology.find_switch(within.substr(kSwitch.size()));
    return sw ? std::optional(regions.of(sw)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> write_fabric_map(const control::ClusterState& state, const std::string& within,
                                     const LinkCounters& counters, const MapJob* job) {
  const Regions regions(state.topology(), state.placement_fabric->locality());
  const auto region = region_asked_for(state.topology(), regions, within);
  if (!region) {
    return fail(ErrorKind::notFound, "fabric.noRegion", "there is no region '" + within + "'", {},
                "GET /v1/fabric/map names the regions of its groups");
  }
  FabricMap map(state, regions, *region, job);
  map.add_links(counters);
  return map.write();
}

}  // namespace railweave::api
