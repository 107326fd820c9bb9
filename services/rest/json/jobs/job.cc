#include "services/rest/json/jobs/job.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "fabric/base/text/time_text.h"
#include "scheduler/placement/rank_map.h"
#include "scheduler/placement/score/node_preferences.h"
#include "services/control/codec/job_spec_json.h"
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

Out result_json(const PlacementResult& result, const fabric::Topology& topology, const MessageReader& reader) {
  Out value{{"outcome", to_string(result.outcome)}};
  if (result.outcome == Outcome::placed) {
    value["placement"] = placement_json(result.placement, topology);
  } else {
    value["code"] = result.explanation.code;
    value["reason"] = result.explanation.whole().text(reader);
    value["explanation"] = explanation_json(result.explanation);
  }
  return value;
}

Out reservation_json(const PlacementPromise& promise) {
  if (promise.reservation == nullptr) return nullptr;
  std::int64_t most = 0;
  for (const auto& load : promise.reservation->loads) most = std::max(most, load.mbps);
  return {{"links", promise.reservation->loads.size()},
          {"mostGbpsOnALink", gbps_of(most)},
          {"reservedPermille", promise.reservation->reserved_permille},
          {"coversLinkFailure", promise.reservation->survives_link_failure}};
}

Out qos_json(const PlacementPromise& promise) {
  if (promise.guarantee == nullptr) return nullptr;
  const auto& marks = promise.marks;
  return {{"class", promise.guarantee->qos_class},
          {"serviceLevel", marks ? Out(marks->service_level) : Out(nullptr)},
          {"trafficClass", marks ? Out(marks->traffic_class) : Out(nullptr)},
          {"pkey", promise.pkey == 0 ? Out(nullptr) : Out(pkey_text(promise.pkey))}};
}

Out hold_json(const control::Job& job) {
  const auto& hold = job.queue.hold;
  if (!hold || job.state != control::JobState::queued) return nullptr;
  return {{"by", hold->by},
          {"byOperator", hold->by_operator},
          {"reason", hold->reason},
          {"since", time_text(hold->since_us)}};
}

Out order_json(const scheduler::RankOrder& order) {
  const auto ms = [](double us) { return std::isfinite(us) ? Out(us / 1000) : Out(nullptr); };
  return {{"of", order.of_step ? "step" : "communication"},
          {"predictedMs", ms(order.present_us)},
          {"bestMs", ms(order.best_us)},
          {"ranks", order.ranks.empty() ? Out(nullptr) : Out(order.ranks)}};
}

Out adopted_json(const control::Job& job, const JobBeside& beside, const MessageReader& reader) {
  if (!job.adopted) return nullptr;
  Out findings = Out::array();
  for (const auto& finding : job.adopted->findings) findings.push_back(finding.text(reader));
  return {{"findings", std::move(findings)}, {"order", beside.order ? order_json(*beside.order) : Out(nullptr)}};
}

Out start_json(const control::ExpectedStart& start, const MessageReader& reader) {
  Out ends = Out::array();
  for (const auto& end : start.ends) {
    ends.push_back({{"job", control::to_string(end.job)}, {"at", time_text(end.at_us)}, {"assumed", end.assumed}});
  }
  return {{"at", time_or_null(start.at_us)},
          {"unknown", start.unknown.empty() ? Out(nullptr) : Out(start.unknown.text(reader))},
          {"ends", std::move(ends)},
          {"otherEnds", start.earlier_ends},
          {"assumedEnds", start.assumed_ends}};
}

bool has_place(const control::Job& job) { return !job.nodes.empty(); }

}  // namespace

std::string write_explanation(const scheduler::Explanation& explanation) { return dump(explanation_json(explanation)); }

