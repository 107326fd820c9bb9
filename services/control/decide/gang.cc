#include "services/control/decide/gang.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "scheduler/placement/check/placement_check.h"
#include "scheduler/placement/fit/placement_fabric.h"
#include "scheduler/placement/roles/role_search.h"
#include "services/control/decide/gang_traffic.h"
#include "services/control/views/role_receivers.h"

namespace railweave::control {
namespace {

using fabric::HostId;
using scheduler::GroupIndex;
using scheduler::Hierarchy;
using scheduler::JobSpec;
using scheduler::RolePlace;

constexpr std::size_t kMaxTries = 64;  // of groups in which roles could be together

class GangSearch {
 public:
  GangSearch(const ClusterState& state, const GangRequest& request, PlacerCache& placers, const StartRole& start)
      : state_(state),
        hierarchy_(state.placement_fabric->hierarchy()),
        specs_(request.specs),
        rules_(request.rules),
        traffic_(request.traffic),
        placers_(placers),
        start_(start),
        banned_(request.rules.size()) {}

  std::expected<std::vector<PlannedRole>, GangRefusal> run() {
    std::optional<GangRefusal> first;
    for (std::size_t tries = 0; tries < kMaxTries; ++tries) {
      auto placed = attempt();
      auto given = placed ? planned(std::move(*placed)) : std::unexpected(std::move(placed.error()));
      if (given) return given;
      const std::size_t item = given.error().item;
      if (!first) first = std::move(given.error());
      if (!ban_group_of(item)) break;
    }
    return std::unexpected(std::move(*first));
  }

 private:
  std::expected<std::vector<RolePlace>, GangRefusal> attempt() {
    ClusterState trial = state_;
    chosen_.assign(rules_.size(), std::nullopt);
    used_.assign(rules_.size(), {});
    std::vector<RolePlace> placed;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      JobSpec spec = specs_[i];
      if (auto confined = confine(spec); !confined) {
        return std::unexpected(GangRefusal{i, Rejection{std::move(confined.error()), nullptr}});
      }
      placed.push_back({trial.jobs.next_id().number(), spec, {}});
      add_peers(specs_, traffic_, placed);
      auto job = start_(trial, i, {placed[i].spec, nullptr});
      if (!job) return std::unexpected(GangRefusal{i, std::move(job.error())});
      const JobPtr started = trial.jobs.find(*job);
      if (started != nullptr) placed[i].placement = started->placement;
      placed[i].job = job->number();
      note(spec.name, placed[i].placement);
    }
    return placed;
  }

