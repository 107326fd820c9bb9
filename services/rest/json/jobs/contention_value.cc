#include "services/rest/json/jobs/contention_value.h"

#include <cmath>

#include "services/control/codec/prediction_json.h"
#include "services/json/contract_object.h"
#include "services/rest/json/tables_value.h"

namespace railweave::api {
namespace {

using scheduler::Contention;
using scheduler::Prediction;

double gbps(double mbps) { return std::round(mbps) / 1000; }
// Ratio of two times; null where one is unknown or infinite.
Out ratio(double after, double before) {
  if (!std::isfinite(after) || !std::isfinite(before) || before <= 0) return nullptr;
  return std::round(after / before * 1e4) / 1e4;
}
Out step_ratio(const Prediction& after, const Prediction& before) {
  return after.step_us && before.step_us ? ratio(*after.step_us, *before.step_us) : Out(nullptr);
}
Out communication_ratio(const Prediction& after, const Prediction& before) {
  if (before.communication_us == 0 && after.communication_us == 0) return 1.0;
  return ratio(after.communication_us, before.communication_us);
}

Out link_json(const control::JobContention& contention) {
  const Contention& own = contention.own;
  Out jobs = Out::array();
  for (const auto& crossing : own.crossing) {
    jobs.push_back(object<"ContendedLink.jobs">(with<"job">(control::to_string(control::JobId(crossing.job))),
                                                with<"gbps">(gbps(crossing.mbps))));
  }
  return object<"ContendedLink">(
      with<"link">(contention.link), with<"group">(own.group), with<"capacityGbps">(gbps(own.capacity_mbps)),
      with<"othersGbps">(gbps(own.others_mbps)), with<"jobs">(jobs), with<"jobsCrossing">(own.jobs_crossing));
}

}  // namespace

Out to_json(const control::JobContention& contention) {
  const Contention& own = contention.own;
  const Out alone = to_json(own.alone), shared = to_json(own.shared);
  Out slows = Out::array();
  for (const auto& slowed : contention.slows) {
    slows.push_back(object<"SlowedJob">(with<"job">(control::to_string(slowed.job->id)),
                                        with<"name">(slowed.job->spec.name), with<"tenant">(slowed.job->spec.tenant),
                                        with<"slowdown">(communication_ratio(slowed.after, slowed.before)),
                                        with<"stepSlowdown">(step_ratio(slowed.after, slowed.before)),
                                        with<"communicationMs">(to_json(slowed.after)["communicationMs"]),
                                        with<"withoutThisMs">(to_json(slowed.before)["communicationMs"])));
  }
  return object<"WithContention">(
      with<"basis">(own.basis), with<"stepMs">(shared["stepMs"]), with<"communicationMs">(shared["communicationMs"]),
      with<"exposedMs">(shared["exposedMs"]), with<"byGroup">(shared["byGroup"]),
      with<"reachable">(own.shared.reachable),
      with<"alone">(object<"WithContention.alone">(with<"stepMs">(alone["stepMs"]),
                                                   with<"communicationMs">(alone["communicationMs"]))),
      with<"slowdown">(communication_ratio(own.shared, own.alone)),
      with<"stepSlowdown">(step_ratio(own.shared, own.alone)),
      with<"mostContended">(own.link == Contention::kNone ? Out(nullptr) : link_json(contention)), with<"slows">(slows),
      with<"tables">(tables_json(contention.tables)));
}

}  // namespace railweave::api
