#include "services/rest/json/jobs/job_value.h"

#include "fabric/base/text/time_text.h"
#include "services/control/codec/job_spec_json.h"
#include "services/json/message_value.h"
#include "services/rest/json/jobs/launch.h"
#include "services/rest/json/time_value.h"

namespace railweave::api {
namespace {

constexpr double kUsPerMs = 1000;

Out origin_json(const scheduler::ExternalId& external) {
  if (external.scheduler.empty() && external.id.empty()) return nullptr;
  return {{"scheduler", external.scheduler},
          {"id", external.id},
          {"part", external.part.empty() ? Out(nullptr) : Out(external.part)},
          {"step", external.step.empty() ? Out(nullptr) : Out(external.step)},
          {"gainPermille", external.gain_permille ? Out(*external.gain_permille) : Out(nullptr)}};
}

}  // namespace

Out job_line_json(const control::Job& job) {
  const bool has_nodes = !job.nodes.empty();
  Out value{{"id", control::to_string(job.id)},
            {"name", job.spec.name},
            {"tenant", job.spec.tenant},
            {"state", control::to_string(job.state)},
            {"phase", phase_json(job)},
            {"damaged", has_nodes && !job.damage.empty()},
            {"priority", job.spec.priority},
            {"gpus", scheduler::rank_count(job.spec.parallelism)},
            {"nodes", job.nodes.size()},
            {"level", has_nodes ? Out(fabric::to_string(job.placement.level)) : Out(nullptr)},
            {"submittedAt", time_text(job.submitted_us)},
            {"startedAt", time_or_null(job.started_us)},
            {"endedAt", job.ended_us == 0 ? Out(nullptr) : Out(time_text(job.ended_us))},
            {"external", origin_json(job.spec.external)}};
  return value;
}

Out to_json(const scheduler::WaitReason& reason, std::int64_t expected_us, const MessageReader& reader) {
  const Message said = scheduler::said(reason);
  const bool is_named = reason.job != 0 && reader.sees(JobPart{reason.job});
  const bool slower = reason.code == scheduler::WaitCode::better_place;
  return {{"code", railweave::to_text(reason.code)},
          {"reason", said.text(reader)},
          {"message", message_value(said, reader)},
          {"starving", reason.starving},
          {"job", is_named ? Out(job_name(reason.job)) : Out(nullptr)},
          {"expectedAt", time_or_null(expected_us)},
          {"startsBy", slower && !reason.yields ? Out(time_text(reason.at_us)) : Out(nullptr)},
          {"anyPlaceFrom", slower && reason.yields ? Out(time_text(reason.at_us)) : Out(nullptr)},
          {"predictedMs", slower ? Out(reason.here_us / kUsPerMs) : Out(nullptr)},
          {"bestMs", slower ? Out(reason.best_us / kUsPerMs) : Out(nullptr)}};
}

}  // namespace railweave::api
