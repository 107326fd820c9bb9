#include "job_oracle.h"

#include <algorithm>
#include <set>

namespace railweave::scheduler::testing_support {

using fabric::LevelKind;

JobOracle::JobOracle(const PlannedFabric& plan, const JobSpec& spec, const Allocations* allocations)
    : plan_(plan), spec_(spec), ranks_(rank_count(spec.parallelism)) {
  for (std::size_t h = 0; h < plan.hosts.size(); ++h) {
    const auto& host = plan.hosts[h];
    bool open = true;
    for (const auto& name : spec.exclude_nodes) open = open && name != "node-" + std::to_string(h);
    for (const auto& wanted : spec.node_selector) {
      bool carried = false;
      for (const auto& label : host.labels)
        carried = carried || (label.first == wanted.first && label.second == wanted.second);
      open = open && carried;
    }
    for (const auto& [key, value] : host.labels) {
      if (key.find("taint/") != 0) continue;
      bool tolerated = false;
      for (const auto& one : spec.tolerations) {
        const bool any_value = !one.value.has_value();
        tolerated = tolerated || (key == "taint/" + one.key && (any_value || value == *one.value));
      }
      open = open && tolerated;
    }
    if (allocations != nullptr) open = open && !(*allocations)[h].unavailable;
    for (std::size_t g = 0; g < host.domain_of_gpu.size(); ++g) {
      host_of_gpu_.push_back(static_cast<int>(h));
      domain_of_gpu_.push_back(host.domain_of_gpu[g]);
      usable_.push_back(open && (allocations == nullptr || (((*allocations)[h].used >> g) & 1U) == 0));
    }
  }
  if (spec.spares_per_domain > 0) spare_part_ = whole_parts(LevelKind::nvlink_domain);
  if (spec.spread) spread_part_ = whole_parts(spec.spread->level);
  if (!spec.exclusive || allocations == nullptr) return;
  const std::vector<int> parts = whole_parts(*spec.exclusive);
  std::set<int> in_use;
  std::size_t gpu = 0;
  for (std::size_t h = 0; h < plan.hosts.size(); ++h) {
    for (std::size_t g = 0; g < plan.hosts[h].domain_of_gpu.size(); ++g, ++gpu) {
      if ((((*allocations)[h].used >> g) & 1U) != 0) in_use.insert(parts[gpu]);
    }
  }
  for (gpu = 0; gpu < usable_.size(); ++gpu) usable_[gpu] = usable_[gpu] && !in_use.contains(parts[gpu]);
}

std::vector<int> JobOracle::whole_parts(LevelKind kind) const {
  std::vector<int> whole = parts(kind);
  const std::vector<int> island = parts(std::nullopt);
  for (std::size_t gpu = 0; gpu < whole.size(); ++gpu) {
    if (whole[gpu] < 0) whole[gpu] = -1 - island[gpu] - 1;
  }
  return whole;
}

std::size_t JobOracle::index_of(const PlacementFabric& fabric, fabric::GpuId gpu) const {
  const std::size_t host = fabric.topology().host(gpu).index();
  std::size_t first = 0;
  for (std::size_t h = 0; h < host; ++h) first += plan_.hosts[h].domain_of_gpu.size();
  return first + fabric.topology().local_index(gpu);
}

bool JobOracle::keeps_room(const std::vector<Spot>& spots, const Spot& last) const {
  if (!spare_part_.empty()) {
    unsigned free = 0;
    for (const Spot& spot : spots) free += spare_part_[spot.gpu] == spare_part_[last.gpu] ? spot.free : 0;
    if (free < spec_.spares_per_domain) return false;
  }
  if (spread_part_.empty()) return true;
  std::uint64_t taken = 0;
  for (const Spot& spot : spots) taken += spread_part_[spot.gpu] == spread_part_[last.gpu] ? spot.taken : 0;
  return taken <= spec_.spread->max_gpus_per_group;
}

std::vector<int> JobOracle::parts(std::optional<LevelKind> kind) const {
  if (kind == LevelKind::node) return host_of_gpu_;
  if (kind == LevelKind::nvlink_domain) return domain_of_gpu_;
  std::vector<int> parts;
  for (std::size_t gpu = 0; gpu < host_of_gpu_.size(); ++gpu) {
    if (!kind) {
      parts.push_back(host_of_gpu_[gpu] * 1000 + domain_of_gpu_[gpu] + 1);
      continue;
    }
    const auto at = std::ranges::find(plan_.levels, *kind) - plan_.levels.begin();
    parts.push_back(static_cast<int>(
        plan_.hosts[static_cast<std::size_t>(host_of_gpu_[gpu])].groups[static_cast<std::size_t>(at)]));
  }
  return parts;
}

std::uint64_t JobOracle::tensor_class(const Parallelism& p, RankCoordinates at) {
  at.tp = 0;
  return rank_of(p, at);
}
std::uint64_t JobOracle::context_class(const Parallelism& p, RankCoordinates at) {
  at.tp = at.cp = 0;
  return rank_of(p, at);
}
std::uint64_t JobOracle::expert_class(const Parallelism& p, RankCoordinates at) {
  at.tp = at.ep = 0;
  return rank_of(p, at);
}
std::uint64_t JobOracle::stage_class(const Parallelism&, RankCoordinates at) { return at.pp; }

Rule JobOracle::rule(std::string name, std::optional<LevelKind> kind, Class class_of) const {
  Rule rule{.class_of_rank = {},
            .part_of_gpu = parts(kind),
            .name = std::move(name) + " in " + std::string(kind ? to_string(*kind) : "island")};
  for (std::uint64_t rank = 0; rank < ranks_; ++rank) {
    rule.class_of_rank.push_back(class_of(spec_.parallelism, coordinates_of(spec_.parallelism, rank)));
  }
  return rule;
}

Rule JobOracle::job_rule(std::optional<LevelKind> kind) const {
  return {.class_of_rank = std::vector<std::uint64_t>(ranks_, 0), .part_of_gpu = parts(kind), .name = "job"};
}

std::vector<Rule> JobOracle::required_rules() const {
  std::vector<Rule> rules;
  rules.push_back(job_rule(plan_.levels.back()));
  if (spec_.parallelism.tensor > 1) rules.push_back(tensor_rule(LevelKind::nvlink_domain));
  if (spec_.tensor.required) rules.push_back(tensor_rule(*spec_.tensor.required));
  // A group of one is near itself.
  if (spec_.context.required && spec_.parallelism.context > 1) rules.push_back(context_rule(*spec_.context.required));
  if (spec_.expert.required && spec_.parallelism.expert > 1) rules.push_back(expert_rule(*spec_.expert.required));
  if (spec_.stage.required) rules.push_back(stage_rule(*spec_.stage.required));
  if (spec_.job.required) rules.push_back(job_rule(*spec_.job.required));
  return rules;
}

bool JobOracle::feasible(const std::vector<Rule>& rules) const {
  std::vector<Spot> spots;
  const std::vector<int> island = parts(std::nullopt);
  std::map<int, std::size_t> spot_of_island;
  std::uint64_t free = 0;
  for (std::size_t gpu = 0; gpu < host_of_gpu_.size(); ++gpu) {
    if (!usable_[gpu]) continue;
    const auto [at, added] = spot_of_island.try_emplace(island[gpu], spots.size());
    if (added) spots.push_back({host_of_gpu_[gpu], gpu, 0});
    ++spots[at->second].free;
    ++free;
  }
  if (free < ranks_) return false;
  std::vector<std::map<std::uint64_t, int>> part_of_class(rules.size());
  std::vector<unsigned> on_host(plan_.hosts.size(), 0);
  return assign(0, rules, spots, part_of_class, on_host);
}

bool JobOracle::assign(std::uint64_t rank, const std::vector<Rule>& rules, std::vector<Spot>& spots,
                       std::vector<std::map<std::uint64_t, int>>& part_of_class, std::vector<unsigned>& on_host) const {
  const unsigned per_node = spec_.gpus_per_node.value_or(0);
  if (rank == ranks_) {
    return per_node == 0 ||
           std::ranges::all_of(on_host, [&](unsigned count) { return count == 0 || count == per_node; });
  }
  for (auto& spot : spots) {
    auto& here = on_host[static_cast<std::size_t>(spot.host)];
    if (spot.free == 0 || (per_node != 0 && here == per_node)) continue;
    std::vector<std::size_t> opened;
    bool kept = true;
    for (std::size_t i = 0; i < rules.size() && kept; ++i) {
      const auto& rule = rules[i];
      const int part = rule.part_of_gpu[spot.gpu];
      const auto members = std::ranges::count(rule.class_of_rank, rule.class_of_rank[rank]);
      const auto [at, added] = part_of_class[i].try_emplace(rule.class_of_rank[rank], part);
      if (added) opened.push_back(i);
      kept = at->second == part && (part >= 0 || members == 1);
    }
    if (kept) {
      --spot.free;
      ++spot.taken;
      ++here;
      if (keeps_room(spots, spot) && assign(rank + 1, rules, spots, part_of_class, on_host)) return true;
      ++spot.free;
      --spot.taken;
      --here;
    }
    for (const auto i : opened) part_of_class[i].erase(rules[i].class_of_rank[rank]);
  }
  return false;
}

std::string JobOracle::violation(const PlacementFabric& fabric, const Placement& placement,
                                 const std::vector<Rule>& rules) const {
  if (placement.gpu_of_rank.size() != ranks_) return "not as many GPUs as ranks";
  // The plan numbers hosts as they are named; the topology in natural order of names, which is the same.
  std::vector<std::size_t> at;
  std::size_t first = 0;
  std::vector<std::size_t> first_of_host;
  for (const auto& host : plan_.hosts) {
    first_of_host.push_back(first);
    first += host.domain_of_gpu.size();
  }
  std::map<int, unsigned> on_host;
  std::set<std::size_t> seen;
  for (const auto gpu : placement.gpu_of_rank) {
    const auto host = fabric.topology().host(gpu);
    const std::size_t index = first_of_host[host.index()] + fabric.topology().local_index(gpu);
    if (!usable_[index]) return "GPU " + std::to_string(index) + " is not usable";
    if (!seen.insert(index).second) return "GPU " + std::to_string(index) + " is used twice";
    ++on_host[host_of_gpu_[index]];
    at.push_back(index);
  }
  for (const auto& rule : rules) {
    std::map<std::uint64_t, int> part_of_class;
    for (std::uint64_t rank = 0; rank < ranks_; ++rank) {
      const int part = rule.part_of_gpu[at[rank]];
      const auto members = std::ranges::count(rule.class_of_rank, rule.class_of_rank[rank]);
      const auto [known, added] = part_of_class.try_emplace(rule.class_of_rank[rank], part);
      if (known->second != part || (part < 0 && members > 1))
        return rule.name + " broken by rank " + std::to_string(rank);
    }
  }
  for (const auto& [host, count] : on_host) {
    if (spec_.gpus_per_node && count != *spec_.gpus_per_node) return "node with " + std::to_string(count) + " GPUs";
  }
  return "";
}

}  // namespace railweave::scheduler::testing_support
