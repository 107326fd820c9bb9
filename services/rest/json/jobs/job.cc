#include "services/rest/json/jobs/job.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "scheduler/placement/rank_map.h"
#include "scheduler/placement/score/node_preferences.h"
#include "services/control/codec/job_spec_json.h"
#include "services/json/contract_object.h"
#include "services/json/digest.h"
#include "services/json/message_value.h"
#include "services/rest/json/guarantees/guarantee.h"
#include "services/rest/json/guarantees/guarantee_value.h"
#include "services/rest/json/jobs/contention_value.h"
#include "services/rest/json/jobs/job_value.h"
#include "services/rest/json/jobs/launch.h"
#include "services/rest/json/jobs/placement_value.h"
#include "services/rest/json/jobs/step_times.h"
#include "services/rest/json/ranks/library_variables.h"
#include "services/rest/json/rate_value.h"
#include "services/rest/json/time_value.h"

namespace railweave::api {
namespace {

using scheduler::JobSpec;
using scheduler::Outcome;
using scheduler::PlacementFabric;
using scheduler::PlacementResult;
using scheduler::RankMap;

Out reservation_json(const PlacementPromise& promise) {
  if (promise.reservation == nullptr) return nullptr;
  std::int64_t most = 0;
  for (const auto& load : promise.reservation->loads) most = std::max(most, load.mbps);
  return object<"PlacementAnswer.reservation">(with<"links">(promise.reservation->loads.size()),
                                               with<"mostGbpsOnALink">(gbps_of(most)),
                                               with<"reservedPermille">(promise.reservation->reserved_permille),
                                               with<"coversLinkFailure">(promise.reservation->survives_link_failure));
}

Out qos_json(const PlacementPromise& promise) {
  if (promise.guarantee == nullptr) return nullptr;
  const auto& marks = promise.marks;
  return object<"PlacementAnswer.qos">(with<"class">(promise.guarantee->qos_class),
                                       with<"serviceLevel">(marks ? Out(marks->service_level) : Out(nullptr)),
                                       with<"trafficClass">(marks ? Out(marks->traffic_class) : Out(nullptr)),
                                       with<"pkey">(promise.pkey == 0 ? Out(nullptr) : Out(pkey_text(promise.pkey))));
}

Out hold_json(const control::Job& job) {
  const auto& hold = job.queue.hold;
  if (!hold || job.state != control::JobState::queued) return nullptr;
  return object<"JobHold">(with<"by">(hold->by), with<"byOperator">(hold->by_operator), with<"reason">(hold->reason),
                           with<"since">(time_text(hold->since_us)));
}

Out order_json(const scheduler::RankOrder& order) {
  const auto ms = [](double us) { return std::isfinite(us) ? Out(us / 1000) : Out(nullptr); };
  return object<"Adopted.order">(with<"of">(order.of_step ? "step" : "communication"),
                                 with<"predictedMs">(ms(order.present_us)), with<"bestMs">(ms(order.best_us)),
                                 with<"ranks">(order.ranks.empty() ? Out(nullptr) : Out(order.ranks)));
}

Out adopted_json(const control::Job& job, const JobBeside& beside, const MessageReader& reader) {
  if (!job.adopted) return nullptr;
  Out findings = Out::array();
  for (const auto& finding : job.adopted->findings) findings.push_back(finding.text(reader));
  return object<"Adopted">(with<"findings">(std::move(findings)),
                           with<"order">(beside.order ? order_json(*beside.order) : Out(nullptr)));
}

Out rank_map_json(const JobSpec& spec, const scheduler::Placement& placement, const PlacementFabric& fabric,
                  bool with_ranks) {
  const RankMap map(fabric, spec.parallelism, placement.gpu_of_rank);
  return object<"PlacementAnswer.ranks">(
      with<"count">(map.size()), maybe<"items">(with_ranks, [&] { return ranks_json(map, fabric, 0, map.size()); }));
}

Out start_json(const control::ExpectedStart& start, const MessageReader& reader) {
  Out ends = Out::array();
  for (const auto& end : start.ends) {
    ends.push_back(object<"ExpectedStart.ends">(with<"job">(control::to_string(end.job)),
                                                with<"at">(time_text(end.at_us)), with<"assumed">(end.assumed)));
  }
  return object<"ExpectedStart">(
      with<"at">(time_or_null(start.at_us)),
      with<"unknown">(start.unknown.empty() ? Out(nullptr) : Out(start.unknown.text(reader))),
      with<"ends">(std::move(ends)), with<"otherEnds">(start.earlier_ends), with<"assumedEnds">(start.assumed_ends));
}

bool has_place(const control::Job& job) { return !job.nodes.empty(); }

}  // namespace

std::string write_explanation(const scheduler::Explanation& explanation) { return dump(explanation_json(explanation)); }

std::string write_placement(const JobSpec& spec, const PlacementResult& result, const PlacementFabric& fabric,
                            const MessageReader& reader, bool with_ranks, const PlacementPromise& promise,
                            const control::JobContention* contention, std::span<const scheduler::Contention> compared,
                            const control::ExpectedStart* start) {
  Out warnings = result.warnings;
  if (contention != nullptr) {
    if (auto faster = faster_alternative(result, contention->own, compared); !faster.empty()) {
      warnings.push_back(std::move(faster));
    }
    if (auto both = two_predictions(result.placement, contention->own); !both.empty()) {
      warnings.push_back(std::move(both));
    }
  }
  const bool is_placed = result.outcome == Outcome::placed;
  const bool is_blocked = !is_placed && promise.blocked != nullptr && !promise.blocked->empty();
  const scheduler::Explanation& why = result.explanation;
  return dump(object<"PlacementAnswer">(
      with<"outcome">(result.outcome),
      maybe<"placement">(is_placed, [&] { return placement_json(result.placement, fabric.topology()); }),
      maybe<"code">(!is_placed, why.code), maybe<"reason">(!is_placed, [&] { return why.whole().text(reader); }),
      maybe<"explanation">(!is_placed, [&] { return explanation_json(why); }),
      maybe<"ranks">(is_placed, [&] { return rank_map_json(spec, result.placement, fabric, with_ranks); }),
      maybe<"groups">(is_placed, [&] { return groups_json(fabric, spec.parallelism, result.placement); }),
      maybe<"predicted">(is_placed, [&] { return predicted_json(result.placement); }),
      maybe<"withContention">(is_placed, [&] { return contention ? to_json(*contention) : Out(nullptr); }),
      maybe<"alternatives">(is_placed, [&] { return alternatives_json(result.alternatives, compared); }),
      maybe<"guarantee">(
          is_placed,
          [&] { return promise.guarantee ? guarantee_out(*promise.guarantee, spec, false, reader) : Out(nullptr); }),
      maybe<"reservation">(is_placed, [&] { return reservation_json(promise); }),
      maybe<"qos">(is_placed, [&] { return qos_json(promise); }),
      maybe<"links">(is_blocked, [&] { return Out::parse(write_blocked_links(*promise.blocked)); }),
      maybe<"shapes">(!result.shapes.empty(), [&] { return shapes_json(result.shapes, reader); }),
      maybe<"expectedStart">(start != nullptr, [&] { return start_json(*start, reader); }),
      with<"warnings">(std::move(warnings))));
}

std::string beside_digest(const JobBeside& beside) {
  if (!beside.contention && !beside.order && !beside.guarantee_holds && !beside.steps) return {};
  std::string text = beside.guarantee_holds ? "holds" : "";
  text += beside.contention ? dump(to_json(*beside.contention)) : std::string();
  if (beside.order) text += dump(order_json(*beside.order));
  if (beside.steps) text += fmt::format("steps {}", beside.steps->version);
  return sha256_hex(text).substr(0, 12);
}

std::string write_job(const control::Job& job, const PlacementFabric& fabric, const MessageReader& reader,
                      const JobBeside& beside) {
  const std::string id = control::to_string(job.id);
  const auto unmet = scheduler::unmet_preferences(fabric.topology(), job.spec, job.placement.gpu_of_rank);
  const std::int64_t start_us = beside.start ? beside.start->at_us : 0;
  Out levels = Out::array();
  for (unsigned level = 0; job.earlier_levels >> level != 0; ++level) {
    if ((job.earlier_levels >> level & 1) != 0) levels.push_back(level);
  }
  Out history = Out::array();
  for (const auto& change : job.history) {
    history.push_back(object<"Job.history">(with<"time">(time_text(change.time_us)), with<"seq">(change.seq),
                                            with<"state">(change.state), with<"reason">(change.reason.text(reader)),
                                            with<"message">(message_value(change.reason, reader)),
                                            with<"actor">(change.actor)));
  }
  return dump(object<"Job">(
      part<"JobFields">(job_line_json(job)), with<"job">(id),
      with<"outcome">(job.state == control::JobState::queued ? "queued" : "placed"), with<"spec">(to_json(job.spec)),
      with<"placement">(has_place(job) ? placement_json(job.placement, fabric.topology(), unmet) : Out(nullptr)),
      with<"groups">(has_place(job) ? groups_json(fabric, job.spec.parallelism, job.placement) : Out(nullptr)),
      with<"predicted">(predicted_json(job.placement)),
      with<"withContention">(beside.contention ? to_json(*beside.contention) : Out(nullptr)),
      with<"waits">(beside.waits == nullptr ? Out(nullptr) : to_json(*beside.waits, start_us, reader)),
      with<"expectedStart">(beside.start ? start_json(*beside.start, reader) : Out(nullptr)),
      with<"hold">(hold_json(job)), with<"adopted">(adopted_json(job, beside, reader)),
      with<"launcher">(launcher_json(job, reader)), with<"notBefore">(time_or_null(job.not_before_us)),
      with<"checkpointedAt">(time_or_null(job.saved_us)),
      with<"steps">(beside.steps ? step_times_json(job.id, beside.steps.get(), reader) : Out(nullptr)),
      with<"damage">(job.damage.empty() ? Out(nullptr) : Out(job.damage.text(reader))),
      with<"guarantee">(job.guarantee ? guarantee_out(*job.guarantee, job.spec, beside.guarantee_holds, reader)
                                      : Out(nullptr)),
      with<"earlierServiceLevels">(std::move(levels)), with<"nodeList">(job.nodes),
      with<"ranks">(object<"Job.ranks">(with<"count">(job.placement.gpu_of_rank.size()),
                                        with<"href">("/v1/jobs/" + id + "/ranks"))),
      with<"history">(std::move(history)), with<"version">(job.version)));
}

std::string write_job_line(const control::Job& job) { return dump(job_line_json(job)); }

std::string write_ranks(const control::Job& job, const PlacementFabric& fabric, std::uint64_t from, std::uint64_t count,
                        std::uint64_t seq, const RankMarks& marks) {
  const RankMap map(fabric, job.spec.parallelism, job.placement.gpu_of_rank);
  Out ranks = ranks_json(map, fabric, from, count);
  const Variables common = class_variables(marks);
  std::vector<std::string_view> outside;  // the partition; alike on all hosts that have its key
  std::uint64_t rank = from;
  for (auto& item : ranks) {
    const fabric::HostId host = map[rank++].host;
    Out env = Out::object();
    for (const auto& [name, value] : common) env[name] = value;
    for (const auto& [name, value] : partition_variables(marks, host)) env[name] = value;
    if (!env.empty()) item["env"] = std::move(env);
    if (outside.empty()) outside = outside_partition(marks, host);
  }
  const bool more = from + count < map.size();
  return dump(object<"listRanks.answer">(
      with<"items">(std::move(ranks)),
      with<"outside">(object<"OutsideLibraries">(with<"class">(outside_class(marks)), with<"partition">(outside))),
      with<"nextCursor">(more ? Out(std::to_string(from + count)) : Out(nullptr)), with<"seq">(seq)));
}

}  // namespace railweave::api
