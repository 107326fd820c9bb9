#include "fabric/topology/locality.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/core.h>

#include "fabric/topology/cabling_groups.h"
#include "fabric/topology/disjoint_sets.h"

namespace railweave::fabric {
namespace {

// Numbers the groups densely in order of their first host and names them.
template <class NameOf>
Level make_level(LevelKind kind, const std::vector<std::uint32_t>& key_of_host, NameOf name_of) {
  Level level;
  level.kind = kind;
  std::unordered_map<std::uint32_t, std::uint32_t> number;
  level.group_of_host.reserve(key_of_host.size());
  for (std::size_t h = 0; h < key_of_host.size(); ++h) {
    const auto [at, added] = number.try_emplace(key_of_host[h], static_cast<std::uint32_t>(number.size()));
    if (added) level.group_names.push_back(name_of(HostId(h), at->second));
    level.group_of_host.push_back(at->second);
  }
  level.group_count = static_cast<std::uint32_t>(number.size());
  return level;
}

// A counted host whose group of `inner` has hosts in several groups of `outer`; none: each group of `inner` lies
// within one of `outer`.
std::optional<HostId> first_cut(const Level& inner, const Level& outer, const std::vector<bool>& counted) {
  std::vector<std::uint32_t> outer_of(inner.group_count, UINT32_MAX);
  for (std::size_t h = 0; h < counted.size(); ++h) {
    if (!counted[h]) continue;
    auto& group = outer_of[inner.group_of_host[h]];
    if (group != UINT32_MAX && group != outer.group_of_host[h]) return HostId(h);
    group = outer.group_of_host[h];
  }
  return std::nullopt;
}

std::string_view plural(LevelKind kind) {
  switch (kind) {
    case LevelKind::nvlink_domain:
      return "NVLink domains";
    case LevelKind::node:
      return "nodes";
    case LevelKind::rack:
      return "racks";
    case LevelKind::leaf_group:
      return "leaf groups";
    case LevelKind::pod:
      return "pods";
    case LevelKind::cluster:
      return "separate parts of the cluster";
    case LevelKind::site:
      return "sites";
    case LevelKind::wan:
      return "joined sites";
  }
  return "";
}

class LevelChain {
 public:
  LevelChain(Level node, Level cluster, const std::vector<bool>& counted, std::vector<Finding>* findings)
      : counted_(counted), findings_(findings) {
    levels_.push_back(std::move(node));
    levels_.push_back(std::move(cluster));
  }

  // Puts the level between those it nests with, merges it with one it coincides with, or leaves it out.
  void add(Level level) {
    for (std::size_t i = 0; i < levels_.size(); ++i) {
      const auto cut_above = first_cut(level, levels_[i], counted_);
      const auto cut_below = first_cut(levels_[i], level, counted_);
      if (!cut_above && !cut_below) return join(levels_[i], std::move(level));
      if (cut_above && cut_below) return leave_out(level, levels_[i], *cut_above);
      if (!cut_above) {
        levels_.insert(levels_.begin() + static_cast<std::ptrdiff_t>(i), std::move(level));
        return;
      }
    }
    if (const auto cut = first_cut(level, levels_.back(), counted_)) leave_out(level, levels_.back(), *cut);
  }

  std::vector<Level> take() && { return std::move(levels_); }

 private:
  static void join(Level& there, Level level) {
    const bool fixed = there.kind == LevelKind::node || there.kind == LevelKind::cluster;
    if (!fixed && level.kind < there.kind) std::swap(there, level);
    there.also.push_back(level.kind);
    there.also.insert(there.also.end(), level.also.begin(), level.also.end());
    std::ranges::sort(there.also);
  }

  void leave_out(const Level& level, const Level& other, HostId host) const {
    if (findings_ == nullptr) return;
    const std::string& name = level.group_names[level.group_of_host[host.index()]];
    findings_->push_back({"levelsNotNested",
                          Severity::warning,
                          fmt::format("{} overlap {}, for example {}; placement ignores the {}", plural(level.kind),
                                      plural(other.kind), name, plural(level.kind)),
                          {name}});
  }