  // Where roles exchange data and are new, their places are searched together; rules are then of those places.
  std::expected<std::vector<PlannedRole>, GangRefusal> planned(std::vector<RolePlace> placed) {
    add_peers(specs_, traffic_, placed);
    std::vector<PlannedRole> given;
    for (const RolePlace& role : placed) given.push_back({role.spec, nullptr});
    if (traffic_.empty() || !are_new(placed) || !search(placed)) return with_promises(std::move(given));
    std::vector<PlannedRole> found;
    for (RolePlace& role : placed) {
      found.push_back({std::move(role.spec), std::make_shared<const scheduler::Placement>(std::move(role.placement))});
    }
    if (all_start(found)) return found;
    return with_promises(std::move(given));
  }
  // Of the first roles, guarantees reached to none of the later ones while these were placed one after the other.
  [[nodiscard]] std::expected<std::vector<PlannedRole>, GangRefusal> with_promises(
      std::vector<PlannedRole> roles) const {
    if (std::ranges::none_of(specs_, [](const JobSpec& spec) { return between_roles_mbps(spec) > 0; })) return roles;
    ClusterState trial = state_;
    for (std::size_t i = 0; i < roles.size(); ++i) {
      auto job = start_(trial, i, roles[i]);
      if (!job) return std::unexpected(GangRefusal{i, std::move(job.error())});
    }
    return roles;
  }
  // Each where it was found, with its guarantee.
  [[nodiscard]] bool all_start(std::span<const PlannedRole> roles) const {
    ClusterState trial = state_;
    for (std::size_t i = 0; i < roles.size(); ++i) {
      const auto job = start_(trial, i, roles[i]);
      const JobPtr started = job ? trial.jobs.find(*job) : nullptr;
      if (started == nullptr || started->placement.gpu_of_rank != roles[i].place->gpu_of_rank) return false;
    }
    return true;
  }
  // Not those that an earlier request with the same keys started.
  [[nodiscard]] bool are_new(std::span<const RolePlace> placed) const {
    return std::ranges::all_of(placed,
                               [&](const RolePlace& role) { return role.job >= state_.jobs.next_id().number(); });
  }
  bool search(std::vector<RolePlace>& placed) {
    scheduler::RoleRules rules;
    if (!rules_.empty()) {
      rules.confined = [this](std::size_t role, std::span<const RolePlace> places) { return beside(role, places); };
      rules.hold = [this](std::span<const RolePlace> places) { return hold(places); };
    }
    if (!scheduler::search_together(placers_.at(state_), placed, rules)) return false;
    for (std::size_t i = 0; i < placed.size() && !rules_.empty(); ++i) {
      auto spec = beside(i, placed);
      if (!spec) return false;
      placed[i].spec = std::move(*spec);
    }
    return true;
  }
  // The role's spec under the rules while the others are where they are.
  std::optional<JobSpec> beside(std::size_t role, std::span<const RolePlace> places) {
    chosen_.assign(rules_.size(), std::nullopt);
    used_.assign(rules_.size(), {});
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (i != role) note(specs_[i].name, places[i].placement);
    }
    JobSpec spec = specs_[role];
    spec.peers = places[role].spec.peers;
    if (!confine(spec)) return std::nullopt;
    return spec;
  }
  bool hold(std::span<const RolePlace> places) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto spec = beside(i, places);
      if (!spec) return false;
      const auto broken = scheduler::check_placement({.topology = state_.topology(),
                                                      .locality = state_.placement_fabric->locality(),
                                                      .spec = *spec,
                                                      .gpu_of_rank = places[i].placement.gpu_of_rank});
      if (!broken.empty()) return false;
    }
    return true;
  }

  // Groups that NVLink makes inside a node count as the node: jobs are confined by nodes.
  [[nodiscard]] unsigned level_of(const GangRule& rule) const {
    const unsigned level = hierarchy_.level_of(rule.level);
    return level == Hierarchy::kNoLevel ? level : std::max(level, hierarchy_.host_level());
  }
  [[nodiscard]] std::optional<GroupIndex> group_of(HostId host, unsigned level) const {
    if (hierarchy_.host_leaf_count(host) == 0) return std::nullopt;
    return hierarchy_.group_of_leaf(level, hierarchy_.host_first_leaf(host));
  }
  [[nodiscard]] static bool is_in(const GangRule& rule, const std::string& name) {
    return std::ranges::find(rule.roles, name) != rule.roles.end();
  }

  Result<void> confine(JobSpec& spec) const {
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      if (!is_in(rules_[r], spec.name)) continue;
      const unsigned level = level_of(rules_[r]);
      if (level == Hierarchy::kNoLevel) {
        return fail(ErrorKind::impossible, "jobs.unknownLevel",
                    "the fabric has no level " + std::string(fabric::to_string(rules_[r].level)));
      }
      if (!rules_[r].together) {
        std::set<GroupIndex> others;
        for (const auto& [name, groups] : used_[r]) {
          if (name != spec.name) others.insert(groups.begin(), groups.end());
        }
        keep_off(spec, level, others);
      } else if (chosen_[r]) {
        keep_to(spec, level, *chosen_[r]);
      } else {
        keep_off(spec, level, banned_[r]);
        const auto required = spec.job.required ? hierarchy_.level_of(*spec.job.required) : Hierarchy::kNoLevel;
        if (required == Hierarchy::kNoLevel || required > level) spec.job.required = rules_[r].level;
        if (spec.job.preferred && hierarchy_.level_of(*spec.job.preferred) > level) spec.job.preferred.reset();
      }
      if (spec.only_nodes.size() > JobSpec::kMaxExcludeNodes || spec.exclude_nodes.size() > JobSpec::kMaxExcludeNodes) {
        return fail(ErrorKind::impossible, "gang.tooLarge",
                    fmt::format("a rule would name more than {} nodes", JobSpec::kMaxExcludeNodes), {},
                    "ask for a nearer level");
      }
    }
    return {};
  }

  void keep_off(JobSpec& spec, unsigned level, const std::set<GroupIndex>& groups) const {
    if (groups.empty()) return;
    const auto& topology = state_.topology();
    for (const HostId host : topology.hosts()) {
      const auto group = group_of(host, level);
      if (!group || !groups.contains(*group)) continue;
      const std::string name(topology.name(host));
      if (std::ranges::find(spec.exclude_nodes, name) == spec.exclude_nodes.end()) spec.exclude_nodes.push_back(name);
    }
  }

  void keep_to(JobSpec& spec, unsigned level, GroupIndex chosen) const {
    const auto& topology = state_.topology();
    const std::set<std::string> asked(spec.only_nodes.begin(), spec.only_nodes.end());
    spec.only_nodes.clear();
    for (const HostId host : topology.hosts()) {
      const std::string name(topology.name(host));
      if (group_of(host, level) == chosen && (asked.empty() || asked.contains(name))) spec.only_nodes.push_back(name);
    }
    // None is allowed: nothing fits, while no list would mean any node.
    if (spec.only_nodes.empty()) spec.exclude_nodes = all_names();
  }
  [[nodiscard]] std::vector<std::string> all_names() const {
    std::vector<std::string> names;
    for (const HostId host : state_.topology().hosts()) names.emplace_back(state_.topology().name(host));
    return names;
  }

  void note(const std::string& name, const scheduler::Placement& placement) {
    if (placement.gpu_of_rank.empty()) return;
    const auto& topology = state_.topology();
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      if (!is_in(rules_[r], name)) continue;
      for (const auto gpu : placement.held_gpus()) {
        const auto group = group_of(topology.host(gpu), level_of(rules_[r]));
        if (!group) continue;
        if (rules_[r].together) {
          if (!chosen_[r]) chosen_[r] = group;
        } else {
          used_[r][name].insert(*group);
        }
      }
    }
  }

  // The group in which the item had no place beside those before it. False: no rule chose one for it.
  bool ban_group_of(std::size_t item) {
    for (std::size_t r = 0; r < rules_.size(); ++r) {
      if (!rules_[r].together || !chosen_[r] || !is_in(rules_[r], specs_[item].name)) continue;
      banned_[r].insert(*chosen_[r]);
      return true;
    }
    return false;
  }

  const ClusterState& state_;
  const Hierarchy& hierarchy_;
  const std::span<const JobSpec> specs_;
  const std::span<const GangRule> rules_;
  const std::span<const GangTraffic> traffic_;
  PlacerCache& placers_;
  const StartRole& start_;
  std::vector<std::set<GroupIndex>> banned_;                       // by rule
  std::vector<std::optional<GroupIndex>> chosen_;                  // by rule, of an attempt
  std::vector<std::map<std::string, std::set<GroupIndex>>> used_;  // by rule and name, of an attempt
};

}  // namespace

std::expected<std::vector<PlannedRole>, GangRefusal> plan_gang(const ClusterState& state, const GangRequest& request,
                                                               PlacerCache& placers, const StartRole& start) {
  return GangSearch(state, request, placers, start).run();
}

Rejection refused_with(const std::string& name, bool never) {
  return {{never ? ErrorKind::impossible : ErrorKind::conflict,
           "gang.notPlaced",
           "all roles of a gang start or none does, and " + (name.empty() ? "another one" : name) + " has no place",
           {},
           {}},
          nullptr};
}

}  // namespace railweave::control
