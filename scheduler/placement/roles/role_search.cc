#include "scheduler/placement/roles/role_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "scheduler/placement/fit/placement_transaction.h"
#include "scheduler/placement/roles/block_exchange.h"
#include "scheduler/placement/roles/placed_roles.h"

namespace railweave::scheduler {
namespace {

constexpr std::uint64_t kMaxRanks = 4096;             // of all roles
constexpr std::uint64_t kMaxRanksPlaced = 1U << 16U;  // in all: what a search may cost
constexpr std::uint64_t kMaxScored =
    1U << 19U;                         // ranks and flows: by exchanges from all starts, then from disturbed copies
constexpr unsigned kMaxRounds = 4;     // in which every role is placed again
constexpr std::size_t kMaxGroups = 3;  // of a level, that hold all roles
constexpr std::size_t kMaxGroupHosts = 256;
constexpr double kStep = 1e-6;     // an exchange must gain more than rounding
constexpr double kAsGood = 0.005;  // and a search more than this to be taken

class RoleSearch {
 public:
  RoleSearch(Placer& placer, const RoleRules& rules, std::vector<RolePlace>& roles)
      : placer_(placer), rules_(rules), at_(placer, roles) {}

  bool run() {
    std::vector<RolePlace>& roles = at_.roles();
    given_us_ = best_us_ = at_.total_us();
    given_ = best_ = roles;
    improve();
    std::vector<std::size_t> order(roles.size());
    std::iota(order.begin(), order.end(), 0U);
    start({}, {order.rbegin(), order.rend()});
    for (const auto& nodes : groups()) {
      start(nodes, order);
      start(nodes, {order.rbegin(), order.rend()});
    }
    at_.roles() = best_;
    work_left_ = kMaxScored;
    (void)exchange_blocks(at_, rules_, {.step = kStep, .work_left = &work_left_, .disturbs = true});
    keep_if_best();
    const bool found = best_us_ < given_us_ * (1 - kAsGood);
    roles = found ? best_ : given_;
    return found;
  }

 private:
  // All roles one after the other, on these nodes alone; no nodes: on all.
  void start(const std::vector<std::string>& nodes, const std::vector<std::size_t>& order) {
    at_.roles() = given_;
    for (RolePlace& role : at_.roles()) role.placement = {};
    for (const std::size_t role : order) {
      if (!place(role, nodes)) return;
    }
    improve();
  }

  // Each is placed again beside the others, then blocks are exchanged, while that helps.
  void improve() {
    for (unsigned round = 0; round < kMaxRounds; ++round) {
      bool any = false;
      for (std::size_t role = 0; role < at_.roles().size(); ++role) any = replace(role) || any;
      any = exchange_blocks(at_, rules_, {.step = kStep, .work_left = &work_left_, .disturbs = false}) || any;
      if (!any) break;
    }
    keep_if_best();
  }

  void keep_if_best() {
    const double us = at_.total_us();
    if (us >= best_us_ * (1 - kStep)) return;
    best_us_ = us;
    best_ = at_.roles();
  }

  bool replace(std::size_t role) {
    const double before = at_.total_us();
    RolePlace kept = at_.roles()[role];
    if (place(role, {}) && at_.total_us() < before * (1 - kStep)) return true;
    at_.roles()[role] = std::move(kept);
    return false;
  }

  bool place(std::size_t role, const std::vector<std::string>& nodes) {
    auto& roles = at_.roles();
    const std::uint64_t ranks = rank_count(roles[role].spec.parallelism);
    if (placed_ + ranks > kMaxRanksPlaced) return false;
    placed_ += ranks;
    roles[role].placement = {};
    std::optional<JobSpec> spec = rules_.confined ? rules_.confined(role, roles) : roles[role].spec;
    if (!spec || !keep_to(nodes, *spec)) return false;
    PlacementTransaction others(placer_.tree(), placer_.fabric().topology());
    for (const RolePlace& other : roles) {
      if (!others.take(other.placement.gpu_of_rank)) return false;
    }
    auto placement = placer_.try_place(*spec);
    if (!placement || !placement->idle_gpus.empty()) return false;
    roles[role].placement = std::move(*placement);
    return true;
  }

  static bool keep_to(const std::vector<std::string>& nodes, JobSpec& spec) {
    if (nodes.empty()) return true;
    if (spec.only_nodes.empty()) {
      spec.only_nodes = nodes;
      return true;
    }
    std::erase_if(spec.only_nodes,
                  [&](const std::string& node) { return std::ranges::find(nodes, node) == nodes.end(); });
    return !spec.only_nodes.empty();
  }

  // The nodes of groups in which all roles have room, of each level those with the least.
  [[nodiscard]] std::vector<std::vector<std::string>> groups() const {
    const Hierarchy& hierarchy = placer_.fabric().hierarchy();
    const auto& topology = placer_.fabric().topology();
    const PlacementTree& tree = placer_.tree();
    std::uint64_t ranks = 0;
    for (const RolePlace& role : given_) ranks += rank_count(role.spec.parallelism);
    std::vector<std::vector<std::string>> found;
    for (unsigned level = hierarchy.host_level(); level < hierarchy.top(); ++level) {
      std::vector<std::pair<std::uint32_t, GroupIndex>> fits;
      for (GroupIndex group = 0; group < hierarchy.group_count(level); ++group) {
        if (tree.free(level, group) >= ranks) fits.emplace_back(tree.free(level, group), group);
      }
      std::ranges::sort(fits);
      if (fits.size() > kMaxGroups) fits.resize(kMaxGroups);
      for (const auto& [free, group] : fits) {
        std::vector<std::string> nodes;
        for (auto leaf = hierarchy.first_leaf(level, group); leaf < hierarchy.first_leaf(level, group + 1); ++leaf) {
          const std::string name(topology.name(hierarchy.host(leaf)));
          if (nodes.empty() || nodes.back() != name) nodes.push_back(name);
        }
        if (nodes.size() <= kMaxGroupHosts) found.push_back(std::move(nodes));
      }
    }
    return found;
  }

  Placer& placer_;
  const RoleRules& rules_;
  PlacedRoles at_;
  std::vector<RolePlace> given_, best_;
  double given_us_ = 0, best_us_ = 0;
  std::uint64_t placed_ = 0;  // ranks
  std::uint64_t work_left_ = kMaxScored;
};

}  // namespace

double roles_us(Placer& placer, std::span<const RolePlace> roles) {
  std::vector<RolePlace> copy(roles.begin(), roles.end());
  return PlacedRoles(placer, copy).total_us();
}

bool may_search(std::span<const RolePlace> roles) {
  std::uint64_t ranks = 0;
  for (const RolePlace& role : roles) {
    const std::uint64_t own = rank_count(role.spec.parallelism);
    const bool holds_idle = role.spec.exclusive || role.spec.spares_per_domain > 0;
    if (holds_idle || !role.spec.shapes.empty() || role.placement.gpu_of_rank.size() != own) return false;
    ranks += own;
  }
  const bool exchange = std::ranges::any_of(roles, [](const RolePlace& role) { return !role.spec.peers.empty(); });
  return exchange && roles.size() > 1 && ranks <= kMaxRanks;
}

bool search_together(Placer& placer, std::vector<RolePlace>& roles, const RoleRules& rules) {
  if (!may_search(roles)) return false;
  return RoleSearch(placer, rules, roles).run();
}

}  // namespace railweave::scheduler
