#include "services/rest/json/jobs/contention_value.h"

#include <cmath>

#include "services/control/codec/prediction_json.h"
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
    jobs.push_back({{"job", control::to_string(control::JobId(crossing.job))}, {"gbps", gbps(crossing.mbps)}});
  }
  return {{"link", contention.link},
          {"group", railweave::to_text(own.group)},
          {"capacityGbps", gbps(own.capacity_mbps)},
          {"othersGbps", gbps(own.others_mbps)},
          {"jobs", jobs},
          {"jobsCrossing", own.jobs_crossing}};
}

}  // namespace

Out to_json(const control::JobContention& contention) {
  const Contention& own = contention.own;
  const Out alone = to_json(own.alone), shared = to_json(own.shared);
  Out slows = Out::array();
  for (const auto& slowed : contention.slows) {
    slows.push_back({{"job", control::to_string(slowed.job->id)},
                     {"name", slowed.job->spec.name},
                     {"tenant", slowed.job->spec.tenant},
                     {"slowdown", communication_ratio(slowed.after, slowed.before)},
                     {"stepSlowdown", step_ratio(slowed.after, slowed.before)},
                     {"communicationMs", to_json(slowed.after)["communicationMs"]},
                     {"withoutThisMs", to_json(slowed.before)["communicationMs"]}});
  }
  return {{"basis", railweave::to_text(own.basis)},
          {"stepMs", shared["stepMs"]},
          {"communicationMs", shared["communicationMs"]},
          {"exposedMs", shared["exposedMs"]},
          {"byGroup", shared["byGroup"]},
          {"reachable", own.shared.reachable},
          {"alone", {{"stepMs", alone["stepMs"]}, {"communicationMs", alone["communicationMs"]}}},
          {"slowdown", communication_ratio(own.shared, own.alone)},
          {"stepSlowdown", step_ratio(own.shared, own.alone)},
          {"mostContended", own.link == Contention::kNone ? Out(nullptr) : link_json(contention)},
          {"slows", slows},
          {"tables", tables_json(contention.tables)}};
}

}  // namespace railweave::api
