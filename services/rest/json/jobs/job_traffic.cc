#include "services/rest/json/jobs/job_traffic.h"

#include <cmath>
#include <utility>

#include "scheduler/collective/comm_group.h"
#include "services/json/contract_object.h"

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
    items.push_back(object<"JobTraffic.pairs">(
        with<"from">(pair.from), with<"to">(pair.to == JobPair::kSwitches ? Out(nullptr) : Out(pair.to)),
        with<"bytes">(std::round(pair.bytes)), with<"gbps">(gbps(pair.bytes, own_period)),
        with<"groups">(groups_json(pair.groups)), with<"over">(pair.over)));
  }
  Out roles = Out::array();
  for (const control::RolePair& pair : pairs.roles) {
    roles.push_back(object<"JobTraffic.roles">(
        with<"job">(to_string(pair.job)), with<"role">(pair.role), with<"sends">(pair.sends),
        with<"bytes">(std::round(pair.bytes)),
        with<"gbps">(gbps(pair.bytes, pair.counted ? own_period : period_us(pair.job))), with<"over">(pair.over)));
  }
  return dump(object<"JobTraffic">(with<"job">(to_string(job.id)), with<"by">(pairs.by_node ? "node" : "gpu"),
                                   with<"ends">(std::move(ends)), with<"pairs">(std::move(items)),
                                   with<"roles">(std::move(roles)), with<"incomplete">(pairs.is_incomplete),
                                   with<"assumed">(pairs.is_assumed), with<"seq">(seq)));
}

}  // namespace railweave::api
