#include "services/rest/json/jobs/job_traffic.h"

#include <cmath>
#include <utility>

#include "scheduler/collective/comm_group.h"
#include "services/json/json_out.h"

namespace railweave::api {
namespace {

using control::JobPair;

Out groups_json(std::uint32_t groups) {
  Out names = Out::array();
  for (std::size_t g = 0; g < scheduler::kCommGroups; ++g) {
    if ((groups >> g & 1U) == 0) continue;
    const auto group = static_cast<scheduler::CommGroup>(g);
    names.push_back(to_text(group));
  }
  return names;
}

}  // namespace

std::string write_job_traffic(const control::Job& job, const control::JobPairs& pairs, const StepPeriodUs& period_us,
                              std::uint64_t seq) {
  constexpr double kBits = 8;
  constexpr double kMbpsOfGbps = 1e3;
  const auto gbps = [](double bytes, std::optional<double> period) {
    const bool timed = period && std::isfinite(*period) && *period > 0;
    return timed ? Out(bytes * kBits / *period / kMbpsOfGbps) : Out(nullptr);
  };
  const auto own_period = period_us(job.id);
  Out ends = Out::array();
  for (const auto& end : pairs.ends) ends.push_back(end);
  Out items = Out::array();
  for (const JobPair& pair : pairs.pairs) {
    items.push_back({{"from", pair.from},
                     {"to", pair.to == JobPair::kSwitches ? Out(nullptr) : Out(pair.to)},
                     {"bytes", std::round(pair.bytes)},
                     {"gbps", gbps(pair.bytes, own_period)},
                     {"groups", groups_json(pair.groups)},
                     {"over", to_text(pair.over)}});
  }
  Out roles = Out::array();
  for (const control::RolePair& pair : pairs.roles) {
    roles.push_back({{"job", to_string(pair.job)},
                     {"role", pair.role},
                     {"sends", pair.sends},
                     {"bytes", std::round(pair.bytes)},
                     {"gbps", gbps(pair.bytes, pair.counted ? own_period : period_us(pair.job))},
                     {"over", to_text(pair.over)}});
  }
  return dump({{"job", to_string(job.id)},
               {"by", pairs.by_node ? "node" : "gpu"},
               {"ends", std::move(ends)},
               {"pairs", std::move(items)},
               {"roles", std::move(roles)},
               {"incomplete", pairs.is_incomplete},
               {"assumed", pairs.is_assumed},
               {"seq", seq}});
}

}  // namespace railweave::api
