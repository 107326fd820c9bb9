#include "services/control/views/rank_reach.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

namespace railweave::control {
namespace {

using fabric::GpuId;
using fabric::SwitchId;
using PartSet = std::vector<std::uint32_t>;

bool intersect(const PartSet& a, const PartSet& b) {
  auto i = a.begin();
  auto j = b.begin();
  while (i != a.end() && j != b.end()) {
    if (*i == *j) return true;
    ++(*i < *j ? i : j);
  }
  return false;
}

}  // namespace

RankReach::RankReach(const fabric::FabricView& view, scheduler::PlacementFabricPtr fabric)
    : view_(view), fabric_(std::move(fabric)), joined_(fabric::joined_switches(view)) {}

// A drained switch still serves its own end ports: packets to and from them pass the switches beside it.
void RankReach::add_parts(GpuId gpu, Parts& parts) const {
  const auto& t = view_.topology();
  for (const auto& nic : fabric_->gpu_nics().nics(gpu)) {
    const auto link = t.link(nic.port);
    const SwitchId sw = link && view_.alive(link) ? t.switch_of(t.peer(nic.port)) : SwitchId();
    if (!sw) continue;
    parts.push_back(joined_.find(sw.index()));
    if (!view_.drained(sw)) continue;
    for (const auto port : t.ports(sw)) {
      const auto beside = t.link(port);
      if (!beside || !t.joins_switches(beside) || !view_.alive(beside) || view_.drained(beside)) continue;
      const SwitchId other = t.switch_of(t.peer(port));
      if (!view_.drained(other)) parts.push_back(joined_.find(other.index()));
    }
  }
}

std::vector<GpuId> RankReach::cut_off(std::span<const GpuId> gpu_of_rank) const {
  const auto& t = view_.topology();
  std::vector<GpuId> lost;
  // 1. What each host or NVLink domain reaches through its ranks.
  struct Unit {
    Parts parts;
    std::vector<GpuId> gpus;
    bool known = false;  // some adapter of its GPUs is; else they are taken to reach everything, as by JobReach
  };
  std::map<std::uint32_t, Unit> units;
  for (const GpuId gpu : gpu_of_rank) {
    Unit& unit = units[fabric_->bundles().place(gpu).unit];
    unit.gpus.push_back(gpu);
    unit.known = unit.known || !fabric_->gpu_nics().nics(gpu).empty() || fabric_->gpu_nics().uncabled(gpu);
    const std::size_t before = unit.parts.size();
    add_parts(gpu, unit.parts);
    const bool has_ports = !fabric_->gpu_nics().nics(gpu).empty();
    const bool direct = std::ranges::any_of(fabric_->gpu_nics().nics(gpu), [&](const auto& nic) {
      return view_.alive(t.link(nic.port));  // a port without a switch behind it, cabled to another host
    });
    if (unit.parts.size() == before && !direct && (has_ports || fabric_->gpu_nics().uncabled(gpu))) lost.push_back(gpu);
  }
  // 2. Units that reach the same parts are alike. The largest kind stays, and every further one that reaches all that
  // stay. Sites are joined by more than cables.
  std::map<std::uint32_t, std::map<Parts, std::vector<GpuId>>> kinds_of_site;
  for (auto& [number, unit] : units) {
    if (!unit.known) continue;
    std::ranges::sort(unit.parts);
    unit.parts.erase(std::ranges::unique(unit.parts).begin(), unit.parts.end());
    auto& gpus = kinds_of_site[t.site(t.host(unit.gpus.front())).value()][unit.parts];
    gpus.insert(gpus.end(), unit.gpus.begin(), unit.gpus.end());
  }
  std::vector<SiteRanks> sites;
  for (const auto& [site, kinds] : kinds_of_site) {
    sites.push_back({site, {}, {}});
    std::vector<std::pair<const Parts*, const std::vector<GpuId>*>> by_size;
    for (const auto& [parts, gpus] : kinds) by_size.emplace_back(&parts, &gpus);
    std::ranges::stable_sort(by_size, std::greater<>(),
                             [](const auto& kind) { return std::pair(!kind.first->empty(), kind.second->size()); });
    std::vector<const Parts*> staying;
    for (const auto& [own, gpus] : by_size) {
      const bool reaches_all =
          std::ranges::all_of(staying, [parts = own](const Parts* other) { return intersect(*parts, *other); });
      if (reaches_all) {
        staying.push_back(own);
        sites.back().parts.push_back(own);
        sites.back().gpus.insert(sites.back().gpus.end(), gpus->begin(), gpus->end());
      } else {
        lost.insert(lost.end(), gpus->begin(), gpus->end());
      }
    }
  }
  // 3. Of sites that no links join, those with most ranks stay.
  if (sites.size() > 1) add_apart(std::move(sites), lost);
  std::ranges::sort(lost);
  lost.erase(std::ranges::unique(lost).begin(), lost.end());
  return lost;
}

// Sites are also joined where a cable leads from one to the other.
void RankReach::add_apart(std::vector<SiteRanks> sites, std::vector<GpuId>& lost) const {
  const auto joined = [&](const SiteRanks& a, const SiteRanks& b) {
    if (!fabric_->bundles().site_route(a.site, b.site).bundles.empty()) return true;
    return std::ranges::any_of(a.parts, [&](const Parts* own) {
      return std::ranges::any_of(b.parts, [&](const Parts* other) { return intersect(*own, *other); });
    });
  };
  fabric::DisjointSets sets(sites.size());
  for (std::size_t i = 0; i < sites.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (joined(sites[i], sites[j])) sets.unite(i, j);
    }
  }
  std::vector<std::size_t> ranks(sites.size(), 0);
  for (std::size_t i = 0; i < sites.size(); ++i) ranks[sets.find(i)] += sites[i].gpus.size();
  const auto stays = static_cast<std::size_t>(std::ranges::max_element(ranks) - ranks.begin());
  for (std::size_t i = 0; i < sites.size(); ++i) {
    if (sets.find(i) != stays) lost.insert(lost.end(), sites[i].gpus.begin(), sites[i].gpus.end());
  }
}

std::vector<JobPtr> RankReach::to_look_at(const JobTable& jobs) {
  jobs.visit_changed(seen_, [&](const JobPtr& was, const JobPtr& is) {
    if (is != nullptr && is->holds_gpus()) {
      open_.insert(is->id.number());
    } else if (was != nullptr) {
      open_.erase(was->id.number());
    }
  });
  seen_ = jobs;
  std::vector<JobPtr> list;
  list.reserve(open_.size());
  for (const std::uint64_t number : open_) list.push_back(jobs.find(JobId(number)));
  return list;
}

}  // namespace railweave::control
