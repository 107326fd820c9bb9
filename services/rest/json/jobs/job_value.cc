#include "services/rest/json/jobs/job_value.h"

#include "fabric/base/text/time_text.h"
#include "services/control/codec/job_spec_json.h"
#include "services/json/contract_object.h"
#include "services/json/message_value.h"
#include "services/rest/json/jobs/launch.h"
#include "services/rest/json/time_value.h"

namespace railweave::api {
namespace {

constexpr double kUsPerMs = 1000;

Out origin_json(const scheduler::ExternalId& external) {
  if (external.scheduler.empty() && external.id.empty()) return nullptr;
  return object<"JobOrigin">(
      with<"scheduler">(external.scheduler), with<"id">(external.id),
      with<"part">(external.part.empty() ? Out(nullptr) : Out(external.part)),
      with<"step">(external.step.empty() ? Out(nullptr) : Out(external.step)),
      with<"gainPermille">(external.gain_permille ? Out(*external.gain_permille) : Out(nullptr)));
}

}  // namespace

Out job_line_json(const control::Job& job) {
  const bool has_nodes = !job.nodes.empty();
  return object<"JobFields">(
      with<"id">(control::to_string(job.id)), with<"name">(job.spec.name), with<"tenant">(job.spec.tenant),
      with<"state">(job.state), with<"phase">(phase_json(job)), with<"damaged">(has_nodes && !job.damage.empty()),
      with<"priority">(job.spec.priority), with<"gpus">(scheduler::rank_count(job.spec.parallelism)),
      with<"nodes">(job.nodes.size()), with<"level">(has_nodes ? std::optional(job.placement.level) : std::nullopt),
      with<"submittedAt">(time_text(job.submitted_us)), with<"startedAt">(time_or_null(job.started_us)),
      with<"endedAt">(time_or_null(job.ended_us)), with<"external">(origin_json(job.spec.external)));
}

Out to_json(const scheduler::WaitReason& reason, std::int64_t expected_us, const MessageReader& reader) {
  const Message said = scheduler::said(reason);
  const bool is_named = reason.job != 0 && reader.sees(JobPart{reason.job});
  const bool slower = reason.code == scheduler::WaitCode::better_place;
  return object<"WaitReason">(
      with<"code">(reason.code), with<"reason">(said.text(reader)), with<"message">(message_value(said, reader)),
      with<"starving">(reason.starving), with<"job">(is_named ? Out(job_name(reason.job)) : Out(nullptr)),
      with<"expectedAt">(time_or_null(expected_us)),
      with<"startsBy">(slower && !reason.yields ? Out(time_text(reason.at_us)) : Out(nullptr)),
      with<"anyPlaceFrom">(slower && reason.yields ? Out(time_text(reason.at_us)) : Out(nullptr)),
      with<"predictedMs">(slower ? Out(reason.here_us / kUsPerMs) : Out(nullptr)),
      with<"bestMs">(slower ? Out(reason.best_us / kUsPerMs) : Out(nullptr)));
}

}  // namespace railweave::api
