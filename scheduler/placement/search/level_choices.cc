#include "scheduler/placement/search/level_choices.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace railweave::scheduler {

using fabric::LevelKind;

namespace {

// The choices for one group: the preferred level, each farther one, and last the required one.
Result<std::vector<Near>> chain_of(const LevelRequest& request, const Hierarchy& hierarchy, std::string_view where,
                                   bool prefer_domain) {
  Near required;
  if (request.required) {
    const auto near = near_at(*request.required, hierarchy, std::string(where) + "/required");
    if (!near) return std::unexpected(near.error());
    required = *near;
  }
  std::vector<Near> chain;
  if (request.preferred) {
    const auto near = near_at(*request.preferred, hierarchy, std::string(where) + "/preferred");
    if (!near) return std::unexpected(near.error());
    if (near->domain) {
      chain.push_back({true, required.level});
    } else {
      for (unsigned level = near->level; level < std::min(required.level, hierarchy.level_count()); ++level) {
        chain.push_back({required.domain, level});
      }
    }
  } else if (prefer_domain && !required.domain) {
    chain.push_back({true, required.level});
  }
  if (chain.empty() || !(chain.back() == required)) chain.push_back(required);
  return chain;
}

}  // namespace

std::uint64_t group_size(const Parallelism& p, JobGroup group) {
  switch (group) {
    case JobGroup::tensor:
      return p.tensor;
    case JobGroup::context:
      return p.context;
    case JobGroup::expert:
      return p.expert;
    case JobGroup::stage:
    case JobGroup::job:
      return rank_count(p);
  }
  return 1;
}

Result<Near> near_at(LevelKind kind, const Hierarchy& hierarchy, std::string_view where) {
  if (kind == LevelKind::nvlink_domain) return Near{true, Hierarchy::kNoLevel};
  if (const unsigned level = hierarchy.level_of(kind); level != Hierarchy::kNoLevel) return Near{false, level};
  std::string known;
  for (unsigned level = 0; level < hierarchy.level_count(); ++level) {
    known += (known.empty() ? "" : ", ") + std::string(to_string(hierarchy.kind(level)));
  }
  return fail(ErrorKind::impossible, "jobs.unknownLevel", fmt::format("this fabric has no level '{}'", to_string(kind)),
              "/topology/" + std::string(where), "its levels are " + known);
}

Nearness LevelChoices::required() const {
  Nearness nearness;
  for (std::size_t i = 0; i < kJobGroups; ++i) nearness[i] = chain[i].back();
  return nearness;
}

Result<LevelChoices> level_choices_of(const JobSpec& spec, const Hierarchy& hierarchy) {
  struct Entry {
    JobGroup group;
    const LevelRequest* request;
    std::string_view where;
  };
  const Entry entries[] = {{JobGroup::tensor, &spec.tensor, "tensor"},
                           {JobGroup::context, &spec.context, "context"},
                           {JobGroup::expert, &spec.expert, "expert"},
                           {JobGroup::stage, &spec.stage, "pipeline"},
                           {JobGroup::job, &spec.job, "job"}};
  LevelChoices choices;
  for (const auto& [group, request, where] : entries) {
    const bool inner = group == JobGroup::context || group == JobGroup::expert;
    auto chain = chain_of(*request, hierarchy, where, inner);
    if (!chain) return std::unexpected(chain.error());
    if (group_size(spec.parallelism, group) == 1) chain->assign(1, Near{});  // a group of one rank is near itself
    choices.chain[index_of(group)] = std::move(*chain);
  }
  if (spec.exclusive && *spec.exclusive != LevelKind::nvlink_domain) {
    if (const auto near = near_at(*spec.exclusive, hierarchy, "exclusive"); !near) return std::unexpected(near.error());
  }
  for (const bool explicitly : {true, false}) {
    for (const auto& [group, request, where] : entries) {
      if (choices.chain[index_of(group)].size() > 1 && request->preferred.has_value() == explicitly)
        choices.order.push_back(group);
    }
  }
  return choices;
}

}  // namespace railweave::scheduler
