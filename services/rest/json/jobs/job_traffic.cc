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

std::string write_job_traffic(const control::Job& job, const control::JobPairs& pairs, std::optional<double> period_us,
                              std::uint64_t seq) {
  constexpr double kBits = 8;
  constexpr double kMbpsOfGbps = 1e3;
  const bool timed = period_us && std::isfinite(*period_us) && *period_us > 0;
  Out ends = Out::array();
  for (const auto& end : pairs.ends) ends.push_back(end);
  Out items = Out::array();
  for (const JobPair& pair : pairs.pairs) {
    items.push_back({{"from", pair.from},
                     {"to", pair.to == JobPair::kSwitches ? Out(nullptr) : Out(pair.to)},
                     {"bytes", std::round(pair.bytes)},
                     {"gbps", timed ? Out(pair.bytes * kBits / *period_us / kMbpsOfGbps) : Out(nullptr)},
                     {"groups", groups_json(pair.groups)},
                     {"over", to_text(pair.over)}});
  }
  return dump({{"job", to_string(job.id)},
               {"by", pairs.by_node ? "node" : "gpu"},
               {"ends", std::move(ends)},
               {"pairs", std::move(items)},
               {"incomplete", pairs.is_incomplete},
               {"assumed", pairs.is_assumed},
               {"seq", seq}});
}

}  // namespace railweave::api