  const std::vector<bool>& counted_;
  std::vector<Finding>* findings_;
  std::vector<Level> levels_;
};

std::optional<Level> nvlink_level(const Topology& topology) {
  std::vector<std::uint32_t> domain_of_host;
  std::vector<HostId> only_host(topology.nvlink_domains().size());
  bool spans = false;
  for (const auto host : topology.hosts()) {
    auto key = static_cast<std::uint32_t>(topology.nvlink_domains().size()) + host.value();
    for (const auto gpu : topology.gpus(host)) {
      const NvlinkDomainId domain = topology.nvlink_domain(gpu);
      if (!domain) continue;
      key = std::min(key, domain.value());
      auto& only = only_host[domain.index()];
      if (!only) only = host;
      spans = spans || only != host;
    }
    domain_of_host.push_back(key);
  }
  if (!spans) return std::nullopt;
  const auto name = [&](HostId host, std::uint32_t) {
    const std::uint32_t key = domain_of_host[host.index()];
    const bool in_domain = key < topology.nvlink_domains().size();
    return std::string(in_domain ? topology.name(NvlinkDomainId(key)) : topology.name(host));
  };
  return make_level(LevelKind::nvlink_domain, domain_of_host, name);
}

std::optional<Level> rack_level(const Topology& topology) {
  std::vector<std::uint32_t> rack_of_host;
  bool any = false;
  for (const auto host : topology.hosts()) {
    const RackId rack = topology.rack(host);
    any = any || rack.valid();
    rack_of_host.push_back(rack ? rack.value() : static_cast<std::uint32_t>(topology.racks().size()) + host.value());
  }
  if (!any) return std::nullopt;
  return make_level(LevelKind::rack, rack_of_host, [&](HostId host, std::uint32_t) {
    return std::string(topology.rack(host) ? topology.name(topology.rack(host)) : topology.name(host));
  });
}

void add_finding(std::vector<Finding>* findings, std::string code, std::string message, std::string object) {
  if (findings == nullptr) return;
  findings->push_back({std::move(code), Severity::warning, std::move(message), {std::move(object)}});
}

// The site of each host; hosts without a site get one number more.
std::vector<std::uint32_t> sites_of_hosts(const Topology& topology, const std::vector<bool>& counted,
                                          std::vector<Finding>* findings) {
  std::vector<std::uint32_t> site_of_host;
  HostId without;
  for (const auto host : topology.hosts()) {
    const SiteId site = topology.site(host);
    site_of_host.push_back(site ? site.value() : static_cast<std::uint32_t>(topology.sites().size()));
    if (!site && !without && counted[host.index()]) without = host;
  }
  if (without) {
    const std::string name(topology.name(without));
    add_finding(findings, "hostsWithoutSite",
                "some hosts have no site while others do, for example " + name + "; they are treated as one more site",
                name);
  }
  return site_of_host;
}

// A cluster is within one site, even where cables lead to another.
void cut_by_site(std::vector<std::uint32_t>& component, const std::vector<std::uint32_t>& site_of_host) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> number;
  for (std::size_t h = 0; h < component.size(); ++h) {
    const auto next = static_cast<std::uint32_t>(number.size());
    component[h] = number.try_emplace({component[h], site_of_host[h]}, next).first->second;
  }
}

// By host: equal numbers for sites that long-haul links in use join, directly or not. Empty: there are no such links.
std::vector<std::uint32_t> joined_sites(const Topology& topology, std::span<const std::uint32_t> in_use,
                                        const std::vector<std::uint32_t>& site_of_host) {
  DisjointSets joined(topology.sites().size() + 1);
  bool any = false;
  for (std::size_t i = 0; i < topology.site_links().size(); ++i) {
    if (!in_use.empty() && in_use[i] == 0) continue;
    const SiteLink& link = topology.site_links()[i];
    joined.unite(link.a.index(), link.b.index());
    any = true;
  }
  if (!any) return {};
  std::vector<std::uint32_t> wan_of_host;
  for (const auto site : site_of_host) wan_of_host.push_back(joined.find(site));
  return wan_of_host;
}

// Adds the WAN, where links in use join what the levels do not.
void add_wan(const Topology& topology, std::span<const std::uint32_t> in_use,
             const std::vector<std::uint32_t>& site_of_host, const std::vector<bool>& counted,
             std::vector<Level>& levels) {
  const auto joined = joined_sites(topology, in_use, site_of_host);
  if (joined.empty()) return;
  Level wan =
      make_level(LevelKind::wan, joined, [](HostId, std::uint32_t group) { return fmt::format("wan-{}", group); });
  if (wan.group_count == 1) wan.group_names.front() = "wan";
  if (first_cut(wan, levels.back(), counted)) levels.push_back(std::move(wan));
}

// Adds site and WAN, above the cluster or merged with it.
void add_sites(const Topology& topology, const std::vector<std::uint32_t>& site_of_host,
               const std::vector<bool>& counted, std::vector<Finding>* findings, std::vector<Level>& levels) {
  Level site = make_level(LevelKind::site, site_of_host, [&](HostId host, std::uint32_t) {
    return topology.site(host) ? std::string(topology.name(topology.site(host))) : std::string("no site");
  });
  // No group at the cluster level or below is in two sites, apart from hosts that do not count.
  if (const auto apart = first_cut(site, levels.back(), counted)) {
    const std::string& name = site.group_names[site.group_of_host[apart->index()]];
    add_finding(
        findings, "siteFallsApart",
        "the site " + name + " has parts that no cable joins; only a job that may span sites may span these parts",
        name);
    levels.push_back(std::move(site));
  } else {
    Level& cluster = levels.back();
    cluster.also.push_back(LevelKind::site);
    std::ranges::sort(cluster.also);
    for (std::size_t h = 0; h < counted.size(); ++h) {
      if (counted[h]) cluster.group_names[cluster.group_of_host[h]] = site.group_names[site.group_of_host[h]];
    }
  }
  add_wan(topology, {}, site_of_host, counted, levels);
}

}  // namespace

