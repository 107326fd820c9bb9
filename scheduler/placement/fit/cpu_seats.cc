#include "scheduler/placement/fit/cpu_seats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "scheduler/placement/fit/node_labels.h"

namespace railweave::scheduler {
namespace {

using fabric::HostId;
using fabric::LevelKind;

class AllowedNodes {
 public:
  AllowedNodes(const PlacementFabric& fabric, const AllocationOf& allocation, const JobSpec& spec)
      : topology_(fabric.topology()), allocation_(allocation), spec_(spec) {
    const auto mark = [&](const std::vector<std::string>& names, bool allowed) {
      for (const auto& name : names) {
        if (const HostId host = topology_.find_host(name)) named_[host.index()] = allowed;
      }
    };
    named_.assign(topology_.hosts().size(), spec.only_nodes.empty());
    mark(spec.only_nodes, true);
    mark(spec.exclude_nodes, false);
  }

  // May take members at all, as the job says and as it is.
  [[nodiscard]] bool usable(HostId host) const { return !allocation_(host).unavailable && in_rules(host); }
  [[nodiscard]] bool in_rules(HostId host) const {
    const bool computes = topology_.kind(host) == fabric::HostKind::compute || !topology_.gpus(host).empty();
    if (!computes || !named_[host.index()]) return false;
    return carries_labels(topology_, host, spec_.node_selector) &&
           repelling_taint(topology_, host, spec_.tolerations).empty();
  }
  [[nodiscard]] int free_gpus(HostId host) const {
    const auto& allocation = allocation_(host);
    return static_cast<int>(topology_.gpus(host).size()) - std::popcount(allocation.used | allocation.closed);
  }
  // Where the job itself has no GPU.
  [[nodiscard]] bool beside(HostId host) const {
    return usable(host) && (topology_.gpus(host).empty() || free_gpus(host) > 0);
  }

 private:
  const fabric::Topology& topology_;
  const AllocationOf& allocation_;
  const JobSpec& spec_;
  std::vector<bool> named_;  // by host
};

class Seating {
 public:
  Seating(const PlacementFabric& fabric, const AllocationOf& allocation, const JobSpec& spec,
          const Placement& placement)
      : topology_(fabric.topology()),
        locality_(fabric.locality()),
        allocation_(allocation),
        allowed_(fabric, allocation, spec),
        is_own_(topology_.hosts().size(), false) {
    for (const auto* gpus : {&placement.gpu_of_rank, &placement.idle_gpus}) {
      for (const auto gpu : *gpus) {
        const HostId host = topology_.host(gpu);
        if (is_own_[host.index()]) continue;
        is_own_[host.index()] = true;
        own_.push_back(host);
        if (gpus == &placement.gpu_of_rank && allowed_.usable(host)) hosts_.push_back(host);
      }
    }
    own_hosts_ = hosts_.size();
  }

  CpuSeats seat(const CpuRole& role) {
    CpuSeats seats{role.name, {}};
    const std::uint64_t most = role.max_per_node == 0 ? std::numeric_limits<std::uint32_t>::max() : role.max_per_node;
    if (role.members > own_hosts_ * most || own_hosts_ == 0) add_beside();
    if (hosts_.empty()) hosts_ = own_;  // none is usable: they stay with the ranks
    const std::uint64_t on_own = std::min<std::uint64_t>(role.members, own_hosts_ * most);
    for (std::uint64_t i = 0; i < on_own; ++i) add(seats, hosts_[i % own_hosts_]);
    const auto beside = std::max<std::uint64_t>(1, hosts_.size() - own_hosts_);
    for (std::uint64_t i = 0; seats.nodes.size() < role.members; ++i) {
      add(seats, hosts_[(own_hosts_ + (i / most) % beside) % hosts_.size()]);
    }
    return seats;
  }

 private:
  void add(CpuSeats& seats, HostId host) const { seats.nodes.emplace_back(topology_.name(host)); }