std::string write_placement(const JobSpec& spec, const PlacementResult& result, const PlacementFabric& fabric,
                            const MessageReader& reader, bool with_ranks, const PlacementPromise& promise,
                            const control::JobContention* contention, std::span<const scheduler::Contention> compared,
                            const control::ExpectedStart* start) {
  Out value = result_json(result, fabric.topology(), reader);
  if (result.outcome == Outcome::placed) {
    const RankMap map(fabric, spec.parallelism, result.placement.gpu_of_rank);
    Out ranks{{"count", map.size()}};
    if (with_ranks) ranks["items"] = ranks_json(map, fabric, 0, map.size());
    value["ranks"] = std::move(ranks);
    value["groups"] = groups_json(fabric, spec.parallelism, result.placement);
    value["predicted"] = predicted_json(result.placement);
    value["withContention"] = contention == nullptr ? Out(nullptr) : to_json(*contention);
    value["alternatives"] = alternatives_json(result.alternatives, compared);
    value["guarantee"] = promise.guarantee != nullptr ? guarantee_out(*promise.guarantee, false, reader) : Out(nullptr);
    value["reservation"] = reservation_json(promise);
    value["qos"] = qos_json(promise);
  } else if (promise.blocked != nullptr && !promise.blocked->empty()) {
    value["links"] = Out::parse(write_blocked_links(*promise.blocked));
  }
  if (!result.shapes.empty()) value["shapes"] = shapes_json(result.shapes, reader);
  if (start != nullptr) value["expectedStart"] = start_json(*start, reader);
  Out warnings = result.warnings;
  if (contention != nullptr) {
    if (auto faster = faster_alternative(result, contention->own, compared); !faster.empty()) {
      warnings.push_back(std::move(faster));
    }
    if (auto both = two_predictions(result.placement, contention->own); !both.empty()) {
      warnings.push_back(std::move(both));
    }
  }
  value["warnings"] = std::move(warnings);
  return dump(value);
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
  Out value = job_line_json(job);
  value["job"] = id;
  value["outcome"] = job.state == control::JobState::queued ? "queued" : "placed";
  value["spec"] = to_json(job.spec);
  value["placement"] = has_place(job) ? placement_json(job.placement, fabric.topology()) : Out(nullptr);
  if (auto unmet = scheduler::unmet_preferences(fabric.topology(), job.spec, job.placement.gpu_of_rank);
      !unmet.empty()) {
    value["placement"]["unmetPreferences"] = std::move(unmet);
  }
  value["groups"] = has_place(job) ? groups_json(fabric, job.spec.parallelism, job.placement) : Out(nullptr);
  value["predicted"] = predicted_json(job.placement);
  value["withContention"] = beside.contention ? to_json(*beside.contention) : Out(nullptr);
  value["waits"] =
      beside.waits == nullptr ? Out(nullptr) : to_json(*beside.waits, beside.start ? beside.start->at_us : 0, reader);
  value["expectedStart"] = beside.start ? start_json(*beside.start, reader) : Out(nullptr);
  value["hold"] = hold_json(job);
  value["adopted"] = adopted_json(job, beside, reader);
  value["launcher"] = launcher_json(job, reader);
  value["notBefore"] = time_or_null(job.not_before_us);
  value["checkpointedAt"] = time_or_null(job.saved_us);
  value["steps"] = beside.steps ? step_times_json(job.id, beside.steps.get(), reader) : Out(nullptr);
  value["damage"] = job.damage.empty() ? Out(nullptr) : Out(job.damage.text(reader));
  value["guarantee"] = job.guarantee ? guarantee_out(*job.guarantee, beside.guarantee_holds, reader) : Out(nullptr);
  Out levels = Out::array();
  for (unsigned level = 0; job.earlier_levels >> level != 0; ++level) {
    if ((job.earlier_levels >> level & 1) != 0) levels.push_back(level);
  }
  value["earlierServiceLevels"] = std::move(levels);
  value["nodeList"] = job.nodes;
  value["ranks"] = {{"count", job.placement.gpu_of_rank.size()}, {"href", "/v1/jobs/" + id + "/ranks"}};
  Out history = Out::array();
  for (const auto& change : job.history) {
    history.push_back({{"time", time_text(change.time_us)},
                       {"seq", change.seq},
                       {"state", control::to_string(change.state)},
                       {"reason", change.reason.text(reader)},
                       {"message", message_value(change.reason, reader)},
                       {"actor", change.actor}});
  }
  value["history"] = std::move(history);
  value["version"] = job.version;
  return dump(value);
}

std::string write_job_line(const control::Job& job) { return dump(job_line_json(job)); }

std::string write_ranks(const control::Job& job, const PlacementFabric& fabric, std::uint64_t from, std::uint64_t count,
                        std::uint64_t seq, const RankMarks& marks) {
  const RankMap map(fabric, job.spec.parallelism, job.placement.gpu_of_rank);
  Out page{{"items", ranks_json(map, fabric, from, count)}};
  const Variables common = class_variables(marks);
  std::vector<std::string_view> outside;  // the partition; alike on all hosts that have its key
  std::uint64_t rank = from;
  for (auto& item : page["items"]) {
    const fabric::HostId host = map[rank++].host;
    Out env = Out::object();
    for (const auto& [name, value] : common) env[name] = value;
    for (const auto& [name, value] : partition_variables(marks, host)) env[name] = value;
    if (!env.empty()) item["env"] = std::move(env);
    if (outside.empty()) outside = outside_partition(marks, host);
  }
  page["outside"] = {{"class", outside_class(marks)}, {"partition", outside}};
  const bool more = from + count < map.size();
  page["nextCursor"] = more ? Out(std::to_string(from + count)) : Out(nullptr);
  page["seq"] = seq;
  return dump(page);
}

}  // namespace railweave::api