void join_sites(const Topology& topology, std::span<const std::uint32_t> in_use, Locality& locality) {
  if (topology.site_links().empty()) return;
  if (locality.levels.back().kind == LevelKind::wan) locality.levels.pop_back();
  const std::vector<bool> counted = counted_hosts(topology);
  add_wan(topology, in_use, sites_of_hosts(topology, counted, nullptr), counted, locality.levels);
}

const Level* Locality::find(LevelKind kind) const {
  for (const auto& level : levels) {
    if (level.kind == kind || std::ranges::find(level.also, kind) != level.also.end()) return &level;
  }
  return nullptr;
}

Locality derive_locality(const Topology& topology, std::vector<Finding>* findings) {
  const std::vector<bool> counted = counted_hosts(topology);
  const CablingGroups cabling = derive_cabling_groups(topology, counted);
  const auto numbered = [](std::string_view stem) {
    return [stem](HostId, std::uint32_t group) { return fmt::format("{}-{}", stem, group); };
  };
  std::vector<std::uint32_t> each(topology.hosts().size());
  for (std::size_t h = 0; h < each.size(); ++h) each[h] = static_cast<std::uint32_t>(h);
  Level node =
      make_level(LevelKind::node, each, [&](HostId host, std::uint32_t) { return std::string(topology.name(host)); });
  std::vector<std::uint32_t> component = cabling.component;
  std::vector<std::uint32_t> site_of_host;
  if (!topology.sites().empty()) {
    site_of_host = sites_of_hosts(topology, counted, findings);
    cut_by_site(component, site_of_host);
  }
  Level cluster = make_level(LevelKind::cluster, component, numbered("component"));
  if (cluster.group_count == 1) cluster.group_names.front() = "cluster";

  LevelChain chain(std::move(node), std::move(cluster), counted, findings);
  if (auto level = nvlink_level(topology)) chain.add(std::move(*level));
  if (cabling.has_leaf_groups) {
    chain.add(make_level(LevelKind::leaf_group, cabling.leaf_group, numbered("leafGroup")));
    chain.add(make_level(LevelKind::pod, cabling.pod, [&](HostId host, std::uint32_t group) {
      const bool named = !cabling.named_pod_of.empty() && !cabling.named_pod_of[host.index()].empty();
      return named ? std::string(cabling.named_pod_of[host.index()]) : fmt::format("pod-{}", group);
    }));
  }
  if (auto level = rack_level(topology)) chain.add(std::move(*level));
  std::vector<Level> levels = std::move(chain).take();
  if (!topology.sites().empty()) add_sites(topology, site_of_host, counted, findings, levels);
  return {std::move(levels)};
}

}  // namespace railweave::fabric