  // Number of levels in which a group that holds the node has GPUs, and all of them are free.
  struct WholeGroups {
    const fabric::Level* level;
    std::vector<bool> has_gpus, used;  // by group
  };
  [[nodiscard]] std::vector<WholeGroups> whole_groups() const {
    constexpr std::array kKept{LevelKind::nvlink_domain, LevelKind::node, LevelKind::rack, LevelKind::leaf_group};
    std::vector<WholeGroups> levels;
    for (const auto& level : locality_.levels) {
      const bool is_kept =
          std::ranges::find(kKept, level.kind) != kKept.end() || std::ranges::any_of(level.also, [&](LevelKind kind) {
            return std::ranges::find(kKept, kind) != kKept.end();
          });
      if (!is_kept || level.group_count <= 1) continue;
      WholeGroups groups{&level, std::vector<bool>(level.group_count), std::vector<bool>(level.group_count)};
      for (const HostId host : topology_.hosts()) {
        if (topology_.gpus(host).empty()) continue;
        const std::uint32_t group = level.group_of_host[host.index()];
        groups.has_gpus[group] = true;
        if (allocation_(host).used != 0 || is_own_[host.index()]) groups.used[group] = true;
      }
      levels.push_back(std::move(groups));
    }
    return levels;
  }
  // Of the nearest level at which one of the job's nodes is in the same group.
  [[nodiscard]] std::vector<std::vector<bool>> own_groups() const {
    std::vector<std::vector<bool>> groups;
    for (const auto& level : locality_.levels) {
      auto& own = groups.emplace_back(level.group_count);
      for (const HostId host : own_) own[level.group_of_host[host.index()]] = true;
    }
    return groups;
  }

  void add_beside() {
    if (has_beside_) return;
    has_beside_ = true;
    const auto whole = whole_groups();
    const auto own = own_groups();
    using Key = std::tuple<std::size_t, std::size_t, std::uint32_t, int, std::size_t>;
    std::vector<std::pair<Key, HostId>> others;
    for (const HostId host : topology_.hosts()) {
      const bool own_idle = is_own_[host.index()] && allowed_.usable(host);
      if (!own_idle && (is_own_[host.index()] || !allowed_.beside(host))) continue;
      if (own_idle && std::ranges::find(hosts_, host) != hosts_.end()) continue;  // it has ranks
      std::size_t broken = 0, distance = 0;
      if (!topology_.gpus(host).empty()) {
        broken = static_cast<std::size_t>(std::ranges::count_if(whole, [&](const WholeGroups& groups) {
          const std::uint32_t group = groups.level->group_of_host[host.index()];
          return groups.has_gpus[group] && !groups.used[group];
        }));
      }
      while (distance < own.size() && !own[distance][locality_.levels[distance].group_of_host[host.index()]])
        ++distance;
      // Of groups that are broken, few.
      const std::uint32_t together = whole.empty() ? 0 : whole.back().level->group_of_host[host.index()];
      others.emplace_back(Key{broken, distance, together, allowed_.free_gpus(host), host.index()}, host);
    }
    std::ranges::sort(others, {}, &std::pair<Key, HostId>::first);
    for (const auto& [key, host] : others) hosts_.push_back(host);
  }

  const fabric::Topology& topology_;
  const fabric::Locality& locality_;
  const AllocationOf& allocation_;
  AllowedNodes allowed_;
  std::vector<bool> is_own_;   // by host
  std::vector<HostId> own_;    // with GPUs of the job
  std::vector<HostId> hosts_;  // that take members: the first own_hosts_ in the order of ranks, then those beside them
  std::size_t own_hosts_ = 0;
  bool has_beside_ = false;
};

}  // namespace

std::string NoCpuSeats::text() const {
  const std::uint64_t fits = nodes == 0 ? 0 : (members + nodes - 1) / nodes;
  std::string said = fmt::format("the CPU-only role {} has {} members, at most {} on a node, and {} {} take them", role,
                                 members, max_per_node, nodes, nodes == 1 ? "node may" : "nodes may");
  if (fits > 0) said += fmt::format("; with {} on a node they would have places", fits);
  return said;
}

std::optional<NoCpuSeats> lacks_cpu_seats(const PlacementFabric& fabric, const AllocationOf& allocation,
                                          const JobSpec& spec) {
  if (std::ranges::all_of(spec.cpu_roles, [](const CpuRole& role) { return role.max_per_node == 0; })) return {};
  // The nodes of the job are among those where a GPU is free now.
  const AllowedNodes allowed(fabric, allocation, spec);
  const auto nodes = static_cast<std::uint64_t>(
      std::ranges::count_if(fabric.topology().hosts(), [&](HostId host) { return allowed.beside(host); }));
  for (const CpuRole& role : spec.cpu_roles) {
    if (role.max_per_node == 0 || role.members <= nodes * role.max_per_node) continue;
    return NoCpuSeats{role.name, role.members, role.max_per_node, nodes};
  }
  return {};
}

std::vector<CpuSeats> cpu_seats(const PlacementFabric& fabric, const AllocationOf& allocation, const JobSpec& spec,
                                const Placement& placement) {
  std::vector<CpuSeats> seats;
  if (spec.cpu_roles.empty() || placement.gpu_of_rank.empty()) return seats;
  Seating seating(fabric, allocation, spec, placement);
  for (const CpuRole& role : spec.cpu_roles) seats.push_back(seating.seat(role));
  return seats;
}

}  // namespace railweave::scheduler
